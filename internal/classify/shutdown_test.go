package classify_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
)

type publicError struct{ kind, message string }

func (e publicError) Error() string         { return "private" }
func (e publicError) PublicMessage() string { return e.message }
func (e publicError) PublicKind() string    { return e.kind }

type doneNothing struct{}

func (doneNothing) Error() string        { return "refused" }
func (doneNothing) Effect() fault.Effect { return fault.EffectNone }

// TestTheEndOfTheServer: what is said about it is the server's, and whoever may be called again is.
func TestTheEndOfTheServer(t *testing.T) {
	end, unknown := classify.ErrShutdown, errors.New("x")
	known := []classify.Rule{func(err error) *fault.Error {
		if errors.Is(err, unknown) {
			return fault.New(fault.KindConflict, "known")
		}
		return nil
	}}
	for name, c := range map[string]struct {
		err    error
		ended  bool // the context of the call did
		stands bool // it is what it is without that
		effect fault.Effect
		rules  []classify.Rule
	}{
		"itself":                           {err: end},
		"wrapped":                          {err: fmt.Errorf("a: %w", end)},
		"beside the context's error":       {err: fmt.Errorf("%w: %w", context.Canceled, end)},
		"joined":                           {err: errors.Join(unknown, end)},
		"below an error of a connection":   {err: &net.OpError{Op: "read", Err: end}},
		"a fault around it":                {err: fault.Unavailable("the bank").Because(end)},
		"nothing was sent":                 {err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, ended: true}, // of one step, and the call may have had others
		"nothing was done, says the error": {err: doneNothing{}, ended: true, effect: fault.EffectNone},
		"a part of it had taken effect":    {err: fault.New(fault.KindInternal, "x").Because(fault.New(fault.KindInternal, "y").WithRetry(fault.Retry{Effect: fault.EffectCommitted})), ended: true, effect: fault.EffectCommitted},
		"unknown words":                    {err: unknown, ended: true},
		"a timeout":                        {err: context.DeadlineExceeded, ended: true},
		"cancelled":                        {err: context.Canceled, ended: true},
		"a fault of the tool":              {err: fault.New(fault.KindTool, "it was interrupted"), ended: true},
		"public words":                     {err: publicError{message: "interrupted"}, ended: true},

		"unknown words of another time": {err: unknown, stands: true},
		"cancelled at another time":     {err: context.Canceled, stands: true},
		"a fault that says what to do":  {err: fault.Unavailable("the bank").After(time.Minute), ended: true, stands: true},
		"a fault of another kind":       {err: fault.NotFound("order", "7"), ended: true, stands: true},
		"public words of another kind":  {err: publicError{"conflict", "it is locked"}, ended: true, stands: true},
		"a protocol error":              {err: &jsonrpc.Error{Code: 409, Message: "locked"}, ended: true, stands: true},
		"a panic":                       {err: &fault.PanicError{Value: end}, ended: true, stands: true},
		"a rule":                        {err: unknown, ended: true, stands: true, rules: known},
	} {
		t.Run(name, func(t *testing.T) {
			got := classify.Of(c.err, classify.Options{Ended: c.ended, Rules: c.rules})
			if c.stands {
				require.Equal(t, classify.Of(c.err, classify.Options{Rules: c.rules}), got)
				require.NotEqual(t, "this server was replaced before the call had finished", got.Fault.Message())
				return
			}
			require.Equal(t, classify.Classified, got.Origin)
			require.Equal(t, fault.KindServiceUnavailable, got.Fault.Kind())
			require.Equal(t, "this server was replaced before the call had finished", got.Fault.Message())
			require.Equal(t, fault.PartyServer, got.Party)
			hint := hintOf(got)
			if c.effect == "" {
				c.effect = fault.EffectUnknown
			}
			require.Equal(t, fault.Hint{Retry: fault.RetryYes, After: time.Second, Effect: c.effect}, hint)
			done := c.effect == fault.EffectCommitted
			for safety, again := range map[failure.Safety]bool{failure.Writes: c.effect == fault.EffectNone, failure.Keyed: !done, failure.Idempotent: !done, failure.Reads: !done} {
				answer := failure.Again(&failure.Known{Finding: got}, failure.As(safety))
				require.Equal(t, again, answer.Retry.ShouldRetry, safety)
				require.Equal(t, classify.Cut, got.Says.By)
			}
			require.Equal(t, classify.OfSentence, got.Words, "which says more than the words of what the handler was told to stop at")
		})
	}
}
