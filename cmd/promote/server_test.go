package main

import (
	"bytes"
	"log/slog"
	"testing"

	"k8s.io/klog/v2"

	"github.com/nodekeeper/nodekeeper/internal/cli"
)

// Run by hand it has no account, and client-go would advise flags and variables of
// other programs, in lines of its own.
func TestOutsideOfAPodItAsksForAKubeconfig(t *testing.T) {
	var said, logged bytes.Buffer
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(&logged, nil)))
	t.Cleanup(klog.ClearLogger)
	for _, name := range []string{"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		t.Setenv(name, "")
	}
	code := execute(t.Context(), []string{"--once"}, &said, &said)
	if want := name + ": this is no pod of a cluster: name a kubeconfig with --kubeconfig\n"; code != cli.ExitUsage || said.String() != want {
		t.Errorf("code %d, %s", code, said.String())
	}
	if logged.Len() > 0 {
		t.Errorf("client-go says %s", logged.String())
	}
}
