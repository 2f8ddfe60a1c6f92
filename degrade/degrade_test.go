package degrade_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
)

var errSecret = errors.New("dial " + harness.Canary + ": no route")

func give[T any](v T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return v, nil }
}

func fail[T any](err error) func(context.Context) (T, error) {
	return func(context.Context) (v T, _ error) { return v, err }
}

// heed waits until its context is done.
func heed(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "too late", ctx.Err()
}

// quiet keeps what a test provokes out of its output, and returns it.
func quiet(t *testing.T) *harness.Log {
	log := harness.NewLog(slog.LevelDebug)
	before := slog.Default()
	slog.SetDefault(log.Logger())
	t.Cleanup(func() { slog.SetDefault(before) })
	return log
}

func TestCompleteAnswer(t *testing.T) {
	log := quiet(t)
	var a, b string
	status, err := degrade.Run(t.Context(), degrade.Required("a", &a, give("1")), degrade.Optional("b", &b, give("2")))
	require.NoError(t, err)
	require.Equal(t, "12", a+b)
	require.Equal(t, degrade.Status{Metadata: degrade.Metadata{
		ComponentsRequested: []string{"a", "b"}, ComponentsReturned: []string{"a", "b"}, Completeness: 1,
	}}, status)
	require.Empty(t, status.Text())
	require.Empty(t, log.Records())

	status, err = degrade.Run(t.Context())
	require.NoError(t, err)
	require.InDelta(t, 1, status.Metadata.Completeness, 0)
}

// TestAComponentDoesNotChange makes two parts of one.
func TestAComponentDoesNotChange(t *testing.T) {
	base := degrade.Optional("it", nil, fail[string](errSecret)).Else("first", fail[string](errSecret))
	cached, served := base.Else("cache", give("cached")).Impact("Old."), base.Else("paper", give("on paper"))
	for part, source := range map[degrade.Part]string{base: "", cached: "cache", served: "paper"} {
		status, err := degrade.Run(t.Context(), part)
		require.NoError(t, err)
		require.Equal(t, source, status.Warnings[0].Source)
	}
}

