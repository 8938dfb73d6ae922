package journal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// version is where a kubelet's lines come from: file and line are in them.
type version struct {
	name                                            string
	sync, add, remove, file, watch, denied, skipped int
	deniedIn, status, operation                     string
}

var versions = []version{
	{"1.30.14", 1298, 2442, 2452, 187, 108, 0, 2380, "", "remote_runtime.go:432", ""},
	{"1.31.14", 1301, 2407, 2417, 187, 108, 2306, 2345, "kubelet.go", "log.go:32", ""},
	{"1.32.13", 1301, 2468, 2478, 187, 108, 2351, 2406, "kubelet.go", "log.go:32", ""},
	{"1.33.13", 1301, 2522, 2532, 187, 108, 2405, 2460, "kubelet.go", "log.go:32", ""},
	{"1.34.4", 1324, 2515, 2525, 187, 108, 702, 2452, "allocation_manager.go", "log.go:32", ""},
	{"1.35.4", 1324, 2588, 2598, 187, 108, 676, 2525, "allocation_manager.go", "log.go:32", ""},
	{"1.36.3", 1338, 2709, 2719, 186, 107, 619, 2646, "allocation_manager.go", "remote_runtime.go:569", ` operation="add"`},
	{"1.37.2", 1338, 2760, 2770, 186, 107, 660, 2697, "allocation_manager.go", "remote_runtime.go:657", ` operation="add"`},
}

// lines are what the version writes, in the formats of its source.
func (v version) lines() []string {
	head := func(severity, file string, line int) string {
		return fmt.Sprintf("%s1201 03:51:26.123456    1234 %s:%d] ", severity, file, line)
	}
	lines := []string{
		head("E", "pod_workers.go", v.sync) + `"Error syncing pod, skipping" err="[failed to \"StartContainer\" for \"side\" with CrashLoopBackOff: \"back-off 5m0s restarting failed container=side pod=pull-node1_default(1)\", failed to \"StartContainer\" for \"main\" with ErrImagePull: \"initializing source docker://registry/x:1: pinging \\\"registry\\\": EOF\"]" pod="default/pull-node1" podUID="1"`,
		head("E", "pod_workers.go", v.sync) + `"Error syncing pod, skipping" err="failed to \"CreatePodSandbox\" for \"sand-node1_default(2)\" with CreatePodSandboxError: \"Failed to create sandbox for pod \\\"sand-node1_default(2)\\\": rpc error: code = DeadlineExceeded desc = context deadline exceeded\"" pod="default/sand-node1" podUID="2"`,
		head("E", "pod_workers.go", v.sync) + `"Error syncing pod, skipping" err="network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: no CNI configuration file" pod="default/net-node1" podUID="3"`,
		head("E", "pod_workers.go", v.sync) + `"Error syncing pod, skipping" err="unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: context deadline exceeded" pod="default/vol-node1" podUID="4"`,
		head("E", "pod_workers.go", v.sync) + `"Error syncing pod, skipping" err="failed to \"KillContainer\" for \"main\" with KillContainerError: \"rpc error: code = DeadlineExceeded desc = context deadline exceeded\"" pod="default/kill-node1" podUID="5"`,
		head("E", "file.go", v.file) + `"Could not process manifest file" err="invalid pod: [spec.containers[0].image: Required value]" path="/etc/kubernetes/manifests/bad.yaml"`,
		head("E", "file.go", v.watch) + `"Unable to process watch event" err="can't process config file \"/etc/kubernetes/manifests/half.yaml\": /etc/kubernetes/manifests/half.yaml: couldn't parse as pod(yaml: line 3: mapping values are not allowed in this context), please check config file"`,
		head("E", strings.Split(v.status, ":")[0], 7) + `"ContainerStatus from runtime service failed" err="rpc error: code = Unknown desc = the record is broken" containerID="c0ffee"`,
		head("I", "kubelet.go", v.remove) + `"Failed to delete pod" pod="kube-system/app-node1" err="skipping delete because sources aren't ready yet"`,
		head("I", "kubelet.go", v.add) + `"Failed to delete pod" pod="kube-system/b-node1" err="pod not found"`,
		head("I", "predicate.go", 227) + `"Predicate failed on Pod" pod="default/big-node1" err="Node didn't have enough resource: cpu, requested: 500000, used: 700, capacity: 2000"`,
	}
	if v.denied > 0 {
		lines = append(lines, head("I", v.deniedIn, v.denied)+`"Pod admission denied" podUID="6" pod="default/big-node1" reason="OutOfcpu" message="Node didn't have enough resource: cpu, requested: 500000, used: 700, capacity: 2000"`+v.operation)
	}
	return lines
}

