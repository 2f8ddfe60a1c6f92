package mcptest

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/middleware"
)

// An Injection is one way in which calls fail. Exactly one of Error, Panic, Nil, NaN,
// Delay and Hang is set.
type Injection struct {
	// Names are the tools and prompts, and the URIs of the resources, whose calls fail.
	// Nil means all.
	Names []string

	// Probability is how likely a failure is, from 0 to 1. Zero means 1: every call.
	Probability float64

	// Seed makes the choice: with the same seed the same calls fail, counted in the order
	// in which they arrive. It has no meaning without a Probability.
	Seed uint64

	Error error         // what the handler returns
	Panic any           // what the handler panics with
	Nil   bool          // the handler returns neither a result nor an error
	NaN   bool          // the handler returns a result that cannot be written as JSON
	Delay time.Duration // the handler runs after this time, or returns when its context ends
	Hang  bool          // the handler does not return before the end of the test, whatever its context says
}

// Inject returns a middleware that makes calls of tools, prompts and resources fail. The
// first injection that applies decides; after a Delay the next ones are tried too. Put it
// innermost, where a handler stands: as the last inner middleware of mcpchain.Standard, or
// around one handler with middleware.Tool. It ends the test if an injection is not
// complete.
func Inject(t testing.TB, injections ...Injection) mcp.Middleware {
	t.Helper()
	injections = slices.Clone(injections)
	choices := make([]*rand.Rand, len(injections))
	for i, in := range injections {
		if n := in.harms(); n != 1 {
			t.Fatalf("mcptest.Inject: Injection %d sets %d of Error, Panic, Nil, NaN, Delay and Hang; set one", i, n)
		}
		if in.Probability < 0 || in.Probability > 1 || math.IsNaN(in.Probability) {
			t.Fatalf("mcptest.Inject: Injection %d: Probability is %v; set it from 0 to 1", i, in.Probability)
		}
		choices[i] = rand.New(rand.NewPCG(in.Seed, 0))
	}
	var mu sync.Mutex
	applies := func(i int, target string) bool {
		in := injections[i]
		if in.Names != nil && !slices.Contains(in.Names, target) {
			return false
		}
		if in.Probability == 0 {
			return true
		}
		mu.Lock()
		defer mu.Unlock()
		return choices[i].Float64() < in.Probability
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch method {
			case middleware.MethodCallTool, middleware.MethodGetPrompt, middleware.MethodReadResource:
			default:
				return next(ctx, method, req)
			}
			target := middleware.Target(req)
			for i, in := range injections {
				if !applies(i, target) {
					continue
				}
				if in.Delay == 0 {
					return in.fail(t, method)
				}
				select {
				case <-time.After(in.Delay):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return next(ctx, method, req)
		}
	}
}

// harms returns how many ways to fail are set.
func (in Injection) harms() int {
	n := 0
	for _, set := range []bool{in.Error != nil, in.Panic != nil, in.Nil, in.NaN, in.Delay > 0, in.Hang} {
		if set {
			n++
		}
	}
	return n
}

// fail does what the injection says, without a delay.
func (in Injection) fail(t testing.TB, method string) (mcp.Result, error) {
	switch {
	case in.Error != nil:
		return nil, in.Error
	case in.Panic != nil:
		panic(in.Panic)
	case in.Hang:
		<-t.Context().Done() // which ends before the functions of Cleanup run
		return nil, t.Context().Err()
	}
	value := map[string]any{"value": math.NaN()}
	switch method {
	case middleware.MethodGetPrompt:
		if in.Nil {
			return (*mcp.GetPromptResult)(nil), nil
		}
		return &mcp.GetPromptResult{Meta: value}, nil
	case middleware.MethodReadResource:
		if in.Nil {
			return (*mcp.ReadResourceResult)(nil), nil
		}
		return &mcp.ReadResourceResult{Meta: value}, nil
	default:
		if in.Nil {
			return (*mcp.CallToolResult)(nil), nil
		}
		return &mcp.CallToolResult{StructuredContent: value}, nil
	}
}
