package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/retry"
)

// The agents read nothing but the text of an answer. They think for three seconds before each call.

// hanging is how long a bubble waits at its end for handlers that hang.
const hanging = 5 * time.Minute

type argument struct {
	N int `json:"n"`
}

// A bench is a server with one tool, "probe", in front of agents.
type bench struct {
	host

	server *mcp.Server
	runs   []time.Duration // when the handler began, since the first run
	first  time.Time
}

func newBench(t *testing.T, a arm, hints *mcp.ToolAnnotations, handler func(ctx context.Context, since time.Duration) error) *bench {
	b := &bench{server: mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)}
	tool(b.server, "probe", "Probe.", hints, func(ctx context.Context, _ argument) (any, error) {
		if len(b.runs) == 0 {
			b.first = time.Now()
		}
		since := time.Since(b.first)
		b.runs = append(b.runs, since)
		return map[string]any{}, handler(ctx, since)
	})
	a.install(b.server, slog.New(slog.DiscardHandler))
	b.session = b.connect(t)
	return b
}

func (b *bench) connect(t *testing.T) *mcp.ClientSession {
	session, err := connect(b.server)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = session.Close()
		time.Sleep(hanging)
	})
	return session
}

func (b *bench) probe(n int) (text string, failed bool) {
	time.Sleep(thinking)
	return b.call("probe", fmt.Appendf(nil, `{"n":%d}`, n))
}

var (
	waits   = regexp.MustCompile(`(?m)^Retry: yes, after (\d[^(.;,]*\w)|asks to wait (\d[^.]*\w)`)
	again   = regexp.MustCompile(`(?m)^Retry: yes`)
	stopped = regexp.MustCompile(`(?m)^Retry: (no\b|not now|not the same call|only )`)
)

// obey reads what to do: how long to wait before the call is made again, or to stop. If the text says neither, an
// agent makes one more try after a while.
func obey(text string, unsaid *int) (wait time.Duration, stop bool) {
	wait = 10 * time.Second
	if m := waits.FindStringSubmatch(text); m != nil {
		wait, _ = time.ParseDuration(strings.NewReplacer(" ", "", "min", "m").Replace(m[1] + m[2]))
	}
	if again.MatchString(text) {
		return wait, false
	}
	*unsaid++
	return wait, stopped.MatchString(text) || *unsaid > 1
}

// obedient makes a call until it succeeds or the text says to stop. It returns the last text.
func (b *bench) obedient(n int) (calls int, text string, failed bool) {
	unsaid := 0
	for calls = 1; ; calls++ {
		text, failed = b.probe(n)
		wait, stop := obey(text, &unsaid)
		if !failed || stop || calls == 60 {
			return calls, text, failed
		}
		time.Sleep(wait)
	}
}

// stubborn makes the same call again and again.
func (b *bench) stubborn(during time.Duration) (text string) {
	for began := time.Now(); time.Since(began) < during; {
		text, _ = b.probe(1)
	}
	return text
}

// passing are the failures that pass by themselves.
var passing = map[string]error{
	"503":         &apiError{503, nil, "GET /v1: 503 Service Unavailable"},
	"429":         &apiError{429, nil, "GET /v1: 429 Too Many Requests"},
	"refused":     fmt.Errorf("get: %w", refused("203.0.113.7:443")),
	"reset":       fmt.Errorf("get: %w", reset("10.0.0.2:40112", "203.0.113.7:443")),
	"timeout":     &url.Error{Op: http.MethodGet, URL: "https://api.example/v1", Err: context.DeadlineExceeded},
	"unavailable": fault.Unavailable("the timetable"),
	"limited":     fault.RateLimited("the timetable", 0),
}

// inArms runs a test in a bubble for each arm with advice.
func inArms(t *testing.T, name string, f func(*testing.T, arm)) {
	for _, a := range arms[1:] {
		t.Run(name+"/"+a.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, a) })
		})
	}
}

func TestOutagesAreSurvived(t *testing.T) {
	for kind, err := range passing {
		for _, hints := range []*mcp.ToolAnnotations{reads, idempotent} {
			for _, lasts := range []time.Duration{20 * time.Second, 75 * time.Second, 150 * time.Second} {
				inArms(t, fmt.Sprintf("%s/read=%t/%s", kind, hints.ReadOnlyHint, lasts), func(t *testing.T, a arm) {
					b := newBench(t, a, hints, during(lasts, err))
					calls, text, failed := b.obedient(1)
					require.False(t, failed, "given up after %d calls and %s: %s", calls, time.Since(b.first), text)
					require.LessOrEqual(t, calls, 8)
				})
			}
		}
	}
}

