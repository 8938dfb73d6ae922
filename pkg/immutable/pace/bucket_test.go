package pace

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// run starts n takers of a class and returns when each was let through, since
// the start, in that order.
func run(t *testing.T, b *Bucket, class Class, n int) func() []time.Duration {
	t.Helper()
	start := time.Now()
	var mu sync.Mutex
	var at []time.Duration
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			release, err := b.Take(t.Context(), class)
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(start))
		})
	}
	return func() []time.Duration {
		wg.Wait()
		slices.Sort(at)
		return at
	}
}

func TestARestedBucketGivesItsBurstAtOnceAndThenItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Rate: 20, Burst: 20})
		at := run(t, b, Soon, 60)()
		if at[19] != 0 {
			t.Errorf("the 20th waited %v, want none", at[19])
		}
		for i := 20; i < 60; i++ {
			want := time.Duration(i-19) * 50 * time.Millisecond
			if d := at[i] - want; d < 0 || d > time.Millisecond {
				t.Errorf("the %dth went at %v, want %v", i+1, at[i], want)
			}
		}
	})
}

func TestAFirstReadBorrowsWhenTheBucketIsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Rate: 50, Burst: 10, Debt: 100})
		run(t, b, Soon, 10)()
		if at := run(t, b, First, 100)(); at[99] != 0 {
			t.Errorf("the last of 100 borrowers waited %v, want none", at[99])
		}
		at := run(t, b, First, 1)()
		if at[0] < 20*time.Millisecond || at[0] > 21*time.Millisecond {
			t.Errorf("past the debt a first read waited %v, want a token's 20ms", at[0])
		}
	})
}

func TestDebtIsRepaidBeforeAnythingElseMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Rate: 50, Burst: 1, Debt: 99})
		run(t, b, First, 100)()
		at := run(t, b, Background, 1)()
		if at[0] < 2*time.Second || at[0] > 2001*time.Millisecond {
			t.Errorf("went after %v, want 2s: 99 tokens repaid and one earned", at[0])
		}
	})
}

func TestAFirstReadPassesAheadOfThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Rate: 1, Burst: 1})
		run(t, b, First, 1)()
		background, soon := run(t, b, Background, 3), run(t, b, Soon, 3)
		synctest.Wait()
		first := run(t, b, First, 1)()
		if first[0] > 1001*time.Millisecond {
			t.Errorf("the first read waited %v behind others", first[0])
		}
		if s, bg := soon(), background(); s[2] > bg[0] {
			t.Errorf("background went at %v, before soon was done at %v", bg[0], s[2])
		}
	})
}

func TestNoMoreThanTheCapAreInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Rate: 50, Burst: 10, Debt: 1000, InFlight: 4})
		var mu sync.Mutex
		now, most := 0, 0
		start := time.Now()
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				release, err := b.Take(t.Context(), First)
				if err != nil {
					t.Error(err)
					return
				}
				defer release()
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(10 * time.Millisecond)
				mu.Lock()
				now--
				mu.Unlock()
			})
		}
		wg.Wait()
		if most != 4 {
			t.Errorf("%d were in flight at once, want 4", most)
		}
		if d := time.Since(start); d != 100*time.Millisecond {
			t.Errorf("40 requests of 10ms, four at a time, took %v", d)
		}
	})
}

// flight is n requests that are answered after 10 ms each.
type flight struct {
	mu   sync.Mutex
	now  int
	gone sync.WaitGroup
}

func fly(t *testing.T, b *Bucket, n int) *flight {
	f := &flight{}
	for range n {
		f.gone.Go(func() {
			release, err := b.Take(t.Context(), First)
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			f.count(1)
			time.Sleep(10 * time.Millisecond)
			f.count(-1)
		})
	}
	return f
}

func (f *flight) count(more int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now += more
	return f.now
}

// rounds are how many are in flight in the middle of so many times 10 ms.
func (f *flight) rounds(n int) (seen []int) {
	for range n {
		time.Sleep(5 * time.Millisecond)
		seen = append(seen, f.count(0))
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
	}
	return seen
}

