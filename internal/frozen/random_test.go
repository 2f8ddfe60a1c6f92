package frozen_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/validate"
)

// drawnCases is how many cases are drawn. Each is drawn from its own number, so that another
// number of them changes none. A family, a chain or a failure more changes what is drawn: both
// sides of a comparison are to have the same corpus.
const drawnCases = 4000

// drawn are cases that nobody wrote: trees of errors, tools and chains at random.
func drawn() []scenario {
	all := chains()
	sortBy(all, func(c chain) string { return c.name })
	var leaves []specimen
	for _, f := range families() {
		for _, s := range f.all {
			leaves = append(leaves, specimen{f.name + " " + s.name, s.make})
		}
	}
	hints := slices.Sorted(maps.Keys(annotations))
	scenarios := make([]scenario, drawnCases)
	for i := range scenarios {
		number := uint64(i)
		scenarios[i] = scenario{name: fmt.Sprintf("drawn | %04d", i), run: func(w *world) {
			d := drawing{rand.New(rand.NewPCG(20260728, number)), leaves}
			c, shape := pick(d, all), pick(d, harness.Shapes())
			at, of := harness.Place{Shape: shape, Era: pick(d, []harness.Era{current, older})}, pick(d, hints)
			story, err := d.tree(4)
			panics, sets := false, false
			if shape.Tool() && d.IntN(6) == 0 {
				sets = true
			}
			if c.safe && d.IntN(8) == 0 {
				panics = true
			}
			w.linef("%s, %s, %s, %s, panics %v, sets %v", c.name, shape, at.Era, of, panics, sets)
			w.linef("%s", story)
			if !c.safe && hostile(err) {
				w.linef("would end the process")
				return
			}
			h := harness.Fail(err)
			switch {
			case panics:
				h = harness.Panic(err)
			case sets && !hostile(err):
				h = result(func() *mcp.CallToolResult { return set(err) })()
			}
			w.start(at, harness.Setup{
				Handlers: map[string]harness.Handler{tool: h, "other": harness.Succeed()}, Middleware: c.build(w),
				Tool: func(t *mcp.Tool) { t.Annotations = annotations[of] },
			})
			for range 1 + d.IntN(2) {
				w.call(tool, "")
			}
		}}
	}
	return scenarios
}

// hostile reports whether a method of an error panics, here or below, or whether it has no end.
func hostile(err error) (evil bool) {
	defer func() {
		if recover() != nil {
			evil = true
		}
	}()
	left := 2000
	var walk func(error)
	walk = func(err error) {
		if left--; left < 0 {
			panic("no end")
		}
		_ = err.Error()
		switch e := err.(type) { //nolint:errorlint // it walks
		case interface{ Unwrap() error }:
			if inner := e.Unwrap(); inner != nil {
				walk(inner)
			}
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				if inner != nil {
					walk(inner)
				}
			}
		}
	}
	walk(err)
	return false
}

// drawing draws.
type drawing struct {
	*rand.Rand
	leaves []specimen
}

func pick[T any](d drawing, all []T) T { return all[d.IntN(len(all))] }

// tree draws a tree of errors, and says how it was made.
func (d drawing) tree(depth int) (string, error) {
	if depth == 0 || d.IntN(4) == 0 {
		leaf := pick(d, d.leaves)
		err := leaf.make()
		if err == nil {
			return "plain", errPlain
		}
		return leaf.name, err
	}
	story, err := d.tree(depth - 1)
	outer := func(name string) string { return name + "(" + story + ")" }
	switch d.IntN(14) {
	case 0, 1:
		return outer("wrap"), fmt.Errorf("wrapped at 10.0.0.7: %w", err)
	case 2:
		return outer("type"), wrapping{err}
	case 3, 4:
		other, second := d.tree(depth - 1)
		return fmt.Sprintf("join(%s; %s)", story, other), errors.Join(err, second)
	case 5:
		other, second := d.tree(depth - 1)
		return fmt.Sprintf("both(%s; %s)", story, other), fmt.Errorf("%w: %w", err, second)
	case 6, 7:
		kind := pick(d, kinds)
		f, name := d.decorated(fault.New(fault.Kind(kind), "the shelf is empty"))
		return outer(fmt.Sprintf("fault %s%s", kind, name)), f.Because(err)
	case 8:
		return outer("saying"), &saying{status: pick(d, []int{0, 400, 401, 404, 409, 429, 500, 503}), after: pick(d, []time.Duration{0, time.Second, time.Hour}), inner: err}
	case 9:
		return outer("retryable"), retryable{d.IntN(2) == 0, err}
	case 10:
		return outer("public"), public{message: pick(d, []string{"", "public words"}), hint: pick(d, []string{"", "do this"}), kind: pick(d, []string{"", "not_found", "my_kind"}), inner: err}
	case 11:
		return outer("calling"), calling(pick(d, []string{"tools/call", "elicitation/create", "ping"}), err)
	case 12:
		if hostile(err) {
			return outer("request"), get(err)
		}
		return outer("arguments"), validate.Arguments(err)
	default:
		return outer("beside a protocol error"), errors.Join(err, &jsonrpc.Error{Code: pick(d, []int64{-32602, -32042, 404, 503}), Message: "on purpose"})
	}
}

// decorated draws what a fault has.
func (d drawing) decorated(f *fault.Error) (*fault.Error, string) {
	name := ""
	for range d.IntN(3) {
		switch d.IntN(10) {
		case 0:
			f, name = f.After(pick(d, []time.Duration{0, 3 * time.Second, time.Hour})), name+" after"
		case 1:
			f, name = f.Never("it is over"), name+" never"
		case 2:
			f, name = f.Suggest("Do this."), name+" suggestion"
		case 3:
			f, name = f.WithCode("CODE"), name+" code"
		case 4:
			f, name = f.Step("Look", pick(d, []string{"", "other", "none"}), map[string]any{"word": "x"}), name+" step"
		case 5:
			f, name = f.With("key", pick(d, []any{1, "text", nil, errPlain, []string{"a"}})), name+" detail"
		case 6:
			f, name = f.WithParty(pick(d, []fault.Party{fault.PartyCaller, fault.PartyServer, fault.PartyUpstream})), name+" party"
		case 7:
			f, name = f.Needs("a.permission"), name+" permission"
		case 8:
			f, name = f.WithRetry(fault.Retry{ShouldRetry: d.IntN(2) == 0, Effect: pick(d, []fault.Effect{"", fault.EffectNone, fault.EffectUnknown, fault.EffectCommitted})}), name+" retry"
		default:
			f, name = fault.Join(f, fault.Invalid("field", "x", "a number")), name+" joined"
		}
	}
	return f, name
}
