package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// still is a node on which nothing happens but what its fields say.
type still struct {
	units    map[string]Unit
	process  KubeletProcess
	settings Settings
	intent   Intent
	runtime  Runtime
	kubelet  Kubelet
	down     error
	// asked are the questions that not each look asks.
	asked *[]string
}

func (still) Now() Instant   { return Instant{} }
func (still) BootID() string { return "boot" }
func (s still) Identify(context.Context, Unit) (KubeletProcess, Settings) {
	return s.process, s.settings
}
func (s still) Read(string, string) Intent                 { return s.intent }
func (s still) Runtime(context.Context) Runtime            { return s.runtime }
func (s still) Kubelet(context.Context, string) Kubelet    { return s.kubelet }
func (s still) ShuttingDown(context.Context) (bool, error) { return false, s.down }
func (s still) LastJob(_ context.Context, n string) Job    { return Job{Type: "stop", Result: n} }
func (s still) Told(_ context.Context, p KubeletProcess) Told {
	s.ask("journal")
	return Told{From: p.Started}
}
func (s still) Gates(map[string]bool, bool) {}
func (s still) For(version string)          { s.ask("rules of " + version) }
func (s still) Images(_ context.Context, names []string) map[string]Answer {
	s.ask("images " + strings.Join(names, ","))
	return map[string]Answer{names[0]: No}
}

func (s still) Unit(_ context.Context, n string) Unit {
	u := s.units[n]
	u.Name = n
	return u
}

func (s still) ask(question string) {
	if s.asked != nil {
		*s.asked = append(*s.asked, question)
	}
}

// observer looks at a still node.
func (s still) observer() *Observer {
	if s.settings.NodeName == "" && s.settings.NodeNameErr == nil {
		s.settings.NodeName = "n"
	}
	return &Observer{Clock: s, Identity: s, Manifests: s, Runtime: s, Kubelet: s, Units: s, Journal: s, Images: s,
		KubeletUnit: "k.service", RuntimeUnit: "r.service", BusyUnits: []string{"a.service"}, Timeout: time.Second, Interval: time.Minute}
}

// It is asked for only where it decides something: it takes a program.
func TestTheLastJobIsThatOfAKubeletThatIsDown(t *testing.T) {
	for state, want := range map[string]Job{
		"inactive": {Type: "stop", Result: "k.service"}, "active": {}, "failed": {}, "": {},
	} {
		is := still{units: map[string]Unit{"k.service": {ActiveState: state}, "r.service": {ActiveState: state}}}
		s := is.observer().Look(context.Background())
		if s.Kubelet.Unit.LastJob != want || s.Runtime.Unit.LastJob != (Job{}) {
			t.Errorf("%q: kubelet %+v, runtime %+v", state, s.Kubelet.Unit.LastJob, s.Runtime.Unit.LastJob)
		}
	}
}

func TestANodeIsBusyWhileSomethingElseChangesIt(t *testing.T) {
	for name, is := range map[string]struct {
		still
		want []string
	}{
		"nothing":             {still{}, nil},
		"a unit":              {still{units: map[string]Unit{"a.service": {ActiveState: "active", SubState: "running"}}}, []string{"a.service is active"}},
		"a unit that begins":  {still{units: map[string]Unit{"a.service": {ActiveState: "activating"}}}, []string{"a.service is activating"}},
		"a unit that is done": {still{units: map[string]Unit{"a.service": {ActiveState: "active", SubState: "exited"}}}, nil},
		"another unit":        {still{units: map[string]Unit{"b.service": {ActiveState: "active"}}}, nil},
		"a program":           {still{runtime: Runtime{Programs: []string{"cluster-restore.sh"}}}, []string{"cluster-restore.sh is running"}},
	} {
		s := is.observer().Look(context.Background())
		if !slices.Equal(s.Host.Busy, is.want) || s.Host.Err != nil {
			t.Errorf("%s: %q, want %q, error %v", name, s.Host.Busy, is.want, s.Host.Err)
		}
	}
}

