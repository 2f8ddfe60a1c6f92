package retry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

// An agent wants one call to succeed. It knows nothing about the server but what it
// reads: a model the text, a program the machine form.
type agent struct {
	t       *testing.T
	s       *harness.Session
	read    func(harness.Answer) reading
	mend    func(args map[string]any, text string) bool // what a model can: it understands the first line
	calls   int
	waited  time.Duration
	checked []string // the tools that it called because it was told to
}

// reading is what an agent understood.
type reading struct {
	again  bool
	wait   time.Duration
	unsure bool // it has to check first
	silent bool // nothing is said of a second try
	tool   string
	args   map[string]any
}

var (
	retryYes  = regexp.MustCompile(`(?m)^Retry: yes(?:, after ([\d.]+) (ms|s|min|h)\b)?`)
	retryNo   = regexp.MustCompile(`(?m)^Retry: (?:no[.,]|only |not now)`)
	checkLine = regexp.MustCompile(`(?m)^Retry: no(?:, unless you see|\. This call may have changed)|not known whether`)
	firstStep = regexp.MustCompile(`(?m)^Next: 1\. .*: call (\S+) (\{.*\})\.`)
)

// byText reads as a model does.
func byText(a harness.Answer) (r reading) {
	text := a.Text()
	if m := retryYes.FindStringSubmatch(text); m != nil {
		unit := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "min": time.Minute, "h": time.Hour}[m[2]]
		n, _ := strconv.ParseFloat(m[1], 64)
		r.again, r.wait = true, time.Duration(n*float64(unit))
	} else if !retryNo.MatchString(text) {
		r.silent = true
	}
	r.unsure = checkLine.MatchString(text)
	if m := firstStep.FindStringSubmatch(text); m != nil {
		r.tool = m[1]
		if err := json.Unmarshal([]byte(m[2]), &r.args); err != nil {
			panic(err)
		}
	}
	return r
}

// byMeta reads as a program does.
func byMeta(a harness.Answer) (r reading) {
	var f fault.Error
	raw, _ := json.Marshal(a.Tool().Meta[middleware.MetaKey])
	if err := f.UnmarshalJSON(raw); err != nil {
		panic(err)
	}
	said, ok := f.Retry()
	r.silent = !ok
	r.again, r.wait = said.ShouldRetry, time.Duration(said.RetryAfterSeconds*float64(time.Second))
	r.unsure = said.Effect == fault.EffectUnknown
	for _, step := range f.Data().RecoverySteps {
		if step.Tool != "" && r.tool == "" {
			r.tool, r.args = step.Tool, step.Parameters
		}
	}
	return r
}

// patience is how often an agent calls that does not listen.
const patience = 50

// pursue does what it reads until the call of the tool "do" succeeded, and returns the
// last answer; false when there is nothing more to be done.
func (a *agent) pursue(args map[string]any) (answer harness.Answer, reached bool) {
	for range patience {
		a.calls++
		answer = a.s.CallTool(a.t.Context(), "do", args)
		if answer.Fault() == nil {
			return answer, true
		}
		switch r := a.read(answer); {
		case r.again:
			a.waited += r.wait
			time.Sleep(r.wait)
		case r.tool != "":
			a.checked = append(a.checked, r.tool)
			found := a.s.CallTool(a.t.Context(), r.tool, r.args)
			require.Nil(a.t, found.Fault(), found.Text())
			if (r.unsure || r.silent) && strings.Contains(found.Text(), "done") { // it looks before it repeats
				return found, true
			}
		case r.unsure, r.silent: // it cannot check, so it asks the user
			return answer, false
		case a.mend != nil && a.mend(args, answer.Text()):
		default:
			return answer, false
		}
	}
	return answer, false
}

// world is what the tools of a story work on: each does what its script says.
type world struct {
	effects int // how often something was changed
	runs    map[string]int
	scripts map[string][]step
}

// step is one run of a tool: it changes something or not, and fails or not.
type step struct {
	effect bool
	err    error
	text   string
	accept func(args map[string]any) error
}

func (w *world) handle(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := req.Params.Name
	script := w.scripts[name]
	s := script[min(w.runs[name], len(script)-1)]
	w.runs[name]++
	if s.accept != nil {
		var args map[string]any
		if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
			return nil, err
		}
		if err := s.accept(args); err != nil {
			return nil, err
		}
	}
	if s.effect {
		w.effects++
	}
	if s.err != nil {
		return nil, s.err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s.text}}}, nil
}

