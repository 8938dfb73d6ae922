package ending

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

func exited(code int32) *node.Container {
	reason := "Error"
	if code == 0 {
		reason = "Completed"
	}
	return &node.Container{State: node.ContainerExited, ExitCode: code, Reason: reason}
}

func running(process node.Process) *node.Container {
	return &node.Container{State: node.ContainerRunning, Process: process}
}

func number(n int32) *int32 { return &n }

var (
	dead    = node.Process{State: node.ProcessGone, CgroupEmpty: true}
	oomed   = &node.Container{State: node.ContainerExited, ExitCode: 137, Reason: "OOMKilled"}
	oomZero = &node.Container{State: node.ContainerExited, Reason: "OOMKilled"}
	untold  = &node.Container{State: node.ContainerExited, StatusUnknown: true, ExitCode: 7, Reason: "OOMKilled"}
)

// none is an exit code that nobody knows.
const none = -1000

func TestClassify(t *testing.T) {
	const cri, file, inferred = record.SourceCRI, record.SourceExitFile, record.SourceInferred
	tests := []struct {
		name   string
		facts  Facts
		class  record.Class
		code   int32
		signal int
		oom    bool
		from   record.Source
		reason string // a part of it
	}{
		{"a plain crash", Facts{Record: exited(1), Fate: Stays}, record.Crash, 1, 0, false, cri, "exit code 1"},
		{"a crash known from the exit file alone", Facts{Exit: number(2)}, record.Crash, 2, 0, false, file, "exit code 2"},
		{"the exit file against CRI's substitute", Facts{Record: exited(255), Exit: number(3)}, record.Crash, 3, 0, false, file, "exit code 3"},
		{"the exit file against an unset code", Facts{Record: exited(-1), Exit: number(0)}, record.Completed, 0, 0, false, file, "exit code 0"},
		{"255 that a program may have meant", Facts{Record: exited(255)}, record.Crash, 255, 0, false, cri, "does not know"},
		{"255 that the exit file confirms", Facts{Record: exited(255), Exit: number(255)}, record.Crash, 255, 0, false, file, "255"},
		{"255 without an exit file", Facts{Record: exited(255), NoExit: true}, record.LostExit, none, 0, false, inferred, "substitute"},
		{"255 after a reboot", Facts{Record: exited(255), OtherBoot: true}, record.LostInReboot, none, 0, false, inferred, "earlier boot"},
		{"an unset code", Facts{Record: exited(-1)}, record.LostExit, none, 0, false, inferred, "does not know"},
		{"an unset code, pod replaced", Facts{Record: exited(-1), Fate: Replaced}, record.LostExit, none, 0, false, inferred, "does not know"},
		{"an unset code in the exit file", Facts{Exit: number(-1)}, record.LostExit, none, 0, false, inferred, "no exit code"},
		{"a status that was not told", Facts{Record: untold}, record.LostExit, none, 0, false, inferred, "did not tell"},
		{"a status that was not told, with its exit file", Facts{Record: untold, Exit: number(4)}, record.Crash, 4, 0, false, file, "exit code 4"},

		{"exit 0", Facts{Record: exited(0), Fate: Stays}, record.Completed, 0, 0, false, cri, "exit code 0"},
		{"exit 0 in a rollout", Facts{Record: exited(0), Fate: Replaced}, record.ReplacedByRevision, 0, 0, false, cri, "replaced"},
		{"exit 0, manifest removed", Facts{Record: exited(0), Fate: Removed}, record.KilledByKubelet, 0, 0, false, cri, "removed"},
		{"exit 0 in a shutdown", Facts{Record: exited(0), ShuttingDown: true}, record.Completed, 0, 0, false, cri, "exit code 0"},

		{"TERM in a rollout", Facts{Record: exited(143), Fate: Replaced}, record.ReplacedByRevision, 143, 15, false, cri, "replaced"},
		{"TERM, manifest removed", Facts{Record: exited(143), Fate: Removed}, record.KilledByKubelet, 143, 15, false, cri, "removed"},
		{"TERM, manifest as before", Facts{Record: exited(143), Fate: Stays}, record.KilledByKubelet, 143, 15, false, cri, "inferred"},
		{"TERM, nothing known", Facts{Exit: number(143)}, record.KilledByKubelet, 143, 15, false, file, "inferred"},
		{"TERM by an act", Facts{Record: exited(143), Act: "a1"}, record.KilledByKubelet, 143, 15, false, cri, "act a1"},
		{"TERM in a shutdown", Facts{Record: exited(143), ShuttingDown: true}, record.LostInReboot, 143, 15, false, cri, "shutting down"},
		{"KILL in a rollout", Facts{Record: exited(137), Fate: Replaced}, record.ReplacedByRevision, 137, 9, false, cri, "replaced"},
		{"KILL in a rollout, sooner than the kubelet", Facts{Record: exited(137), Fate: Replaced, TooSoon: true}, record.Crash, 137, 9, false, cri, "sooner"},
		{"KILL by an act, soon", Facts{Record: exited(137), Fate: Replaced, TooSoon: true, Act: "a1"}, record.ReplacedByRevision, 137, 9, false, cri, "replaced"},
		{"TERM soon", Facts{Record: exited(143), Fate: Replaced, TooSoon: true}, record.ReplacedByRevision, 143, 15, false, cri, "replaced"},
		{"KILL by an act in a rollout", Facts{Record: exited(137), Fate: Replaced, Act: "a1"}, record.ReplacedByRevision, 137, 9, false, cri, "replaced"},
		{"KILL, manifest removed", Facts{Record: exited(137), Fate: Removed}, record.KilledByKubelet, 137, 9, false, cri, "removed"},
		{"KILL, manifest as before", Facts{Record: exited(137), Fate: Stays}, record.Crash, 137, 9, false, cri, "signal 9"},
		{"KILL, intent unknown", Facts{Record: exited(137)}, record.Crash, 137, 9, false, cri, "signal 9"},
		{"KILL by an act", Facts{Record: exited(137), Act: "a1", Fate: Stays}, record.KilledByKubelet, 137, 9, false, cri, "act a1"},
		{"another code in a rollout", Facts{Record: exited(2), Fate: Replaced}, record.Crash, 2, 0, false, cri, "being replaced"},
		{"another code in a shutdown", Facts{Record: exited(2), ShuttingDown: true}, record.LostInReboot, 2, 0, false, cri, "shutting down"},
		{"a crash before an act", Facts{Record: exited(1), Act: "a1"}, record.Crash, 1, 0, false, cri, "exit code 1"},
		{"SEGV", Facts{Record: exited(139)}, record.Crash, 139, 11, false, cri, "signal 11"},
		{"ABRT in a rollout", Facts{Record: exited(134), Fate: Replaced}, record.Crash, 134, 6, false, cri, "signal 6"},
		{"the last signal there is", Facts{Record: exited(192)}, record.Crash, 192, 64, false, cri, "signal 64"},
		{"a code past all signals", Facts{Record: exited(193)}, record.Crash, 193, 0, false, cri, "exit code 193"},
		{"128 is no signal", Facts{Record: exited(128)}, record.Crash, 128, 0, false, cri, "exit code 128"},

		{"OOM as CRI says", Facts{Record: oomed}, record.OOM, 137, 9, true, cri, "memory"},
		{"OOM as conmon's file says", Facts{Record: exited(137), OOM: true}, record.OOM, 137, 9, true, cri, "memory"},
		{"OOM in a rollout", Facts{Record: oomed, Fate: Replaced}, record.OOM, 137, 9, true, cri, "memory"},
		{"OOM of a child, exit 0", Facts{Record: oomZero}, record.OOM, 0, 0, true, cri, "memory"},
		{"OOM and nothing else", Facts{OOM: true}, record.OOM, none, 0, true, inferred, "memory"},
		{"OOM before a reboot", Facts{OOM: true, Exit: number(137), OtherBoot: true}, record.OOM, 137, 9, true, file, "memory"},

		{"nothing left", Facts{}, record.LostExit, none, 0, false, inferred, "no exit code"},
		{"nothing left, manifest as before", Facts{Fate: Stays}, record.LostExit, none, 0, false, inferred, "no exit code"},
		{"nothing left of a replaced pod", Facts{Fate: Replaced}, record.ReplacedByRevision, none, 0, false, inferred, "inferred"},
		{"nothing left of a removed pod", Facts{Fate: Removed}, record.KilledByKubelet, none, 0, false, inferred, "inferred"},
		{"nothing left after an act", Facts{Act: "a1"}, record.KilledByKubelet, none, 0, false, inferred, "act a1"},
		{"nothing left in a shutdown", Facts{ShuttingDown: true}, record.LostInReboot, none, 0, false, inferred, "shutting down"},
		{"nothing left after a reboot", Facts{OtherBoot: true}, record.LostInReboot, none, 0, false, inferred, "earlier boot"},
		{"a reboot and a changed manifest", Facts{OtherBoot: true, Fate: Replaced}, record.LostInReboot, none, 0, false, inferred, "earlier boot"},
		{"facts saved over a reboot", Facts{OtherBoot: true, Exit: number(1)}, record.Crash, 1, 0, false, file, "exit code 1"},
		{"a record saved over a reboot", Facts{OtherBoot: true, Record: exited(1)}, record.Crash, 1, 0, false, cri, "exit code 1"},

		{"running without a process", Facts{Record: running(dead)}, record.LostExit, none, 0, false, inferred, "process was gone"},
		{"running without a process, replaced", Facts{Record: running(dead), Fate: Replaced}, record.LostExit, none, 0, false, inferred, "process was gone"},
		{"stale, then stopped by an act", Facts{Record: exited(-1), ProcessLost: true, Act: "a1"}, record.LostExit, none, 0, false, inferred, "process was gone"},
		{"stale, then a substitute", Facts{Record: exited(255), ProcessLost: true}, record.LostExit, none, 0, false, inferred, "process was gone"},
		{"stale, then gone", Facts{ProcessLost: true, Act: "a1"}, record.LostExit, none, 0, false, inferred, "process was gone"},
		{"stale, yet conmon had written its file", Facts{Record: running(dead), Exit: number(1)}, record.Crash, 1, 0, false, file, "exit code 1"},
		{"still running", Facts{Record: running(node.Process{State: node.ProcessAlive})}, record.LostExit, none, 0, false, inferred, "no exit code"},
		{"never started", Facts{Record: &node.Container{State: node.ContainerCreated}}, record.LostExit, none, 0, false, inferred, "no exit code"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := Classify(tt.facts)
			code := int32(none)
			if e.ExitCode != nil {
				code = *e.ExitCode
			}
			if e.Class != tt.class || code != tt.code || e.Signal != tt.signal || e.OOMKilled != tt.oom || e.KnownFrom != tt.from {
				t.Errorf("got %s, code %d, signal %d, oom %t, from %s (%s)", e.Class, code, e.Signal, e.OOMKilled, e.KnownFrom, e.Reason)
			}
			if !strings.Contains(e.Reason, tt.reason) {
				t.Errorf("reason %q does not say %q", e.Reason, tt.reason)
			}
		})
	}
}

