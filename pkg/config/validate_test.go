package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTheDefaultIsValid(t *testing.T) {
	if wrong := Validate(Default()); wrong != nil {
		t.Error(wrong)
	}
}

func TestEachRule(t *testing.T) {
	for _, c := range []struct {
		field string
		spoil func(*Configuration)
	}{
		{"apiVersion", func(c *Configuration) { c.APIVersion = "v1" }},
		{"kind", func(c *Configuration) { c.Kind = "Pod" }},
		{"interval", func(c *Configuration) { c.Interval.Duration = time.Second - 1 }},
		{"interval", func(c *Configuration) { c.Interval.Duration = time.Hour }},
		{"lookTimeout", func(c *Configuration) { c.LookTimeout.Duration = -1 }},
		{"directories.run", func(c *Configuration) { c.Directories.Run = "" }},
		{"directories.state", func(c *Configuration) { c.Directories.State = c.Directories.Run }},
		{"directories.log", func(c *Configuration) { c.Directories.Log = "log" }},
		{"directories.log", func(c *Configuration) { c.Directories.Log = "/var/../log" }},
		{"directories.log", func(c *Configuration) { c.Directories.Log = "/var\x00" }},
		{"kubelet.unit", func(c *Configuration) { c.Kubelet.Unit = "" }},
		{"kubelet.unit", func(c *Configuration) { c.Kubelet.Unit = "kubelet" }},
		{"kubelet.restartCommand[0]", func(c *Configuration) { c.Kubelet.RestartCommand = []string{"sv", "restart"} }},
		{"kubelet.config[1]", func(c *Configuration) { c.Kubelet.Config[1] = "config.yaml" }},
		{"kubelet.configDir", func(c *Configuration) { c.Kubelet.ConfigDir = "conf.d" }},
		{"kubelet.nodeName", func(c *Configuration) { c.Kubelet.NodeName = "Node1" }},
		{"kubelet.nodeName", func(c *Configuration) { c.Kubelet.NodeName = strings.Repeat("n", 254) }},
		{"kubelet.staticPodPath", func(c *Configuration) { c.Kubelet.StaticPodPath = "manifests" }},
		{"kubelet.maxContainerRestartPeriod", func(c *Configuration) { c.Kubelet.MaxContainerRestartPeriod = seconds(301) }},
		{"kubelet.featureGates", func(c *Configuration) { c.Kubelet.FeatureGates = map[string]bool{"A=": true} }},
		{"kubelet.podsAPISocket", func(c *Configuration) { c.Kubelet.PodsAPISocket = "unix:///run/x" }},
		{"kubelet.podsAPISocket", func(c *Configuration) { c.Kubelet.PodsAPISocket = "/" + strings.Repeat("x", maxSocketPath) }},
		{"kubelet.podsURL", func(c *Configuration) { c.Kubelet.PodsURL = "http://node1:10255/pods" }},
		{"kubelet.podsURL", func(c *Configuration) { c.Kubelet.PodsURL = "127.0.0.1:10250" }},
		{"kubelet.clientKey", func(c *Configuration) { c.Kubelet.ClientCertificate = "/c" }},
		{"kubelet.clientCertificate", func(c *Configuration) { c.Kubelet.ClientKey = "/c" }},
		{"kubelet.healthzURL", func(c *Configuration) { c.Kubelet.HealthzURL = "" }},
		{"runtime.unit", func(c *Configuration) { c.Runtime.Unit = ".service" }},
		{"runtime.socket", func(c *Configuration) { c.Runtime.Socket = "" }},
		{"runtime.ociRuntimes", func(c *Configuration) { c.Runtime.OCIRuntimes = nil }},
		{"runtime.ociRuntimes[0]", func(c *Configuration) { c.Runtime.OCIRuntimes[0] = "/usr/bin/runc" }},
		{"runtime.ociRuntimes[1]", func(c *Configuration) { c.Runtime.OCIRuntimes[1] = "runc" }},
		{"runtime.monitor", func(c *Configuration) { c.Runtime.Monitor = "" }},
		{"restart.looks", func(c *Configuration) { c.Restart.Looks = 0 }},
		{"restart.looks", func(c *Configuration) { c.Restart.Looks = 101 }},
		{"restart.busy.units[0]", func(c *Configuration) { c.Restart.Busy.Units[0] = "rpm-ostreed" }},
		{"restart.busy.programs[1]", func(c *Configuration) { c.Restart.Busy.Programs[1] = "/bin/sh" }},
		{"restart.breakerReset", func(c *Configuration) { c.Restart.BreakerReset = seconds(0) }},
		{"restart.jitter", func(c *Configuration) { c.Restart.Jitter = seconds(-1) }},
		{"restart.rejectedGaps", func(c *Configuration) { c.Restart.RejectedGaps = nil }},
		{"restart.rejectedGaps[0]", func(c *Configuration) { c.Restart.RejectedGaps[0] = seconds(0) }},
		{"restart.rejectedGaps[2]", func(c *Configuration) { c.Restart.RejectedGaps[2] = c.Restart.RejectedGaps[1] }},
		{"logs.podLogs", func(c *Configuration) { c.Logs.PodLogs = "pods" }},
		{"logs.exits", func(c *Configuration) { c.Logs.Exits = "exits" }},
		{"logs.nriSocket", func(c *Configuration) { c.Logs.NRISocket = "nri.sock" }},
		{"logs.hook.directory", func(c *Configuration) { c.Logs.Hook.Directory = "hooks.d" }},
		{"logs.hook.program", func(c *Configuration) { c.Logs.Hook.Program = "" }},
		{"logs.exclude[0]", func(c *Configuration) { c.Logs.Exclude = []string{"a/b/c"} }},
		{"logs.journalTail", func(c *Configuration) { c.Logs.JournalTail = "1Gi" }},
		{"logs.retention.maxUse", func(c *Configuration) { c.Logs.Retention.MaxUse = "lots" }},
		{"logs.retention.maxUsePercent", func(c *Configuration) { c.Logs.Retention.MaxUsePercent = 0 }},
		{"logs.retention.keepFreePercent", func(c *Configuration) { c.Logs.Retention.KeepFreePercent = 96 }},
		{"logs.retention.maxAge", func(c *Configuration) { c.Logs.Retention.MaxAge = seconds(1) }},
		{"logs.retention.maxRecords", func(c *Configuration) { c.Logs.Retention.MaxRecords = 0 }},
		{"logs.retention.maxBytesPerRecord", func(c *Configuration) { c.Logs.Retention.MaxBytesPerRecord, c.Logs.Retention.Head = "1Ki", "0" }},
		{"logs.retention.head", func(c *Configuration) { c.Logs.Retention.Head = "64Mi" }},
		{"logs.retention.first", func(c *Configuration) { c.Logs.Retention.First = -1 }},
		{"logs.retention.last", func(c *Configuration) { c.Logs.Retention.Last = 0 }},
		{"logs.retention.generations", func(c *Configuration) { c.Logs.Retention.Generations = -1 }},
		{"logs.retention.seriesEnd", func(c *Configuration) { c.Logs.Retention.SeriesEnd = seconds(0) }},
		{"proxy.listen", func(c *Configuration) { c.Proxy.Listen = "0.0.0.0:6444" }},
		{"proxy.listen", func(c *Configuration) { c.Proxy.Listen = "localhost:6444" }},
		{"proxy.kubeconfig", func(c *Configuration) { c.Proxy.Kubeconfig = "kubeconfig" }},
		{"proxy.derived", func(c *Configuration) { c.Proxy.Derived = c.Proxy.Kubeconfig }},
		{"proxy.certificates", func(c *Configuration) { c.Proxy.Certificates = "" }},
		{"proxy.previousCertificate", func(c *Configuration) { c.Proxy.PreviousCertificate = seconds(-1) }},
		{"proxy.killSwitch", func(c *Configuration) { c.Proxy.KillSwitch = "off" }},
		{"proxy.grace", func(c *Configuration) { c.Proxy.Grace = seconds(601) }},
		{"proxy.linger", func(c *Configuration) { c.Proxy.Linger = seconds(59) }},
		{"proxy.firstRead", func(c *Configuration) { c.Proxy.FirstRead = seconds(1) }},
		{"proxy.lists.perSecond", func(c *Configuration) { c.Proxy.Lists.PerSecond = 0 }},
		{"proxy.lists.credit", func(c *Configuration) { c.Proxy.Lists.Credit = -1 }},
		{"proxy.watches.burst", func(c *Configuration) { c.Proxy.Watches.Burst = 0 }},
		{"proxy.sentinels[0]", func(c *Configuration) { c.Proxy.Sentinels = []string{"A"} }},
		{"proxy.revalidate", func(c *Configuration) { c.Proxy.Revalidate = seconds(1) }},
		{"proxy.maxStreams", func(c *Configuration) { c.Proxy.MaxStreams = 0 }},
		{"proxy.maxObjects", func(c *Configuration) { c.Proxy.MaxObjects = 0 }},
		{"proxy.maxBytes", func(c *Configuration) { c.Proxy.MaxBytes = "x" }},
		{"proxy.maxObjectBytes", func(c *Configuration) { c.Proxy.MaxObjectBytes = "1" }},
		{"metrics.listen", func(c *Configuration) { c.Metrics.Listen = "0.0.0.0:9640" }},
		{"metrics.listen", func(c *Configuration) { c.Metrics.Listen = "127.0.0.1" }},
		{"announce.kubeconfig", func(c *Configuration) { c.Announce.Kubeconfig = "" }},
		{"restart.steps.stopSandbox.timeout", func(c *Configuration) { c.Restart.Steps.StopSandbox.Timeout = seconds(601) }},
		{"restart.steps.stopSandbox.settle", func(c *Configuration) { c.Restart.Steps.StopSandbox.Settle = seconds(0) }},
		{"restart.steps.stopSandbox.gap", func(c *Configuration) { c.Restart.Steps.StopSandbox.Gap = seconds(0) }},
		{"restart.steps.stopSandbox.gapMax", func(c *Configuration) { c.Restart.Steps.StopSandbox.GapMax = seconds(1) }},
		{"restart.steps.stopSandbox.perHour", func(c *Configuration) { c.Restart.Steps.StopSandbox.PerHour = -1 }},
	} {
		spoiled := Default()
		c.spoil(&spoiled)
		wrong := Validate(spoiled)
		if len(wrong) != 1 || wrong[0].Field != c.field {
			t.Errorf("want one error of %s, got %v", c.field, wrong)
		}
	}
}

