package promote

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestReferencesOfAPod(t *testing.T) {
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict([]byte(`
spec:
  imagePullSecrets: [{name: pull}, {}]
  initContainers: [{name: i, env: [{name: A, valueFrom: {secretKeyRef: {name: init, key: k}}}, {name: B, value: plain}]}]
  containers: [{name: c, envFrom: [{configMapRef: {name: from}}, {secretRef: {name: from}}], env: [{name: A, valueFrom: {configMapKeyRef: {name: key, key: k}}}]}]
  ephemeralContainers: [{name: e, envFrom: [{secretRef: {name: debug}}]}]
  volumes:
  - {name: a, secret: {secretName: vol}}
  - {name: b, configMap: {name: vol}}
  - {name: c, projected: {sources: [{secret: {name: proj}}, {configMap: {name: proj}}, {serviceAccountToken: {path: t}}]}}
  - {name: d, csi: {driver: x, nodePublishSecretRef: {name: csi}}}
  - {name: e, csi: {driver: x}}
  - {name: f, cephfs: {monitors: [m], secretRef: {name: ceph}}}
  - {name: g, azureFile: {secretName: azure, shareName: s}}
  - {name: h, emptyDir: {}}
`), &pod); err != nil {
		t.Fatal(err)
	}
	var got []string
	References(&pod, func(r Resource, name string) { got = append(got, string(r)+"/"+name) })
	want := []string{"secrets/pull", "secrets/init", "configmaps/key", "configmaps/from", "secrets/from", "secrets/debug", "secrets/vol", "configmaps/vol", "secrets/proj", "configmaps/proj", "secrets/csi", "secrets/ceph", "secrets/azure"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want\n%v", got, want)
	}
}
