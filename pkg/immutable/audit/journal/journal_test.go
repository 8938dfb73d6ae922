package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// said is what a kubelet of 1.37 says at --v=4 (k8s.io/klog/v2 textlogger).
var said = []string{
	`I1130 07:41:47.600000      98 server.go:545] "Kubelet version" kubeletVersion="v1.37.2"`,
	`I1130 07:41:48.000001      98 reflector.go:425] "Starting reflector" type="*v1.Secret" resyncPeriod="0s" reflector="object-\"ns-1\"/\"a\""`,
	`I1130 07:41:48.500000      98 reflector.go:425] "Starting reflector" type="*v1.Secret" resyncPeriod="0s" reflector="object-\"ns-1\"/\"b\""`,
	`I1130 07:41:48.600000      98 reflector.go:425] "Starting reflector" type="*v1.ConfigMap" resyncPeriod="0s" reflector="object-\"ns-1\"/\"a\""`,
	`I1130 07:41:48.700000      98 reflector.go:425] "Starting reflector" type="*v1.Node" resyncPeriod="0s" reflector="k8s.io/client-go/informers/factory.go:161"`,
	`I1130 07:41:48.800000      98 reflector.go:507] "Caches populated" type="*v1.Secret" reflector="object-\"ns-1\"/\"a\""`,
	`I1130 07:41:48.900000      98 watch_based_manager.go:355] "Stopped watching for changes - object is immutable" obj="ns-1/a"`,
	`E1130 07:41:49.000000      98 nestedpendingoperations.go:348] Operation for "{...}" failed. Error: MountVolume.SetUp failed for volume "x" (UniqueName: "...") pod "p" : failed to sync secret cache: timed out waiting for the condition`,
	`I1130 07:51:49.000000      98 watch_based_manager.go:372] "Not acquired for long time, Stopped watching for changes" objectKey={...} maxIdleTime="5m0s"`,
	`I1130 07:52:48.000001      98 reflector.go:425] "Starting reflector" type="*v1.Secret" resyncPeriod="0s" reflector="object-\"ns-1\"/\"a\""`,
	`I1130 07:52:48.100000      98 reflector.go:434] "Stopping reflector" type="*v1.Secret" resyncPeriod="0s" reflector="object-\"ns-1\"/\"a\""`,
}

func at(text string) *time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return &t
}

