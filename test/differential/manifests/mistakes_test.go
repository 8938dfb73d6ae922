package manifests

import (
	"fmt"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

type generator struct{ *rand.Rand }

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

func (g generator) chance(percent int) bool { return g.IntN(100) < percent }

// word is a name that is right, nearly right or wrong.
func (g generator) word() string {
	return pick(g, "", "a", "main", "a-b", "a.b", "A_B", "-a", "a b", "9a", "a/b", "x.io/a", "ä", "a:b", "a=b", strings.Repeat("a", 63), strings.Repeat("a", 64))
}

func (g generator) number() int64 {
	return pick[int64](g, -1, 0, 1, 2, 30, 80, 443, 65535, 65536, 70000, 1<<31-1, 1<<31)
}

func (g generator) small() int32 { return int32(min(g.number(), 1<<31-1)) }

func (g generator) quantity() resource.Quantity {
	return resource.MustParse(pick(g, "0", "1", "2", "1500m", "64Mi", "128Mi", "-1", "3Mi", "1Gi"))
}

// pod is one that every kubelet runs.
func (g generator) pod(i int) *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i), Namespace: pick(g, "", "default", "kube-system")},
	}
	spec := &pod.Spec
	spec.HostNetwork = g.chance(40)
	spec.RestartPolicy = pick[corev1.RestartPolicy](g, "", "Always", "OnFailure", "Never")
	spec.Volumes = []corev1.Volume{
		{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/a"}}},
		{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	spec.Containers = []corev1.Container{{Name: "main", Image: pick(g, "a", "a:1", "a:latest", "example.test:5000/a/b")}}
	if g.chance(40) {
		spec.Containers = append(spec.Containers, corev1.Container{Name: "side", Image: "b:1"})
	}
	if g.chance(50) {
		spec.InitContainers = []corev1.Container{{Name: "init", Image: "c:1"}}
		if g.chance(50) {
			spec.InitContainers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
	}
	return pod
}

func (g generator) container(pod *corev1.Pod) *corev1.Container {
	if len(pod.Spec.InitContainers) > 0 && g.chance(30) {
		return &pod.Spec.InitContainers[0]
	}
	return &pod.Spec.Containers[g.IntN(len(pod.Spec.Containers))]
}

func (g generator) handler() corev1.ProbeHandler {
	var h corev1.ProbeHandler
	for range pick(g, 0, 1, 1, 1, 1, 1, 2) {
		switch g.IntN(4) {
		case 0:
			h.Exec = &corev1.ExecAction{Command: pick(g, nil, []string{"true"})}
		case 1:
			h.HTTPGet = &corev1.HTTPGetAction{Path: pick(g, "", "/x"), Port: g.port(), Scheme: pick[corev1.URIScheme](g, "", "HTTP", "HTTPS", "https", "FTP")}
			if g.chance(30) {
				h.HTTPGet.HTTPHeaders = []corev1.HTTPHeader{{Name: pick(g, "", "X-A", "X A"), Value: "v"}}
			}
		case 2:
			h.TCPSocket = &corev1.TCPSocketAction{Port: g.port()}
		case 3:
			h.GRPC = &corev1.GRPCAction{Port: g.small(), Service: pick(g, nil, ptr.To("s"))}
		}
	}
	return h
}

func (g generator) port() intstr.IntOrString {
	return pick(g, intstr.FromInt32(80), intstr.FromInt32(g.small()), intstr.FromString("http"), intstr.FromString(""), intstr.FromString("80"), intstr.FromString("No_Name"), intstr.IntOrString{})
}

func (g generator) probe() *corev1.Probe {
	p := &corev1.Probe{ProbeHandler: g.handler()}
	for _, n := range []*int32{&p.InitialDelaySeconds, &p.TimeoutSeconds, &p.PeriodSeconds, &p.SuccessThreshold, &p.FailureThreshold} {
		*n = pick[int32](g, 0, 0, 0, 0, 1, 1, 2, -1)
	}
	p.TerminationGracePeriodSeconds = pick(g, nil, nil, nil, ptr.To[int64](5), ptr.To[int64](0))
	return p
}

func (g generator) fieldRef() *corev1.ObjectFieldSelector {
	return &corev1.ObjectFieldSelector{APIVersion: pick(g, "", "", "v1", "v2"), FieldPath: pick(g, "metadata.name", "metadata.labels", "status.hostIP", "status.hostIPs", "spec.host",
		"status.phase", "metadata.labels['a']", "metadata.labels['a b']", "metadata.annotations['A/b']", "spec['a']", "")}
}

func (g generator) resourceRef() *corev1.ResourceFieldSelector {
	return &corev1.ResourceFieldSelector{ContainerName: pick(g, "", "main"), Resource: pick(g, "limits.cpu", "limits.gpu", "limits.hugepages-2Mi", "")}
}

func (g generator) items() []corev1.KeyToPath {
	if g.chance(50) {
		return nil
	}
	return []corev1.KeyToPath{{Key: pick(g, "k", "k", ""), Path: pick(g, "p", "p", "", "/p", "a/../b", "..p"), Mode: pick(g, nil, nil, ptr.To[int32](0o600), ptr.To[int32](0o1000))}}
}

func (g generator) downward() []corev1.DownwardAPIVolumeFile {
	file := corev1.DownwardAPIVolumeFile{Path: pick(g, "p", "p", "", "/p", "../p")}
	if g.chance(70) {
		file.FieldRef = g.fieldRef()
	}
	if g.chance(30) {
		file.ResourceFieldRef = g.resourceRef()
	}
	return []corev1.DownwardAPIVolumeFile{file}
}

func (g generator) rules() (rules []corev1.ContainerRestartRule) {
	for range pick(g, 0, 1, 1, 2, 21) {
		rule := corev1.ContainerRestartRule{Action: pick[corev1.ContainerRestartRuleAction](g, "Restart", "Restart", "RestartAllContainers", "Shrug")}
		if !g.chance(10) {
			rule.ExitCodes = &corev1.ContainerRestartRuleOnExitCodes{Operator: pick[corev1.ContainerRestartRuleOnExitCodesOperator](g, "In", "NotIn", "Near"),
				Values: make([]int32, pick(g, 0, 1, 1, 256))}
		}
		rules = append(rules, rule)
	}
	return rules
}

// mistakes are the kinds of it. Each sets something that may be right as well.
var mistakes = []struct {
	kind string
	make func(generator, *corev1.Pod)
}{
	{"name", func(g generator, p *corev1.Pod) { p.Name += pick(g, "", "_", ".a", "A", strings.Repeat("a", 260)) }},
	{"namespace", func(g generator, p *corev1.Pod) { p.Namespace = g.word() }},
	{"labels", func(g generator, p *corev1.Pod) { p.Labels = map[string]string{g.word(): g.word()} }},
	{"annotations", func(g generator, p *corev1.Pod) {
		p.Annotations = map[string]string{g.word(): strings.Repeat("a", pick(g, 1, 1, 1, 300<<10))}
	}},
	{"pod restart policy", func(g generator, p *corev1.Pod) {
		p.Spec.RestartPolicy = pick[corev1.RestartPolicy](g, "always", "Sometimes", "Always")
	}},
	{"DNS policy", func(g generator, p *corev1.Pod) {
		p.Spec.DNSPolicy = pick[corev1.DNSPolicy](g, "", "Default", "None", "None", "Cluster")
		if g.chance(70) {
			p.Spec.DNSConfig = &corev1.PodDNSConfig{Nameservers: pick(g, nil, []string{"10.0.0.1"}, []string{"10.0.0.300"}, []string{"fd00::1", "1.1.1.1", "2.2.2.2", "3.3.3.3"}),
				Searches: pick(g, nil, []string{"a.b"}, []string{"."}, []string{"_a.b"}, []string{"a b"}, make([]string, 33)), Options: []corev1.PodDNSConfigOption{{Name: pick(g, "", "ndots")}}}
		}
	}},
	{"deadline", func(g generator, p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To(g.number()) }},
	{"grace period", func(g generator, p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = ptr.To(g.number()) }},
	{"host names", func(g generator, p *corev1.Pod) {
		switch g.IntN(6) {
		case 0:
			p.Spec.Hostname = g.word()
		case 1:
			p.Spec.Subdomain = g.word()
		case 2:
			p.Spec.PriorityClassName = g.word()
		case 3:
			p.Spec.RuntimeClassName = ptr.To(g.word())
		case 4:
			p.Spec.HostnameOverride = ptr.To(g.word())
			p.Spec.SetHostnameAsFQDN = pick(g, nil, ptr.To(true))
		case 5:
			p.Spec.HostAliases = []corev1.HostAlias{{IP: pick(g, "", "1.2.3.4", "1.2.3", "::1"), Hostnames: []string{g.word()}}}
		}
	}},
	{"node selector", func(g generator, p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{g.word(): g.word()} }},
	{"tolerations", func(g generator, p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: g.word(), Operator: pick[corev1.TolerationOperator](g, "", "Equal", "Exists", "Exists", "Lt", "In"), Value: pick(g, "", "", "v", "1", "a b"),
			Effect: pick[corev1.TaintEffect](g, "", "NoExecute", "NoSchedule", "No"), TolerationSeconds: pick(g, nil, nil, ptr.To[int64](5))}}
	}},
	{"scheduling", func(g generator, p *corev1.Pod) {
		switch g.IntN(5) {
		case 0:
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "a"}}
		case 1:
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e", Image: "e"}}}
		case 2:
			p.Spec.PreemptionPolicy = ptr.To(pick[corev1.PreemptionPolicy](g, "", "Never", "Sometimes"))
		case 3:
			p.Spec.Priority = ptr.To(g.small())
		case 4:
			p.Spec.OS = &corev1.PodOS{Name: pick[corev1.OSName](g, "", "linux", "macos")}
		}
	}},
	{"host namespaces", func(g generator, p *corev1.Pod) {
		p.Spec.HostPID, p.Spec.HostIPC = g.chance(50), g.chance(30)
		p.Spec.ShareProcessNamespace = pick(g, nil, ptr.To(true), ptr.To(false))
		p.Spec.HostUsers = pick(g, nil, ptr.To(true), ptr.To(false))
	}},
	{"references", func(g generator, p *corev1.Pod) {
		c := g.container(p)
		switch g.IntN(6) {
		case 0:
			p.Spec.ServiceAccountName = pick(g, "", "default", "A_B")
			p.Spec.DeprecatedServiceAccount = pick(g, "", "other")
		case 1:
			p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: pick(g, "", "s")}}
		case 2:
			c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: pick(g, "", "s")}}}}
		case 3:
			c.Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: pick(g, "", "m")}, Key: "k"}}}}
		case 4:
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: ptr.To("c")}}
		case 5:
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "claim", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}})
		}
	}},
	{"volumes", func(g generator, p *corev1.Pod) {
		v := corev1.Volume{Name: pick(g, "", "host", "v", "v", "v", "v", "a.b")}
		for range pick(g, 0, 1, 1, 1, 1, 1, 2) {
			switch g.IntN(7) {
			case 0:
				v.HostPath = &corev1.HostPathVolumeSource{Path: pick(g, "", "/a", "a", "/a/../b"), Type: pick(g, nil, ptr.To(corev1.HostPathFile), ptr.To[corev1.HostPathType]("Dir"))}
			case 1:
				v.EmptyDir = &corev1.EmptyDirVolumeSource{Medium: pick[corev1.StorageMedium](g, "", "Memory", "Paper"), SizeLimit: pick(g, nil, ptr.To(g.quantity()))}
			case 2:
				v.NFS = &corev1.NFSVolumeSource{Server: pick(g, "", "s"), Path: pick(g, "", "/p", "p")}
			case 3:
				v.Secret = &corev1.SecretVolumeSource{SecretName: pick(g, "", "s"), Items: g.items(), DefaultMode: pick(g, nil, ptr.To(g.small()))}
			case 4:
				v.DownwardAPI = &corev1.DownwardAPIVolumeSource{Items: g.downward(), DefaultMode: pick(g, nil, nil, ptr.To(g.small()))}
			case 5:
				v.Image = &corev1.ImageVolumeSource{Reference: pick(g, "", "a:1"), PullPolicy: pick[corev1.PullPolicy](g, "", "Always", "Often")}
			case 6:
				v.Projected = &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{pick(g,
					corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{Items: g.downward()}},
					corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t"}},
					corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: ptr.To("b"), Path: "b"}},
					corev1.VolumeProjection{})}}
			}
		}
		p.Spec.Volumes = append(p.Spec.Volumes, v)
	}},
	{"mounts", func(g generator, p *corev1.Pod) {
		c := g.container(p)
		for range pick(g, 1, 2) {
			m := corev1.VolumeMount{Name: pick(g, "host", "host", "empty", "none", ""), MountPath: pick(g, "/a", "/b", "/c", "")}
			m.SubPath = pick(g, "", "", "", "a", "/a", "../a", "a..b")
			m.SubPathExpr = pick(g, "", "", "", "$(A)", "/$(A)")
			m.ReadOnly = g.chance(50)
			m.MountPropagation = pick(g, nil, nil, ptr.To(corev1.MountPropagationBidirectional), ptr.To(corev1.MountPropagationHostToContainer), ptr.To[corev1.MountPropagationMode]("Both"))
			m.RecursiveReadOnly = pick(g, nil, nil, nil, ptr.To(corev1.RecursiveReadOnlyEnabled), ptr.To[corev1.RecursiveReadOnlyMode]("Yes"))
			c.VolumeMounts = append(c.VolumeMounts, m)
		}
		if g.chance(30) {
			c.SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
		}
		if g.chance(10) {
			c.VolumeDevices = []corev1.VolumeDevice{{Name: pick(g, "empty", "none"), DevicePath: "/d"}}
		}
	}},
	{"container names", func(g generator, p *corev1.Pod) { g.container(p).Name = pick(g, g.word(), "main", "side") }},
	{"images", func(g generator, p *corev1.Pod) {
		c := g.container(p)
		c.Image = pick(g, "", " a", "a ", " ", "a@sha256:"+strings.Repeat("0", 64))
		c.ImagePullPolicy = pick[corev1.PullPolicy](g, "", "", "Always", "Never", "Allways")
	}},
	{"pull policy", func(g generator, p *corev1.Pod) {
		g.container(p).ImagePullPolicy = pick[corev1.PullPolicy](g, "Always", "IfNotPresent", "Allways", "never")
	}},
	{"termination message", func(g generator, p *corev1.Pod) {
		g.container(p).TerminationMessagePolicy = pick[corev1.TerminationMessagePolicy](g, "File", "FallbackToLogsOnError", "Log")
	}},
	{"ports", func(g generator, p *corev1.Pod) {
		for range pick(g, 1, 2, 3) {
			c := g.container(p)
			c.Ports = append(c.Ports, corev1.ContainerPort{Name: pick(g, "", "", "http", "No", "a-very-long-port-name", "123"), ContainerPort: pick(g, 80, 81, g.small()),
				HostPort: pick(g, 0, 0, 80, g.small()), Protocol: pick[corev1.Protocol](g, "", "", "TCP", "UDP", "tcp"), HostIP: pick(g, "", "", "127.0.0.1", "x")})
		}
	}},
	{"environment", func(g generator, p *corev1.Pod) {
		c := g.container(p)
		env := corev1.EnvVar{Name: pick(g, "A", g.word())}
		if g.chance(60) {
			env.ValueFrom = &corev1.EnvVarSource{}
			for range pick(g, 0, 1, 1, 1, 2) {
				switch g.IntN(3) {
				case 0:
					env.ValueFrom.FieldRef = g.fieldRef()
				case 1:
					env.ValueFrom.ResourceFieldRef = g.resourceRef()
				case 2:
					env.ValueFrom.FileKeyRef = &corev1.FileKeySelector{VolumeName: pick(g, "host", "empty", "empty", "none"), Path: pick(g, "p", "p", "", "../p"), Key: pick(g, "K", "K", "", "A=B")}
				}
			}
		}
		if env.ValueFrom == nil || g.chance(20) {
			env.Value = "v"
		}
		c.Env = append(c.Env, env)
		if g.chance(20) {
			c.EnvFrom = []corev1.EnvFromSource{{Prefix: g.word()}}
		}
	}},
	{"resources", func(g generator, p *corev1.Pod) {
		c := g.container(p)
		name := func() corev1.ResourceName {
			return pick[corev1.ResourceName](g, "cpu", "cpu", "memory", "memory", "pods", "gpu", "example.com/gpu", "hugepages-2Mi", "hugepages-x", "kubernetes.io/a", "requests.example.com/a", "a b")
		}
		c.Resources.Requests, c.Resources.Limits = corev1.ResourceList{}, corev1.ResourceList{}
		for range pick(g, 1, 2) {
			c.Resources.Requests[name()] = g.quantity()
		}
		for range pick(g, 0, 1, 1, 2) {
			c.Resources.Limits[name()] = g.quantity()
		}
		if g.chance(5) {
			c.Resources.Claims = []corev1.ResourceClaim{{Name: "none"}}
		}
	}},
	{"resize policy", func(g generator, p *corev1.Pod) {
		g.container(p).ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: pick[corev1.ResourceName](g, "cpu", "memory", "disk", ""),
			RestartPolicy: pick[corev1.ResourceResizeRestartPolicy](g, "NotRequired", "RestartContainer", "")}}
	}},
	{"probes", func(g generator, p *corev1.Pod) {
		c := g.container(p)
		*pick(g, &c.LivenessProbe, &c.ReadinessProbe, &c.StartupProbe) = g.probe()
	}},
	{"lifecycle", func(g generator, p *corev1.Pod) {
		h := g.handler()
		hook := &corev1.LifecycleHandler{Exec: h.Exec, HTTPGet: h.HTTPGet, TCPSocket: h.TCPSocket}
		if g.chance(30) {
			hook.Sleep = &corev1.SleepAction{Seconds: g.number()}
		}
		lifecycle := &corev1.Lifecycle{}
		*pick(g, &lifecycle.PostStart, &lifecycle.PreStop) = hook
		if g.chance(20) {
			lifecycle.StopSignal = ptr.To(corev1.SIGTERM)
			p.Spec.OS = pick(g, nil, &corev1.PodOS{Name: "linux"})
		}
		g.container(p).Lifecycle = lifecycle
	}},
	{"container restart policy", func(g generator, p *corev1.Pod) {
		c := g.container(p)
		c.RestartPolicy = pick(g, nil, ptr.To(corev1.ContainerRestartPolicyAlways), ptr.To(corev1.ContainerRestartPolicyAlways), ptr.To(corev1.ContainerRestartPolicyNever),
			ptr.To(corev1.ContainerRestartPolicyOnFailure), ptr.To[corev1.ContainerRestartPolicy]("Sometimes"))
		if g.chance(60) {
			c.RestartPolicyRules = g.rules()
		}
	}},
	{"security of a container", func(g generator, p *corev1.Pod) {
		sc := &corev1.SecurityContext{
			RunAsUser: pick(g, nil, ptr.To(g.number())), RunAsGroup: pick(g, nil, ptr.To(g.number())), Privileged: pick(g, nil, ptr.To(true)), AllowPrivilegeEscalation: pick(g, nil, ptr.To(false)),
			ProcMount: pick(g, nil, nil, ptr.To(corev1.DefaultProcMount), ptr.To(corev1.UnmaskedProcMount), ptr.To[corev1.ProcMountType]("None")),
		}
		if g.chance(30) {
			sc.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{pick[corev1.Capability](g, "CAP_SYS_ADMIN", "SYS_ADMIN")}}
		}
		g.container(p).SecurityContext = sc
	}},
	{"security of the pod", func(g generator, p *corev1.Pod) {
		sc := &corev1.PodSecurityContext{
			FSGroup: pick(g, nil, ptr.To(g.number())), RunAsUser: pick(g, nil, ptr.To(g.number())), SupplementalGroups: pick(g, nil, []int64{g.number()}),
			FSGroupChangePolicy: pick(g, nil, ptr.To(corev1.FSGroupChangeAlways), ptr.To[corev1.PodFSGroupChangePolicy]("Never")),
		}
		if g.chance(30) {
			sc.Sysctls = []corev1.Sysctl{{Name: pick(g, "", "net.ipv4.ip_forward", "kernel.shm_rmid_forced"), Value: "1"}}
		}
		if g.chance(40) {
			sc.SeccompProfile = &corev1.SeccompProfile{Type: pick[corev1.SeccompProfileType](g, "", "Localhost", "RuntimeDefault", "Default"), LocalhostProfile: pick(g, nil, ptr.To("p.json"), ptr.To("/p.json"))}
		}
		if g.chance(40) {
			sc.AppArmorProfile = &corev1.AppArmorProfile{Type: pick[corev1.AppArmorProfileType](g, "", "Localhost", "RuntimeDefault"), LocalhostProfile: pick(g, nil, ptr.To("p"), ptr.To(" p"), ptr.To(""))}
		}
		p.Spec.SecurityContext = sc
	}},
}
