package e2e

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/child"
)

// only narrows the table down while one looks for a mistake.
var only = regexp.MustCompile(os.Getenv("MCPCHAIN_E2E_ONLY"))

// fewer returns the shapes, or only the first where time is short.
func fewer(shapes ...shape) []shape {
	if racing || testing.Short() {
		return shapes[:1]
	}
	return shapes
}

// half returns which scenarios a server has: every other one, or all with MCPCHAIN_SOAK. Servers with an
// odd and with an even number have the whole table together.
func half(server int) func(*scenario) bool {
	n := server
	return func(*scenario) bool {
		n++
		return n%2 == 1 || os.Getenv("MCPCHAIN_SOAK") != ""
	}
}

// TestEverythingIsSurvived runs the whole table against real processes with other calls in flight all the
// time: over each transport, one half in each of its two shapes.
func TestEverythingIsSurvived(t *testing.T) {
	for i, shape := range shapes {
		t.Run(shape.String(), func(t *testing.T) {
			if racing && shape.json || testing.Short() && shape.transport == "stateful" {
				t.Skip("the run without -race and -short has this shape: it differs from the others in how HTTP frames the answers only")
			}
			t.Parallel()
			p := connect(t, start(t, config{Transport: shape.transport, Chain: chainStandard, JSON: shape.json}), shape.asks)
			require.Equal(t, shape.speaks, p.version)
			p.runAll(t, half(i+i/4)) // so that each half is run in both protocol eras
		})
	}
}

// TestInstalledTwice requires the same answers, and one record each, where the
// chain stands twice around the server. Each of two servers has one half of the table.
func TestInstalledTwice(t *testing.T) {
	for i, shape := range fewer(shapes[0], shapes[3]) {
		t.Run(shape.String(), func(t *testing.T) {
			t.Parallel()
			p := connect(t, start(t, config{Transport: shape.transport, Chain: chainTwice}), shape.asks)
			p.runAll(t, half(i))
		})
	}
}

// TestWithEverything requires the same answers where everything is turned on that
// Standard can do, and one more: of a handler that ends its goroutine. Each of two servers has one
// half of the table.
func TestWithEverything(t *testing.T) {
	for _, shape := range fewer(shapes[0], shapes[3]) {
		for half := range 2 {
			t.Run(fmt.Sprintf("%s/%d", shape, half), func(t *testing.T) {
				t.Parallel()
				p := connect(t, start(t, config{Transport: shape.transport, Chain: chainAll, JSON: shape.json, Breaker: true}), shape.asks)
				n := 0
				p.runAll(t, func(*scenario) bool { n++; return n%2 == half })
			})
		}
	}
}

// TestAroundSingleHandlers requires the same of a chain around each handler, with
// nothing around the server.
func TestAroundSingleHandlers(t *testing.T) {
	for _, shape := range fewer(shapes[4], shapes[1]) {
		t.Run(shape.String(), func(t *testing.T) {
			t.Parallel()
			p := connect(t, start(t, config{Transport: shape.transport, Chain: chainHandlers}), shape.asks)
			p.runAll(t, func(s *scenario) bool { return s.handlers() && !outside(s) })
		})
	}
}

// outside reports whether a failure happens outside of a wrapped handler, where
// only a chain around the server sees it.
func outside(s *scenario) bool {
	return (s.kind == "resource" || s.kind == "template") && // what it does with contents
		(s.name == "nil-contents" || s.name == "unsendable-resource-nil")
}

// runAll runs the scenarios that are wanted, one after another, while a hundred
// other calls are in flight.
func (p *peer) runAll(t *testing.T, wanted func(*scenario) bool) {
	t.Helper()
	p.pool = &pool{p: p}
	p.pool.fly(t, inFlight)
	const generation = 10 // how many calls land and start at a time
	every := 10           // scenarios
	if racing {
		every = 25
	}
	n := 0
	for _, s := range scenarios() {
		if !wanted(&s) || !only.MatchString(s.name) || s.skip != nil && s.skip(p) != "" {
			continue
		}
		n++
		ok := t.Run(s.name, func(t *testing.T) { p.run(t, &s) })
		select {
		case <-p.Exited:
			require.FailNow(t, "the server is dead", "after %s: %v\n%s", s.name, p.Err, p.Stderr)
		default:
		}
		if ok && n%every == 0 {
			p.pool.land(t, generation)
			p.pool.fly(t, generation)
		}
	}
	p.pool.land(t, len(p.pool.flying))
	require.Empty(t, child.Leak(p.rec.bytes(0)), "a canary left the server")
	require.NoError(t, p.cs.Close())
	p.Stop(t)
	t.Logf("%d scenarios, %d calls in flight meanwhile", n, p.pool.started)
}

// run runs one scenario.
func (p *peer) run(t require.TestingT, s *scenario) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	mark, size := p.rec.mark(), p.Log.Size(t)
	res, err := s.call(ctx, p, s.name)
	p.Alive(t)
	require.NoError(t, ctx.Err(), "not answered")
	left := p.rec.bytes(mark)
	if form := child.Leak(left); form != "" {
		require.FailNow(t, "a canary left the server", "as %s, in\n%s", form, shorten(left))
	}
	answers := p.rec.answers(t, mark)
	require.Len(t, answers, 1, "%s", shorten(left))
	if s.adjust != nil {
		adjusted := *s
		s = &adjusted
		s.adjust(p.cfg.Chain, s.kind, &s.want)
	}
	s.check(t, p, answers[0], res, err, p.Log.Since(t, size))
	after := p.stats(t, false)
	require.Equal(t, p.pid, after.PID)
	require.EqualValues(t, len(p.pool.flying), after.Waiting, "calls in flight")
}

func shorten(b []byte) string {
	if len(b) > 4000 {
		return string(b[:4000]) + " ..."
	}
	return string(b)
}

func wireError(code int64, message, data string) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: code, Message: message}
	if data != "" {
		e.Data = []byte(data)
	}
	return e
}
