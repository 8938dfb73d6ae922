package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
	"github.com/nodekeeper/nodekeeper/test/node"
)

var (
	errNotShown = errors.New("CRI-O noticed the end: the fault did not show")
	errSibling  = errors.New("the sibling container was restarted")
)

// settings are the defaults with hold-offs cut short, since the whole node has
// only just been started.
const settings = `apiVersion: nodekeeper.io/v1alpha1
kind: Configuration
restart:
  jitter: 0s
  holdOffs: {boot: 0s, kubeletStart: 20s, runtimeStart: 20s}
`

func manifest(revision string) []byte {
	one := "  - name: %s\n    image: localhost/nodekeeper/workload:latest\n    imagePullPolicy: Never\n    args: [--message, %s of revision %s, --print, 5s]\n"
	return []byte("apiVersion: v1\nkind: Pod\nmetadata:\n  name: app\n  namespace: kube-system\n  labels: {revision: \"" + revision + "\"}\n" +
		"spec:\n  hostNetwork: true\n  terminationGracePeriodSeconds: 10\n  containers:\n" +
		fmt.Sprintf(one, "main", "main", revision) + fmt.Sprintf(one, "side", "side", revision))
}

// introduce says what runs, as the node says itself.
func (d *demo) introduce(more string) error {
	versions, err := d.box.Versions(d.ctx)
	if err != nil {
		return err
	}
	d.say("node %s: kubelet %s and %s run%s", d.box.Name, versions.Kubelet, versions.Runtime, more)
	return nil
}

func (d *demo) put(revision string) error {
	return d.box.PutManifest("app.yaml", manifest(revision))
}

// running waits for a running container other than the one with ID not.
func (d *demo) running(not, name string) (node.Container, error) {
	var c node.Container
	err := d.until(90*time.Second, name+" runs", func() (bool, error) {
		var err error
		c, err = d.box.RunningContainer(d.ctx, "app-node1", name)
		return err == nil && c.ID != not, nil
	})
	return c, err
}

func (d *demo) pause(span time.Duration) error {
	select {
	case <-d.ctx.Done():
		return d.ctx.Err()
	case <-time.After(span):
		return nil
	}
}

func (d *demo) startAgent() error {
	if err := d.box.InstallAgent(d.ctx, d.program, settings); err != nil {
		return err
	}
	if err := d.box.StartAgent(d.ctx); err != nil {
		return err
	}
	d.say("nodekeeper is started (default deadlines; hold-offs after the start of the node cut short)")
	return nil
}

// watch prints verdicts and acts as they come, until main runs anew, more
// holds and every act has healed.
func (d *demo) watch(limit time.Duration, deadID string, more func() (bool, error)) (node.Container, error) {
	var fresh node.Container
	d.shown = map[string]bool{}
	err := d.until(limit, "main is repaired", func() (bool, error) {
		d.showVerdicts()
		healed := d.showActs()
		c, err := d.box.RunningContainer(d.ctx, "app-node1", "main")
		if err != nil || c.ID == deadID {
			return false, nil
		}
		if fresh = c; more != nil {
			if ok, err := more(); !ok || err != nil {
				return false, err
			}
		}
		return healed, nil
	})
	return fresh, err
}

func (d *demo) showVerdicts() {
	out, _, err := d.box.Exec(d.ctx, node.AgentProgram, "status", "-o", "json")
	var status struct {
		Verdicts []struct {
			Pod, Container string
			Verdict        restartpolicy.State
			Detail         string
		}
	}
	if json.Unmarshal([]byte(out), &status) != nil && err != nil {
		return
	}
	for _, v := range status.Verdicts {
		name := strings.Trim(v.Pod+"/"+v.Container, "/")
		if v.Pod == "" || v.Verdict == restartpolicy.Healthy {
			continue
		}
		d.once("verdict  %s: %s: %s", name, v.Verdict, v.Detail)
	}
}

// showActs tells whether there were acts and all of them have healed.
func (d *demo) showActs() bool {
	out, _, err := d.box.Exec(d.ctx, node.AgentProgram, "acts", "-o", "json")
	type instant struct{ Boot cli.Duration }
	var acts []struct {
		restartpolicy.Act
		Target   any     `json:"target"`
		Began    instant `json:"began"`
		Finished instant `json:"finished"`
		Timeout  any     `json:"timeout"`
	}
	if err != nil || json.Unmarshal([]byte(out), &acts) != nil {
		return false
	}
	healed := len(acts) > 0
	for _, a := range acts {
		took := ""
		if a.Result != restartpolicy.ResultStarted {
			took = fmt.Sprintf(" (after %.1fs)", time.Duration(a.Finished.Boot-a.Began.Boot).Seconds())
		}
		d.once("act      %s for %s: %s%s", a.Kind, a.Key, a.Result, took)
		healed = healed && a.Result == restartpolicy.ResultHealed
	}
	return healed
}

func (d *demo) once(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !d.shown[line] {
		d.shown[line] = true
		d.say("%s", line)
	}
}
