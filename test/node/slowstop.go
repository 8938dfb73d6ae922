package node

import (
	"context"
	"fmt"
	"time"
)

// SlowStop has a unit take that long to stop, with its job pending and its
// processes running all the while. The undo does not shorten a stop that has
// begun.
func (b *Box) SlowStop(ctx context.Context, unit string, span time.Duration) (undo func(context.Context) error, err error) {
	file := "/run/systemd/system/" + unit + ".d/90-slow-stop.conf"
	text := fmt.Sprintf("[Service]\nExecStop=/bin/sleep %.0f\nTimeoutStopSec=infinity\n", span.Seconds())
	if err := b.WriteFile(file, []byte(text), 0o644); err != nil {
		return nil, err
	}
	undo = func(ctx context.Context) error {
		if err := b.RemoveFile(file); err != nil {
			return err
		}
		_, err := b.Systemctl(ctx, "daemon-reload")
		return err
	}
	_, err = b.Systemctl(ctx, "daemon-reload")
	return undo, err
}
