package node

import "testing"

func TestOptionsComplete(t *testing.T) {
	for name, test := range map[string]struct {
		given, want Options
	}{
		"nothing":   {Options{}, Options{Name: "node1", Hostname: "node1", KubeletUnit: Kubelet}},
		"open API":  {Options{Kubeconfig: APIOpen}, Options{Name: "node1", Hostname: "node1", KubeletUnit: Kubelet, Kubeconfig: APIOpen, API: true}},
		"openshift": {Options{Profile: OpenShift}, Options{Name: "node1", Hostname: openShiftHostname, KubeletUnit: Kubelet, Profile: OpenShift, OpenShift: true, Kubelet: OpenShiftKubelet}},
		"openshift with wishes": {Options{Profile: OpenShift, Kubelet: "1.37.2", Hostname: "a", KubeletUnit: "microshift.service"},
			Options{Name: "node1", Hostname: "a", KubeletUnit: "microshift.service", Profile: OpenShift, OpenShift: true, Kubelet: "1.37.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given
			if err := got.complete(); err != nil {
				t.Fatal(err)
			}
			for field, pair := range map[string][2]any{
				"Name": {got.Name, test.want.Name}, "Hostname": {got.Hostname, test.want.Hostname}, "Kubelet": {got.Kubelet, test.want.Kubelet},
				"KubeletUnit": {got.KubeletUnit, test.want.KubeletUnit}, "OpenShift": {got.OpenShift, test.want.OpenShift}, "API": {got.API, test.want.API},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s is %v, want %v", field, pair[0], pair[1])
				}
			}
		})
	}
	for _, bad := range []Options{{Name: "Node"}, {Hostname: "a.b"}, {KubeletUnit: "kubelet"}} {
		if bad.complete() == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}