func TestCircumstancesMatterForWhatMayHaveBeenAsked(t *testing.T) {
	for code, want := range map[int32]bool{0: true, 1: false, 2: false, 137: true, 139: false, 143: true} {
		if got := Circumstantial(Facts{Record: exited(code)}); got != want {
			t.Errorf("exit code %d: %t", code, got)
		}
	}
	if !Circumstantial(Facts{}) || Circumstantial(Facts{OOM: true}) || Circumstantial(Facts{ProcessLost: true}) {
		t.Error("nothing left, OOM, or a lost process")
	}
}

func facts(t *rapid.T) Facts {
	codes := rapid.SampledFrom([]int32{-1, 0, 1, 2, 128, 130, 134, 137, 139, 143, 192, 193, 255, 256, -7})
	f := Facts{
		NoExit:       rapid.Bool().Draw(t, "noExit"),
		OOM:          rapid.Bool().Draw(t, "oom"),
		ProcessLost:  rapid.Bool().Draw(t, "processLost"),
		OtherBoot:    rapid.Bool().Draw(t, "otherBoot"),
		ShuttingDown: rapid.Bool().Draw(t, "shuttingDown"),
		Fate:         rapid.SampledFrom([]Fate{FateUnknown, Stays, Replaced, Removed}).Draw(t, "fate"),
		Act:          rapid.SampledFrom([]string{"", "act-1"}).Draw(t, "act"),
	}
	if rapid.Bool().Draw(t, "exit file") {
		f.Exit = number(codes.Draw(t, "exit"))
	}
	if rapid.Bool().Draw(t, "record") {
		f.Record = &node.Container{
			State:         rapid.SampledFrom([]node.ContainerState{node.ContainerCreated, node.ContainerRunning, node.ContainerExited, node.ContainerUnknown}).Draw(t, "state"),
			ExitCode:      codes.Draw(t, "code"),
			Reason:        rapid.SampledFrom([]string{"", "Error", "Completed", "OOMKilled"}).Draw(t, "reason"),
			StatusUnknown: rapid.Bool().Draw(t, "statusUnknown"),
			Process: node.Process{
				State:       rapid.SampledFrom([]node.ProcessState{node.ProcessUnknown, node.ProcessAlive, node.ProcessGone, node.ProcessZombie}).Draw(t, "process"),
				CgroupEmpty: rapid.Bool().Draw(t, "cgroupEmpty"),
			},
		}
	}
	return f
}

func TestWhateverTheFactsTheEndingIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := facts(t)
		e := Classify(f)
		if !slices.Contains(record.Classes[:], e.Class) {
			t.Fatalf("class %q", e.Class)
		}
		if e.Reason == "" || strings.Contains(e.Reason, "\n") {
			t.Fatalf("reason %q", e.Reason)
		}
		told := f.OOM || f.Record != nil && !f.Record.StatusUnknown && f.Record.Reason == "OOMKilled"
		if told != e.OOMKilled || told != (e.Class == record.OOM) {
			t.Fatalf("OOM told %t, and the ending is %+v", told, e)
		}
		if e.ExitCode == nil != (e.KnownFrom == record.SourceInferred) {
			t.Fatalf("exit code %v known from %s", e.ExitCode, e.KnownFrom)
		}
		if e.ExitCode != nil && *e.ExitCode == -1 {
			t.Fatal("an unset code is no exit code")
		}
		if e.Class == record.Completed && (e.ExitCode == nil || *e.ExitCode != 0) {
			t.Fatalf("completed with %v", e.ExitCode)
		}
		if e.ExitCode != nil && e.ExitCode == f.Exit {
			t.Fatal("the ending shares the facts' memory")
		}
	})
}

func FuzzParseExit(f *testing.F) {
	for _, s := range []string{"0", "137\n", "-1", "", "1x", "99999999999", "\x00\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := ParseExit(data)
		if err != nil && n != 0 {
			t.Errorf("%d and %v", n, err)
		}
	})
}

func TestParseExit(t *testing.T) {
	if n, err := ParseExit([]byte("137\n")); n != 137 || err != nil {
		t.Error(n, err)
	}
	if n, err := ParseExit([]byte("-1")); n != -1 || err != nil {
		t.Error(n, err)
	}
	for _, bad := range []string{"", " ", "1x", "0x10", "3000000000", "\x00\x00"} {
		if n, err := ParseExit([]byte(bad)); err == nil {
			t.Errorf("%q is %d", bad, n)
		}
	}
}
