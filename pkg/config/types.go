package config

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Identity of the configuration file's format.
const (
	APIVersion = "nodekeeper.io/v1alpha1"
	Kind       = "Configuration"
	// DefaultPath is where the agent looks for its configuration.
	DefaultPath = "/etc/nodekeeper/config.yaml"
)

// Duration is written as Go writes durations: "90s", "2h", "1m30s".
type Duration = metav1.Duration

// Configuration is the whole file. Every field has a default; an empty file
// with apiVersion and kind is valid.
type Configuration struct {
	// APIVersion is nodekeeper.io/v1alpha1 and must be written.
	APIVersion string `json:"apiVersion"`
	// Kind is Configuration and must be written.
	Kind string `json:"kind"`

	// Interval is the time between two looks at the node, 1s to 1m.
	Interval Duration `json:"interval"`
	// LookTimeout bounds the sources of one look: a source that has not
	// answered by then counts as not answering.
	LookTimeout Duration `json:"lookTimeout"`

	// Directories are where the agent keeps its files.
	Directories Directories `json:"directories"`
	// Kubelet says how to find the kubelet and its settings.
	Kubelet Kubelet `json:"kubelet"`
	// Runtime says how to find the container runtime.
	Runtime Runtime `json:"runtime"`
	// Restart is the restart guarantee: when to act, how far to go.
	Restart Restart `json:"restart"`
	// Logs is the keeping of crash records.
	Logs Logs `json:"logs"`
	// Proxy is the watch guard, run by nodekeeper proxy.
	Proxy Proxy `json:"proxy"`
	// Metrics are the agent's, for Prometheus.
	Metrics Metrics `json:"metrics"`
	// Announce tells the API server how the node's static pods are.
	Announce Announce `json:"announce"`
}

// Metrics are the agent's, for Prometheus.
type Metrics struct {
	// Listen is the loopback address of /metrics and /healthz; empty for none.
	// They are for everybody on the node: what lets others see them has to ask
	// who they are, as kube-rbac-proxy does.
	Listen string `json:"listen"`
}

// Announce tells the API server how the node's static pods are, by Events and
// by one condition of the Node, while it answers.
type Announce struct {
	// Enabled announces. Nodes without an API server need not switch it off.
	Enabled bool `json:"enabled"`
	// Kubeconfig is the kubelet's own: what is announced is about this node and
	// its pods, which the kubelet may tell about. It is read and never written.
	Kubeconfig string `json:"kubeconfig"`
}

// Directories are where the agent keeps its files.
type Directories struct {
	// Run dies with the boot: sockets, observations, status.
	Run string `json:"run"`
	// State outlives a boot: act journal, budgets, pause.
	State string `json:"state"`
	// Log holds the crash records, and the evidence saved before acts. It is
	// best on the file system of the kubelet's pod logs: elsewhere logs are
	// copied instead of linked.
	Log string `json:"log"`
}

// Kubelet says how to find the kubelet and its settings. Fields that repeat a
// KubeletConfiguration field override it when they are not empty.
type Kubelet struct {
	// Unit is the kubelet's systemd service.
	Unit string `json:"unit"`
	// RestartCommand restarts the kubelet on hosts without systemd; empty
	// means that systemd does it.
	RestartCommand []string `json:"restartCommand"`
	// Config lists KubeletConfiguration files; the first that exists is read.
	Config []string `json:"config"`
	// ConfigDir is the kubelet's --config-dir with *.conf drop-ins; empty for
	// none.
	ConfigDir string `json:"configDir"`
	// NodeName overrides the kubelet's node name (default: the host name in
	// lower case).
	NodeName string `json:"nodeName"`
	// StaticPodPath overrides the manifest directory.
	StaticPodPath string `json:"staticPodPath"`
	// MaxContainerRestartPeriod overrides crashLoopBackOff's; 0 for no override.
	MaxContainerRestartPeriod Duration `json:"maxContainerRestartPeriod"`
	// FeatureGates override the kubelet's, by name.
	FeatureGates map[string]bool `json:"featureGates"`
	// PodsAPISocket is the kubelet's Pods API (Kubernetes 1.37).
	PodsAPISocket string `json:"podsAPISocket"`
	// PodsURL is the kubelet's /pods, used where the Pods API does not answer;
	// empty to never ask it. The kubelet's own certificate is accepted on
	// loopback addresses only.
	PodsURL string `json:"podsURL"`
	// ClientCertificate is the PEM file with the certificate presented to
	// PodsURL; empty, as is ClientKey then, to ask without one. It is read anew
	// when it changes. Its user needs the right to get nodes/pods or
	// nodes/proxy.
	ClientCertificate string `json:"clientCertificate"`
	// ClientKey is the PEM file with the key of ClientCertificate.
	ClientKey string `json:"clientKey"`
	// HealthzURL is the kubelet's healthz.
	HealthzURL string `json:"healthzURL"`
}