// TestOptionalPart looks at what an optional part leaves, whatever happens to it.
func TestOptionalPart(t *testing.T) {
	type part = *degrade.Component[string]
	for name, c := range map[string]struct {
		fetch  func(context.Context) (string, error)
		change func(part) part
		want   degrade.Warning
		value  string
		logged string // in the only record; "" for none
		bare   string // the same, if the record says no more than the text
		took   time.Duration
	}{
		"fails": {
			fetch:  fail[string](errSecret),
			want:   degrade.Warning{Type: fault.KindInternal, Reason: "Internal error: the server failed unexpectedly.", Impact: "This answer comes without it."},
			logged: harness.Canary,
		},
		"fails with words": {
			fetch:  fail[string](fault.NotFound("city", "Oz").Because(errSecret)),
			change: func(p part) part { return p.Impact("You stay here.") },
			want:   degrade.Warning{Type: fault.KindNotFound, Reason: "Not found: city 'Oz' does not exist.", Impact: "You stay here."},
			logged: harness.Canary,
		},
		"says when to come back": {
			fetch: fail[string](fault.RateLimited("the map", 30*time.Second)),
			want: degrade.Warning{
				Type: fault.KindRateLimited, Reason: "Rate limited: the map accepts no more calls now.", Impact: "This answer comes without it.",
				Retry: &fault.Retry{ShouldRetry: true, RetryAfterSeconds: 30},
			},
			logged: "the map", bare: "the map",
		},
		"takes too long": {
			fetch:  heed,
			change: func(p part) part { return p.Within(2 * time.Second) },
			want:   degrade.Warning{Type: fault.KindTimeout, Reason: "Timeout: it did not finish within 2 s.", Impact: "This answer comes without it."},
			logged: "context deadline exceeded", took: 2 * time.Second,
		},
		"is stuck": {
			fetch: func(context.Context) (string, error) {
				time.Sleep(time.Hour)
				return "long after", nil
			},
			change: func(p part) part { return p.Within(2 * time.Second) },
			want:   degrade.Warning{Type: fault.KindTimeout, Reason: "Timeout: it did not finish within 2 s.", Impact: "This answer comes without it."},
			logged: "left behind", took: 2*time.Second + 20*time.Millisecond,
		},
		"is late but there": {
			fetch: func(ctx context.Context) (string, error) {
				<-ctx.Done()
				return "just so", nil
			},
			value: "just so", took: 10 * time.Second,
		},
		"panics": {
			fetch:  func(context.Context) (string, error) { panic(harness.Canary) },
			want:   degrade.Warning{Type: fault.KindInternal, Reason: "Internal error: the server failed unexpectedly.", Impact: "This answer comes without it."},
			logged: "degrade_test.go",
		},
		"ends its goroutine": {
			fetch:  func(context.Context) (string, error) { runtime.Goexit(); return "", nil },
			want:   degrade.Warning{Type: fault.KindInternal, Reason: "Internal error: the server failed unexpectedly.", Impact: "This answer comes without it."},
			logged: "Goexit",
		},
		"skips itself": {
			fetch:  fail[string](degrade.Skip("at night there is none")),
			change: func(p part) part { return p.Else("cache", give("cached")) },
			want:   degrade.Warning{Type: "skipped", Reason: "Skipped: at night there is none.", Impact: "This answer comes without it."},
		},
		"has another source": {
			fetch: fail[string](fault.Unavailable("the map").Because(errSecret)),
			change: func(p part) part {
				return p.Impact("Nothing.").Else("paper", give("on paper")).Else("memory", give("by heart"))
			},
			want: degrade.Warning{
				Type: fault.KindServiceUnavailable, Reason: "Service unavailable: the map is not available now.",
				Impact: "it comes from another source, paper.", Fallback: "source", Source: "paper",
			},
			value: "on paper", logged: harness.Canary,
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := quiet(t)
			synctest.Test(t, func(t *testing.T) {
				var it string
				p := degrade.Optional("it", &it, c.fetch)
				if c.change != nil {
					p = c.change(p)
				}
				start := time.Now()
				status, err := degrade.Run(t.Context(), p, degrade.Required("more", new(string), give("more")))
				require.NoError(t, err)
				require.Equal(t, c.took, time.Since(start))
				time.Sleep(2 * time.Hour) // what is left behind ends
				require.Equal(t, c.value, it)
				if c.want.Reason == "" {
					require.False(t, status.Degraded)
					return
				}
				require.True(t, status.Degraded)
				require.Len(t, status.Warnings, 1)
				got := status.Warnings[0]
				require.NotContains(t, status.Text(), harness.Canary)
				require.Contains(t, status.Text(), got.Reason)
				require.Contains(t, status.Text(), got.Impact)
				if c.logged == "" {
					require.Empty(t, log.Records())
					require.Empty(t, got.ReferenceID)
				} else {
					require.Contains(t, log.String(), c.logged)
					require.Equal(t, got.ReferenceID, log.Only(t)["reference"])
					require.Regexp(t, `\.it$`, got.ReferenceID)
					// It is in the text where the log knows more than the text says.
					require.Equal(t, c.logged != c.bare, strings.HasSuffix(status.Text(), " Reference: "+got.ReferenceID), status.Text())
				}
				c.want.Component = "it"
				require.EqualExportedValues(t, c.want, withoutReference(got))
				returned := []string{"more"}
				if c.value != "" {
					returned = []string{"it", "more"}
				}
				require.Equal(t, returned, status.Metadata.ComponentsReturned)
				require.InDelta(t, float64(len(returned))/2, status.Metadata.Completeness, 0)
			})
		})
	}
}

func withoutReference(w degrade.Warning) degrade.Warning {
	w.ReferenceID = ""
	return w
}

