package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

func TestAFailingPodIsTold(t *testing.T) {
	f := newFake()
	f.write(started)
	f.pass(time.Minute)
	f.write(failing)
	wrote := f.boot
	told := f.told(t, f.reader())
	if told.Err != nil || !told.Known() {
		t.Fatalf("not known: %v", told.Err)
	}
	want := node.Said{At: wrote, Container: "main", Reason: "CrashLoopBackOff",
		Message: "back-off 40s restarting failed container=main pod=app-node1_kube-system(3f2a)"}
	if told.Pods[app] != want || told.Last != wrote {
		t.Errorf("got %+v, last %v; want %+v at %v", told.Pods[app], told.Last, want, wrote)
	}
}

func TestTheJournalIsAskedOfThatProcessAtMostOnceInFiveSeconds(t *testing.T) {
	f := newFake()
	f.write(started)
	r := f.reader()
	f.told(t, r)
	asked := f.asked
	f.write(failing)
	f.pass(every - 1)
	if told := r.Told(t.Context(), kubelet); f.asked != asked || len(told.Pods) != 0 {
		t.Errorf("asked %d times more, told %v", f.asked-asked, told.Pods)
	}
	f.pass(1)
	if told := r.Told(t.Context(), kubelet); f.asked != asked+1 || len(told.Pods) != 1 {
		t.Errorf("asked %d times more, told %v", f.asked-asked, told.Pods)
	}
	for _, argument := range []string{"--boot", "--system", "--all", "_PID=1234", "_SYSTEMD_UNIT=kubelet.service", "OBJECT_SYSTEMD_UNIT=kubelet.service"} {
		if !slices.Contains(f.last, argument) {
			t.Errorf("asked %q, without %s", f.last, argument)
		}
	}
}

func TestWhatWasToldIsNotWrittenToLater(t *testing.T) {
	f := newFake()
	f.write(started)
	r := f.reader()
	before := f.told(t, r)
	f.write(failing, `I1201 03:52:00.000000    1234 kubelet.go:2522] "Failed to delete pod" pod="kube-system/app-node1" err="skipping delete because sources aren't ready yet"`)
	after := f.told(t, r)
	if len(before.Pods)+len(before.NotDeleted) != 0 || len(after.Pods) != 1 || len(after.NotDeleted) != 1 {
		t.Errorf("before %v, after %v", before, after)
	}
}

func TestHowFarTheJournalReaches(t *testing.T) {
	young := node.KubeletProcess{PID: kubeletPID, Started: 59 * time.Minute, Unit: kubelet.Unit}
	for name, c := range map[string]struct {
		process node.KubeletProcess
		given   func(*fake)
		// want is how long before the look.
		want time.Duration
	}{
		"all lines since half an hour": {kubelet, func(f *fake) {
			f.write(started)
		}, reach},
		"a quiet kubelet, whose last line is old": {kubelet, func(f *fake) {
			f.write(started)
			f.pass(3 * time.Hour)
		}, reach},
		"since the process began": {young, func(f *fake) {
			f.write(started)
		}, time.Minute + every},
		"older files are gone": {kubelet, func(f *fake) {
			f.pass(time.Minute)
			f.writeAs(7, "sshd.service", "hello")
			f.write(started)
			f.vacuum(2)
			f.pass(20 * time.Minute)
		}, 20*time.Minute + every},
		"more lines than are read": {kubelet, func(f *fake) {
			for range reachLines + 100 {
				f.pass(10 * time.Millisecond)
				f.write(started)
			}
		}, (reachLines-1)*10*time.Millisecond + every},
		"journald dropped some": {kubelet, func(f *fake) {
			f.write(started)
			f.pass(time.Minute)
			f.drop()
			f.pass(time.Minute)
			f.write(started)
		}, time.Minute + every},
		"it syncs nothing at all": {kubelet, func(f *fake) {
			f.write(started, `E1201 03:51:26.000000    1234 kubelet.go:2460] "Skipping pod synchronization" err="[container runtime is down, PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s]"`)
			f.pass(time.Minute)
		}, time.Minute + every},
		"a line that journald cut off": {kubelet, func(f *fake) {
			f.write(started, failing[:120])
			f.pass(time.Minute)
		}, time.Minute + every},
		"a JSON line that journald cut off": {kubelet, func(f *fake) {
			f.write(started, `{"ts":1796096000000.1,"caller":"kubelet/pod_workers.go:1301","msg":"Error sync`)
			f.pass(time.Minute)
		}, time.Minute + every},
		"a record that another one cuts off": {kubelet, func(f *fake) {
			f.write(`E1201 03:51:26.000000    1234 pod_workers.go:1301] "Error syncing pod, skipping" err=<`, "\tone")
			f.pass(time.Minute)
			f.write(started)
		}, every},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			r := f.reader()
			c.given(f)
			f.pass(every)
			told := r.Told(t.Context(), c.process)
			if told.Err != nil || told.From != f.boot-c.want {
				t.Errorf("known for %v (%v), want %v", f.boot-told.From, told.Err, c.want)
			}
		})
	}
}

