package refs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// everything has a reference of each kind, some of them twice.
const everything = `
metadata: {name: p, namespace: ns}
spec:
  imagePullSecrets: [{name: pull}, {name: ""}]
  initContainers:
  - name: init
    envFrom: [{secretRef: {name: init-s, optional: true}}, {configMapRef: {name: init-m}}]
  containers:
  - name: main
    envFrom: [{secretRef: {name: env-s, optional: true}}]
    env:
    - {name: A, valueFrom: {secretKeyRef: {name: env-s, key: a}}}
    - {name: B, valueFrom: {configMapKeyRef: {name: env-m, key: a, optional: true}}}
    - {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: D, value: plain}
  - name: second
    envFrom: [{secretRef: {name: env-s}}]
  ephemeralContainers:
  - name: debug
    envFrom: [{configMapRef: {name: debug-m}}]
  volumes:
  - {name: a, secret: {secretName: vol-s}}
  - {name: b, configMap: {name: vol-m, optional: true}}
  - name: c
    projected:
      sources:
      - {serviceAccountToken: {path: token}}
      - {configMap: {name: kube-root-ca.crt}}
      - {secret: {name: pro-s, optional: true}}
  - {name: d, csi: {driver: x, nodePublishSecretRef: {name: csi-s}}}
  - {name: e, azureFile: {secretName: azure-s, shareName: x}}
  - {name: f, emptyDir: {}}
  - {name: g, cephfs: {monitors: [], secretRef: {name: ceph-s}}}
`

func TestEachReferenceIsListedWithItsUse(t *testing.T) {
	var pod corev1.Pod
	if err := yaml.Unmarshal([]byte(everything), &pod); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range Of(&pod) {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Use, r.Key, map[bool]string{true: "optional"}[r.Optional])))
	}
	slices.Sort(got)
	want := []string{
		"driver secrets/ns/azure-s",
		"driver secrets/ns/ceph-s",
		"driver secrets/ns/csi-s",
		"env configmaps/ns/debug-m",
		"env configmaps/ns/env-m optional",
		"env configmaps/ns/init-m",
		// Once for each of two containers; not optional if one use is not.
		"env secrets/ns/env-s",
		"env secrets/ns/env-s",
		"env secrets/ns/init-s optional",
		"pull secrets/ns/pull optional",
		"volume configmaps/ns/kube-root-ca.crt",
		"volume configmaps/ns/vol-m optional",
		"volume secrets/ns/pro-s optional",
		"volume secrets/ns/vol-s",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAKubeletForgetsPodsThatHaveEnded(t *testing.T) {
	deleted := metav1.Now()
	for phase, want := range map[corev1.PodPhase]bool{
		corev1.PodPending: true, corev1.PodRunning: true, corev1.PodUnknown: true, corev1.PodSucceeded: false, corev1.PodFailed: false,
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted}, Status: corev1.PodStatus{Phase: phase}}
		if got := Registered(pod); got != want {
			t.Errorf("a pod that is %s: %t", phase, got)
		}
	}
}