// TestStale wants a stale copy never served as a fresh one, and none that is too old.
func TestStale(t *testing.T) {
	log := quiet(t)
	synctest.Test(t, func(t *testing.T) {
		copied := func(age time.Duration) func(context.Context) (string, time.Time, error) {
			return func(context.Context) (string, time.Time, error) { return age.String(), time.Now().Add(-age), nil }
		}
		unknown := func(context.Context) (string, time.Time, error) { return "no date", time.Time{}, nil }
		var it string
		part := degrade.Optional("it", &it, fail[string](fault.Unavailable("the source"))).
			Stale("attic", 24*time.Hour, unknown).
			Stale("archive", 24*time.Hour, copied(25*time.Hour)).
			Stale("cache", 150*time.Minute, copied(150*time.Minute)) // no older than it may be
		status, err := degrade.Run(t.Context(), part)
		require.NoError(t, err)
		require.Equal(t, "2h30m0s", it)
		w := status.Warnings[0]
		require.Equal(t, "stale", w.Fallback)
		require.Equal(t, "cache", w.Source)
		require.InDelta(t, 9000, w.AgeSeconds, 0)
		require.Equal(t, "1999-12-31T21:30:00Z", w.AsOf)
		require.Equal(t, "Partial answer: it has 1 of 1 components.\n- it: STALE. it is not fresh: a copy from cache that is 2 h 30 min old. "+
			"Service unavailable: the source is not available now.", status.Text())
		require.Len(t, log.Records(), 3)
		require.Contains(t, log.String(), "does not say how old it is")
		require.Contains(t, log.String(), "25h0m0s old")

		// One from the future, because clocks differ, has no age.
		_, err = degrade.Run(t.Context(), degrade.Required("it", &it, fail[string](errSecret)).Stale("cache", time.Hour, copied(-time.Hour)))
		require.NoError(t, err)
		require.Equal(t, "-1h0m0s", it)

		// A required part may be stale, but not older than it may be.
		it = "untouched"
		_, err = degrade.Run(t.Context(), degrade.Required("it", &it, fail[string](errSecret)).Stale("cache", time.Hour, copied(2*time.Hour)))
		require.ErrorIs(t, err, errSecret)
		require.Equal(t, "untouched", it)
	})
}

func TestRequiredPartEndsTheOthers(t *testing.T) {
	log := quiet(t)
	synctest.Test(t, func(t *testing.T) {
		a, b := "before", "before"
		start := time.Now()
		status, err := degrade.Run(t.Context(),
			degrade.Optional("a", &a, heed),
			degrade.Required("b", &b, func(context.Context) (string, error) {
				time.Sleep(time.Second)
				return "half", errSecret
			}),
			degrade.Required("c", new(string), heed),
			degrade.Optional("d", new(string), give("there")))
		require.Zero(t, status)
		require.ErrorIs(t, err, errSecret)
		require.Equal(t, time.Second, time.Since(start))
		require.Equal(t, "before before", a+" "+b, "written in spite of the failure")
		var f *fault.Error
		require.ErrorAs(t, err, &f)
		require.Equal(t, fault.KindInternal, f.Kind())
		require.Equal(t, "b", f.Data().Details["component"])
		require.NotContains(t, err.Error(), harness.Canary)
		require.Contains(t, log.Only(t)["error"], harness.Canary)
		require.Equal(t, log.Only(t)["reference"], f.Reference())
	})
}

func TestRequiredPartSkipped(t *testing.T) {
	_, err := degrade.Run(t.Context(), degrade.Required("a", new(string), fail[string](degrade.Skip("there is no key"))))
	require.ErrorIs(t, err, fault.KindPreconditionFailed)
	require.Contains(t, err.Error(), "there is no key")
}