var (
	quantity = func(args map[string]any) error {
		if _, ok := args["quantity"].(float64); !ok {
			return fault.Invalid("quantity", args["quantity"], "an integer")
		}
		return nil
	}
	wrongNumber = func(args map[string]any, text string) bool {
		if !strings.Contains(text, "Argument 'quantity' expected an integer, but received 'five'.") {
			return false
		}
		args["quantity"] = 5
		return true
	}
	project = func(args map[string]any) error {
		if name, _ := args["project"].(string); name != "alpha" {
			return fault.NotFound("project", name, "alpha", "beta")
		}
		return nil
	}
	didYouMean = func(args map[string]any, text string) bool {
		m := regexp.MustCompile(`Did you mean '(\w+)'\?`).FindStringSubmatch(text)
		if m == nil {
			return false
		}
		args["project"] = m[1]
		return true
	}
	slowPayment = fault.Timeout("the payment", 10*time.Second).Because(context.DeadlineExceeded).
			Step("See whether it was made", "find_payment", map[string]any{"id": "p-1"})
)

// The stories. In each of them the agent does what it reads, and nothing is done twice.
var stories = []struct {
	name    string
	tool    *mcp.ToolAnnotations
	scripts map[string][]step // of the tool "do", and of those that help
	args    map[string]any
	mend    func(args map[string]any, text string) bool

	reached bool
	effects int
	calls   int // of "do", as the agent made them
	runs    int // of its handler
	checked []string
	waited  time.Duration // at least
}{
	{
		name:    "rate limited twice, then fine",
		scripts: map[string][]step{"do": {{err: fault.RateLimited("the shop", 30*time.Second)}, {err: fault.RateLimited("the shop", 5*time.Second)}, {effect: true, text: "done"}}},
		reached: true, effects: 1, calls: 3, runs: 3, waited: 35 * time.Second,
	},
	{
		name: "refused, then fine", tool: harmless,
		scripts: map[string][]step{"do": {{err: errRefused}, {effect: true, text: "done"}}},
		reached: true, effects: 1, calls: 2, runs: 2, waited: 500 * time.Millisecond,
	},
	{
		name:    "a write whose last step was refused, and its first one was not",
		scripts: map[string][]step{"do": {{effect: true, err: errRefused}, {effect: true, text: "done"}}},
		reached: false, effects: 1, calls: 1, runs: 1,
	},
	{
		name: "a read that failed once, and nobody knows why", tool: readOnly,
		scripts: map[string][]step{"do": {{err: errors.New("no leader yet")}, {text: "done"}}},
		reached: true, calls: 2, runs: 2,
	},
	{
		name: "hopeless: a read that nobody knows", tool: readOnly,
		scripts: map[string][]step{"do": {{err: errors.New("index out of range")}}},
		reached: false, calls: 2, runs: 2,
	},
	{
		name:    "write timed out, and had taken effect",
		scripts: map[string][]step{"do": {{effect: true, err: slowPayment}, {effect: true, text: "done"}}, "find_payment": {{text: "payment p-1: done"}}},
		reached: true, effects: 1, calls: 1, runs: 1, checked: []string{"find_payment"},
	},
	{
		name:    "write timed out, and had not taken effect",
		scripts: map[string][]step{"do": {{err: slowPayment}, {effect: true, text: "done"}}, "find_payment": {{text: "no such payment"}}},
		reached: true, effects: 1, calls: 2, runs: 2, checked: []string{"find_payment"},
	},
	{
		name:    "write timed out, and nothing tells whether it took effect",
		scripts: map[string][]step{"do": {{effect: true, err: context.DeadlineExceeded}, {effect: true, text: "done"}}},
		reached: false, effects: 1, calls: 1, runs: 1,
	},
	{
		name:    "connection broke in the middle of a write",
		scripts: map[string][]step{"do": {{effect: true, err: errReset}, {effect: true, text: "done"}}},
		reached: false, effects: 1, calls: 1, runs: 1,
	},
	{
		name: "read timed out twice, then fine", tool: readOnly,
		scripts: map[string][]step{"do": {{err: context.DeadlineExceeded}, {err: errReset}, {text: "done"}}},
		reached: true, calls: 3, runs: 3, waited: time.Second,
	},
	{
		name: "idempotent write timed out, then fine", tool: harmless,
		scripts: map[string][]step{"do": {{err: context.DeadlineExceeded}, {effect: true, text: "done"}}},
		reached: true, effects: 1, calls: 2, runs: 2, waited: 500 * time.Millisecond,
	},
	{
		name:    "it failed after it was done",
		scripts: map[string][]step{"do": {{effect: true, err: fault.New(fault.KindServerError, "the receipt could not be printed").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectCommitted})}, {effect: true}}},
		reached: false, effects: 1, calls: 1, runs: 1,
	},
	{
		name: "wrong argument, mended", args: map[string]any{"quantity": "five"}, mend: wrongNumber,
		scripts: map[string][]step{"do": {{effect: true, text: "done", accept: quantity}}},
		reached: true, effects: 1, calls: 2, runs: 2,
	},
	{
		name: "misspelled name, mended", args: map[string]any{"project": "alhpa"}, mend: didYouMean,
		scripts: map[string][]step{"do": {{effect: true, text: "done", accept: project}}},
		reached: true, effects: 1, calls: 2, runs: 2,
	},
	{
		name: "something else has to be done first",
		scripts: map[string][]step{
			"do":             {{err: fault.New(fault.KindPreconditionFailed, "the database has pending migrations").Step("Run them", "run_migrations", nil)}, {effect: true, text: "done"}},
			"run_migrations": {{text: "migrated"}},
		},
		reached: true, effects: 1, calls: 2, runs: 2, checked: []string{"run_migrations"},
	},
	{
		name: "busy for a while",
		scripts: map[string][]step{"do": {
			{err: fault.New(fault.KindConflict, "a deployment is running").After(time.Minute)}, {err: fault.New(fault.KindConflict, "a deployment is running").After(time.Minute)}, {effect: true, text: "done"},
		}},
		reached: true, effects: 1, calls: 3, runs: 3, waited: 2 * time.Minute,
	},
	{
		name:    "hopeless: a bug in the server",
		scripts: map[string][]step{"do": {{effect: true, err: errors.New("index out of range")}}},
		reached: false, effects: 1, calls: 1, runs: 1,
	},
	{
		name:    "hopeless: not permitted",
		scripts: map[string][]step{"do": {{err: fault.Denied("delete", "project alpha")}}},
		reached: false, calls: 1, runs: 1,
	},
	{
		name: "hopeless: down for good", tool: readOnly,
		scripts: map[string][]step{"do": {{err: errRefused}}},
		reached: false, calls: 3, runs: 3, waited: time.Second,
	},
	{
		name: "deaf: the same call again and again", args: map[string]any{"quantity": "five"},
		mend:    func(map[string]any, string) bool { return true },
		scripts: map[string][]step{"do": {{effect: true, text: "done", accept: quantity}}},
		reached: false, calls: patience, runs: 6,
	},
	{
		name: "deaf: one guess after the other", args: map[string]any{"quantity": "five"},
		mend: func(args map[string]any, _ string) bool {
			args["quantity"] = fmt.Sprint(args["quantity"], "?")
			return true
		},
		scripts: map[string][]step{"do": {{effect: true, text: "done", accept: quantity}}},
		reached: false, calls: patience, runs: patience, // other arguments may be right
	},
}

