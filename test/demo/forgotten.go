package main

import (
	"errors"
	"strings"
	"time"
)

// brokenFor is how long the demo leaves the fault alone before the agent is
// started.
const brokenFor = 45 * time.Second

// forgotten is the original report: the API server does not answer, the
// manifest is changed, and a container of the old revision dies.
func forgotten(d *demo) error {
	if err := d.introduce("; the API server does not answer"); err != nil {
		return err
	}
	if err := d.put("1"); err != nil {
		return err
	}
	old, err := d.running("", "main")
	if err != nil {
		return err
	}
	side, err := d.running("", "side")
	if err != nil {
		return err
	}
	d.say("static pod app, revision 1: main and side run")
	if err := d.box.PutManifest("app.yaml", manifest("2")); err != nil {
		return err
	}
	d.say("its manifest is changed to revision 2")
	if err := d.pause(5 * time.Second); err != nil {
		return err
	}
	if err := d.box.KillContainer(d.ctx, old.ID); err != nil {
		return err
	}
	d.say("container main of revision 1 crashes")
	if err := d.stuck(old.ID); err != nil {
		return err
	}
	if err := d.startAgent(); err != nil {
		return err
	}
	fresh, err := d.watch(3*time.Minute, old.ID, func() (bool, error) {
		records, err := d.box.ContainerRecords(d.ctx, "app-node1")
		for _, r := range records {
			if r.ID == side.ID && r.Running() {
				return false, err
			}
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	if fresh.PodUID == old.PodUID {
		return errors.New("main runs again, but still as revision 1")
	}
	d.say("main runs as revision 2 (attempt %d), side too; the old sandbox is stopped", fresh.Attempt)
	return d.readBack(old)
}

// stuck shows for a while that nobody restarts the container.
func (d *demo) stuck(deadID string) error {
	var last string
	for end := time.Now().Add(brokenFor); time.Now().Before(end); {
		if err := d.pause(5 * time.Second); err != nil {
			return err
		}
		if c, err := d.box.RunningContainer(d.ctx, "app-node1", "main"); err == nil && c.ID != deadID {
			return errors.New("the kubelet restarted it: the bug did not show")
		}
		_, body, err := d.box.ContainerLogs(d.ctx, "kube-system", "app-node1", "main", false)
		if err != nil {
			return err
		}
		health := "ok"
		if err := d.box.Healthz(d.ctx); err != nil {
			health = err.Error()
		}
		if line := "kubelet: " + strings.TrimSpace(body) + "; healthz: " + health; line != last {
			last = line
			d.say("%s", line)
		}
	}
	if !strings.Contains(last, "is not available; healthz: ok") {
		return errors.New("not the error of the original report: " + last)
	}
	d.say("still down after %v, and it stays so: no agent runs", brokenFor)
	return nil
}