// TestDeadlineOfTheCall wants an answer before it, not none.
func TestDeadlineOfTheCall(t *testing.T) {
	quiet(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var a, b string
		status, err := degrade.Run(ctx, degrade.Required("a", &a, give("a")), degrade.Optional("b", &b, heed).Else("cache", give("cached")))
		require.NoError(t, err)
		require.NoError(t, ctx.Err(), "the time of the call was used up")
		require.Equal(t, "acached", a+b)
		require.Equal(t, "Timeout: b did not finish within 800 ms.", status.Warnings[0].Reason)

		// One that is required has all of the time.
		start := time.Now()
		_, err = degrade.Run(ctx, degrade.Required("a", &a, heed))
		require.ErrorIs(t, err, fault.KindTimeout)
		require.Equal(t, 200*time.Millisecond, time.Since(start))
	})
	for name, c := range map[string]struct {
		part degrade.Part
		took time.Duration
	}{
		"a part without a limit":  {degrade.Required("a", nil, heed).Within(-1).Else("cache", give("cached")), 900 * time.Millisecond},
		"the last of the sources": {degrade.Required("a", nil, fail[string](errSecret)).Else("cache", heed), time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start := time.Now()
				_, _ = degrade.Run(ctx, c.part)
				require.Equal(t, c.took, time.Since(start))
			})
		})
	}
}

func TestCancelledCall(t *testing.T) {
	quiet(t)
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		cached := func(context.Context) (string, error) {
			asked.Add(1)
			return "cached", nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		var a string
		status, err := degrade.Run(ctx, degrade.Required("a", &a, give("a")), degrade.Optional("b", new(string), heed).Else("cache", cached))
		require.NoError(t, err)
		require.Zero(t, asked.Load(), "asked when nobody waits any longer")
		require.Empty(t, status.Warnings[0].Fallback)
		require.Equal(t, fault.KindCancelled, status.Warnings[0].Type)
		_, err = degrade.Run(ctx, degrade.Required("a", &a, heed))
		require.ErrorIs(t, err, context.Canceled)
	})
}

// TestWrite wants a change made once and in peace.
func TestWrite(t *testing.T) {
	quiet(t)
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int32
		slow := func(ctx context.Context) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(time.Minute):
				return "made", errIf(made.Add(1) > 1)
			}
		}
		var order string
		_, err := degrade.Run(t.Context(), degrade.Required("order", &order, slow).Write(), degrade.Required("stock", new(int), fail[int](errSecret)))
		require.EqualValues(t, 1, made.Load(), "stopped half way")
		require.Empty(t, order)
		var f *fault.Error
		require.ErrorAs(t, err, &f)
		require.Equal(t, "stock", f.Data().Details["component"])
		require.Equal(t, fault.EffectCommitted, f.Data().Retry.Effect)

		status, err := degrade.Run(t.Context(), degrade.Optional("mail", new(string), heed).Write().Within(time.Second).Impact("Nobody was told."))
		require.NoError(t, err)
		require.Equal(t, fault.EffectUnknown, status.Warnings[0].Retry.Effect)
		require.Equal(t, "Nobody was told.", status.Warnings[0].Impact)
	})
}