func TestWhatIsMissingBetweenTwoLooks(t *testing.T) {
	for name, c := range map[string]struct {
		given func(*fake)
		want  time.Duration
	}{
		"nothing":            {func(f *fake) { f.write(started) }, reach + 2*time.Minute + every},
		"nothing was said":   {func(*fake) {}, reach + 2*time.Minute + every},
		"journald dropped":   {func(f *fake) { f.drop() }, time.Minute + every},
		"the files are gone": {func(f *fake) { f.write(started); f.writeAs(7, "x", "y"); f.vacuum(1) }, time.Minute + every},
		"too much was said": {func(f *fake) {
			for range reachLines + 1 {
				f.pass(time.Millisecond)
				f.write(started)
			}
		}, (reachLines-1)*time.Millisecond + time.Minute + every},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.write(started, failing)
			r := f.reader()
			if told := f.told(t, r); told.From != f.boot-reach {
				t.Fatalf("known for %v", f.boot-told.From)
			}
			f.pass(time.Minute - every)
			c.given(f)
			f.pass(time.Minute)
			// A second look while the files are gone finds no line of the kubelet,
			// and what was heard before still stands.
			told := f.told(t, r)
			if told.Err != nil || f.boot-told.From > c.want || f.boot-told.From < c.want-every {
				t.Errorf("known for %v (%v), want %v", f.boot-told.From, told.Err, c.want)
			}
			if len(told.Pods) != 1 {
				t.Error("forgot what was said")
			}
		})
	}
}

func TestAnHourIsRemembered(t *testing.T) {
	f := newFake()
	f.write(started, failing, `I1201 03:52:00.000000    1234 kubelet.go:2522] "Failed to delete pod" pod="kube-system/app-node1" err="skipping delete because sources aren't ready yet"`)
	r := f.reader()
	f.told(t, r)
	f.pass(memory)
	if told := f.told(t, r); len(told.Pods)+len(told.NotDeleted) != 0 || told.From != f.boot-memory {
		t.Errorf("after an hour: %v, known for %v", told, f.boot-told.From)
	}
}

func TestAnotherProcessBeginsAnew(t *testing.T) {
	f := newFake()
	f.write(started, failing)
	r := f.reader()
	f.told(t, r)
	// The same PID again.
	f.pass(time.Minute)
	next := kubelet
	next.Started = f.boot
	f.pass(time.Second)
	f.write(started)
	told := r.Told(t.Context(), next)
	if told.Err != nil || len(told.Pods) != 0 || told.From != next.Started {
		t.Errorf("told %+v", told)
	}
}

func TestASuspendMovesNoLineToAnotherTime(t *testing.T) {
	f := newFake()
	f.write(started)
	f.suspend(2 * time.Hour)
	f.pass(time.Minute)
	f.write(`I1201 03:52:00.000000    1234 kubelet.go:2522] "Failed to delete pod" pod="kube-system/app-node1" err="skipping delete because sources aren't ready yet"`)
	f.pass(5 * time.Minute)
	f.suspend(time.Hour)
	resumed := f.boot
	f.pass(time.Minute)
	f.write(failing)
	wrote := f.boot
	told := f.told(t, f.reader())
	if told.Err != nil || told.Pods[app].At != wrote {
		t.Fatalf("told %+v, want it at %v", told, wrote)
	}
	// When the pod was not deleted cannot be said any more; that the kubelet was heard
	// since the resume can.
	if len(told.NotDeleted) != 0 || told.From > resumed || told.From < resumed-5*time.Minute {
		t.Errorf("not deleted %v, known since %v before the resume", told.NotDeleted, resumed-told.From)
	}
}

func TestASuspendBetweenTwoLooks(t *testing.T) {
	f := newFake()
	f.write(started, failing)
	wrote := f.boot
	r := f.reader()
	f.told(t, r)
	f.suspend(20 * time.Minute)
	if told := f.told(t, r); told.Err != nil || told.Pods[app].At != wrote {
		t.Errorf("told %+v, want it at %v", told, wrote)
	}
}

func TestAWallClockThatIsSetChangesNothing(t *testing.T) {
	f := newFake()
	f.write(started, failing)
	f.wall = f.wall.Add(-5 * time.Hour)
	f.pass(time.Minute)
	if told := f.told(t, f.reader()); told.Err != nil || told.Pods[app].At != f.boot-time.Minute-every || told.From != f.boot-reach {
		t.Errorf("told %+v", told)
	}
}