// Runtime says how to find the container runtime.
type Runtime struct {
	// Unit is the runtime's systemd service.
	Unit string `json:"unit"`
	// Socket is the CRI socket's path.
	Socket string `json:"socket"`
	// OCIRuntimes are the names of OCI runtime programs whose calls are watched
	// for hangs.
	OCIRuntimes []string `json:"ociRuntimes"`
	// Monitor is the name of the container monitor program.
	Monitor string `json:"monitor"`
}

// Restart is the restart guarantee.
type Restart struct {
	// DryRun judges and reports, and never acts.
	DryRun bool `json:"dryRun"`
	// Looks is how many equal looks in a row a verdict needs before an act.
	Looks int `json:"looks"`
	// Busy says what else changes a node; there is no act while it does.
	Busy Busy `json:"busy"`
	// HoldOffs are times in which nothing is done after something changed.
	HoldOffs HoldOffs `json:"holdOffs"`
	// Deadlines are how long each fault may last before an act.
	Deadlines Deadlines `json:"deadlines"`
	// Steps are what may be done.
	Steps Steps `json:"steps"`
	// AcceptCost restarts the kubelet also where that may end a static pod that
	// runs: one that requires a node label which only the API server gives, one of
	// two that want a host port, one too many for maxPods. Otherwise it is only
	// reported.
	AcceptCost bool `json:"acceptCost"`
	// BreakerReset is how long the agent only reports a fault after all steps
	// have been taken in vain.
	BreakerReset Duration `json:"breakerReset"`
	// RejectedGaps are the waits after each retry of a pod that the kubelet
	// rejected at admission; there are as many retries. The reason may be real.
	RejectedGaps []Duration `json:"rejectedGaps"`
	// Jitter is the longest random delay before a kubelet or runtime restart,
	// so that several nodes do not act in step.
	Jitter Duration `json:"jitter"`
}

// Busy says what else changes a node; there is no act while it does.
type Busy struct {
	// Units are systemd units that change the node while they are active.
	Units []string `json:"units"`
	// Programs are names of programs that change the node while they run;
	// a script's is the name of its file.
	Programs []string `json:"programs"`
}

// HoldOffs are times in which nothing is done after something changed.
type HoldOffs struct {
	// Boot counts from the start of the system.
	Boot Duration `json:"boot"`
	// KubeletStart counts from the start of the kubelet.
	KubeletStart Duration `json:"kubeletStart"`
	// RuntimeStart counts from the start of the container runtime.
	RuntimeStart Duration `json:"runtimeStart"`
	// ManifestChange counts from the last change of the pod's manifest, and is
	// added to the pod's termination grace period.
	ManifestChange Duration `json:"manifestChange"`
	// ClockStep counts from a jump of the wall clock.
	ClockStep Duration `json:"clockStep"`
}

// Deadlines are how long each fault may last before an act. Where a back-off
// is running, it is added.
type Deadlines struct {
	// FirstCrash is for a container that went down with no back-off running.
	FirstCrash Duration `json:"firstCrash"`
	// BackOffSlack is added to the end of the kubelet's back-off.
	BackOffSlack Duration `json:"backOffSlack"`
	// Blind is added to FirstCrash where the kubelet's view is not to be had, and
	// to the longest back-off where its journal does not tell either.
	Blind Duration `json:"blind"`
	// StaleRunning is for a container that CRI calls running and whose process
	// is gone.
	StaleRunning Duration `json:"staleRunning"`
	// WaitingForOld is added to the old pod's grace period, for a new revision
	// that waits behind a broken old one.
	WaitingForOld Duration `json:"waitingForOld"`
	// TwoGenerations is added to the old pod's grace period, for an old
	// sandbox that runs beside the new revision.
	TwoGenerations Duration `json:"twoGenerations"`
	// NeverStarted is added to the pod's grace period, for a manifest that the
	// kubelet has not begun to run.
	NeverStarted Duration `json:"neverStarted"`
	// Rejected is for a pod that the kubelet rejected at admission.
	Rejected Duration `json:"rejected"`
	// StartFailing is for a container whose start or creation keeps failing
	// and for which a cure is known.
	StartFailing Duration `json:"startFailing"`
	// Inverted is for a dead record that hides the real one because the clock
	// ran backwards.
	Inverted Duration `json:"inverted"`
	// KubeletDown is for a kubelet that is stopped, hung or failed.
	KubeletDown Duration `json:"kubeletDown"`
	// RuntimeDown is for a runtime that does not answer.
	RuntimeDown Duration `json:"runtimeDown"`
	// HungStart is for a container that waits for a hung create or start.
	HungStart Duration `json:"hungStart"`
	// HungCall is how long a create or start may take before it counts as hung.
	HungCall Duration `json:"hungCall"`
}