// TestEffectOfAChange wants what is not known about a change said to be not known.
func TestEffectOfAChange(t *testing.T) {
	quiet(t)
	for name, c := range map[string]struct {
		err  error
		want fault.Effect
	}{
		"plain":   {errSecret, fault.EffectUnknown},
		"invalid": {fault.Invalid("a", 1, "two"), fault.EffectNone},
		"said":    {fault.Unavailable("it").WithRetry(fault.Retry{Effect: fault.EffectNone, ShouldRetry: true}), fault.EffectNone},
		"again":   {fault.Unavailable("it").WithRetry(fault.Retry{ShouldRetry: true}), fault.EffectNone},
		"unsure":  {fault.Unavailable("it").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}), fault.EffectUnknown},
		"limited": {fault.RateLimited("it", time.Second), fault.EffectNone},
		"dial":    {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, fault.EffectUnknown}, // what was done before it, nobody knows
	} {
		status, err := degrade.Run(t.Context(), degrade.Optional("mail", new(int), fail[int](c.err)).Write())
		require.NoError(t, err)
		require.Equal(t, c.want, status.Warnings[0].Retry.Effect, name)
		unsure := "It is not known whether it was done: check before you do it again."
		if c.want == fault.EffectUnknown {
			require.Contains(t, status.Text(), unsure, name)
			require.False(t, status.Warnings[0].Retry.ShouldRetry)
		} else {
			require.NotContains(t, status.Text(), unsure, name)
			require.Equal(t, name == "said" || name == "again" || name == "limited", status.Warnings[0].Retry.ShouldRetry, name)
		}

		// A part that is read fails the whole: of the change the same is said.
		_, err = degrade.Run(t.Context(), degrade.Optional("mail", new(int), fail[int](c.err)).Write(),
			degrade.Required("main", new(int), func(context.Context) (int, error) {
				time.Sleep(10 * time.Millisecond)
				return 0, fault.Unavailable("main")
			}))
		var f *fault.Error
		require.ErrorAs(t, err, &f)
		require.Equal(t, "main", f.Data().Details["component"])
		retry, _ := f.Retry()
		require.Equal(t, c.want == fault.EffectUnknown, retry.Effect == fault.EffectUnknown, name)
	}
}

// TestTextOfAWarning tells those who read text what the machine form says, in sentences
// in which nothing can pass for a line of ours.
func TestTextOfAWarning(t *testing.T) {
	quiet(t)
	text := func(part degrade.Part) string {
		status, err := degrade.Run(t.Context(), part)
		require.NoError(t, err)
		return status.Text()
	}
	const head = "Partial answer: it has 0 of 1 components.\n"
	for wait, want := range map[time.Duration]string{
		20 * time.Second: "Try again after 20 s.", 1100 * time.Millisecond: "Try again after 2 s.", 90 * time.Minute: "Try again after 1 h 30 min.",
	} {
		require.Equal(t, head+"- it: MISSING. Nothing. Rate limited: the map accepts no more calls now. "+want,
			text(degrade.Optional("it", nil, fail[int](fault.RateLimited("the map", wait))).Impact("Nothing")))
	}
	hostile := "x\r\nReference: 1\u2028- other: MISSING.\u202e\x1b[31m"
	require.Equal(t, head+"- x Reference: 1 - other: MISSING.: MISSING. x Reference: 1 - other: MISSING. Skipped: x Reference: 1 - other: MISSING.",
		text(degrade.Optional(hostile, nil, fail[int](degrade.Skip(hostile))).Impact(hostile)))
	long := strings.Repeat("One sentence. ", 100)
	require.Contains(t, text(degrade.Optional("it", nil, fail[int](degrade.Skip(long)))), "One sentence. One sentence.")
	require.Less(t, len(text(degrade.Optional("it", nil, fail[int](degrade.Skip(long))))), 700)
	made := degrade.Status{Degraded: true, Warnings: []degrade.Warning{{Component: "a", Impact: hostile}}}
	require.Equal(t, 1, strings.Count(made.Text(), "\n"))
}

func errIf(yes bool) error {
	if yes {
		return errors.New("twice")
	}
	return nil
}

// TestLeftBehind wants nothing written by a part after its time, and its panic
// survived and recorded.
func TestLeftBehind(t *testing.T) {
	log := quiet(t)
	synctest.Test(t, func(t *testing.T) {
		var it string
		status, err := degrade.Run(t.Context(), degrade.Optional("it", &it, func(context.Context) (string, error) {
			time.Sleep(time.Hour)
			panic("after " + harness.Canary)
		}).Within(time.Second))
		require.NoError(t, err)
		require.True(t, status.Degraded)
		it = "the caller's" // seen by -race
		time.Sleep(2 * time.Hour)
		require.Equal(t, "the caller's", it)
		require.Len(t, log.Records(), 2)
		require.Contains(t, log.Records()[1]["error"], "after its time")
		require.Contains(t, log.Records()[1]["stack"], "TestLeftBehind")
	})
}