func TestTheLinesOfEachVersion(t *testing.T) {
	for _, v := range versions {
		t.Run(v.name, func(t *testing.T) {
			f := newFake()
			f.write(v.lines()...)
			at := f.boot
			told := f.told(t, f.reader())
			if told.Err != nil || told.From != f.boot-reach {
				t.Fatalf("known for %v: %v", f.boot-told.From, told.Err)
			}
			pod := func(name string) node.PodName { return node.PodName{Namespace: "default", Name: name} }
			want := map[node.PodName]node.Said{
				pod("pull-node1"): {At: at, Container: "main", Reason: "ErrImagePull", Message: `initializing source docker://registry/x:1: pinging "registry": EOF`},
				pod("sand-node1"): {At: at, Reason: "CreatePodSandboxError", Message: `Failed to create sandbox for pod "sand-node1_default(2)": rpc error: code = DeadlineExceeded desc = context deadline exceeded`},
				pod("net-node1"):  {At: at, Message: `network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: no CNI configu…`},
				pod("vol-node1"):  {At: at, Message: `unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: context deadline exceeded`},
				pod("kill-node1"): {At: at, Container: "main", Reason: "KillContainerError", Message: `rpc error: code = DeadlineExceeded desc = context deadline exceeded`},
				pod("big-node1"):  {At: at, Reason: "OutOfcpu", Message: "Node didn't have enough resource: cpu, requested: 500000, used: 700, capacity: 2000"},
			}
			for name, one := range want {
				if told.Pods[name] != one {
					t.Errorf("%v:\n got %+v\nwant %+v", name, told.Pods[name], one)
				}
			}
			if len(told.Pods) != len(want) {
				t.Errorf("told of %v", told.Pods)
			}
			if m := told.Manifests["/etc/kubernetes/manifests/bad.yaml"]; m.Message != "invalid pod: [spec.containers[0].image: Required value]" {
				t.Errorf("refused: %+v", told.Manifests)
			}
			if m := told.Manifests["/etc/kubernetes/manifests/half.yaml"]; !strings.Contains(m.Message, "mapping values are not allowed") {
				t.Errorf("refused: %+v", told.Manifests)
			}
			if c := told.Containers["c0ffee"]; c.Reason != "Unknown" || !strings.Contains(c.Message, "the record is broken") {
				t.Errorf("containers %+v", told.Containers)
			}
			if told.NotDeleted[app] != at || len(told.NotDeleted) != 1 {
				t.Errorf("not deleted %v", told.NotDeleted)
			}
		})
	}
}

func TestLinesAsJSON(t *testing.T) {
	f := newFake()
	f.write(
		`{"ts":1796096000000.123,"caller":"kubelet/pod_workers.go:1301","msg":"Error syncing pod, skipping","pod":{"name":"app-node1","namespace":"kube-system"},"podUID":"3f2a","err":"failed to \"StartContainer\" for \"main\" with RunContainerError: \"a\\nb\""}`,
		`{"ts":1796096000000.124,"caller":"kubelet/kubelet.go:2522","msg":"Failed to delete pod","v":2,"pod":{"name":"app-node1","namespace":"kube-system"},"err":"skipping delete because sources aren't ready yet"}`,
		`{"ts":1796096000000.125,"caller":"config/file.go:187","msg":"Could not process manifest file","path":"/m/x.yaml","err":"invalid pod"}`)
	told := f.told(t, f.reader())
	if told.Err != nil || told.From != f.boot-reach {
		t.Fatalf("told %+v", told)
	}
	if one := told.Pods[app]; one.Container != "main" || one.Reason != "RunContainerError" || one.Message != "a b" {
		t.Errorf("told %+v", one)
	}
	if len(told.NotDeleted) != 1 || told.Manifests["/m/x.yaml"].Message != "invalid pod" {
		t.Errorf("not deleted %v, refused %v", told.NotDeleted, told.Manifests)
	}
}

func TestWhatIsNoRefusalAndNoRejection(t *testing.T) {
	f := newFake()
	f.write(started,
		`E1201 03:51:26.000000    1234 file_linux.go:61] "Unable to read config path" err="unable to create inotify: too many open files" path="/etc/kubernetes/manifests"`,
		`E1201 03:51:26.000000    1234 file.go:108] "Unable to process watch event" err="the pod with key kube-system/app-node1 doesn't exist in cache"`,
		`I1201 03:51:26.000000    1234 allocation_manager.go:660] "Pod admission denied" podUID="6" pod="default/web-1" reason="OutOfcpu" message="no" operation="resize"`,
		`I1201 03:51:26.000000    1234 kubelet.go:2522] "Failed to delete pod" pod="kube-system/app-node1" err="pod not found"`)
	told := f.told(t, f.reader())
	if told.Err != nil || len(told.Manifests)+len(told.Pods)+len(told.NotDeleted) != 0 || told.From != f.boot-reach {
		t.Errorf("told %+v", told)
	}
}

func TestADirectoryThatIsNotListedIsTold(t *testing.T) {
	f := newFake()
	f.write(`E1201 03:51:26.000000    1234 file.go:104] "Unable to read config path" err="path does not exist, ignoring" path="/etc/kubernetes/manifests"`)
	if told := f.told(t, f.reader()); told.Manifests["/etc/kubernetes/manifests"].Message != "path does not exist, ignoring" {
		t.Errorf("told %+v", told)
	}
}