// A duration that is added to the types and forgotten here would be taken as
// it comes.
func TestNoDurationIsForgotten(t *testing.T) {
	for _, path := range durations(reflect.TypeFor[Configuration](), "") {
		c := Default()
		field := reflect.ValueOf(&c).Elem()
		for _, name := range strings.Split(path, ".") {
			field, _ = fieldByName(field, name)
		}
		field.Set(reflect.ValueOf(seconds(-1)))
		named := false
		for _, e := range Validate(c) {
			named = named || e.Field == path
		}
		if !named {
			t.Errorf("%s may be negative", path)
		}
	}
}

func durations(in reflect.Type, path string) []string {
	var out []string
	for i := range in.NumField() {
		here := under(path, nameOf(in.Field(i)))
		switch kind := in.Field(i).Type; {
		case kind == reflect.TypeFor[Duration]():
			out = append(out, here)
		case kind.Kind() == reflect.Struct:
			out = append(out, durations(kind, here)...)
		}
	}
	return out
}

func TestHostsWithoutSystemd(t *testing.T) {
	c := Default()
	c.Kubelet.Unit, c.Kubelet.RestartCommand = "", []string{"/usr/bin/sv", "restart", "kubelet"}
	if wrong := Validate(c); wrong != nil {
		t.Error(wrong)
	}
}

func TestAddressesThatMayBeAsked(t *testing.T) {
	for url, fine := range map[string]bool{
		"https://127.0.0.1:10250/pods":  true,
		"https://localhost:10250/pods":  true,
		"https://[::1]:10250/pods":      true,
		"http://127.0.0.1:10255/pods":   true,
		"https://node1.example/pods":    true, // verified
		"http://node1.example/pods":     false,
		"http://192.0.2.1:10255/pods":   false,
		"http://127.0.0.1.example/pods": false,
		"127.0.0.1:10250":               false,
		"https://:10250/pods":           false,
		"unix:///run/x":                 false,
		"/pods":                         false,
		"ftp://127.0.0.1/":              false,
		"https://\x7f":                  false,
	} {
		if err := CheckURL(url); (err == nil) != fine {
			t.Errorf("%s: got error %v, want fine=%v", url, err, fine)
		}
	}
}
