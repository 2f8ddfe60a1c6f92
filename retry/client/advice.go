package client

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// advice is what a failure says about another attempt.
type advice struct {
	found classify.Finding
	hint  fault.Hint
	after time.Duration // kept to exactly; zero: not said
	most  int           // attempts in all, by the server's count; zero: not said

	// foreign: the server gives no guidance, so nothing is known of a second try of a write.
	foreign bool
}

// again reports whether a call of this safety may be made again.
func (a advice) again(s failure.Safety) bool {
	if a.foreign && s <= failure.Writes {
		return false
	}
	return failure.Again(&failure.Known{Finding: a.found, Hint: &a.hint}, failure.As(s)).Retry.ShouldRetry
}

func adviceOf(r response) advice {
	a := advice{found: classify.Finding{Origin: classify.Worded, Fault: r.failure}}
	if tool, ok := r.res.(*mcp.CallToolResult); ok && tool != nil && tool.InputRequests != nil {
		return a
	}
	said, ok := r.failure.Retry()
	switch {
	case said.Unknown && said.RetryAfterSeconds > 0:
		a.hint.Retry, a.after, a.foreign = fault.RetryYes, spanOf(said.RetryAfterSeconds, time.Second), true
		return a
	case ok && !said.Unknown:
		a.found.By = classify.ByFault
		a.after, a.most = spanOf(said.RetryAfterSeconds, time.Second), said.MaxAttempts
		a.hint.Effect = said.Effect
		if said.ShouldRetry && (said.MaxAttempts == 0 || said.NextAttempt <= said.MaxAttempts) {
			a.hint.Retry = fault.RetryYes
		}
		return a
	}
	a.foreign = true
	if errors.Is(r.err, mcp.ErrConnectionClosed) || errors.Is(r.err, mcp.ErrSessionMissing) {
		return a
	}
	if after, ok := askedToWait(r); ok {
		a.hint.Retry, a.after = fault.RetryYes, after
		return a
	}
	var wire *jsonrpc.Error
	switch fromServer := errors.As(r.err, &wire); {
	case r.err != nil && !fromServer:
		a.hint = failure.HintOf(r.err)
		a.after = a.hint.After
	case fromServer && wire.Code == kinds.Rejected && wire.Message == "rejected by transport":
		if undelivered(r.err) {
			a.hint.Retry = fault.RetryYes
		}
	case r.failure.Kind() != fault.KindServerError: // every unknown code has this kind
		a.hint.Retry = failure.HintOf(r.failure).Retry
	}
	return a
}

// askedToWait reads how long a server that knows nothing of mcpchain asks to wait.
func askedToWait(r response) (time.Duration, bool) {
	if tool, ok := r.res.(*mcp.CallToolResult); ok && tool != nil && r.err == nil {
		return retryAfter(tool.Meta)
	}
	var wire *jsonrpc.Error
	if !errors.As(r.err, &wire) || len(wire.Data) == 0 {
		return 0, false
	}
	var data map[string]any
	if json.Unmarshal(wire.Data, &data) != nil {
		return 0, false // not an object
	}
	return retryAfter(data)
}

// undelivered reports whether the client's transport failed to deliver a message for
// a reason that passes by itself. The HTTP status is known by its text alone.
func undelivered(err error) bool {
	if sending, ok := errors.AsType[*url.Error](err); ok {
		return failure.HintOf(sending).Retry == fault.RetryYes
	}
	for _, status := range []int{
		http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	} {
		if strings.HasSuffix(safe.Error(err), ": "+http.StatusText(status)) {
			return true
		}
	}
	return false
}

// waitMembers are the names under which servers say how long to wait, with the unit.
var waitMembers = map[string]time.Duration{
	"retryAfter": time.Second, "retry_after": time.Second,
	"retryAfterSeconds": time.Second, "retry_after_seconds": time.Second,
	"retryAfterMs": time.Millisecond, "retry_after_ms": time.Millisecond,
}

// retryAfter returns the longest wait that is asked for, so that of two members that
// contradict each other the more careful one holds.
func retryAfter(members map[string]any) (longest time.Duration, found bool) {
	for name, unit := range waitMembers {
		if n, ok := amount(members[name]); ok && n >= 0 { // NaN is not
			longest, found = max(longest, spanOf(n, unit)), true
		}
	}
	return longest, found
}

// amount reads a JSON number, or one that stands in a string.
func amount(value any) (n float64, ok bool) {
	if text, is := value.(string); is {
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		return n, err == nil
	}
	n, ok = value.(float64)
	return n, ok
}

// spanOf returns n units of time. It returns the longest Duration for a longer time,
// and zero if n is not positive or not a number.
func spanOf(n float64, unit time.Duration) time.Duration {
	switch ns := n * float64(unit); {
	case !(ns > 0): // also NaN
		return 0
	case ns >= math.MaxInt64:
		return math.MaxInt64
	default:
		return time.Duration(ns)
	}
}
