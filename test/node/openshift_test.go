package node_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// TestOpenShift: the profile with each kubelet, while the API server is away.
func TestOpenShift(t *testing.T) {
	for _, version := range []string{"1.33.13", "1.30.14", "1.37.2"} {
		t.Run(version, func(t *testing.T) {
			box := start(t, node.Options{Name: "member", Profile: node.OpenShift, Kubelet: version, Kubeconfig: node.APIClosed})
			ctx := t.Context()
			if err := box.PutManifest("app-pod.yaml", podManifest("app", "", "--print, 1s")); err != nil {
				t.Fatal(err)
			}
			main := running(t, box, "app", "main", "", 30*time.Second)

			if said, err := box.Versions(ctx); err != nil || said.Kubelet != version || !strings.HasPrefix(said.Runtime, "cri-o 1.") {
				t.Errorf("versions %+v, %v", said, err)
			}
			if name, _, err := box.Exec(ctx, "hostname"); err != nil || strings.TrimSpace(name) == box.Name {
				t.Errorf("host name %q, %v, and the node's is %s", name, err, box.Name)
			}

			for _, path := range []string{"/pods", "/containerLogs/default/" + podName(box, "app") + "/side", "/logs/"} {
				answer, err := box.HTTPClient().Get(node.KubeletURL + path)
				if err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
				if answer.StatusCode != http.StatusUnauthorized {
					t.Errorf("%s without a certificate: status %d", path, answer.StatusCode)
				}
				eventually(t, 10*time.Second, path+" with the test's certificate", func() error {
					status, body, err := box.KubeletGet(ctx, path)
					if err == nil && (status != http.StatusOK || body == "") {
						err = fmt.Errorf("status %d: %s", status, body)
					}
					return err
				})
			}
			if pods, err := box.KubeletPods(ctx); err != nil || !strings.Contains(string(pods), `"name":"`+podName(box, "app")+`"`) {
				t.Errorf("the kubelet's pods: %v\n%s", err, pods)
			}

			// The monitor is in the pod's group in every hierarchy but those
			// that nobody limits.
			groups, _, err := box.Exec(ctx, "sh", "-c", "cat /proc/$(pgrep --full '^/usr/bin/conmon .*-c "+main.ID+"')/cgroup")
			if err != nil || strings.Contains(groups, node.CRIO) || !strings.Contains(groups, "crio-conmon-"+main.ID) {
				t.Errorf("groups of the monitor: %v\n%s", err, groups)
			}
			if _, err := box.Systemctl(ctx, "restart", node.CRIO); err != nil {
				t.Fatal(err)
			}
			eventually(t, 30*time.Second, "the container survives a restart of CRI-O", func() error {
				still, err := box.RunningContainer(ctx, podName(box, "app"), "main")
				if err == nil && still.ID != main.ID {
					t.Fatalf("replaced by %+v", still)
				}
				return err
			})
			if err := box.KillContainer(ctx, main.ID); err != nil {
				t.Fatal(err)
			}
			again := running(t, box, "app", "main", main.ID, 30*time.Second)
			if err := box.Reboot(ctx); err != nil {
				t.Fatal(err)
			}
			running(t, box, "app", "main", again.ID, 60*time.Second)
		})
	}
}
