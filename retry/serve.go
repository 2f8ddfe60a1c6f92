package retry

import (
	"context"
	"hash/maphash"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/attempt"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/sink"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/internal/words"
)

// params are the parameters P = *T of a request.
type params[T any] interface {
	*T
	mcp.Params
}

// serve makes the first attempt. It keeps a copy of the parameters on the stack,
// because most calls need no second attempt.
func serve[T any, P params[T]](ctx context.Context, s *server, c *call.Call, req *mcp.ServerRequest[P], next mcp.MethodHandler) (mcp.Result, error) {
	if req == nil || req.Params == nil {
		return next(ctx, c.Method(), req)
	}
	said, mark := *req.Params, fingerprint(req.Params)
	res, err := next(ctx, c.Method(), req)
	failed := c.Judge(res, err)
	if failed == nil {
		return res, err
	}
	return repeat(ctx, s, c, req, said, mark, next, outcome{res, err, failed})
}

// outcome is how a failed attempt ended.
type outcome struct {
	res     mcp.Result
	err     error
	failure *failure.Failure
}

// repeat makes the other attempts.
func repeat[T any, P params[T]](ctx context.Context, s *server, c *call.Call, req *mcp.ServerRequest[P], said T, mark uint64, next mcp.MethodHandler, last outcome) (mcp.Result, error) {
	plan := s.policy.Start()
	n := 1
	for ; ; n++ {
		hint := last.failure.Hint()
		if attempt.AnswersInput(P(&said)) || fingerprint(P(&said)) != mark || !transient(last, hint) {
			break
		}
		wait, ok := plan.Next(ctx, n, hint.After)
		if !ok || !s.mayRepeat(c, next, last.failure) || !plan.Fits(ctx, wait) { // the look-up may have taken long
			break
		}
		safe.Call(func() { logLost(ctx, c, last.failure, n, wait) }, nil) // a log that cannot be written must not fail the call
		if !attempt.Sleep(ctx, wait) {
			break
		}
		params, again := said, *req
		again.Params = &params
		c.Attempted(n + 1)
		res, err := next(ctx, c.Method(), &again)
		failed := c.Judge(res, err)
		if failed == nil {
			return withAttempts(c.Method(), outcome{res: res}, n+1)
		}
		last = outcome{res, err, failed}
	}
	return withAttempts(c.Method(), last, n)
}

// transient reports whether a failure is one after which a second try can succeed. If
// the caller has to change the call first, a rule of the program does not count. A
// deliberate protocol error counts only if it says itself that the call may be made
// again. A result with a number of attempts comes from another Server, inside of this
// one or upstream, which has tried often enough.
func transient(last outcome, hint fault.Hint) bool {
	if tool, ok := last.res.(*mcp.CallToolResult); ok && tool != nil && (tool.InputRequests != nil || tool.Meta[wire.AttemptsKey] != nil) {
		return false
	}
	if hint.Retry != fault.RetryYes { // as after every panic
		return false
	}
	if _, guided := last.failure.Fault().Retry(); last.failure.Wire() != nil && !guided {
		return false
	}
	switch last.failure.Fault().Kind() {
	case fault.KindValidation, fault.KindPermissionDenied, fault.KindUnauthenticated, fault.KindCancelled:
		return false
	default:
		return true
	}
}

// mayRepeat reports whether it does no harm to run the handler again. Only the few
// failures that get here look up the server's tools.
func (s *server) mayRepeat(c *call.Call, next mcp.MethodHandler, f *failure.Failure) bool {
	again := func(safety failure.Safety) bool { return f.Again(failure.As(safety)).Retry.ShouldRetry }
	switch {
	case c.Method() != call.MethodCallTool:
		return again(failure.Reads)
	case f.Again(failure.Situation{}).Effect == fault.EffectNone && again(failure.Writes):
		return true
	case s.Repeatable == nil:
		safety := c.Safety(next)
		return safety > failure.Writes && again(safety)
	default:
		return safe.Ask(s.Repeatable, c.Target()) && again(failure.Idempotent)
	}
}

// logLost records an attempt whose failure the caller will not see.
func logLost(ctx context.Context, c *call.Call, f *failure.Failure, n int, wait time.Duration) {
	logger := c.Logger()
	if !logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", c.Method()), slog.Int("attempt", n),
		slog.Float64("wait_ms", float64(wait.Microseconds())/1000), slog.String("reference", c.ID()),
	}
	if key := call.TargetKey(c.Method()); key != "" {
		attrs = append(attrs, slog.String(key, words.Cut(c.Target(), maxLogged)))
	}
	err := f.Err()
	if err != nil {
		attrs = append(attrs, slog.String("error", words.Clip(safe.Error(err), maxLogged)))
	}
	if err == nil || f.Worded() { // the text of the error is only its public part
		attrs = append(attrs, slog.Any("fault", f.Fault()))
	}
	sink.Log(ctx, logger, slog.LevelDebug, "mcp call is tried again", attrs...)
}

// maxLogged is how much of a text the log gets: the last failure is recorded whole.
const maxLogged = 1 << 10

var seed = maphash.MakeSeed()

// fingerprint changes when a handler writes into what the parameters of a request
// share with their copy.
func fingerprint(p mcp.Params) uint64 {
	mark := uint64(len(p.GetMeta()))
	switch p := p.(type) {
	case *mcp.CallToolParamsRaw:
		mark += maphash.Bytes(seed, p.Arguments)
	case *mcp.GetPromptParams:
		for key, value := range p.Arguments { // in any order
			mark += maphash.String(seed, key) ^ 3*maphash.String(seed, value)
		}
	}
	return mark
}

// withAttempts returns an answer with the number of attempts in its _meta, if there
// was more than one. If a tool failed with an error and no result, an empty result
// carries the _meta, which is kept when the failure is rendered; the other methods
// have no place for it.
func withAttempts(method string, last outcome, attempts int) (mcp.Result, error) {
	res := last.res
	if method == call.MethodCallTool && last.err != nil && safe.Nil(res) {
		res = &mcp.CallToolResult{}
	}
	if attempts < 2 || safe.Nil(res) {
		return last.res, last.err
	}
	return call.WithMeta(res, wire.AttemptsKey, attempts), last.err
}
