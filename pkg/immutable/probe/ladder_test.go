package probe

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/front"
)

var errHang = errors.New("context deadline exceeded")

// scene is a proxy whose parts are well or sick as the test wants.
type scene struct {
	*testing.T
	ladder                                  *Ladder
	now, answered                           time.Time
	proxyHangs, bypassHangs, pathHangs, api bool
	bypassed, killed                        bool
	unready                                 error
	said                                    []string
	renewed, directly                       int
}

func stage(t *testing.T) *scene {
	s := &scene{T: t, now: time.Unix(1e9, 0), api: true}
	slow := func(fails bool) error {
		if fails {
			s.now = s.now.Add(patience)
			return errHang
		}
		return nil
	}
	s.ladder = New(Options{
		Knock: func(context.Context) error {
			if s.bypassed || s.killed {
				return slow(s.bypassHangs)
			}
			return slow(s.proxyHangs)
		},
		Through:  func(context.Context) error { return slow(s.pathHangs || !s.api) },
		Direct:   func(context.Context) error { s.directly++; return slow(!s.api) },
		Answered: func() time.Time { return s.answered },
		Renew:    func() { s.renewed++ },
		Bypass:   func(on bool) { s.bypassed = on },
		Bypassed: func() string {
			return map[bool]string{true: "test"}[s.bypassed || s.killed]
		},
		Ready:  func() error { return s.unready },
		Notify: func(text string) { s.said = append(s.said, text) },
		Now:    func() time.Time { return s.now },
		Log:    slog.New(slog.DiscardHandler),
	})
	return s
}

// turn looks so often and returns the longest time between two feedings of the
// watchdog.
func (s *scene) turn(times int) time.Duration {
	var longest time.Duration
	fed := s.now
	for range times {
		s.said = nil
		wait := s.ladder.look(s.Context())
		if slices.Contains(s.said, "WATCHDOG=1") {
			longest = max(longest, s.now.Sub(fed))
			fed = s.now
		}
		s.now = s.now.Add(wait)
	}
	return max(longest, s.now.Sub(fed))
}

// watchdog is the service's WatchdogSec.
const watchdog = 10 * time.Second

func TestAProxyThatAnswersIsReadyAndFed(t *testing.T) {
	s := stage(t)
	s.unready = errors.New("no room")
	s.turn(1)
	if !slices.Equal(s.said, []string{"STATUS=not ready: no room", "WATCHDOG=1", "STATUS=serving"}) {
		t.Errorf("%q", s.said)
	}
	s.unready = nil
	s.turn(1)
	if !slices.Equal(s.said, []string{"READY=1", "WATCHDOG=1"}) {
		t.Errorf("%q", s.said)
	}
	s.turn(1)
	if !slices.Equal(s.said, []string{"WATCHDOG=1"}) {
		t.Errorf("%q", s.said)
	}
}

func TestAnAPIServerThatDoesNotAnswerIsNoReason(t *testing.T) {
	s := stage(t)
	s.api = false
	if fed := s.turn(1000); fed >= watchdog {
		t.Errorf("not fed for %v", fed)
	}
	if s.bypassed || s.renewed > 0 || !s.ladder.ready || s.ladder.status != "serving; the API server does not answer" {
		t.Errorf("bypassed %v, renewed %d times, %q", s.bypassed, s.renewed, s.ladder.status)
	}
}

func TestAKubeletThatIsSilentIsNoReason(t *testing.T) {
	s := stage(t)
	if fed := s.turn(1000); fed >= watchdog || s.bypassed || s.directly > 0 {
		t.Errorf("not fed for %v, bypassed %v, asked directly %d times", fed, s.bypassed, s.directly)
	}
}

func TestAnAnswerToTheKubeletIsALook(t *testing.T) {
	s := stage(t)
	s.pathHangs = true
	s.answered = s.now.Add(-quiet / 2)
	s.turn(1)
	if s.directly > 0 || s.ladder.sick > 0 {
		t.Error("the API server was asked")
	}
}

