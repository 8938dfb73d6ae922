package remedy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

func (n *scripted) manifest() string { return n.snap.Intent.Pods[0].Path }

// there tells whether the manifest is in the kubelet's sight.
func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// kubeletSees has the kubelet drop the pod some time after its manifest has
// gone, and take it up again.
func (n *scripted) kubeletSees(after time.Duration) {
	pods := n.snap.Kubelet.View.Pods
	var gone time.Time
	n.onLook = func() {
		if there(n.manifest()) {
			gone, n.snap.Kubelet.View.Pods = time.Time{}, pods
			return
		}
		if gone.IsZero() {
			gone = time.Now()
		}
		if time.Since(gone) >= after {
			n.snap.Kubelet.View.Pods = nil
		}
	}
}

func TestAManifestIsTakenOutAndPutBack(t *testing.T) {
	cases := []struct {
		name       string
		sees       time.Duration
		blind      bool
		detail     string
		from, upTo time.Duration
	}{
		{"at least for 3 s", 0, false, "had dropped the pod", outAtLeast, 5 * time.Second},
		{"until the kubelet has dropped the pod", 10 * time.Second, false, "had dropped the pod", 10 * time.Second, 12 * time.Second},
		{"at most for 25 s", time.Hour, false, "not seen to drop", outAtMost, outAtMost + time.Second},
		{"for 25 s where no view is to be had", 0, true, "not seen to drop", outAtMost, outAtMost + time.Second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *scripted) {
				e, step := n.given("replace")
				n.kubeletSees(c.sees)
				if c.blind {
					n.onLook = func() {
						if !there(n.manifest()) {
							n.snap.Kubelet.View = node.View{Source: node.ViewNone}
						}
					}
				}
				before, _ := os.Stat(n.manifest())
				_, took := n.expect(t, e, t.Context(), step, restartpolicy.ResultDone, c.detail)
				if took < c.from || took > c.upTo {
					t.Errorf("took %s", took)
				}
				after, err := os.Stat(n.manifest())
				if err != nil || !os.SameFile(before, after) || names(t, filepath.Dir(n.manifest())) != "app.yaml" {
					t.Errorf("directory holds %s", names(t, filepath.Dir(n.manifest())))
				}
			})
		})
	}
}

func TestAShortTimeoutEndsTheReplacementInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, n *scripted) {
		e, step := n.given("replace")
		step.Timeout = 10 * time.Second
		n.kubeletSees(time.Hour)
		_, took := n.expect(t, e, t.Context(), step, restartpolicy.ResultDone, "not seen to drop")
		if took > step.Timeout {
			t.Errorf("took %s", took)
		}
	})
}

func TestAnAgentThatStopsPutsTheManifestBackAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, n *scripted) {
		e, step := n.given("replace")
		ctx, cancel := context.WithCancel(t.Context())
		n.onLook = func() {
			if !there(n.manifest()) {
				cancel()
			}
		}
		_, took := n.expect(t, e, ctx, step, restartpolicy.ResultDone, "put back early")
		if took > time.Second || !there(n.manifest()) {
			t.Errorf("took %s, manifest there: %v", took, there(n.manifest()))
		}
	})
}

func TestReplaceIsRefusedBeforeAnythingMoves(t *testing.T) {
	cases := map[string]struct {
		change func(t *testing.T, n *scripted, e *Executor)
		why    string
	}{
		"a symbolic link": {func(t *testing.T, n *scripted, _ *Executor) {
			os.Rename(n.manifest(), n.manifest()+".real")
			os.Symlink(n.manifest()+".real", n.manifest())
		}, "not a regular file"},
		"gone since the look": {func(t *testing.T, n *scripted, _ *Executor) { os.Remove(n.manifest()) }, "cannot be read"},
		"changed since the look": {func(t *testing.T, n *scripted, _ *Executor) {
			os.WriteFile(n.manifest(), []byte("kind: Pod # other\n"), 0o600)
		}, "the manifest has changed"},
		"a hidden one left over": {func(t *testing.T, n *scripted, _ *Executor) {
			os.WriteFile(hidden(n.manifest()), nil, 0o600)
		}, "a hidden manifest is left over"},
		"an installer at work": {func(t *testing.T, n *scripted, e *Executor) {
			e.InstallerLocks = []string{holdLock(t)}
		}, "is held"},
		"a lock that cannot be opened": {func(t *testing.T, n *scripted, e *Executor) {
			link := filepath.Join(t.TempDir(), "installer.lock")
			os.Symlink("/dev/null", link)
			e.InstallerLocks = []string{link}
		}, "cannot be opened"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := newScripted(t)
			e, step := n.given("replace")
			c.change(t, n, e)
			before := names(t, filepath.Dir(n.manifest()))
			n.expect(t, e, t.Context(), step, restartpolicy.ResultRefused, c.why)
			if after := names(t, filepath.Dir(n.manifest())); after != before {
				t.Errorf("before %s, after %s", before, after)
			}
		})
	}
}

func holdLock(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kube-apiserver-installer.lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInstallersWaitWhileTheManifestIsOut(t *testing.T) {
	inBubble(t, func(t *testing.T, n *scripted) {
		e, step := n.given("replace")
		path := filepath.Join(t.TempDir(), "etcd-installer.lock")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		e.InstallerLocks = []string{path}
		n.onLook = func() {
			if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !there(n.manifest()) && !errors.Is(err, unix.EWOULDBLOCK) {
				t.Errorf("the installer got its lock: %v", err)
			}
			unix.Flock(int(f.Fd()), unix.LOCK_UN)
		}
		n.expect(t, e, t.Context(), step, restartpolicy.ResultDone, "")
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			t.Errorf("the lock is still held after the act: %v", err)
		}
	})
}

func TestAManifestThatReappearsWhileTheOtherIsOutIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T, n *scripted) {
		e, step := n.given("replace")
		n.onLook = func() {
			if !there(n.manifest()) {
				os.WriteFile(n.manifest(), []byte("new revision"), 0o600)
			}
		}
		n.expect(t, e, t.Context(), step, restartpolicy.ResultDone, "has reappeared and is kept")
		if got := read(t, n.manifest()); got != "new revision" {
			t.Errorf("manifest %q", got)
		}
	})
}

func TestAManifestThatCannotBePutBackIsNamed(t *testing.T) {
	inBubble(t, func(t *testing.T, n *scripted) {
		e, step := n.given("replace")
		n.onLook = func() { os.Remove(hidden(n.manifest())) }
		out, _ := n.expect(t, e, t.Context(), step, restartpolicy.ResultFailed, "is still hidden, move .nodekeeper-app.yaml back by hand")
		if strings.Contains(out.Detail, "\n") {
			t.Error("more than one line")
		}
	})
}
