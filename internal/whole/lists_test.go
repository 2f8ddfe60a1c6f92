package whole_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/validate"
)

// TestHowOftenAServerIsAskedForItsTools counts the lists that a chain asks for by itself: none where
// the answer would change nothing, and else one a second for each tool, however many calls there are.
func TestHowOftenAServerIsAskedForItsTools(t *testing.T) {
	const calls = 20
	write := harness.Fail
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	quiet := slog.New(slog.DiscardHandler)
	audited := func() *mcpchain.Options {
		return &mcpchain.Options{Logger: quiet, Retry: &retry.Options{RefuseAfter: -1}, Audit: audit.New(&audit.Options{Log: audit.NewLog(func([]audit.Entry) error { return nil }, nil)})}
	}
	plain := func() *mcpchain.Options {
		return &mcpchain.Options{Logger: quiet, Retry: &retry.Options{RefuseAfter: -1}}
	}
	checked := func() *mcpchain.Options {
		return &mcpchain.Options{Logger: quiet, Retry: &retry.Options{RefuseAfter: -1}, Validate: &validate.Options{RawTools: true}}
	}
	for name, c := range map[string]struct {
		opts    func() *mcpchain.Options
		handler harness.Handler
		lists   int // in the first second, and in the next one
	}{
		"success":                          {plain, harness.Succeed(), 0},
		"wrong arguments":                  {plain, write(fault.Invalid("a", "an integer", "x")), 0},
		"a fault that nothing was changed": {plain, write(fault.Unavailable("the bank").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})), 0},
		"a fault that it took effect":      {plain, write(fault.Unavailable("the bank").WithRetry(fault.Retry{Effect: fault.EffectCommitted})), 0},
		"refused connection":               {plain, write(refused), 1}, // whether the tool only reads decides
		"unknown error":                    {plain, write(errors.New("x")), 1},
		"timeout":                          {plain, write(context.DeadlineExceeded), 1},
		"audited success":                  {audited, harness.Succeed(), 1},
		"audited timeout":                  {audited, write(context.DeadlineExceeded), 2}, // audit asks outside of filters that retry asks inside of
		"checked success":                  {checked, harness.Succeed(), 1},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, []harness.Shape{harness.ServerRaw}, func(t *testing.T, at harness.Place) {
				synctest.Test(t, func(t *testing.T) {
					lists := 0
					s := harness.Start(t, at, harness.Setup{
						Handlers: map[string]harness.Handler{"it": c.handler},
						Middleware: []mcp.Middleware{mcpchain.Standard(c.opts()), func(next mcp.MethodHandler) mcp.MethodHandler {
							return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
								if method == "tools/list" && middleware.IsLookup(ctx) {
									lists++
								}
								return next(ctx, method, req)
							}
						}},
					})
					for seconds := 1; seconds <= 2; seconds++ {
						for range calls {
							s.Call(t, "it")
						}
						require.Equal(t, c.lists*seconds, lists)
						time.Sleep(time.Second)
					}
				})
			})
		})
	}
}