func TestPartsRunTogether(t *testing.T) {
	harness.NoLeaks(t)
	first, second := make(chan struct{}), make(chan struct{})
	status, err := degrade.Run(t.Context(),
		degrade.Required("a", new(int), func(context.Context) (int, error) { close(first); <-second; return 1, nil }),
		degrade.Required("b", new(int), func(context.Context) (int, error) { <-first; close(second); return 2, nil }))
	require.NoError(t, err)
	require.False(t, status.Degraded)
}

// TestNothingWanted lets a part be run for what it does alone.
func TestNothingWanted(t *testing.T) {
	_, err := degrade.Run(t.Context(), degrade.Required[int]("a", nil, give(1)), degrade.Required[int]("b", nil, give(1)).Write())
	require.NoError(t, err)
}

func TestMistakes(t *testing.T) {
	ok := give(1)
	for message, mistake := range map[string]func(){
		`degrade.Run: part 0 is nil; remove it`: func() { _, _ = degrade.Run(t.Context(), nil) },
		`degrade.Run: two parts have the name "a"; give each one of its own`: func() {
			_, _ = degrade.Run(t.Context(), degrade.Optional("a", nil, ok), degrade.Required("a", nil, ok))
		},
		`degrade.Required: the name is empty; callers and the log know the part or source by it`: func() { degrade.Required("", nil, ok) },
		`degrade.Optional: the function of "a" is nil; give what gets the value`:                 func() { degrade.Optional[int]("a", nil, nil) },
		`degrade.Component.Else: the function of "b" is nil; give what gets the value`:           func() { degrade.Optional("a", nil, ok).Else("b", nil) },
		`degrade.Component.Stale: maxAge is not positive; say how old a copy may be`: func() {
			degrade.Optional("a", nil, ok).Stale("b", 0, func(context.Context) (int, time.Time, error) { return 0, time.Time{}, nil })
		},
		`degrade: the limit of part "a" is 1ns, which no source can keep; give at least 1ms`: func() { degrade.Required("a", nil, ok).Write().Within(1) },
		`degrade: part "a" is a Write and has a fallback, but nothing stands in for a change that was not made; leave one of them out`: func() {
			degrade.Optional("a", nil, ok).Write().Else("b", ok)
		},
		`degrade: part "c" is a Write and has a fallback, but nothing stands in for a change that was not made; leave one of them out`: func() {
			degrade.Optional("c", nil, ok).Else("b", ok).Write()
		},
		`degrade.New: Options.Limit is 1ns, which no source can keep; give at least 1ms`: func() { degrade.New(&degrade.Options{Limit: 1}) },
	} {
		require.PanicsWithValue(t, message, mistake)
	}
}

// TestStandalone wants what is said outside of a call as safe as inside of one.
func TestStandalone(t *testing.T) {
	log := quiet(t)
	require.Nil(t, call.FromContext(t.Context()))
	status, err := degrade.Run(t.Context(), degrade.Optional("a", nil, fail[int](fault.Unavailable("postgres://u:tr0ub4dor@db/x"))))
	require.NoError(t, err)
	require.NotContains(t, status.Text(), "tr0ub4dor")
	require.Equal(t, "degrade", log.Only(t)["method"])
}

// hollow is an error as a typed nil is: each method panics but those of nil itself.
type hollow struct{ error }

func (h *hollow) Error() string { return h.error.Error() }
func (h *hollow) Unwrap() error { return h.error }

// circular holds itself.
type circular struct{ error }

func (c *circular) Unwrap() error { return c }