func TestEveryFormOfTheJournalSaysTheSame(t *testing.T) {
	var prefixed, iso, asJSON, bytesJSON, export strings.Builder
	for _, line := range said {
		when := stamp(line, now).Add(time.Second / 2)
		fmt.Fprintf(&prefixed, "Nov 30 %s node1 kubelet[98]: %s\n", line[6:21], line)
		fmt.Fprintf(&iso, "%s node1 kubelet[98]: %s\n", when.Format("2006-01-02T15:04:05-0700"), line)
		message, _ := json.Marshal(line)
		fmt.Fprintf(&asJSON, `{"_HOSTNAME":"node1","MESSAGE":%s,"__REALTIME_TIMESTAMP":"%d"}`+"\n", message, when.UnixMicro())
		numbers := strings.Join(strings.Fields(strings.Trim(fmt.Sprint([]byte(line)), "[]")), ",")
		fmt.Fprintf(&bytesJSON, `{"MESSAGE":[%s],"HINT":%s,"__REALTIME_TIMESTAMP":"%d"}`+"\n", numbers, message, when.UnixMicro())
		fmt.Fprintf(&export, "__CURSOR=s\n__REALTIME_TIMESTAMP=%d\n_HOSTNAME=node1\nMESSAGE=%s\n\n", when.UnixMicro(), line)
	}
	want := Report{
		OfKubelet: true,
		Versions:  []string{"v1.37.2"}, Starts: 1, Reflectors: 4, SecretReflectors: 3, Objects: 3,
		Populated: 1, Immutable: 1, Idle: 1, Late: 1, Peak: 3, PeakAt: at("2026-11-30T07:41:48Z"),
		Series: []Second{{*at("2026-11-30T07:41:48Z"), 3}, {*at("2026-11-30T07:52:48Z"), 1}},
	}
	for name, text := range map[string]string{
		"cat": strings.Join(said, "\n"), "short": prefixed.String(), "short-iso": iso.String(), "json": asJSON.String(),
		"json, not printable": bytesJSON.String(), "export": export.String(),
	} {
		j := New(now)
		if err := j.Read(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		got := j.Report()
		got.Lines, got.Torn = 0, 0
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestKubeletsThatLogOtherwiseAreRead(t *testing.T) {
	for name, line := range map[string]string{
		"before structured logging": `I0301 12:00:00.123456    98 reflector.go:219] Starting reflector *v1.ConfigMap (0s) from object-"ns"/"kube-root-ca.crt"`,
		"logging.format json":       `{"ts":1772366400123.456,"caller":"cache/reflector.go:425","msg":"Starting reflector","v":3,"type":"*v1.ConfigMap","resyncPeriod":"0s","reflector":"object-\"ns\"/\"kube-root-ca.crt\""}`,
		"json behind a prefix":      `Mar 01 12:00:00 n1 kubelet[1]: {"ts":1772366400123.456,"msg":"Starting reflector","v":3,"type":"*v1.ConfigMap","reflector":"object-\"ns\"/\"kube-root-ca.crt\""}`,
	} {
		e := read([]byte(line), now)
		if e.what != starting || e.key.String() != "configmaps/ns/kube-root-ca.crt" || e.at.Truncate(time.Second) != *at("2026-03-01T12:00:00Z") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestWhatNoKubeletWroteIsToldFromAQuietKubelet(t *testing.T) {
	const line = `I1130 07:41:47.700000      98 kubelet.go:2460] "SyncLoop ADD" source="api" pods=["ns/p"]`
	const asJSON = `{"ts":1772366400123.456,"caller":"kubelet/kubelet.go:2460","msg":"SyncLoop ADD","v":2}`
	quoted, _ := json.Marshal(asJSON)
	for text, want := range map[string]bool{
		line: true,
		"Nov 30 07:41:47 node1 kubenswrapper[98]: " + line:            true,
		"Nov 30 07:41:47 node1 systemd[1]: Started kubelet.\n" + line: true,
		"__REALTIME_TIMESTAMP=1\nMESSAGE=" + line + "\n\n":            true,
		asJSON:                               true,
		`{"MESSAGE":` + string(quoted) + `}`: true,
		strings.Join(said[1:2], "\n"):        true,
		"":                                   false,
		"# Crash records\n\nkubelet.service": false,
		`{"kind":"Event","verb":"watch"}`:    false,
		`{"level":"info","ts":"2026-11-30T07:41:47Z","caller":"etcdmain/etcd.go:73"}`: false,
	} {
		j := New(now)
		if err := j.Read(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if got := j.Report().OfKubelet; got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestALineWithoutAYearIsOfTheYearBefore(t *testing.T) {
	for line, want := range map[string]string{
		"I1231 23:59:59.000000 1 x": "2025-12-31T23:59:59Z",
		"I0101 00:00:01.000000 1 x": "2026-01-01T00:00:01Z",
		"I0102 00:00:01.000000 1 x": "2026-01-02T00:00:01Z", // another zone's
	} {
		if got := stamp(line, time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)); !got.Equal(*at(want)) {
			t.Errorf("%s: %v", line, got)
		}
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(strings.Join(said, "\n")))
	f.Add([]byte(`{"MESSAGE":[83,116],"x":"Starting reflector"}`))
	f.Add([]byte("__REALTIME_TIMESTAMP=1\nMESSAGE=" + said[1]))
	f.Fuzz(func(t *testing.T, data []byte) {
		j := New(now)
		if err := j.Read(bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		r := j.Report()
		var sum int64
		for _, s := range r.Series {
			sum += s.Reflectors
		}
		if int64(r.Objects) > r.Reflectors || r.SecretReflectors > r.Reflectors || sum > r.Reflectors || r.Peak > r.Reflectors ||
			(r.Reflectors > 0 && !r.OfKubelet) {
			t.Errorf("%+v", r)
		}
	})
}
