package batch

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/middleware"
)

// An answer is a result in the two forms in which it is sent.
type answer[Out any] struct {
	Output[Out]

	fault *fault.Error // nil when the answer is no error
	text  string
}

func (a *answer[Out]) result() *mcp.CallToolResult {
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.text}}}
	if a.fault != nil {
		res.IsError = true
		res.Meta = mcp.Meta{middleware.MetaKey: a.fault}
	}
	return res
}

// answer makes the answer. It does not change r: a value that cannot be written as JSON
// fails its item in the answer only.
func (r *Result[Out]) answer() *answer[Out] {
	r, raws := r.marshalled()
	a := &answer[Out]{Output: Output[Out]{
		Success: r.Success(), Total: r.Total, Succeeded: r.Succeeded, Failed: r.Failed, Skipped: r.Skipped, NotRun: r.NotRun,
		SuccessRate: r.SuccessRate(), Stopped: r.Stopped, Message: r.message(),
	}}
	if r.Failed > 0 || r.NotRun > 0 {
		summary := r.ErrorSummary()
		if summary.ByType == nil {
			summary.ByType = map[fault.Kind]int{}
		}
		a.ErrorSummary = &summary
	}
	if r.isError() {
		a.fault = r.fault(a.Message)
		if call := r.failer.c; call != nil {
			call.Clean(a.fault) // the failures are masked, and the rest is the caller's own
		}
	}
	r.fill(a, raws)
	a.text = r.text(a)
	return a
}

func (r *Result[Out]) isError() bool {
	switch r.output.ErrorWhen {
	case ErrorNever:
		return false
	case ErrorWhenAnyFailed:
		return !r.Success() || r.Failed > 0 || r.NotRun > 0
	default:
		return !r.Success()
	}
}

// marshalled returns the values as JSON, by index, and r itself, or one in which the
// items are failures of which the value cannot be written.
func (r *Result[Out]) marshalled() (*Result[Out], []json.RawMessage) {
	if r.output.Mode != ModeAll {
		return r, nil
	}
	raws := make([]json.RawMessage, len(r.Items))
	var broken map[int]error
	for i := range r.Items {
		if r.Items[i].Status != Succeeded {
			continue
		}
		raw, err := marshal(r.Items[i].Value)
		if err != nil {
			if broken == nil {
				broken = make(map[int]error)
			}
			broken[i] = err
		}
		raws[i] = raw
	}
	if broken == nil {
		return r, raws
	}
	changed := &Result[Out]{Stopped: r.Stopped, input: r.input, send: r.send, failer: r.failer, keyName: r.keyName, output: r.output}
	changed.Items = make([]Item[Out], len(r.Items))
	for i, item := range r.Items {
		if err := broken[i]; err != nil {
			item = Item[Out]{Index: item.Index, Key: item.Key, Attempts: item.Attempts, Status: Failed}
			// The server's fault, and not what the error looks like.
			err = classify.HideError(fmt.Errorf("batch: the value of an item is not JSON: %w", err), nil)
			item.Err, item.Recoverable, item.mark = r.failer.failed(item.Index, err)
		}
		changed.Items[i] = item
		changed.add(&changed.Items[i])
	}
	return changed, raws
}

// marshal guards the MarshalJSON of a stranger.
func marshal(v any) (raw json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			raw, err = nil, classify.NewPanicError(p, 1)
		}
	}()
	return json.Marshal(v)
}

// message says in one sentence how the batch ended.
func (r *Result[Out]) message() string {
	var b strings.Builder
	switch {
	case r.Total == 0 && r.Stopped == "":
		return "There were no items."
	case r.Total == 0:
		b.WriteString("No item was run")
	case r.Failed == r.Total && r.Total == 1:
		b.WriteString("The item failed")
	case r.Failed == r.Total:
		fmt.Fprintf(&b, "None of the %d items succeeded", r.Total)
	case r.NotRun == r.Total:
		fmt.Fprintf(&b, "None of %s was run", plural(r.Total, "item"))
	case r.Succeeded == r.Total:
		b.WriteString(all(r.Total) + " succeeded")
	case r.Skipped == r.Total:
		b.WriteString(all(r.Total) + " had been done before")
	default:
		fmt.Fprintf(&b, "%d of %s succeeded", r.Succeeded, plural(r.Total, "item"))
	}
	for _, part := range []struct {
		count int
		text  string
	}{{r.Failed, "%d failed"}, {r.Skipped, "%d had been done before"}, {r.NotRun, "%d not run"}} {
		if part.count > 0 && part.count < r.Total {
			fmt.Fprintf(&b, ", "+part.text, part.count)
		}
	}
	if r.Stopped != "" {
		b.WriteString("; the batch was stopped because " + r.Stopped.text())
	}
	b.WriteByte('.')
	return b.String()
}

func all(total int) string {
	if total == 1 {
		return "The item"
	}
	return fmt.Sprintf("All %d items", total)
}

// fault returns the failure that the answer is: of the kind of its items, where all
// failed in the same way.
func (r *Result[Out]) fault(message string) *fault.Error {
	kind := fault.KindTool
	switch {
	case len(r.byType) == 1:
		for k := range r.byType {
			kind = k
		}
	case r.Failed == 0 && r.Stopped == StoppedByCancel:
		kind = fault.KindCancelled
	case r.Failed == 0 && (r.Stopped == StoppedByBudget || r.Stopped == StoppedByDeadline):
		kind = fault.KindTimeout
	}
	f := fault.New(kind, lowered(message)).Suggest(r.ErrorSummary().Suggestion)
	if r.Succeeded+r.Skipped == 0 && r.Failed+r.NotRun > 0 && r.recoverable == r.Failed && r.unsure == 0 {
		f = f.After(r.Wait()) // the call can be repeated as it was
	}
	return f
}

// lowered begins a sentence in the way of a fault, after its label.
func lowered(sentence string) string {
	if sentence == "" {
		return ""
	}
	return strings.ToLower(sentence[:1]) + sentence[1:]
}
