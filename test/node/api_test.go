package node_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// TestAPIOpensLate: the kubelet's sources become ready when the port that its
// kubeconfig names is opened, and a static pod gets its mirror.
func TestAPIOpensLate(t *testing.T) {
	box := start(t, node.Options{Name: "api", Kubeconfig: node.APIClosed, API: true})
	ctx := t.Context()
	if err := box.PutManifest("app.yaml", podManifest("app", "", "")); err != nil {
		t.Fatal(err)
	}
	first := running(t, box, "app", "main", "", 30*time.Second)
	begin := time.Now()
	if err := box.OpenAPI(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("API open after %.1f s", time.Since(begin).Seconds())
	kubectl := func(args ...string) (string, error) {
		stdout, _, err := box.Exec(ctx, append([]string{"kubectl", "--kubeconfig=" + node.AdminKubeconfig}, args...)...)
		return stdout, err
	}
	eventually(t, 60*time.Second, "node Ready", func() error {
		ready, err := kubectl("get", "node", "api", `-o=jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
		if err == nil && ready != "True" {
			err = fmt.Errorf("Ready is %q", ready)
		}
		return err
	})
	// The kubelet may be faster than a new API server makes its namespaces, and
	// tries again after a minute and a half at the latest.
	eventually(t, 120*time.Second, "mirror pod", func() error {
		phase, err := kubectl("get", "pod", podName(box, "app"), "-o=jsonpath={.status.phase}")
		if err == nil && phase != "Running" {
			err = fmt.Errorf("phase %q", phase)
		}
		return err
	})
	if still, err := box.RunningContainer(ctx, podName(box, "app"), "main"); err != nil || still.ID != first.ID {
		t.Errorf("the container did not survive: %+v, %v", still, err)
	}
	if audit, err := box.ReadFile(node.AuditLog); err != nil || len(audit) == 0 {
		t.Errorf("audit log: %v", err)
	}
	if err := box.CloseAPI(ctx); err != nil {
		t.Fatal(err)
	}
	if response, err := box.APIClient().Get(node.APIURL + "/readyz"); err == nil {
		response.Body.Close()
		t.Error(errors.New("the API still answers"))
	}
}
