package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// runc and crun write different states; both are read.
func TestStatesOfRuntimes(t *testing.T) {
	annotations := `"annotations":{"kubernetes.io/config.source":"file","io.kubernetes.pod.name":"p","io.kubernetes.container.name":"c",
		"io.kubernetes.cri-o.LogPath":"/var/log/pods/n_p_u/c/3.log","io.kubernetes.cri-o.Metadata":"{\"name\":\"c\",\"attempt\":3}",
		"io.kubernetes.cri-o.Annotations":"{\"revision\":\"9\"}","io.kubernetes.cri-o.Image":"registry.test/x"}`
	for name, c := range map[string]struct {
		text string
		kind lifecycle.Kind
		pid  int
	}{
		"runc at createRuntime":   {`{"ociVersion":"1.0.2-dev","id":"c1","status":"creating","pid":42,"bundle":"/b",` + annotations + `}`, lifecycle.Created, 42},
		"crun at createRuntime":   {`{"ociVersion":"1.0","id":"c1","pid":42,"root":"/r","bundle":"/b","status":"created",` + annotations + `}`, lifecycle.Created, 42},
		"crun at poststart":       {`{"ociVersion":"1.0","id":"c1","pid":42,"root":"/r","bundle":"/b","status":"running",` + annotations + `}`, lifecycle.Started, 42},
		"runc at poststop":        {`{"ociVersion":"1.0.2-dev","id":"c1","status":"stopped","bundle":"/b",` + annotations + `}`, lifecycle.Removed, 0},
		"crun at poststop":        {`{"ociVersion":"1.0","id":"c1","pid":0,"root":"/r","bundle":"/b","status":"stopped",` + annotations + `}`, lifecycle.Removed, 0},
		"a field of another type": {`{"ociVersion":1,"id":"c1","pid":"42","bundle":"/b","status":"created",` + annotations + `}`, lifecycle.Created, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := readState(strings.NewReader(c.text))
			if err != nil || !s.static() {
				t.Fatal(err, s)
			}
			now := time.Now()
			got, err := s.event(now)
			want := lifecycle.Event{
				Kind: c.kind, Source: lifecycle.Hook, ContainerID: "c1", Pod: "p", Container: "c", Attempt: 3,
				LogPath: "/var/log/pods/n_p_u/c/3.log", Bundle: "/b", BootID: bootID(), Pid: c.pid, Time: now,
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
			}
			if b := birth(s, got); b.Revision != "9" || b.Image != "registry.test/x" {
				t.Errorf("%+v", b)
			}
		})
	}
}

func FuzzState(f *testing.F) {
	f.Add(`{"id":"c1","pid":"x","annotations":{"io.kubernetes.cri-o.Labels":"{","revision":1}}`)
	f.Add(`{"annotations":null,"ociVersion":{}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := readState(strings.NewReader(text))
		if err != nil {
			return
		}
		e, err := s.event(time.Unix(0, 0))
		if err == nil && (!record.IsContainerID(e.ContainerID) || e.Kind == "" || e.Pid < 0) {
			t.Errorf("%+v", e)
		}
		birth(s, e)
	})
}
