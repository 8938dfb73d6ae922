//go:build world

package world

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Pod is a pod as somebody has written it: what its manifest says, and how its
// containers behave.
type Pod struct {
	Namespace, Name string
	// Static is a pod with a manifest; others come from the API server.
	Static      bool
	HostNetwork bool
	Policy      corev1.RestartPolicy
	// Grace is terminationGracePeriodSeconds, Deletion
	// metadata.deletionGracePeriodSeconds; 0 where they are not given.
	Grace, Deletion time.Duration
	// Deadline is activeDeadlineSeconds.
	Deadline time.Duration
	// Selector is set where the pod wants a label of the node that only the API
	// server has.
	Selector bool
	// Volume is a volume that may not come: "secret" is fetched anew with each
	// sync, "nfs" is mounted once for a process of the kubelet; empty for hostPath
	// and emptyDir.
	Volume string
	// HostPort is a port that no two pods can have; 0 for none.
	HostPort int
	// UID is metadata.uid, empty where there is none.
	UID string
	// OptOut is the annotation that keeps the agent away.
	OptOut bool
	// Labelled pods carry their revision in a label, as OpenShift's do.
	Labelled bool
	// Revision changes the content, Comment only the bytes.
	Revision, Comment int
	// Refused is what the kubelet says about the manifest; empty if it takes it.
	Refused string
	// Unseen is set where only the kubelet knows that it refuses it.
	Unseen bool
	Init   []Container
	Main   []Container
}

// Container is one container of a pod.
type Container struct {
	Name  string
	Image string
	Pull  corev1.PullPolicy
	// Sidecar is a restartable init container.
	Sidecar bool
	// Policy is the container's own restart policy; empty for the pod's.
	Policy corev1.ContainerRestartPolicy
	// Ends is how long it takes to obey SIGTERM; longer than its grace for one
	// that does not.
	Ends time.Duration
	// PreStop and PostStart are how long its hooks take; 0 for no hook.
	PreStop, PostStart time.Duration
	// Lives is how long it runs before it exits with Code; 0 for ever. A plain
	// init container exits always.
	Lives time.Duration
	Code  int32
	// Liveness is set where a probe can kill it.
	Liveness bool
}

// all are the containers in the order in which the kubelet starts them.
func (p *Pod) all() []*Container {
	out := make([]*Container, 0, len(p.Init)+len(p.Main))
	for i := range p.Init {
		out = append(out, &p.Init[i])
	}
	for i := range p.Main {
		out = append(out, &p.Main[i])
	}
	return out
}

func (p *Pod) find(name string) *Container {
	for _, c := range p.all() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// init tells whether a container is an init container.
func (p *Pod) init(name string) bool {
	for i := range p.Init {
		if p.Init[i].Name == name {
			return true
		}
	}
	return false
}

func (p *Pod) clone() *Pod {
	c := *p
	c.Init = append([]Container(nil), p.Init...)
	c.Main = append([]Container(nil), p.Main...)
	return &c
}

// defaultGrace is the API's default of terminationGracePeriodSeconds.
const defaultGrace = 30 * time.Second

func (p *Pod) spec() time.Duration {
	if p.Grace > 0 {
		return p.Grace
	}
	return defaultGrace
}

// grace is how long the kubelet lets the pod end: deletionGracePeriodSeconds
// comes first (kubelet pod_workers.go calculateEffectiveGracePeriod and
// kuberuntime_container.go setTerminationGracePeriod, v1.30 and v1.37).
func (p *Pod) grace() time.Duration {
	if p.Deletion > 0 {
		return p.Deletion
	}
	return p.spec()
}

// annotated is what the agent reads from the container's annotations.
func (p *Pod) annotated() time.Duration { return max(p.spec(), p.Deletion) }

// fullName is the name on this node: static pods carry the node's.
func (p *Pod) fullName(nodeName string) node.PodName {
	n := node.PodName{Namespace: p.Namespace, Name: p.Name}
	if p.Static {
		n.Name += "-" + nodeName
	}
	return n
}

// content is the pod that a file describes, for the kubelet's hash.
func (p *Pod) content() string {
	return p.Namespace + "/" + p.Name + "#" + strconv.Itoa(p.Revision) + p.UID
}

// object is the pod as a program parses it, with the kubelet's defaults.
func (p *Pod) object(nodeName string) *corev1.Pod {
	name := p.fullName(nodeName)
	o := &corev1.Pod{}
	o.Namespace, o.Name, o.UID = name.Namespace, name.Name, types.UID(p.UID)
	o.Spec.HostNetwork, o.Spec.RestartPolicy = p.HostNetwork, p.Policy
	if p.Grace > 0 {
		o.Spec.TerminationGracePeriodSeconds = seconds(p.Grace)
	}
	if p.Deletion > 0 {
		o.DeletionGracePeriodSeconds = seconds(p.Deletion)
	}
	if p.Deadline > 0 {
		o.Spec.ActiveDeadlineSeconds = seconds(p.Deadline)
	}
	if p.Selector {
		o.Spec.NodeSelector = map[string]string{apiLabel: ""}
	}
	switch p.Volume {
	case "secret":
		o.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "data"}}}}
	case "nfs":
		o.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs", Path: "/"}}}}
	default:
		o.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}}}}
	}
	o.Labels, o.Annotations = p.labels(), p.annotations()
	for i := range p.Init {
		o.Spec.InitContainers = append(o.Spec.InitContainers, p.Init[i].object(p, i == 0))
	}
	for i := range p.Main {
		o.Spec.Containers = append(o.Spec.Containers, p.Main[i].object(p, i == 0))
	}
	return o
}

// labels and annotations are copied to the sandbox by the kubelet.
func (p *Pod) labels() map[string]string {
	if p.Labelled {
		return map[string]string{"app": p.Name, "revision": strconv.Itoa(p.Revision)}
	}
	return nil
}

func (p *Pod) annotations() map[string]string {
	if p.OptOut {
		return map[string]string{optOut: "off"}
	}
	return nil
}

const (
	// apiLabel is a label that the API server alone gives a node.
	apiLabel = "node-role.kubernetes.io/master"
	// optOut is the annotation of the product's documentation.
	optOut = "nodekeeper.io/restart"
)

func seconds(d time.Duration) *int64 {
	n := int64(d / time.Second)
	return &n
}

func (c *Container) object(p *Pod, first bool) corev1.Container {
	o := corev1.Container{Name: c.Name, Image: c.Image, ImagePullPolicy: c.Pull}
	if c.Sidecar {
		always := corev1.ContainerRestartPolicyAlways
		o.RestartPolicy = &always
	} else if c.Policy != "" {
		policy := c.Policy
		o.RestartPolicy = &policy
	}
	hook := &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80)}}
	if c.PreStop > 0 || c.PostStart > 0 {
		o.Lifecycle = &corev1.Lifecycle{}
	}
	if c.PreStop > 0 {
		o.Lifecycle.PreStop = hook
	}
	if c.PostStart > 0 {
		o.Lifecycle.PostStart = hook
	}
	if c.Liveness {
		o.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: hook.HTTPGet}}
	}
	if first && p.HostPort > 0 {
		o.Ports = []corev1.ContainerPort{{ContainerPort: int32(p.HostPort), HostPort: int32(p.HostPort)}}
	}
	return o
}

func stamp(t time.Time) metav1.Time { return metav1.NewTime(t) }