// Steps are what may be done, least destructive first.
type Steps struct {
	// StopContainer stops a container that CRI calls running and whose process
	// is gone. Its record and log stay.
	StopContainer Step `json:"stopContainer"`
	// RemoveContainer removes a container's record that stands in the way of
	// the next one. Its log is lost to the API.
	RemoveContainer Step `json:"removeContainer"`
	// StopOldSandbox stops the sandbox of an old revision beside a new one.
	StopOldSandbox Step `json:"stopOldSandbox"`
	// RestartKubelet restarts the kubelet's service. Containers keep running.
	RestartKubelet Step `json:"restartKubelet"`
	// StopSandbox stops a sandbox whose own process is gone, with all of its
	// containers, so that the kubelet makes a new one.
	StopSandbox Step `json:"stopSandbox"`
	// RestartRuntime restarts the container runtime's service.
	RestartRuntime Step `json:"restartRuntime"`
	// ReplaceManifest takes the manifest out of its directory and puts it back,
	// so that the kubelet admits the pod anew.
	ReplaceManifest Step `json:"replaceManifest"`
}

// Step is one kind of act.
type Step struct {
	// Enabled allows the step.
	Enabled bool `json:"enabled"`
	// Timeout bounds the call that carries the step out.
	Timeout Duration `json:"timeout"`
	// Settle is how long the step may take to show a result before the next
	// one is considered.
	Settle Duration `json:"settle"`
	// Gap is the least time between two such steps for one pod; it doubles
	// with each step in vain, up to GapMax.
	Gap Duration `json:"gap"`
	// GapMax is the longest Gap.
	GapMax Duration `json:"gapMax"`
	// PerHour bounds such steps on the whole node in an hour, for all reasons
	// together; 0 means no bound.
	PerHour int `json:"perHour"`
	// PerDay is the same for a day.
	PerDay int `json:"perDay"`
}

// Logs is the keeping of crash records: what each attempt of a static pod's
// container wrote, and how it ended.
type Logs struct {
	// Enabled keeps crash records.
	Enabled bool `json:"enabled"`
	// PodLogs is the kubelet's podLogsDir, which is watched for new logs.
	PodLogs string `json:"podLogs"`
	// Exits is where the container monitor tells of exits; empty to not watch
	// it.
	Exits string `json:"exits"`
	// NRISocket is the runtime's NRI socket, used as a second source of events
	// where it exists; empty to not use it.
	NRISocket string `json:"nriSocket"`
	// Hook is the OCI hook that links a log before its container begins.
	Hook Hook `json:"hook"`
	// Exclude lists pods that are not recorded, as NAMESPACE or NAMESPACE/POD;
	// * stands for any text.
	Exclude []string `json:"exclude"`
	// Retention says how much is kept.
	Retention Retention `json:"retention"`
	// JournalTail is how much of the end of a crashed container's log is put
	// into the journal; "0" for none.
	JournalTail Size `json:"journalTail"`
}

// Hook is the OCI hook that links a log before its container begins, also
// while the agent is not there.
type Hook struct {
	// Directory is where the agent writes the hook's JSON file; empty if
	// something else does, or if there is to be no hook. It must be one of
	// CRI-O's hooks_dir.
	Directory string `json:"directory"`
	// Program is the hook. Its path stays in every container that was made
	// with it, so it must not change from version to version.
	Program string `json:"program"`
}

