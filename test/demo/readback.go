package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/test/node"
)

// readBack prints the dead container's last lines as an admin gets them who
// cannot log in to the node: through the kubelet's /logs/, and with
// `oc nodekeeper` once the API server answers.
func (d *demo) readBack(dead node.Container) error {
	var e record.Entry
	if err := d.until(time.Minute, "the crash is recorded", func() (bool, error) {
		data, err := d.box.ReadFile(path.Join(record.DefaultRoot, record.IndexFile))
		if err != nil {
			return false, nil
		}
		var index record.Index
		if err := record.Decode(data, &index); err != nil {
			return false, err
		}
		for _, r := range index.Records {
			if r.ContainerID == dead.ID {
				e = r
				return true, nil
			}
		}
		return false, nil
	}); err != nil {
		return err
	}
	d.say("the crash is on record: %s, %s; it led to acts %s", e.Class, e.ClassReason, strings.Join(e.Acts, ", "))
	name := path.Join("/logs/nodekeeper", e.Path, e.Segments[len(e.Segments)-1].Name)
	status, body, err := d.box.KubeletGet(d.ctx, name)
	if err != nil || status != 200 {
		return fmt.Errorf("GET %s: status %d, %w", name, status, err)
	}
	d.say("GET :10250%s", name)
	if err := d.quote(body); err != nil {
		return err
	}

	if err := d.box.OpenAPI(d.ctx); err != nil {
		return err
	}
	d.say("the API server answers now")
	const program = "/usr/local/bin/kubectl-nodekeeper"
	plugin, err := os.ReadFile(filepath.Join(filepath.Dir(d.program), "kubectl-nodekeeper"))
	if err != nil {
		return fmt.Errorf("find the plugin: %w", err)
	}
	if err := d.box.WriteFile(program, plugin, 0o755); err != nil {
		return err
	}
	args := []string{"logs", "kube-system/app-node1", "-c", "main", "--node", d.box.Name, "--crash", e.ID, "--tail", "2"}
	var out string
	if err := d.until(time.Minute, "oc nodekeeper logs answers", func() (bool, error) {
		out, _, err = d.box.Exec(d.ctx, append([]string{program, "--kubeconfig", node.AdminKubeconfig}, args...)...)
		return err == nil, nil
	}); err != nil {
		return err
	}
	d.say("oc nodekeeper %s", strings.Join(args, " "))
	return d.quote(out)
}

// quote prints the last two lines of a log, which must be the workload's.
func (d *demo) quote(text string) error {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if !strings.Contains(text, "tick ") {
		return errors.New("not the dead container's log: " + text)
	}
	for _, line := range lines[max(0, len(lines)-2):] {
		d.say("    %s", line)
	}
	return nil
}
