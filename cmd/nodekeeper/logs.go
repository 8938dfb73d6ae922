package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/view"
)

func (p *program) logs() *cobra.Command {
	var logs view.Logs
	var namespace, dir string
	c := &cobra.Command{
		Use:   "logs [NAMESPACE/]POD [-c CONTAINER] [--crash ID|--previous[=k]|--first|--all]",
		Short: "print the log of a container, of one that has ended too",
		Long: `Print the log of a container: of the attempt that runs, or of the one that ended
last if none does, or of the attempt that is chosen. Flags that kubectl logs has
mean the same here, but lines are lines of the container: what the runtime cut is
joined, and rotated and compressed pieces are read too.

--headers=auto and --escape=auto are yes on a terminal; there are headers also for
several attempts, and where something is missing.

Of a pod that nodekeeper keeps nothing of, the kubelet's own files are read.`,
		Args: func(_ *cobra.Command, args []string) error { return logs.Arguments(args) },
	}
	logs.Add(c.Flags())
	c.Flags().StringVarP(&namespace, "namespace", "n", "", "namespace of the pod; not needed where the pod's name is unique")
	logDir(c, &dir)
	c.RunE = cli.Does(func(c *cobra.Command, args []string) error {
		if err := logs.Complete(append(args, "")[0], namespace, c.Flags()); err != nil {
			return cli.Usage(err)
		}
		cfg, err := p.load(c, silently)
		if err != nil {
			return err
		}
		if dir == "" {
			dir = cfg.Directories.Log
		}
		logs.Options.Now = func() time.Time { return p.clock.Now().Wall }
		files, attempts, err := chooseLogs(c.Context(), &logs, dir, cfg.Logs.PodLogs)
		if err != nil {
			return err
		}
		defer files.Close()
		return logs.Print(c.Context(), p.out, files, attempts)
	})
	return c
}

// chooseLogs finds the attempts among the records, or among the kubelet's own
// files where nothing of the container was recorded. The caller closes the
// files.
func chooseLogs(ctx context.Context, logs *view.Logs, root, podLogs string) (*reader.Dir, []reader.Attempt, error) {
	files, index, err := openRecords(ctx, root)
	if err == nil {
		attempts, err := logs.Select(index)
		if err == nil {
			return files, attempts, nil
		}
		closed := files.Close()
		if logs.Knows(index) {
			return nil, nil, errors.Join(err, closed)
		}
		return kubelets(logs, podLogs, index, err)
	}
	if !errors.Is(err, reader.ErrNoRecords) {
		return nil, nil, err
	}
	return kubelets(logs, podLogs, &record.Index{}, err)
}

// kubelets finds the attempts in the kubelet's own files, which have no record
// IDs. Why they are not among the records is what is said where the kubelet has
// none either.
func kubelets(logs *view.Logs, podLogs string, index *record.Index, why error) (*reader.Dir, []reader.Attempt, error) {
	q := logs.Query
	if q.Crash != "" {
		return nil, nil, fmt.Errorf("no record %s (nodekeeper crashes lists them): %w", q.Crash, why)
	}
	attempts, err := logs.SelectOfKubelet(podLogs, index.Node)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		pod := strings.TrimPrefix(q.Namespace+"/"+q.Pod, "/")
		return nil, nil, fmt.Errorf("the kubelet has no log of %s in %s, and %w", pod, podLogs, why)
	case err != nil:
		return nil, nil, asRoot(err)
	}
	files, err := reader.PodLogs(podLogs)
	return files, attempts, asRoot(err)
}