// hard are errors that are hard to write on one line.
var hard = []string{
	"plain", `with "quotes" and \ a backslash`, "two\nlines", "ends with a break\n", "\n", "", "\ttab first\n\tand again", "> looks like\n > the end",
	"E1201 03:51:26.000000    1234 x.go:1] \"Error syncing pod, skipping\" pod=\"a/b\"\nthe second", "mixed\x1b[31m\nred\x00 \u2028", "an = sign=<\nand more=<",
}

// write is the real klog's line, or lines.
func write(err string, keysAndValues ...any) string {
	var out bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out)))
	logger.Error(errors.New(err), "Error syncing pod, skipping", keysAndValues...)
	return strings.TrimSuffix(out.String(), "\n")
}

// joined returns the records of a text.
func joined(text string) []record {
	var all []record
	var j joiner
	for part := range strings.SplitSeq(text, "\n") {
		for _, one := range j.add(part) {
			if rec, ok := parseRecord(one); ok {
				all = append(all, rec)
			}
		}
	}
	return all
}

func checkErr(t *testing.T, text string) {
	t.Helper()
	line := write(text, "pod", klog.KRef("ns", "name"), "second", text, "podUID", "u")
	recs := joined(line)
	if len(recs) != 1 {
		t.Fatalf("%q: %d records of %q", text, len(recs), line)
	}
	v, ok := recs[0].values()
	// klog does not tell whether a text of several lines ends with a break.
	want := text
	if strings.Contains(text, "\n") {
		want = strings.TrimSuffix(text, "\n")
	}
	if !ok || strings.TrimSuffix(v.text("err"), "\n") != strings.TrimSuffix(want, "\n") || v.text("pod") != "ns/name" || v.text("podUID") != "u" {
		t.Errorf("%q:\nline %q\n got %q, %v", text, line, v, ok)
	}
}

func TestAnyErrorThatKlogWrites(t *testing.T) {
	for _, text := range hard {
		checkErr(t, text)
	}
}

func FuzzErrorOfKlog(f *testing.F) {
	for _, text := range hard {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 10_000 && !strings.Contains(text, "\r") {
			checkErr(t, strings.ToValidUTF8(text, "?"))
		}
	})
}

func FuzzLines(f *testing.F) {
	for _, v := range versions {
		f.Add(strings.Join(v.lines(), "\n"))
	}
	f.Add(failing[:150] + "\n\tx\n > pod=")
	f.Add(`{"ts":1,"msg":"Failed to delete pod","pod":{},"err":"sources aren't ready"}`)
	f.Fuzz(func(t *testing.T, text string) {
		fk := newFake()
		fk.write(started)
		fk.write(text)
		told := fk.told(t, fk.reader())
		for name, one := range told.Pods {
			if name.Namespace == "" || name.Name == "" || len([]rune(one.Message)) > 160 || strings.Contains(one.Message, "\n") || one.At > fk.boot {
				t.Errorf("%v: %+v", name, one)
			}
		}
		if told.Err != nil || told.From > fk.boot || told.Last != fk.boot-every {
			t.Errorf("told %+v at %v", told, fk.boot)
		}
	})
}

func TestALongRecordIsBounded(t *testing.T) {
	var j joiner
	j.add(`E1201 03:51:26.000000    1234 pod_workers.go:1301] "Error syncing pod, skipping" err=<`)
	for range 10_000 {
		j.add("\t" + strings.Repeat("x", 100))
	}
	if len(j.open) > 70<<10 {
		t.Errorf("holds %d bytes", len(j.open))
	}
	recs := j.add(` > pod="ns/name" podUID="u"`)
	rec, ok := parseRecord(recs[0])
	if v, whole := rec.values(); !ok || !whole || v.text("pod") != "ns/name" {
		t.Errorf("%v, %v: pod %q", ok, whole, v.text("pod"))
	}
}

func TestReasonsOfASync(t *testing.T) {
	for text, want := range map[string]node.Said{
		`failed to "StartContainer" for "main" with RunContainerError: "x"`:                          {Container: "main", Reason: "RunContainerError", Message: "x"},
		`failed to "StartContainer" for "main" with rpc error: code = Unknown: "x"`:                  {Container: "main", Message: `failed to "StartContainer" for "main" with rpc error: code = Unknown: "x"`},
		`failed to SyncPod: pod sandbox status is nil`:                                               {Message: "failed to SyncPod: pod sandbox status is nil"},
		`failed to "KillPodSandbox" for "3f2a" with KillPodSandboxError: ""`:                         {Reason: "KillPodSandboxError", Message: `failed to "KillPodSandbox" for "3f2a" with KillPodSandboxError: ""`},
		`error killing pod: [failed to "KillContainer" for "a" with KillContainerError: "y", other]`: {Container: "a", Reason: "KillContainerError", Message: "y"},
		"": {},
	} {
		if got := syncError(text, 0); got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", text, got, want)
		}
	}
}

func BenchmarkTold(b *testing.B) {
	f := newFake()
	for range 400 {
		f.write(versions[3].lines()[:10]...)
	}
	for b.Loop() {
		r := f.reader()
		f.pass(time.Second)
		r.Told(b.Context(), kubelet)
	}
}