func TestTheCapGrowsAsFarAsTheGoalAsksFor(t *testing.T) {
	for _, c := range []struct {
		goal float64
		want []int
	}{
		{100, []int{4, 4, 4, 4}},    // 1 in flight would do
		{1000, []int{4, 8, 10, 10}}, // 10 in flight are 1,000 a second
		{5000, []int{4, 8, 16, 20}}, // 50 would be, and 20 are allowed
	} {
		synctest.Test(t, func(t *testing.T) {
			f := fly(t, New(Options{Rate: 1, Burst: 1000, InFlight: 4, InFlightMost: 20, Goal: c.goal}), 100)
			if seen := f.rounds(4); !slices.Equal(seen, c.want) {
				t.Errorf("goal %v: %v were in flight, want %v", c.goal, seen, c.want)
			}
			f.gone.Wait()
		})
	}
}

// The first answers of a burst may be slow for a reason of their own.
func TestTheCapShrinksWhenAnswersAreQuicker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Rate: 1, Burst: 1000, InFlight: 4, InFlightMost: 20, Goal: 500})
		var slow []func()
		for range 4 {
			release, err := b.Take(t.Context(), First)
			if err != nil {
				t.Fatal(err)
			}
			slow = append(slow, release)
		}
		f := fly(t, b, 100)
		time.Sleep(30 * time.Millisecond)
		for _, release := range slow {
			release()
		}
		seen := f.rounds(4)
		if want := []int{8, 5, 5, 5}; !slices.Equal(seen, want) {
			t.Errorf("%v were in flight, want %v", seen, want)
		}
		f.gone.Wait()
	})
}

func TestTheCapGrowsWithTheAnswersAndShrinksWithTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Rate: 1, Burst: 1000, InFlight: 4, InFlightMost: 20})
		f := fly(t, b, 200)
		if seen, want := f.rounds(5), []int{4, 8, 16, 20, 20}; !slices.Equal(seen, want) {
			t.Errorf("%v were in flight, want %v", seen, want)
		}
		for range 20 {
			b.Trouble()
		}
		time.Sleep(15 * time.Millisecond) // those in flight come back, each for one more
		if n := f.count(0); n > 20 {
			t.Errorf("%d were in flight after trouble", n)
		}
		f.gone.Wait()
		// A burst later begins as this one did.
		var releases []func()
		for range 4 {
			release, err := b.Take(t.Context(), First)
			if err != nil {
				t.Fatal(err)
			}
			releases = append(releases, release)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := b.Take(ctx, First); err == nil {
			t.Error("a fifth was let through")
		}
		b.Trouble()
		releases[0]()
		releases[1]()
		ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if release, err := b.Take(ctx, First); err != nil {
			t.Errorf("none was let through: %v", err) // 4/2 + 2 are 4, two are in flight
		} else {
			release()
		}
		releases[2]()
		releases[3]()
	})
}

func TestAGivenUpWaitLeavesNoTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Rate: 1, Burst: 1, InFlight: 1})
		release, err := b.Take(t.Context(), Soon)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := b.Take(ctx, Soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want the context's error", err)
		}
		release()
		release() // a second time does nothing
		at := run(t, b, Soon, 2)()
		if at[0] > 901*time.Millisecond {
			t.Errorf("the next went at %v, want the token of the first second", at[0])
		}
		if at[1] < 1900*time.Millisecond {
			t.Errorf("the one after went at %v: a token was made of nothing", at[1])
		}
	})
}

func TestABucketIsReadyWhileItHasATokenOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Rate: 1, Burst: 1, Debt: 10})
		if !b.Ready() {
			t.Error("a full bucket is not ready")
		}
		run(t, b, First, 3)()
		time.Sleep(2 * time.Second)
		if b.Ready() {
			t.Error("a bucket in debt is ready")
		}
		time.Sleep(time.Second + time.Millisecond)
		if !b.Ready() {
			t.Error("a bucket that has repaid is not ready")
		}
	})
}

func TestJitterLengthensWaitsWithinItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Rate: 1, Burst: 1, Jitter: 0.5, Rand: func() float64 { return 0.5 }})
		run(t, b, Soon, 1)()
		if at := run(t, b, Soon, 1)(); at[0] < 1250*time.Millisecond || at[0] > 1251*time.Millisecond {
			t.Errorf("waited %v, want 1.25s", at[0])
		}
	})
}
