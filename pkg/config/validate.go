package config

import (
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Bounds of durations. The upper ones are not wishes but typing errors: 90h
// where 90s was meant would switch the guarantee off.
const (
	second = time.Second
	day    = 24 * time.Hour
	// maxBackOff is the longest back-off that a kubelet can be set to.
	maxBackOff = 300 * second
)

// Validate returns everything that is wrong in a configuration, by field in
// the order of the types; nil if nothing is. It looks at the values only, not
// at the host.
func Validate(c Configuration) []FieldError {
	check := &check{}
	if c.APIVersion != APIVersion {
		check.add("apiVersion", "must be %s, not %q", APIVersion, c.APIVersion)
	}
	if c.Kind != Kind {
		check.add("kind", "must be %s, not %q", Kind, c.Kind)
	}
	check.between("interval", c.Interval, second, time.Minute)
	check.between("lookTimeout", c.LookTimeout, second, time.Minute)
	check.directories(c.Directories)
	check.kubelet(c.Kubelet)
	check.runtime(c.Runtime)
	check.restart(c.Restart)
	check.logs(c.Logs)
	check.proxy(c.Proxy)
	if c.Metrics.Listen != "" {
		check.loopback("metrics.listen", c.Metrics.Listen, "127.0.0.1:9640")
	}
	check.absolute("announce.kubeconfig", c.Announce.Kubeconfig)
	return check.errs
}

func (c *check) directories(d Directories) {
	c.absolute("directories.run", d.Run)
	c.absolute("directories.state", d.State)
	c.absolute("directories.log", d.Log)
	if d.Run == d.State && d.Run != "" {
		c.add("directories.state", "must not be directories.run: one outlives a boot and the other must not")
	}
}

// Names as Kubernetes has them: of a node (an RFC 1123 subdomain, lower case)
// and of a feature gate.
var (
	nodeName    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	featureGate = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
)

func (c *check) kubelet(k Kubelet) {
	if len(k.RestartCommand) == 0 || k.Unit != "" {
		c.service("kubelet.unit", k.Unit)
	}
	if len(k.RestartCommand) > 0 {
		c.absolute("kubelet.restartCommand[0]", k.RestartCommand[0])
	}
	for i, file := range k.Config {
		c.absolute(fmt.Sprintf("kubelet.config[%d]", i), file)
	}
	c.optional("kubelet.configDir", k.ConfigDir)
	if k.NodeName != "" && (len(k.NodeName) > 253 || !nodeName.MatchString(k.NodeName)) {
		c.add("kubelet.nodeName", "must be a node name in lower case, such as node1.example, not %q", k.NodeName)
	}
	c.optional("kubelet.staticPodPath", k.StaticPodPath)
	if k.MaxContainerRestartPeriod.Duration != 0 {
		c.between("kubelet.maxContainerRestartPeriod", k.MaxContainerRestartPeriod, second, maxBackOff)
	}
	for gate := range k.FeatureGates {
		if !featureGate.MatchString(gate) {
			c.add("kubelet.featureGates", "%q is not a feature gate's name", gate)
		}
	}
	if k.PodsAPISocket != "" {
		c.socket("kubelet.podsAPISocket", k.PodsAPISocket)
	}
	if k.PodsURL != "" {
		c.url("kubelet.podsURL", k.PodsURL)
	}
	c.optional("kubelet.clientCertificate", k.ClientCertificate)
	c.optional("kubelet.clientKey", k.ClientKey)
	switch {
	case k.ClientCertificate != "" && k.ClientKey == "":
		c.add("kubelet.clientKey", "must be set with kubelet.clientCertificate; it may be the same file")
	case k.ClientCertificate == "" && k.ClientKey != "":
		c.add("kubelet.clientCertificate", "must be set with kubelet.clientKey; it may be the same file")
	}
	c.url("kubelet.healthzURL", k.HealthzURL)
}

func (c *check) url(field, address string) {
	if err := CheckURL(address); err != nil {
		c.add(field, "%v", err)
	}
}

func (c *check) runtime(r Runtime) {
	c.service("runtime.unit", r.Unit)
	c.socket("runtime.socket", r.Socket)
	if len(r.OCIRuntimes) == 0 {
		c.add("runtime.ociRuntimes", "must name a program at least, such as runc: a hung call must be seen before a kubelet is restarted")
	}
	for i, name := range r.OCIRuntimes {
		field := fmt.Sprintf("runtime.ociRuntimes[%d]", i)
		c.program(field, name)
		if slices.Contains(r.OCIRuntimes[:i], name) {
			c.add(field, "%q is in the list already", name)
		}
	}
	c.program("runtime.monitor", r.Monitor)
}