// TestStrangeErrors of parts, whose methods panic or never end, are failures as others
// are: those methods are called in goroutines that nobody else guards.
// TestEachPartIsRecordedAsItEnded: that a required part fails, or that Run is over, ends the
// others, but cancels none that had failed before.
func TestEachPartIsRecordedAsItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := quiet(t)
		var told error
		parts := func(ctx context.Context) error {
			_, err := degrade.Run(ctx,
				degrade.Required[string]("needed", nil, func(context.Context) (string, error) {
					time.Sleep(time.Second)
					return "", errSecret
				}),
				degrade.Optional[string]("before", nil, fail[string](&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})),
				degrade.Required[string]("cut", nil, func(ctx context.Context) (string, error) {
					<-ctx.Done()
					return "", errors.New("pq: canceling statement due to user request")
				}),
				degrade.Required[string]("write", nil, func(context.Context) (string, error) {
					time.Sleep(2 * time.Second)
					return "", errSecret
				}).Write(),
			)
			return err
		}
		for place, run := range map[string]func(){
			"alone": func() { told = parts(t.Context()) },
			"in a call": func() {
				h := call.Wrap(func(ctx context.Context, _ *call.Call, _ mcp.Request, _ mcp.MethodHandler) (mcp.Result, error) {
					return nil, parts(ctx)
				})(nil)
				_, told = h(t.Context(), call.MethodCallTool, &mcp.CallToolRequest{})
			},
		} {
			before := len(log.Records())
			run()
			ended := map[string]string{}
			for _, record := range log.Records()[before:] {
				ended[strings.TrimPrefix(record["reference"].(string)[36:], ".")] = record["level"].(string) + " " + record["outcome"].(string)
			}
			want := map[string]string{"before": "WARN unavailable", "cut": "INFO cancelled", "write": "ERROR internal_error"}
			if place == "alone" {
				want["needed"] = "ERROR internal_error"
				require.ErrorIs(t, told, errSecret)
			} else {
				want[""] = "ERROR internal_error" // the failure of the call is that of the part
			}
			require.Equal(t, want, ended, place)
		}
	})
}

func TestStrangeErrors(t *testing.T) {
	for name, strange := range map[string]error{"hollow": (*hollow)(nil), "circular": &circular{errSecret}} {
		for when, fetch := range map[string]func(context.Context) (int, error){
			"at once": fail[int](strange),
			"in time": func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, strange },
			"after its time": func(context.Context) (int, error) {
				time.Sleep(time.Hour)
				return 0, strange
			},
		} {
			t.Run(name+" "+when, func(t *testing.T) {
				log := quiet(t)
				synctest.Test(t, func(t *testing.T) {
					status, err := degrade.Run(t.Context(), degrade.Optional("it", nil, fetch).Within(time.Second))
					require.NoError(t, err)
					require.Len(t, status.Warnings, 1)
					require.NotContains(t, status.Text(), harness.Canary)
					require.Len(t, log.Records(), 1)
					require.Equal(t, log.Records()[0]["reference"], status.Warnings[0].ReferenceID)
					time.Sleep(2 * time.Hour)

					_, err = degrade.Run(t.Context(), degrade.Required("it", nil, fetch).Within(time.Second), degrade.Required("other", nil, give(1)))
					require.Error(t, err)
					time.Sleep(2 * time.Hour)
				})
			})
		}
	}
}

// TestSkippedIsScrubbed: the reason for which a part is skipped is public, but what is
// hidden in every other text is hidden in it too.
func TestSkippedIsScrubbed(t *testing.T) {
	log := quiet(t)
	const reason = "postgres://u:" + harness.Canary + "@10.1.2.3/db is off"
	status, err := degrade.Run(t.Context(),
		degrade.Optional("itself", nil, fail[int](fmt.Errorf("wrapped: %w", degrade.Skip(reason)))),
		degrade.Optional("bare", nil, fail[int](degrade.Skip(reason))))
	require.NoError(t, err)
	require.Len(t, status.Warnings, 2)
	for _, w := range status.Warnings {
		require.Equal(t, fault.Kind("skipped"), w.Type)
		require.Equal(t, "Skipped: postgres://[redacted] is off.", w.Reason)
		require.Empty(t, w.ReferenceID)
	}
	require.Empty(t, log.Records())
}