func TestAnAgentThatReads(t *testing.T) {
	readers := map[string]func(harness.Answer) reading{"text": byText, "meta": byMeta}
	for _, story := range stories {
		for name, read := range readers {
			for _, era := range []harness.Era{harness.Current, harness.Older} {
				t.Run(story.name+"/"+name+"/"+string(era), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := &world{runs: map[string]int{}, scripts: story.scripts}
						s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
							Middleware: chain(harness.NewLog(slog.LevelError+1), nil),
							More: func(server *mcp.Server) {
								for name := range story.scripts {
									tool := &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}
									if name == "do" {
										tool.Annotations = story.tool
									}
									server.AddTool(tool, w.handle)
								}
							},
						})
						args := map[string]any{}
						maps.Copy(args, story.args)
						a := &agent{t: t, s: s, read: read, mend: story.mend}
						answer, reached := a.pursue(args)
						require.Equal(t, story.reached, reached, answer.Text())
						require.Equal(t, story.effects, w.effects, "done too often, or not")
						require.Equal(t, story.calls, a.calls)
						require.Equal(t, story.runs, w.runs["do"])
						require.Equal(t, story.checked, a.checked)
						require.GreaterOrEqual(t, a.waited, story.waited)
						if reached {
							require.Contains(t, answer.Text(), "done")
						}
					})
				})
			}
		}
	}
}
