package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote/controller"
)

const (
	name = "nodekeeper-promote"
	help = `Marks Secrets and ConfigMaps immutable where that is safe: their name is the hash
of their content, or their namespace or they themselves are labelled
nodekeeper.io/immutable-policy=promote; one program has written them; their content
has not changed for a while; a pod uses them. What controllers write is never
marked, nor what is labelled or annotated nodekeeper.io/immutable-policy=never.

The flag cannot be taken back, so it only says what it would do unless it is told
--dry-run=false. A dry run writes events and its own history and lease.`
	lease    = 15 * time.Second
	readRate = 10
)

// settings are the flags.
type settings struct {
	kubeconfig, namespace, selector string
	listen                          string
	minAge                          cli.TimeSpan
	interval                        time.Duration
	owners                          []string
	rate                            perSecond
	dryRun, once, debug             bool
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, args []string, out, err io.Writer) int {
	root := command(err)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(err)
	return cli.Code(root.ExecuteContext(ctx), err, name)
}

func command(log io.Writer) *cobra.Command {
	s := settings{minAge: cli.TimeSpan(7 * 24 * time.Hour), rate: 1}
	c := &cobra.Command{
		Use:           name,
		Short:         "mark Secrets and ConfigMaps immutable where that is safe",
		Long:          help,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	flags := c.Flags()
	flags.StringVar(&s.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "how to reach the API server (default: KUBECONFIG, or else as a pod does)")
	flags.StringVar(&s.namespace, "namespace", name, "where its lease and history are kept")
	flags.StringVar(&s.selector, "namespace-selector", "", "labels of the namespaces to look at (default: all)")
	flags.Var(&s.minAge, "min-age", "how long content must have been seen unchanged: 7d, 36h")
	flags.DurationVar(&s.interval, "interval", 10*time.Minute, "between the end of a pass and the next")
	flags.StringSliceVar(&s.owners, "allow-owner", nil, "controllers whose objects may be marked, as Kind.group")
	flags.StringVar(&s.listen, "listen", ":9641", "where /metrics, /healthz and /readyz are, but for --once; empty for nowhere")
	flags.Var(&s.rate, "rate", "how many objects to mark in a time: 1/s, 30/m")
	flags.BoolVar(&s.dryRun, "dry-run", true, "mark nothing, and say what would be")
	flags.BoolVar(&s.once, "once", false, "end after one pass")
	flags.BoolVar(&s.debug, "debug", false, "say of each candidate why it is not marked")
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		o, err := s.options(log)
		if err != nil {
			return err
		}
		// client-go says who leads; it should not say it in a form of its own.
		klog.SetSlogLogger(o.Log)
		promoter, err := controller.New(o)
		if err != nil {
			return err
		}
		if s.once || s.listen == "" {
			return promoter.Run(c.Context())
		}
		return serveAndRun(c.Context(), s.listen, promoter, o.Log)
	})
	return c
}

func (s settings) options(log io.Writer) (controller.Options, error) {
	selector, err := labels.Parse(s.selector)
	if err != nil {
		return controller.Options{}, cli.Usage(fmt.Errorf("--namespace-selector: %w", err))
	}
	if s.interval <= 0 {
		return controller.Options{}, cli.Usage(errors.New("--interval must be above 0"))
	}
	config, err := s.server()
	if err != nil {
		return controller.Options{}, cli.Usage(err)
	}
	config.UserAgent = name + " " + rest.DefaultKubernetesUserAgent()
	host, err := os.Hostname()
	if err != nil {
		return controller.Options{}, err
	}
	level := slog.LevelInfo
	if s.debug {
		level = slog.LevelDebug
	}
	return controller.Options{
		Config:     config,
		Namespace:  s.namespace,
		Identity:   host + "_" + rand.Text(),
		Namespaces: selector,
		MinAge:     time.Duration(s.minAge),
		Owners:     s.owners,
		DryRun:     s.dryRun,
		Once:       s.once,
		Interval:   s.interval,
		Promotions: s.rate.limit(),
		Reads:      readRate,
		Lease:      lease,
		Log:        slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level})),
		Now:        time.Now,
	}, nil
}
