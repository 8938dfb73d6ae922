package machineconfig

import "fmt"

// File is one rendered file.
type File struct {
	// Path is relative, with slashes.
	Path    string
	Content []byte
}

// sizeLimit is for all MachineConfigs of a pool together, in bytes. The rendered
// configuration of a pool is one object, with everybody else's in it, and etcd
// takes 1.5 MiB.
const sizeLimit = 32 << 10

// Render renders one step for one pool. Its errors are about the options, one
// line for each thing that is wrong.
func Render(o Options) ([]File, error) {
	if o.Step == "" {
		o.Step = Install
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	effect, err := o.Effect()
	if err != nil {
		return nil, err
	}
	r := &rendering{Options: o, expander: expander{
		values: map[string]string{"ROLE": o.Role, "IMAGE": o.Image, "EFFECT": effect, "POOL": o.pool(), "MEMBER": o.member(), "GUARD": o.guard()},
		texts:  map[string]string{"settings": o.settings()},
	}}
	switch o.Step {
	case Install:
		r.machineConfigs("nodekeeper", "config")
		if o.has(Proxy) {
			r.machineConfigs("proxy")
		}
		r.object("node-disruption-policy.yaml", "node-disruption-policy.yaml")
		r.object("pinnedimageset.yaml", "pinnedimageset.yaml")
		r.object("examples/kubeletconfig.yaml", "kubeletconfig.yaml")
		if o.ownPool() {
			r.object("machineconfigpool.yaml", "machineconfigpool.yaml")
		}
	case Upgrade:
		r.machineConfigs("nodekeeper")
		// Its units and scripts belong to a version too.
		if o.has(Proxy) {
			r.machineConfigs("proxy")
		}
		r.object("pinnedimageset.yaml", "pinnedimageset.yaml")
	case Inert:
		r.machineConfigs("inert")
	case Uninstall:
		r.object("node-disruption-policy.yaml", "node-disruption-policy-leaving.yaml")
		r.object("node-disruption-policy-none.yaml", "node-disruption-policy-none.yaml")
	}
	r.add("README.md", r.source("guide/"+string(o.Step)+".md"))
	if r.err == nil && r.size > sizeLimit {
		r.err = fmt.Errorf("the MachineConfigs have %d bytes of %d: shorten the settings", r.size, sizeLimit)
	}
	return r.files, r.err
}

// rendering collects files until something goes wrong.
type rendering struct {
	Options
	expander
	files []File
	size  int
	err   error
}

func (r *rendering) add(path, text string) {
	r.files = append(r.files, File{path, []byte(text)})
}

// source is a source with everything filled in.
func (r *rendering) source(name string) string {
	text, err := r.expand(name)
	if err != nil && r.err == nil {
		r.err = err
	}
	return text
}

func (r *rendering) object(path, source string) {
	r.add(path, r.source("cluster/"+source))
}

// machineConfigs renders Butane sources, in each of the ways in which they get
// to a cluster.
func (r *rendering) machineConfigs(sources ...string) {
	for _, source := range sources {
		butane := r.source(source + ".bu")
		if r.err != nil {
			return
		}
		name, text, err := translate([]byte(butane))
		if err != nil {
			r.err = fmt.Errorf("%s.bu: %w", source, err)
			return
		}
		r.size += len(text)
		r.add("butane/"+name+".bu", butane)
		r.add("machineconfigs/"+name+".yaml", text)
		if r.Step == Install {
			r.add("openshift/"+name+".yaml", text)
		}
		if r.Role != "master" && r.Role != "arbiter" {
			r.values["NAME"], r.texts["machineconfig"] = name, text
			r.add("hypershift/"+name+".yaml", r.source("cluster/hypershift.yaml"))
		}
	}
}

// pool is the line of the guide that makes the pool.
func (o Options) pool() string {
	if !o.ownPool() {
		return ""
	}
	return "    oc apply -f machineconfigpool.yaml\n"
}

// member is the line of the guide that brings a node into the pool. Without one
// there is nothing to wait for.
func (o Options) member() string {
	if !o.ownPool() {
		return ""
	}
	return "    oc label node NODE node-role.kubernetes.io/" + o.Role + "=\n"
}

// guard is what the guide for another image says of the feature Proxy.
func (o Options) guard() string {
	if o.has(Proxy) {
		return "The units of the feature proxy are among them; a change of those reboots too."
	}
	return "Where the pool has the feature proxy, render with it: --features restart,logs,proxy.\nIts units and its wrapper of the kubelet stay those of before otherwise."
}