// Retention says how much is kept. Only bytes that the kubelet has let go of
// count.
type Retention struct {
	// MaxUse is the most that all records may take.
	MaxUse Size `json:"maxUse"`
	// MaxUsePercent is the same in percent of the file system; the smaller one
	// holds.
	MaxUsePercent int `json:"maxUsePercent"`
	// KeepFreePercent of the file system are left free. With less, records may
	// take less than maxUse: in proportion, and with half of it nothing but the
	// facts. That half should not be below the kubelet's eviction threshold
	// (10), or records would be what causes evictions.
	KeepFreePercent int `json:"keepFreePercent"`
	// MaxAge is how long a record is kept.
	MaxAge Duration `json:"maxAge"`
	// MaxRecords is the most records of the whole node.
	MaxRecords int `json:"maxRecords"`
	// MaxBytesPerRecord is the most that one record takes on disk; its middle
	// goes first.
	MaxBytesPerRecord Size `json:"maxBytesPerRecord"`
	// Head is how much of the beginning of a longer record is kept.
	Head Size `json:"head"`
	// First is how many records are kept of the beginning of a container's
	// current series of crashes.
	First int `json:"first"`
	// Last is how many of a container's newest records are kept.
	Last int `json:"last"`
	// Generations is of how many earlier revisions and boots the newest record
	// of a container is kept.
	Generations int `json:"generations"`
	// SeriesEnd is how long a container must have run for its next crash to
	// begin a new series. The kubelet's back-off ends the same way.
	SeriesEnd Duration `json:"seriesEnd"`
	// Compress compresses logs that the kubelet has let go of.
	Compress bool `json:"compress"`
}

// Proxy is the watch guard: the kubelet's own way to its API server.
type Proxy struct {
	// Listen is the loopback address that the kubelet talks to. systemd's
	// socket unit wins.
	Listen string `json:"listen"`
	// Kubeconfig is the kubelet's own; it is read and never written.
	Kubeconfig string `json:"kubeconfig"`
	// Derived is the kubeconfig that leads the kubelet through the proxy.
	Derived string `json:"derived"`
	// Certificates is the directory with the kubelet's client certificates.
	Certificates string `json:"certificates"`
	// PreviousCertificate is how long the kubelet's previous certificate is
	// accepted after a rotation, unless the new one was used before.
	PreviousCertificate Duration `json:"previousCertificate"`
	// KillSwitch is a file that, while it exists, has the proxy pass all
	// connections on unread.
	KillSwitch string `json:"killSwitch"`
	// Grace is the time before a mutable object is watched at the API server.
	Grace Duration `json:"grace"`
	// Linger is how long an object is kept, and its watch with it, after the
	// kubelet's last request for it: longer than a restart of the kubelet.
	Linger Duration `json:"linger"`
	// FirstRead is how long the API server may take before a cached immutable
	// object is served unchecked: the kubelet gives up after a second.
	FirstRead Duration `json:"firstRead"`
	// Lists paces the proxy's own LIST requests.
	Lists Lists `json:"lists"`
	// Watches paces the proxy's own WATCH requests.
	Watches Rate `json:"watches"`
	// Sentinels are names of ConfigMaps that are the same in every namespace,
	// of which one is watched for all: kube-root-ca.crt and
	// openshift-service-ca.crt.
	Sentinels []string `json:"sentinels"`
	// Revalidate is the time between two checks of what is not watched.
	Revalidate Duration `json:"revalidate"`
	// MaxStreams is the most requests of the kubelet that are held open; past
	// it they are passed through.
	MaxStreams int `json:"maxStreams"`
	// MaxObjects is the most objects in memory.
	MaxObjects int `json:"maxObjects"`
	// MaxBytes is the most memory of all objects.
	MaxBytes Size `json:"maxBytes"`
	// MaxObjectBytes is the largest object that is kept.
	MaxObjectBytes Size `json:"maxObjectBytes"`
}

// Lists paces LIST requests.
type Lists struct {
	// PerSecond is the most in a second over time.
	PerSecond int `json:"perSecond"`
	// Burst is the most at once.
	Burst int `json:"burst"`
	// Credit is how many first reads may be asked ahead of perSecond, which is
	// paid back: the kubelet gives up after a second. Without the proxy each of
	// them would be a WATCH, at once. 0 has first reads keep to perSecond.
	Credit int `json:"credit"`
}

// Rate paces requests.
type Rate struct {
	// PerSecond is the most in a second over time.
	PerSecond int `json:"perSecond"`
	// Burst is the most at once.
	Burst int `json:"burst"`
}