func TestAProxyThatHangsStepsAsideBeforeTheWatchdogBites(t *testing.T) {
	s := stage(t)
	s.turn(3)
	s.proxyHangs = true
	begin := s.now
	if fed := s.turn(3); fed >= watchdog {
		t.Errorf("not fed for %v", fed)
	}
	if !s.bypassed || s.now.Sub(begin) > watchdog || !slices.Contains(s.said, "WATCHDOG=1") {
		t.Errorf("bypassed %v after %v, %q", s.bypassed, s.now.Sub(begin), s.said)
	}
}

func TestAHangOfTheBypassTooIsLeftToTheWatchdog(t *testing.T) {
	s := stage(t)
	s.turn(3)
	s.proxyHangs, s.bypassHangs = true, true
	if fed := s.turn(20); fed < watchdog {
		t.Errorf("fed within %v", fed)
	}
}

func TestAPathThatHangsIsRenewedAndThenBypassed(t *testing.T) {
	s := stage(t)
	s.pathHangs = true
	begin := s.now
	s.turn(1)
	if s.renewed != 1 || s.bypassed {
		t.Errorf("renewed %d times, bypassed %v", s.renewed, s.bypassed)
	}
	if fed := s.turn(2); fed >= watchdog || !s.bypassed || s.renewed != 1 || s.now.Sub(begin) > 15*time.Second {
		t.Errorf("not fed for %v, bypassed %v after %v", fed, s.bypassed, s.now.Sub(begin))
	}
	// New connections cure it for good.
	s = stage(t)
	s.pathHangs = true
	s.turn(1)
	s.pathHangs = false
	s.turn(5)
	if s.bypassed || s.ladder.sick > 0 {
		t.Errorf("bypassed %v, sick %d", s.bypassed, s.ladder.sick)
	}
}

func TestItsBypassEndsAndEachLastsLonger(t *testing.T) {
	s := stage(t)
	s.proxyHangs = true
	for _, want := range []time.Duration{cool, 2 * cool, 4 * cool, 8 * cool, coolMost, coolMost} {
		s.turn(2)
		if !s.bypassed {
			t.Fatal("no bypass")
		}
		begin := s.now
		for s.bypassed {
			s.turn(1)
		}
		if took := s.now.Sub(begin); took < want-10*time.Second || took > want+10*time.Second {
			t.Errorf("it lasted %v instead of %v", took, want)
		}
	}
	// When the clock is set back meanwhile, then it ends too.
	s.turn(2)
	s.now = s.now.Add(-24 * time.Hour)
	s.turn(1)
	if s.bypassed {
		t.Error("it lasts on")
	}
}

func TestABypassOfSomebodyElseStays(t *testing.T) {
	s := stage(t)
	s.killed, s.proxyHangs, s.pathHangs = true, true, true
	if fed := s.turn(1000); fed >= watchdog || s.bypassed || s.ladder.status != "bypass: test" || !s.ladder.ready {
		t.Errorf("not fed for %v, bypassed %v, %q", fed, s.bypassed, s.ladder.status)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	s := stage(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.ladder.options.After = func(time.Duration) <-chan time.Time {
		cancel()
		return nil
	}
	s.ladder.Run(ctx)
}

func TestWhateverTheAPIServerSaysIsAnAnswer(t *testing.T) {
	for status, header := range map[int]string{200: "", 302: "Location", 403: "", 500: "", 503: front.UnreachableHeader} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/prefix/version" || r.UserAgent() != "me" {
				t.Errorf("%s by %q", r.URL.Path, r.UserAgent())
			}
			if header != "" {
				w.Header().Set(header, "x")
			}
			w.WriteHeader(status)
		}))
		base, err := url.Parse(server.URL + "/prefix")
		if err != nil {
			t.Fatal(err)
		}
		client := server.Client()
		err = Ask(t.Context(), client, base, "me")
		if (err != nil) != (header == front.UnreachableHeader) {
			t.Errorf("%d: %v", status, err)
		}
		server.Close()
		if err := Ask(t.Context(), client, base, "me"); err == nil || strings.Contains(err.Error(), "panic") {
			t.Errorf("a closed port: %v", err)
		}
	}
}