func TestWhatSystemdDoesNotTellIsNotKnown(t *testing.T) {
	is := still{down: errors.New("no answer"), units: map[string]Unit{"a.service": {Err: errors.New("nor here")}}}
	if s := is.observer().Look(context.Background()); s.Host.Err == nil || s.Host.Err.Error() != "no answer; nor here" {
		t.Errorf("error %v", s.Host.Err)
	}
	// Without systemd there is nobody to ask.
	o := is.observer()
	o.KubeletUnit, o.Units = "", nil
	if s := o.Look(context.Background()); s.Host.Err != nil || s.Kubelet.Unit != (Unit{}) || s.Runtime.Unit != (Unit{}) || s.Interval != time.Minute {
		t.Errorf("without systemd: %+v", s)
	}
}

func TestTheKubeletsUnitIsThatOfItsProcess(t *testing.T) {
	for name, c := range map[string]struct {
		load, in, want string
	}{
		"as configured":                    {"loaded", "k.service", "k.service"},
		"another, where there is none":     {"not-found", "microshift.service", "microshift.service"},
		"as configured, though in another": {"loaded", "microshift.service", "k.service"},
		"as configured, though in none":    {"not-found", "", "k.service"},
	} {
		is := still{units: map[string]Unit{"k.service": {LoadState: c.load}}, process: KubeletProcess{PID: 7, Unit: c.in}}
		s := is.observer().Look(context.Background())
		if s.Kubelet.Unit.Name != c.want || s.Kubelet.Process != is.process {
			t.Errorf("%s: unit %q, process %+v", name, s.Kubelet.Unit.Name, s.Kubelet.Process)
		}
	}
}

func TestManifestsAreReadForANodeThatIsProved(t *testing.T) {
	var asked []string
	pods := Intent{Pods: []Manifest{{Path: "/m/a"}}}
	for name, c := range map[string]struct {
		settings Settings
		says     string
	}{
		"proved":                    {Settings{NodeName: "n", Version: "1.33.13"}, ""},
		"no name":                   {Settings{NodeNameErr: errors.New("why not")}, "why not"},
		"no directory that is sure": {Settings{NodeName: "n", StaticPodPathErr: errors.New("which one")}, "which one"},
	} {
		s := still{settings: c.settings, intent: pods, asked: &asked}.observer().Look(context.Background())
		if known := c.says == ""; (s.Intent.Err == nil) != known || (len(s.Intent.Pods) > 0) != known ||
			!known && !strings.Contains(s.Intent.Err.Error(), c.says) {
			t.Errorf("%s: %+v", name, s.Intent)
		}
	}
	if !slices.Contains(asked, "rules of 1.33.13") {
		t.Errorf("asked %q", asked)
	}
}

