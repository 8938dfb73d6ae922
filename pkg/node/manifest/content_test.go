package manifest

import "testing"

func TestContent(t *testing.T) {
	const plain = `apiVersion: v1
kind: Pod
metadata: {name: x, labels: {a: b, c: d}}
spec:
  containers:
  - name: main
    image: example.test/main:1
    ports: [{containerPort: 80}]
    livenessProbe: {httpGet: {port: 80}}
  volumes: [{name: v}]
`
	content := func(text string) string { return read(t, readerFor("1.37.2"), text).Pods[0].Content }
	for name, text := range map[string]string{
		"order, comments, space": `# a comment
kind:   Pod
spec:
  volumes:
    - {name: v}
  containers: [{livenessProbe: {httpGet: {port: 80}}, image: example.test/main:1, ports: [{containerPort: 80}], name: main}] # another
metadata: {labels: {c: d, a: b}, name: x}
apiVersion: v1
`,
		"JSON": `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x", "labels": {"a": "b", "c": "d"}}, "spec": {"volumes": [{"name": "v"}],
"containers": [{"name": "main", "image": "example.test/main:1", "ports": [{"containerPort": 80}], "livenessProbe": {"httpGet": {"port": 80}}}]}}`,
		"an unknown field": plain + "  colour: red\n",
		"defaults spelled out": `apiVersion: v1
kind: Pod
metadata: {name: x, labels: {a: b, c: d}}
spec:
  restartPolicy: Always
  dnsPolicy: ClusterFirst
  terminationGracePeriodSeconds: 30
  schedulerName: default-scheduler
  enableServiceLinks: true
  securityContext: {}
  containers:
  - name: main
    image: example.test/main:1
    imagePullPolicy: IfNotPresent
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    ports: [{containerPort: 80, protocol: TCP}]
    livenessProbe: {httpGet: {port: 80, path: /, scheme: HTTP}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}
  volumes: [{name: v, emptyDir: {}}]
`,
	} {
		if content(text) != content(plain) {
			t.Errorf("%s: another content", name)
		}
	}
	for name, text := range map[string]string{
		"the namespace": `{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: default, labels: {a: b, c: d}}, spec: {containers: [{name: main, image: i}]}}`,
		"the UID":       `{apiVersion: v1, kind: Pod, metadata: {name: x, uid: u, labels: {a: b, c: d}}, spec: {containers: [{name: main, image: i}]}}`,
		"a container":   mainOf("command: [a]"),
	} {
		if content("# YAML\n"+text) == content(plain) {
			t.Errorf("%s: the same content", name)
		}
	}
}

// The content says that a file changed: it must not change by itself.
func TestContentIsOfTheFileAlone(t *testing.T) {
	text := mainOf("restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]")
	path := write(t, t.TempDir(), "m.yaml", text)
	first := readerFor("1.33.1")
	want := onlyPod(t, first.Read(path, "n"))
	for _, version := range []string{"", "1.30.1", "1.34.1"} {
		r := NewReader()
		r.For(version)
		if m := onlyPod(t, r.Read(path, "other")); m.Content != want.Content || len(m.Content) != 64 {
			t.Errorf("kubelet %q: another content", version)
		}
	}
	elsewhere := write(t, t.TempDir(), "other.yaml", text)
	if m := onlyPod(t, first.Read(elsewhere, "n")); m.Content != want.Content {
		t.Error("the path is part of it")
	}
}
