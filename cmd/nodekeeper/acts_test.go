package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

func (s *scene) acted() {
	s.Helper()
	j, _, err := journal.Open(s.state, "boot-1", s.now)
	if err != nil {
		s.Fatal(err)
	}
	defer j.Close()
	apiserver := node.PodName{Namespace: "openshift-kube-apiserver", Name: "kube-apiserver-ip-10-0-131-183.eu-central-1.compute.internal"}
	for _, a := range []restartpolicy.Act{
		{Result: restartpolicy.ResultHealed, Detail: "restarted", Evidence: "/var/log/nodekeeper/acts/20260301T120000.000Z-restart-kubelet",
			Step: restartpolicy.Step{Kind: restartpolicy.RestartKubelet, State: restartpolicy.WaitingForOld,
				Key: restartpolicy.Key{PodName: apiserver}, Reason: "the new revision waits for old UID 1234"}},
		{Result: restartpolicy.ResultRefused, Detail: "an installer lock is held",
			Step: restartpolicy.Step{Kind: restartpolicy.RemoveContainer, State: restartpolicy.OutOfOrder,
				Key: restartpolicy.Key{PodName: apiserver, Container: "kube-apiserver-cert-regeneration-controller"}}},
		{Result: restartpolicy.ResultStarted, Step: restartpolicy.Step{Kind: restartpolicy.RestartRuntime, State: restartpolicy.RuntimeDown,
			Key: restartpolicy.Key{Container: "crio.service"}, Timeout: 2 * time.Minute}},
	} {
		a.BootID, a.Began = "boot-1", s.now
		if _, err := j.Begin(a); err != nil {
			s.Fatal(err)
		}
		s.now.Wall = s.now.Wall.Add(time.Minute)
	}
}

func TestActs(t *testing.T) {
	s := stage(t)
	if code, out, _ := s.call("acts"); code != cli.ExitOK || out != "no acts\n" {
		t.Errorf("code %d, %q", code, out)
	}
	if code, out, _ := s.call("acts", "-o", "json"); code != cli.ExitOK || out != "[]\n" {
		t.Errorf("code %d, %q", code, out)
	}
	s.acted()
	for _, form := range []string{"table", "wide"} {
		code, out, stderr := s.call("acts", "-o", form)
		if code != cli.ExitOK || stderr != "" {
			t.Errorf("%s: code %d, stderr %q", form, code, stderr)
		}
		s.golden("acts-"+form+".txt", out)
		if form == "table" {
			s.narrow(out)
		}
	}
	var acts []struct {
		restartpolicy.Act
		Target   any          `json:"target"`
		Began    shownInstant `json:"began"`
		Finished shownInstant `json:"finished"`
		Timeout  string       `json:"timeout"`
	}
	_, out, _ := s.call("acts", "-o", "json")
	if err := json.Unmarshal([]byte(out), &acts); err != nil || len(acts) != 3 || acts[0].Result != restartpolicy.ResultHealed ||
		acts[2].Timeout != "2m0s" || time.Duration(acts[2].Began.Boot) != 10*time.Hour {
		t.Errorf("%v: %+v", err, acts)
	}
}

func TestActsOfAJournalThatIsPartlyUnreadable(t *testing.T) {
	s := stage(t)
	s.write(s.state+"/acts.jsonl", `{"id":"1","step":"stop-container","result":"done"}`+"\nrubbish\n")
	code, out, stderr := s.call("acts")
	if code != cli.ExitFailure || !strings.Contains(out, "stop-container") || !strings.Contains(stderr, "line 2") {
		t.Errorf("code %d, %q, %q", code, out, stderr)
	}
}