// during returns a handler that fails for a time.
func during(lasts time.Duration, err error) func(context.Context, time.Duration) error {
	return func(_ context.Context, since time.Duration) error {
		if since < lasts {
			return err
		}
		return nil
	}
}

func TestAnOutageForEverEnds(t *testing.T) {
	for kind, err := range passing {
		inArms(t, kind, func(t *testing.T, a arm) {
			b := newBench(t, a, reads, during(time.Hour, err))
			calls, text, _ := b.obedient(1)
			require.Contains(t, text, "Retry: not now", "after %d calls", calls)
			require.GreaterOrEqual(t, time.Since(b.first), 5*time.Minute)
			require.Less(t, time.Since(b.first), 8*time.Minute)
		})
	}
}

func TestTwentyArgumentsShareOneSchedule(t *testing.T) {
	for kind, err := range passing {
		inArms(t, kind, func(t *testing.T, a arm) {
			b := newBench(t, a, reads, during(150*time.Second, err))
			unsaid := 0
			for open := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}; len(open) > 0; open = open[1:] {
				if text, failed := b.probe(open[0]); failed {
					wait, stop := obey(text, &unsaid)
					require.False(t, stop, text)
					open = append(open, open[0])
					time.Sleep(wait)
				}
			}
			require.LessOrEqual(t, len(b.runs), 30)
		})
	}
}

func TestTheHopelessEndsAtOnce(t *testing.T) {
	for name, handler := range map[string]func(context.Context) error{
		"not found": func(context.Context) error { return fault.NotFound("file", "a.txt", "b.txt") },
		"invalid":   func(context.Context) error { return fault.Invalid("n", 1, "an even number") },
		"effect": func(ctx context.Context) error {
			retry.Began(ctx)(nil)
			return errors.New("the second step failed")
		},
	} {
		inArms(t, name, func(t *testing.T, a arm) {
			b := newBench(t, a, adds, func(ctx context.Context, _ time.Duration) error { return handler(ctx) })
			calls, text, _ := b.obedient(1)
			require.Equal(t, 1, calls, text)
		})
	}
	inArms(t, "schema", func(t *testing.T, a arm) {
		b := newBench(t, a, adds, during(0, nil))
		text, failed := b.call("probe", []byte(`{"n":"one"}`))
		require.True(t, failed)
		_, stop := obey(text, new(int))
		require.True(t, stop, text)
		require.Empty(t, b.runs)
	})
}

// hang returns a handler that does not look at its context.
func hang(context.Context, time.Duration) error {
	time.Sleep(100 * time.Second)
	return errors.New("lock wait timeout exceeded")
}

func TestWhatHangsIsNotSentAgain(t *testing.T) {
	whole := arms[2] // which has a limit
	for _, hints := range []*mcp.ToolAnnotations{reads, idempotent, adds, nil} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, whole, hints, hang)
			calls, text, _ := b.obedient(1)
			require.Equal(t, 1, calls)
			require.Contains(t, text, "Retry: not the same call")
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, whole, adds, hang)
		text := b.stubborn(90 * time.Second)
		require.Len(t, b.runs, 1, "it runs twice at once")
		require.Contains(t, text, "Retry: not the same call")
	})
}

func TestUnexplainedFailuresAreNotRepeatedForEver(t *testing.T) {
	for _, hints := range []*mcp.ToolAnnotations{reads, nil} {
		inArms(t, fmt.Sprint(hints != nil), func(t *testing.T, a arm) {
			b := newBench(t, a, hints, during(time.Hour, errors.New("unexpected state 7")))
			b.stubborn(10 * time.Minute)
			require.LessOrEqual(t, len(b.runs), 12)
			require.True(t, slices.ContainsFunc(b.runs, func(at time.Duration) bool { return at >= 2*time.Minute && at <= 4*time.Minute }),
				"no trial was let through: %v", b.runs)
		})
	}
}

// TestAnyoneLearnsNothingOfFewOthers: whole reads as mask.Anyone.
func TestAnyoneLearnsNothingOfFewOthers(t *testing.T) {
	others := regexp.MustCompile(`(?i)callers|others|since \d\d:\d\d`)
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, arms[2], reads, during(time.Hour, passing["503"]))
		text := ""
		for owner := range 4 {
			if owner > 0 {
				b.session = b.connect(t)
			}
			for n := range 2 {
				text, _ = b.probe(10*owner + n)
				if owner < 2 {
					require.NotRegexp(t, others, text, "%d callers have met it", owner+1)
				}
			}
		}
		require.Contains(t, text, "for several callers since")
	})
}
