package call

import (
	"cmp"
	"context"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// Observing reports whether the answer of the Call is sent unchanged. A middleware that would
// refuse the Call reports that with [Call.WouldRefuse] and lets it run; the log records what would
// have been sent.
func (c *Call) Observing() bool { return c.settings().Observe }

// Replaced notes that the answer of the Call replaces a result that could not be sent, so that it is
// sent even if the Call is observed.
func (c *Call) Replaced() { c.atEnd.Or(replaced) }

// Missing notes that err replaces a nil result. It reports whether the SDK would have sent null for
// that result, as it does to clients of older versions: then the answer of an observed Call is res
// again. For newer clients the SDK would have panicked.
func (c *Call) Missing(res mcp.Result, err error) bool {
	if !olderThan20260728(c.req) {
		return false
	}
	c.lock().missing = &missing{res, err}
	c.mu.Unlock()
	return true
}

// missing is a nil result, and the error that replaces it.
type missing struct {
	res mcp.Result
	err error
}

// missed returns the nil result that err replaces, nil if [Call.Missing] does not know err.
func (c *Call) missed(err error) *missing {
	cold := c.lock()
	defer c.mu.Unlock()
	if m := cold.missing; m != nil && safe.Same(m.err, err) {
		return m
	}
	return nil
}

// WouldRefuse notes the answer with which an observed Call would have been refused. The first one counts.
func (c *Call) WouldRefuse(err error) {
	f := c.Judge(nil, err)
	text := c.textFor(f, nil, err)
	if cold := c.lock(); cold.wouldSend == "" {
		cold.wouldSend = cmp.Or(text, "(nothing)")
	}
	c.mu.Unlock()
	c.atEnd.Or(wouldRefuse)
}

// observed returns the answer of an observed Call that failed. It is the original answer, unless
// that would have made the SDK panic or could not be sent. observed records what would have been
// sent.
func (c *Call) observed(res mcp.Result, err error, f *failure.Failure) (mcp.Result, error) {
	if c.atEnd.Load()&replaced != 0 || f.Raised() != nil || !sendable(err) {
		return c.answer(res, err, f)
	}
	var instead mcp.Result
	var insteadErr error
	var text string
	safe.Call(func() { // a scrubber of the program's that panics changes nothing
		instead, insteadErr = c.answer(res, err, f)
		text = c.textFor(f, instead, insteadErr)
	}, nil)
	sent := sentText(res, err)
	if f.View().Origin == classify.Explained {
		sent = errorText(f) // the SDK's text repeats a whole value, which may be a password
	}
	if m := c.missed(err); m != nil {
		c.recordObserved("null", text)
		return m.res, nil
	}
	c.recordObserved(sent, text)
	return res, err
}

// textFor returns the text of an answer for the log, without the corrected arguments: they come
// from the caller and may hold a secret.
func (c *Call) textFor(f *failure.Failure, res mcp.Result, err error) string {
	if f.Wire() != nil || f.LeftAlone() {
		return sentText(res, err)
	}
	e, reference := c.public(f)
	return c.text(faults.Corrected(e, "", nil), reference)
}

// recordObserved records what was sent and what would have been sent.
func (c *Call) recordObserved(sent, instead string) {
	message := "observed: a failure was sent as it came"
	cold := c.lock()
	would := cold.mending.would
	switch {
	case cold.wouldSend != "":
		message, instead = "observed: a call would have been refused", cold.wouldSend
	case would != nil:
		message, instead = "observed: the call would have been made with mended arguments", "(what the handler answers to them)"
	}
	c.mu.Unlock()
	if c.quiet || sent == instead {
		return
	}
	attrs := []slog.Attr{slog.String("method", OneLine(c.method))}
	if key := TargetKey(c.method); key != "" {
		attrs = append(attrs, slog.String(key, Name(c.req)))
	}
	if would != nil {
		attrs = append(attrs, slog.Any("would_mend", changesText(would)))
	}
	Notice(context.WithoutCancel(c), c.Logger(), slog.LevelInfo, message, append(attrs,
		slog.String("reference", c.ID()), slog.String("sent", clip(sent)), slog.String("would_send", clip(instead)))...)
}

// sentText returns what a caller reads of an answer: the texts of a result, or the message of an error.
func sentText(res mcp.Result, err error) string {
	if wire, ok := safe.As[*jsonrpc.Error](err); ok && wire != nil {
		return wire.Message
	}
	if err != nil {
		return safe.Error(err)
	}
	var texts []string
	if tool, ok := res.(*mcp.CallToolResult); ok && tool != nil {
		for _, block := range tool.Content {
			if t, ok := block.(*mcp.TextContent); ok && t != nil {
				texts = append(texts, t.Text)
			}
		}
	}
	return strings.Join(texts, "\n")
}
