package main

import "time"

// lostExit is a container whose conmon and first process died together: CRI-O
// never learns of its end, and everybody says that it runs.
func lostExit(d *demo) error {
	if err := d.introduce(""); err != nil {
		return err
	}
	if err := d.put("1"); err != nil {
		return err
	}
	main, err := d.running("", "main")
	if err != nil {
		return err
	}
	side, err := d.running("", "side")
	if err != nil {
		return err
	}
	d.say("static pod app: main (process %d) and side run", main.PID)
	if err := d.box.KillMonitorAndInit(d.ctx, main.ID); err != nil {
		return err
	}
	d.say("conmon and first process of main are killed together")
	if err := d.pause(brokenFor); err != nil {
		return err
	}
	records, err := d.box.ContainerRecords(d.ctx, "app-node1")
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.ID == main.ID && !r.Running() {
			return errNotShown
		}
	}
	d.say("after %v CRI-O still says running, the kubelet believes it; healthz: ok", brokenFor)
	if err := d.startAgent(); err != nil {
		return err
	}
	fresh, err := d.watch(3*time.Minute, main.ID, nil)
	if err != nil {
		return err
	}
	again, err := d.running("", "side")
	if err != nil {
		return err
	}
	if again.ID != side.ID {
		return errSibling
	}
	d.say("main runs again (attempt %d, process %d); side was not touched", fresh.Attempt, fresh.PID)
	return nil
}
