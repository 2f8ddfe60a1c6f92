package batch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/internal/words"
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
		res.Meta = mcp.Meta{wire.ErrorKey: a.fault}
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
	a.text = a.Message
	if r.Failed > 0 || r.NotRun > 0 {
		summary := r.ErrorSummary()
		if summary.ByType == nil {
			summary.ByType = map[fault.Kind]int{}
		}
		a.ErrorSummary = &summary
		if summary.Suggestion != "" {
			a.text += "\nSuggestion: " + summary.Suggestion
		}
	}
	if r.isError() {
		a.fault = r.fault()
		a.text = a.fault.Text()
		r.failer.c.Clean(a.fault) // the failures are masked, and the rest is the caller's own
	}
	r.list(a, raws)
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

// fault returns the failure that the answer is: of the kind of its items, where all
// failed in the same way.
func (r *Result[Out]) fault() *fault.Error {
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
	message := r.message()
	f := fault.New(kind, strings.ToLower(message[:1])+message[1:]).Suggest(r.suggestion())
	if r.Succeeded+r.Skipped == 0 && r.Total > 0 && r.recoverable == r.Failed {
		f = f.After(r.Wait()) // the call can be repeated as it was
	}
	return f
}

// tooLong is the value of an item that no answer could hold, which is not kept.
type tooLong struct{}

// marshalled returns the values as JSON, by index, and r itself, or one in which the
// items are failures of which the value cannot be written.
func (r *Result[Out]) marshalled() (*Result[Out], []json.RawMessage) {
	if r.output.Mode != ModeAll {
		return r, nil
	}
	raws, have := make([]json.RawMessage, len(r.Items)), r
	for i := range have.Items {
		if have.Items[i].Status != Succeeded {
			continue
		}
		raw, err := marshal(have.Items[i].Value)
		if err == nil {
			raws[i] = raw
			continue
		}
		if r == have {
			cp := *have
			cp.Items = slices.Clone(have.Items)
			r = &cp
		}
		// The server's fault, and not what the error looks like.
		err = classify.HideError(fmt.Errorf("batch: the value of an item is not JSON: %w", err), nil)
		r.Items[i] = Item[Out]{Index: i, Key: have.Items[i].Key}
		r.Items[i].fail(r.failer.failed(i, err, nil))
	}
	if r != have {
		r.count()
	}
	return r, raws
}

// marshal guards an untrusted MarshalJSON.
func marshal(v any) (raw json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			raw, err = nil, classify.NewPanicError(p, 1)
		}
	}()
	return json.Marshal(v)
}

// A list is a list in an answer.
type list[T any] struct {
	items []T
	sizes []int // in bytes: of the JSON or the text, of which the longer one counts
	used  int   // the sum of the sizes
	total int   // items, also those that are not kept
}

// add keeps an item if it may fit. It is made only then.
func (l *list[T]) add(limit int, item func() (T, int)) {
	if l.total++; l.used > limit {
		return
	}
	if value, size := item(); size <= limit {
		l.items, l.sizes, l.used = append(l.items, value), append(l.sizes, size), l.used+size
	}
}

// fit drops what does not fit, leaving what comes later at least the half of the room
// if it wants that. It returns what is left of the room.
func (l *list[T]) fit(room, later int) int {
	may, used, kept := max(room/2, room-later), 0, l.items[:0]
	for i, item := range l.items {
		if used+l.sizes[i] <= may {
			kept, used = append(kept, item), used+l.sizes[i]
		}
	}
	l.items = kept
	return room - used
}

func (l *list[T]) missing() int { return l.total - len(l.items) }

// list puts what fits of the items into both forms of the answer.
func (r *Result[Out]) list(a *answer[Out], raws []json.RawMessage) {
	const headings = 512 // and what is said about what is left out
	head, err := json.Marshal(a.Output)
	if err != nil {
		return // cannot be: there are only counts and texts in it
	}
	limit := max(0, r.output.MaxBytes-max(len(head), len(a.text))-headings)
	var (
		retry, check list[any]
		failed       list[OutputError]
		rest         list[OutputItem[Out]]
	)
	for i := range r.Items {
		item := &r.Items[i]
		send := func() (any, int) {
			raw := r.sentJSON(i)
			return raw, len(words.JSON(string(raw))) + 1
		}
		switch {
		case item.again():
			retry.add(limit, send)
		case item.check():
			check.add(limit, send)
		}
		switch {
		case item.Status == Failed && r.output.Mode != ModeSummary:
			failed.add(limit, func() (OutputError, int) { return r.outputError(item) })
		case item.Status != Failed && r.output.Mode == ModeAll:
			rest.add(limit, func() (OutputItem[Out], int) {
				out := OutputItem[Out]{Index: i, Key: item.Key, Status: item.Status.String()}
				if item.Status == Succeeded {
					out.Value, out.raw = item.Value, raws[i]
				}
				if _, long := any(item.Value).(tooLong); long {
					return out, limit + 1
				}
				return out, len(encode(item.Key)) + len(words.JSON(string(out.raw))) + len(r.keyName) + len(r.listName) + 64
			})
		}
	}
	room := retry.fit(limit, check.used+failed.used+rest.used)
	room = check.fit(room, failed.used+rest.used)
	room = failed.fit(room, rest.used)
	rest.fit(room, 0)
	a.RetryItems, a.CheckItems, a.Errors, a.Results = retry.items, check.items, failed.items, rest.items
	omitted := Omitted{Results: rest.missing(), Errors: failed.missing(), RetryItems: retry.missing(), CheckItems: check.missing()}
	if omitted != (Omitted{}) {
		omitted.MaxBytes = r.output.MaxBytes
		a.Omitted = &omitted
	}
	a.text += section("Failed:", "\n", r.failureLines(failed.items), failed.missing()) +
		section("Send again (retry_items):", " ", written(retry.items), retry.missing()) +
		section("Check first (check_items):", " ", written(check.items), check.missing()) +
		section("Results:", "\n", r.resultLines(rest.items), rest.missing())
}

// sentJSON returns what the caller sends for an item.
func (r *Result[Out]) sentJSON(index int) json.RawMessage {
	raw, err := marshal(r.send(index))
	if key := r.Items[index].Key; err != nil && key != "" {
		raw, err = marshal(key)
	}
	if err != nil {
		return json.RawMessage(strconv.Itoa(index))
	}
	return raw
}

// outputError returns a failed item as it stands in an answer, and its size.
func (r *Result[Out]) outputError(item *Item[Out]) (OutputError, int) {
	var members OutputError
	raw, err := json.Marshal(item.Err)
	if err == nil {
		err = json.Unmarshal(raw, &members)
	}
	if err != nil || members == nil { // cannot be: a fault holds only what JSON can hold
		members = OutputError{"type": item.Err.Kind(), "message": item.Err.Message()}
	}
	members["index"], members["recoverable"] = item.Index, item.Recoverable
	if item.Key != "" {
		members[r.keyName] = item.Key
	}
	size := len(raw) + len(encode(r.keyName)) + len(encode(item.Key)) + 48
	return members, max(size, len(r.keyName)+len(r.name(item))+len(errorText(item.Err))+len(item.Err.Reference())+24)
}
