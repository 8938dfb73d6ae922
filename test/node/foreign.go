package node

import (
	"context"
	"fmt"
	"strings"
)

// RunForeign has runc run the workload as a container that neither CRI-O nor
// the kubelet know, in a unit NAME.service. Runc's own process and the container
// are in that unit's control group, or, when group is not empty, in that one: a
// path below each hierarchy, such as that of a container in a pod that builds
// images. The undo ends all of it.
func (b *Box) RunForeign(ctx context.Context, name, group string) (undo func(context.Context) error, err error) {
	bundle := "/run/box/foreign/" + name
	script := `set -e
mkdir -p ` + bundle + `/rootfs
cp /opt/box/programs/workload ` + bundle + `/rootfs/
cd ` + bundle + `
[ -e config.json ] || runc spec
sed -i -e 's/"terminal": true/"terminal": false/' -e 's|"sh"|"/workload", "--print", "10s"|' -e 's|"cgroupsPath".*||' config.json
`
	if group != "" {
		script += `sed -i 's|"linux": {|"linux": {"cgroupsPath": "` + group + `/` + name + `",|' config.json
for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/*; do
  # A new cpuset takes no process.
  [ -e $hierarchy/cgroup.procs ] && [ ! -e $hierarchy/cpuset.cpus ] || continue
  mkdir -p $hierarchy` + group + `
  echo $$ > $hierarchy` + group + `/cgroup.procs
done
`
	}
	script += "exec runc --root /run/box/foreign/state run " + name + "\n"
	if err := b.WriteFile(bundle+".sh", []byte(script), 0o755); err != nil {
		return nil, err
	}
	if _, _, err := b.Exec(ctx, "systemd-run", "--collect", "--unit="+name, "/bin/sh", bundle+".sh"); err != nil {
		return nil, fmt.Errorf("run a foreign container in box %s: %w", b.Name, err)
	}
	runc := []string{"runc", "--root", "/run/box/foreign/state"}
	undo = func(ctx context.Context) error {
		if _, _, err := b.Exec(ctx, append(runc, "delete", "--force", name)...); err != nil {
			return err
		}
		_, err := b.Systemctl(ctx, "stop", name)
		// Its unit is gone with its last process.
		if err != nil && !strings.Contains(err.Error(), "not loaded") {
			return err
		}
		return nil
	}
	return undo, poll(ctx, "foreign container "+name, func() error {
		state, _, err := b.Exec(ctx, append(runc, "state", name)...)
		if err == nil && !strings.Contains(state, `"status": "running"`) {
			err = fmt.Errorf("its state: %s", state)
		}
		return err
	})
}
