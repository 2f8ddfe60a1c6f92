// Package errbench measures what becomes of a task after a call of a tool has failed: how
// often an agent calls until it has succeeded or rightly stopped, how much it reads, what
// it does twice, and what it should not have seen.
//
//	go run ./internal/errbench/cmd/errbench                            the table of docs/evidence.md
//	go run ./internal/errbench/cmd/errbench -agent 'python3 agent.py'  the same for a model of yours
//
// An [Agent] gets a task whose first call has been made, and says what to do next. [Cases]
// are tools in small worlds that know whether something was done twice. [Servers] put the
// same tools behind the bare SDK, mark3labs/mcp-go with its recovery, a middleware that is
// written by hand, and mcpchain. [Run] plays every case on every server with every agent.
// Time is that of testing/synctest: waits take none, and two runs are equal.
//
// # A model of yours
//
// Write an [Agent] in Go and give it to [Run], or a program in any language for [Start],
// which gets each [Turn] as a line of JSON and answers with an [Action] as a line of JSON.
package errbench

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// MaxCalls is how often an agent may call in one case, the first call included.
const MaxCalls = 10

// An Agent decides what to do after each answer. It must not keep anything from one case
// to another.
type Agent interface {
	// Name is the row of the table.
	Name() string

	// Next says what to do. The last exchange of the turn is the newest.
	Next(ctx context.Context, turn *Turn) (Action, error)
}

// A Turn is everything that an agent knows.
type Turn struct {
	Goal      string           `json:"goal"`  // what the user wants, in English
	Knows     map[string][]any `json:"knows"` // what the user could say for an argument, if asked
	Tools     []Tool           `json:"tools"`
	Exchanges []Exchange       `json:"exchanges"`
}

// A Tool is what a client lists.
type Tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema map[string]any `json:"inputSchema"`
	ReadOnly    bool           `json:"readOnlyHint,omitempty"`
	Idempotent  bool           `json:"idempotentHint,omitempty"`
}

// An Exchange is a call and its answer.
type Exchange struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	Answer    Answer         `json:"answer"`
}

// An Answer is what a client gets. A host shows its model the text; Meta, Structured, Code
// and Data are for programs.
type Answer struct {
	Failed     bool           `json:"failed"`
	Text       string         `json:"text"`
	Meta       map[string]any `json:"meta,omitempty"`
	Structured any            `json:"structuredContent,omitempty"`
	Code       int64          `json:"code,omitempty"` // of a JSON-RPC error
	Data       any            `json:"data,omitempty"` // of a JSON-RPC error

	raw  string // all of it, to be searched for secrets
	died bool   // the server's process
}

// An Action is what an agent does. With a Tool it calls, else it stops.
type Action struct {
	Wait      float64        `json:"wait,omitempty"` // seconds before the call
	Tool      string         `json:"tool,omitempty"`
	Arguments map[string]any `json:"arguments,omitempty"`

	// Done says of an agent that stops that the goal is reached.
	Done bool `json:"done,omitempty"`

	// Told says that the answer said so, and that it was not the agent's own idea. What is
	// wrong then was wrong advice.
	Told bool `json:"told,omitempty"`
}

// A Result is what became of one case.
type Result struct {
	Case, Group, Server, Agent string

	Right   bool // it reached the goal, or stopped rightly, and did nothing twice
	Calls   int
	Tokens  int // of what the agent read, see [Tokens]
	Twice   int // what was done a second time
	Misled  int // what it was told to do, and should not have done
	Secrets bool
	Died    int // how often the server's process ended
	Waited  time.Duration
	Story   []string // one line for each step, for people
}

// A Reader says what part of an answer an agent reads. An agent that does not implement it
// reads the text.
type Reader interface{ Reads(a *Answer) string }

// Tokens estimates how many tokens a text has: a quarter of its bytes.
func Tokens(text string) int { return (len(text) + 3) / 4 }

// Run plays all cases, each in a bubble of testing/synctest. It fails t and ends if an agent
// returns an error.
func Run(t *testing.T, agents []Agent, servers []Server, cases []*Case) []*Result {
	t.Helper()
	var all []*Result
	for _, c := range cases {
		for _, s := range servers {
			for _, a := range agents {
				synctest.Test(t, func(t *testing.T) {
					all = append(all, play(t, a, s, c))
				})
				if t.Failed() {
					return all
				}
			}
		}
	}
	return all
}

