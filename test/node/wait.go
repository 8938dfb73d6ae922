package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// poll calls look each 100 ms until it returns no error, ctx ends or the box is
// down; the last error is part of the one returned.
func poll(ctx context.Context, what string, look func() error) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := look()
		if err == nil {
			return nil
		}
		if errors.Is(err, errDown) {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last seen: %w", what, ctx.Err(), err)
		}
	}
}

// waitReady waits until CRI-O and the kubelet answer.
func (b *Box) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := poll(ctx, "CRI-O and kubelet of box "+b.Name, func() error {
		if _, err := b.super.leader(); err != nil {
			return err
		}
		// Not the health port, which a kubelet may have closed.
		status, body, err := b.KubeletGet(ctx, "/healthz")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("kubelet: status %d: %s", status, body)
		}
		if err != nil {
			return err
		}
		runtime, err := b.CRI(ctx)
		if err != nil {
			return err
		}
		_, err = runtime.Version(ctx, &cri.VersionRequest{})
		return err
	})
	if err == nil {
		return nil
	}
	late, cancelLate := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancelLate()
	journal, _, journalErr := b.Exec(late, "journalctl", "--no-pager", "--lines=25", "--output=cat", "--unit="+CRIO, "--unit="+b.options.KubeletUnit)
	return errors.Join(err, journalErr, fmt.Errorf("end of the journal:\n%s\nconsole:\n%s", journal, b.super.consoleEnd()))
}