func TestJournalAndImagesAreAskedWhereSomethingIsWrong(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	manifest := func(policy corev1.RestartPolicy) []Manifest {
		return []Manifest{{Name: PodName{"ns", "p-n"}, Pod: &corev1.Pod{Spec: corev1.PodSpec{
			RestartPolicy:  policy,
			InitContainers: []corev1.Container{{Name: "init", Image: "i"}, {Name: "sidecar", Image: "s", RestartPolicy: &always}},
			Containers:     []corev1.Container{{Name: "main", Image: "m"}},
		}}}}
	}
	records := func(main, sidecar Container) Runtime {
		main.Name, sidecar.Name = "main", "sidecar"
		return Runtime{Sandboxes: []Sandbox{{Pod: PodName{"ns", "p-n"}, Ready: true, Source: "file", Containers: []Container{main, sidecar, {Name: "init", State: ContainerExited}}}}}
	}
	up, dead := Container{State: ContainerRunning}, Container{State: ContainerRunning, Process: Process{State: ProcessGone, CgroupEmpty: true}}
	exited, failed := Container{State: ContainerExited}, Container{State: ContainerExited, ExitCode: 1}
	healthy := Kubelet{Healthy: true}
	for name, c := range map[string]struct {
		still
		want []string
	}{
		"all is well":           {still{kubelet: healthy, intent: Intent{Pods: manifest("")}, runtime: records(up, up)}, nil},
		"seen, not pinged":      {still{kubelet: Kubelet{View: View{Source: ViewPods}}, intent: Intent{Pods: manifest("")}, runtime: records(up, up)}, nil},
		"the kubelet is silent": {still{intent: Intent{Pods: manifest("")}, runtime: records(up, up)}, []string{"journal"}},
		"a container is down":   {still{kubelet: healthy, intent: Intent{Pods: manifest("")}, runtime: records(exited, up)}, []string{"images i,m", "journal"}},
		"its process is dead":   {still{kubelet: healthy, intent: Intent{Pods: manifest("")}, runtime: records(dead, up)}, []string{"images i,m", "journal"}},
		"a sidecar is down":     {still{kubelet: healthy, intent: Intent{Pods: manifest("")}, runtime: records(up, exited)}, []string{"images s", "journal"}},
		"a pod has no sandbox":  {still{kubelet: healthy, intent: Intent{Pods: manifest("")}}, []string{"images i,m,s", "journal"}},
		"the runtime is silent": {still{kubelet: healthy, intent: Intent{Pods: manifest("")}, runtime: Runtime{Err: context.DeadlineExceeded}}, []string{"journal"}},
		"a manifest is refused": {still{kubelet: healthy, intent: Intent{Problems: []ManifestProblem{{}}}}, []string{"journal"}},
		"it has done its work":  {still{kubelet: healthy, intent: Intent{Pods: manifest("OnFailure")}, runtime: records(exited, up)}, nil},
		"it has failed":         {still{kubelet: healthy, intent: Intent{Pods: manifest("OnFailure")}, runtime: records(failed, up)}, []string{"images m", "journal"}},
		"it may fail":           {still{kubelet: healthy, intent: Intent{Pods: manifest("Never")}, runtime: records(failed, up)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var journal, images []string
			c.process.Started = time.Minute
			o := c.still.observer()
			o.Journal, o.Images = still{asked: &journal}, still{asked: &images}
			s := o.Look(context.Background())
			if asked := append(images, journal...); !slices.Equal(asked, c.want) {
				t.Errorf("asked %q, want %q", asked, c.want)
			}
			if s.Kubelet.Told.Known() != (len(journal) > 0) || (s.Runtime.Images != nil) != (len(images) > 0) {
				t.Errorf("told %+v, images %v", s.Kubelet.Told, s.Runtime.Images)
			}
			o.Journal, o.Images = nil, nil
			o.Look(context.Background())
		})
	}
}

// hanging is a source that answers when its time is over.
type hanging struct{ still }

func (hanging) Kubelet(ctx context.Context, _ string) Kubelet {
	<-ctx.Done()
	return Kubelet{HealthErr: ctx.Err()}
}

func (hanging) Unit(ctx context.Context, name string) Unit {
	<-ctx.Done()
	return Unit{Name: name, Err: ctx.Err()}
}

func (hanging) Told(ctx context.Context, _ KubeletProcess) Told {
	if ctx.Err() == nil {
		return Told{From: 1}
	}
	return Told{Err: ctx.Err()}
}

func TestAKubeletAndASystemdThatHangLeaveTimeForTheJournal(t *testing.T) {
	o := still{}.observer()
	o.Kubelet, o.Units, o.Journal = hanging{}, hanging{}, hanging{}
	o.Timeout = 2 * time.Second
	began := time.Now()
	s := o.Look(context.Background())
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the look took %s", took)
	}
	if !s.Kubelet.Told.Known() || s.Kubelet.Unit.Err == nil || s.Kubelet.HealthErr == nil || s.Host.Err == nil {
		t.Errorf("kubelet %+v, host %+v", s.Kubelet, s.Host)
	}
}