func TestLinesThatAnotherProcessWritesForTheKubelet(t *testing.T) {
	f := newFake()
	r := f.reader()
	f.writeAs(99, kubelet.Unit, started)
	f.writeAs(99, kubelet.Unit, failing)
	f.writeAs(99, kubelet.Unit, strings.NewReplacer("1234", "5678", "app-node1", "other").Replace(failing))
	if told := f.told(t, r); told.Err != nil || len(told.Pods) != 1 {
		t.Fatalf("told %+v", told)
	}
	// It goes on there, also after a gap.
	f.writeAs(99, kubelet.Unit, strings.ReplaceAll(failing, "app-node1", "app2-node1"))
	if told := f.told(t, r); told.Err != nil || len(told.Pods) != 2 {
		t.Errorf("told %+v", told)
	}
	f.pass(time.Minute)
	f.writeAs(99, kubelet.Unit, strings.ReplaceAll(failing, "app-node1", "app3-node1"))
	f.vacuum(1)
	if told := f.told(t, r); told.Err != nil || len(told.Pods) != 3 || told.From != f.boot-every {
		t.Errorf("told %+v", told)
	}
}

func TestAKubeletWhoseLogIsElsewhereIsUnknown(t *testing.T) {
	for name, given := range map[string]func(*fake){
		"nothing":                     func(*fake) {},
		"another process in the unit": func(f *fake) { f.writeAs(99, kubelet.Unit, strings.Replace(started, "1234", "5678", 1)) },
		"lines that no klog wrote":    func(f *fake) { f.write("starting", "usage of kubelet:") },
		"lines of an earlier process": func(f *fake) {
			f.lines[0] = line{entry: entry{cursor: "i=1", mono: time.Minute, text: started}, pid: kubeletPID, unit: kubelet.Unit}
		},
		"other components of MicroShift": func(f *fake) { f.write("etcd " + started) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			given(f)
			told := f.told(t, f.reader())
			if told.Known() || told.Err == nil || !strings.Contains(told.Err.Error(), "1234") {
				t.Errorf("told %+v", told)
			}
		})
	}
}

func TestComponentsOfMicroShift(t *testing.T) {
	f := newFake()
	f.write("kubelet " + started)
	heard := f.boot
	f.pass(time.Minute)
	f.write("??? "+failing, "etcd "+strings.ReplaceAll(failing, "app-node1", "other"))
	told := f.told(t, f.reader())
	if told.Err != nil || len(told.Pods) != 1 || told.Pods[app].Reason != "CrashLoopBackOff" {
		t.Errorf("told %+v", told)
	}
	if told.Last != heard {
		t.Errorf("the kubelet last wrote %v before, and another component counts for it", f.boot-told.Last)
	}
}

func TestWithoutAProcessNothingIsKnown(t *testing.T) {
	for says, process := range map[string]node.KubeletProcess{
		"two run":         {Err: errors.New("two run")},
		"no kubelet runs": {},
		"no systemd unit": {PID: 5, Started: time.Minute},
	} {
		told := newFake().reader().Told(t.Context(), process)
		if told.Known() || told.Err == nil || !strings.Contains(told.Err.Error(), says) {
			t.Errorf("%s: told %+v", says, told)
		}
	}
}

func TestAJournalThatFailsIsUnknownAndReadAnew(t *testing.T) {
	f := newFake()
	f.write(started, failing)
	r := f.reader()
	f.err = errors.New("journalctl: no journal files were opened")
	if told := f.told(t, r); told.Known() || !errors.Is(told.Err, f.err) || !strings.Contains(told.Err.Error(), "kubelet.service") {
		t.Fatalf("told %+v", told)
	}
	f.err = nil
	if told := f.told(t, r); told.Err != nil || told.From != f.boot-reach {
		t.Fatalf("told %+v", told)
	}
	// What was heard is true while the journal fails.
	f.err = context.DeadlineExceeded
	if told := f.told(t, r); told.Known() || told.From != 0 || len(told.Pods) != 1 {
		t.Errorf("told %+v", told)
	}
	f.err = nil
	if told := f.told(t, r); !told.Known() {
		t.Errorf("told %+v", told)
	}
}

func TestManyFailingPodsAreBounded(t *testing.T) {
	f := newFake()
	f.write(started)
	pods := func(n int) {
		for i := range n {
			f.write(strings.ReplaceAll(failing, "app-node1", fmt.Sprintf("app%d-node1", i)))
		}
	}
	pods(500)
	r := f.reader()
	if told := f.told(t, r); len(told.Pods) != 500 || told.From != f.boot-reach {
		t.Fatalf("%d pods, known for %v", len(told.Pods), f.boot-told.From)
	}
	// Memory is bounded, and what was forgotten is not silence.
	pods(most + 100)
	if told := f.told(t, r); len(told.Pods) > most || told.From != f.boot-every {
		t.Errorf("%d pods, known for %v", len(told.Pods), f.boot-told.From)
	}
}