// play plays one case.
func play(t *testing.T, a Agent, s Server, c *Case) *Result {
	w := &World{truth: truth{kind: fix}, began: time.Now()}
	tools := c.Start(w)
	call, stop := s.start(t, c, tools)
	defer stop()
	turn := &Turn{Goal: c.Goal, Knows: c.Knows}
	for _, tool := range tools {
		turn.Tools = append(turn.Tools, tool.Tool)
	}
	r := &Result{Case: c.Name, Group: c.Group, Server: s.Name, Agent: a.Name()}
	action := Action{Tool: c.First, Arguments: c.Arguments}
	if action.Tool == "" {
		action.Tool = tools[0].Name
	}
	for {
		if r.Calls > 0 && w.wrong(turn, action) {
			r.Misled++
			r.sayf("misled: %v", w.truth)
		}
		if action.Tool == "" || r.Calls == MaxCalls {
			break
		}
		time.Sleep(time.Duration(action.Wait * float64(time.Second)))
		r.Calls++
		answer := call(action.Tool, action.Arguments)
		r.read(a, c, &answer)
		r.sayf("%s %v after %v s: %s", action.Tool, action.Arguments, action.Wait, answer.Text)
		turn.Exchanges = append(turn.Exchanges, Exchange{action.Tool, maps.Clone(action.Arguments), answer})
		var err error
		action, err = a.Next(t.Context(), turn)
		if err != nil {
			t.Errorf("%s, %s on %s: %v", c.Name, a.Name(), s.Name, err)
			break
		}
	}
	r.Twice, r.Waited = max(0, w.Effects-max(1, w.wanted)), time.Since(w.began)
	stopped := action.Tool == ""
	if c.Stop {
		r.Right = stopped && !action.Done && r.Twice == 0
	} else {
		r.Right = stopped && action.Done && w.reached() && r.Twice == 0
	}
	r.sayf("done %v, right %v, effects %d", action.Done, r.Right, w.Effects)
	return r
}

func (r *Result) sayf(format string, args ...any) {
	r.Story = append(r.Story, fmt.Sprintf(format, args...))
}

// read counts what the agent reads of an answer.
func (r *Result) read(a Agent, c *Case, answer *Answer) {
	text := answer.Text
	if reader, ok := a.(Reader); ok {
		text = reader.Reads(answer)
	}
	r.Tokens += Tokens(text)
	if answer.died {
		r.Died++
	}
	for _, secret := range c.Secrets {
		r.Secrets = r.Secrets || strings.Contains(answer.raw, secret)
	}
}

// A World is what the tools of a case work on. It knows what was done, and after a failure
// what is right.
type World struct {
	Effects int // how often something was done that is to be done once
	wanted  int // how many such things there are; zero means one
	read    bool
	truth   truth
	began   time.Time
}

// reached reports whether the goal is reached.
func (w *World) reached() bool { return w.read || w.Effects >= max(1, w.wanted) }

// A truth is what is right after a failure, which the agent does not know.
type truth struct {
	kind truthKind
	at   time.Time // of again: not before
}

type truthKind int

const (
	fix    truthKind = iota // with other arguments only
	again                   // the same call, later
	check                   // look before the call is made again: it took effect, or it did not
	stop                    // nothing helps
	either                  // nobody can know
)

func (t truth) String() string {
	return [...]string{"only other arguments help", "the same call would have succeeded, later", "to be checked first", "nothing helps", "nobody knows"}[t.kind]
}

// fail notes what is right, and returns the error.
func (w *World) fail(kind truthKind, err error) error {
	w.truth = truth{kind: kind, at: time.Now()}
	return err
}

// failUntil is fail with again, but not before a time.
func (w *World) failUntil(at time.Time, err error) error {
	w.truth = truth{kind: again, at: at}
	return err
}

// chatPatience is how long a chat waits. To stop before a longer wait is right.
const chatPatience = 2 * time.Minute

// wrong reports whether an action that the agent was told is not right.
func (w *World) wrong(turn *Turn, a Action) bool {
	last := turn.Exchanges[len(turn.Exchanges)-1]
	if !a.Told || !last.Answer.Failed {
		return false
	}
	repeats := a.Tool == last.Tool && reflect.DeepEqual(a.Arguments, last.Arguments)
	helps := a.Tool != "" && a.Tool != last.Tool
	switch {
	case helps:
		return !slices.ContainsFunc(turn.Tools, func(t Tool) bool { return t.Name == a.Tool })
	case repeats && w.truth.kind == again:
		return time.Now().Add(time.Duration(a.Wait * float64(time.Second))).Before(w.truth.at)
	case repeats:
		return w.truth.kind != either
	case a.Tool == "" && a.Done:
		return !w.reached()
	case a.Tool == "":
		return w.truth.kind == again && time.Until(w.truth.at) < chatPatience
	default: // other arguments
		return w.truth.kind == again || w.truth.kind == check
	}
}
