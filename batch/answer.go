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
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Output returns the answer of a typed tool:
//
//	return batch.Run(ctx, in.Files, read, nil).Output()
//
// The error is always nil, because a failure is told in the result.
func (r *Result[Out]) Output() (*mcp.CallToolResult, Output[Out], error) {
	a := r.answer()
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.text}}}
	if a.fault != nil {
		res.IsError = true
		res.Meta = mcp.Meta{wire.ErrorKey: a.fault}
	}
	return res, a.Output, nil
}

// ToolResult returns the answer of a raw tool: one text block that is complete in
// itself, and the same as structured content, because clients drop one or the other.
// It is an error, with the machine form of a failure in its _meta, when nothing
// succeeded, or as the options say.
func (r *Result[Out]) ToolResult() *mcp.CallToolResult {
	res, out, _ := r.Output()
	res.StructuredContent = encode(out)
	return res
}

// Err returns the failure that the answer is, a *fault.Error; nil when it is none.
func (r *Result[Out]) Err() error { return r.answer().fault.Err() }

// An answer is a result in the two forms in which it is sent.
type answer[Out any] struct {
	Output[Out]

	fault *fault.Error // nil when the answer is no error
	text  string
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
	if when := r.output.ErrorWhen; when != ErrorNever && (!a.Success || when == ErrorWhenAnyFailed && r.Failed+r.NotRun > 0) {
		a.fault = r.fault()
		a.text = a.fault.Text()
		r.failer.c.Clean(a.fault) // the failures are masked, and the rest is the caller's own
	}
	r.list(a, raws)
	return a
}

// fault returns the failure that the answer is: of the kind of its items, where all
// failed in the same way.
func (r *Result[Out]) fault() *fault.Error {
	kind := fault.KindTool
	switch len(r.byType) {
	case 0:
		if r.Stopped != "" {
			kind = stops[r.Stopped].kind
		}
	case 1:
		for k := range r.byType {
			kind = k
		}
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
		r.Items[i] = Item[Out]{Index: i, Key: have.Items[i].Key}
		r.Items[i].fail(r.failer.failed(i, notJSON("the value of an item", err), nil))
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

// notJSON is the server's fault, and not what the error looks like.
func notJSON(what string, err error) error {
	return classify.HideError(fmt.Errorf("batch: %s is not JSON: %w", what, err), nil)
}

// encode marshals what cannot fail.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("batch: " + err.Error()) // cannot be: strings, numbers and raw JSON that was written or read
	}
	return raw
}

// A list is a list in an answer.
type list[T any] struct {
	entries []entry[T]
	used    int // the sum of the sizes
	total   int // entries, also those that are not kept
}

// An entry stands in the structured value and in the text. The longer form is its size,
// in bytes.
type entry[T any] struct {
	value T
	text  string
	size  int
}

// add keeps an entry if it may fit. What comes when the room is used up is only counted:
// it costs neither time nor memory.
func (l *list[T]) add(limit int, of func() entry[T]) {
	if l.total++; l.used > limit {
		return
	}
	if e := of(); e.size <= limit {
		l.entries, l.used = append(l.entries, e), l.used+e.size
	}
}

// fit drops what does not fit, leaving what comes later at least the half of the room
// if it wants that. It returns what is left of the room.
func (l *list[T]) fit(room, later int) int {
	may, used := max(room/2, room-later), 0
	l.entries = slices.DeleteFunc(l.entries, func(e entry[T]) bool {
		if used+e.size > may {
			return true
		}
		used += e.size
		return false
	})
	return room - used
}

// both returns the list as it stands in the structured value and in the text.
func (l *list[T]) both() (values []T, texts []string, missing int) {
	for _, e := range l.entries {
		values = append(values, e.value)
		if e.text != "" {
			texts = append(texts, e.text)
		}
	}
	return values, texts, l.total - len(l.entries)
}

// list puts what fits of the items into both forms of the answer.
func (r *Result[Out]) list(a *answer[Out], raws []json.RawMessage) {
	const headings = 512 // and what is said about what is left out
	limit := max(0, r.output.MaxBytes-max(len(encode(a.Output)), len(a.text))-headings)
	var (
		retry, check list[any]
		failed       list[OutputError]
		rest         list[OutputItem[Out]]
	)
	for i := range r.Items {
		item := &r.Items[i]
		switch item.next() {
		case sendAgain:
			retry.add(limit, func() entry[any] { return r.sentEntry(item) })
		case checkFirst:
			check.add(limit, func() entry[any] { return r.sentEntry(item) })
		case nothing:
		}
		switch {
		case item.Status == Failed && r.output.Mode != ModeSummary:
			failed.add(limit, func() entry[OutputError] { return r.errorEntry(item) })
		case item.Status != Failed && r.output.Mode == ModeAll:
			rest.add(limit, func() entry[OutputItem[Out]] { return r.resultEntry(item, raws[i], limit) })
		}
	}
	room := retry.fit(limit, check.used+failed.used+rest.used)
	room = check.fit(room, failed.used+rest.used)
	room = failed.fit(room, rest.used)
	rest.fit(room, 0)
	var again, first, results []string
	omitted := Omitted{}
	a.RetryItems, again, omitted.RetryItems = retry.both()
	a.CheckItems, first, omitted.CheckItems = check.both()
	a.Errors, _, omitted.Errors = failed.both()
	a.Results, results, omitted.Results = rest.both()
	if omitted != (Omitted{}) {
		omitted.MaxBytes = r.output.MaxBytes
		a.Omitted = &omitted
	}
	a.text += section("Failed:", "\n", r.failureLines(a.Errors), omitted.Errors) +
		section("Send again (retry_items):", " ", written(again), omitted.RetryItems) +
		section("Check first (check_items):", " ", written(first), omitted.CheckItems) +
		section("Results:", "\n", results, omitted.Results)
}

// sentEntry is what the caller sends for an item.
func (r *Result[Out]) sentEntry(item *Item[Out]) entry[any] {
	raw, err := marshal(r.send(item.Index))
	if err != nil && item.Key != "" {
		raw, err = marshal(item.Key)
	}
	if err != nil {
		raw = json.RawMessage(strconv.Itoa(item.Index))
	}
	text := words.JSON(string(raw))
	return entry[any]{raw, text, len(text) + 1}
}

// resultEntry is an item that did not fail.
func (r *Result[Out]) resultEntry(item *Item[Out], raw json.RawMessage, limit int) entry[OutputItem[Out]] {
	e := entry[OutputItem[Out]]{value: OutputItem[Out]{Index: item.Index, Key: shown(item.Key), Status: item.Status.String()}}
	text := ""
	switch item.Status {
	case Succeeded:
		e.value.Value, e.value.raw = item.Value, raw
		text = words.JSON(string(raw))
	case Skipped:
		text = "had been done before"
	case NotRun, Failed: // stand in other lists
	}
	if text != "" {
		e.text = "- " + r.keyed(item, r.name(item)) + ": " + text
	}
	e.size = len(encode(shown(item.Key))) + len(text) + len(r.keyName) + len(r.listName) + 64
	if _, long := any(item.Value).(tooLong); long {
		e.size = limit + 1
	}
	return e
}

// errorEntry is a failed item. Its text is made of all of them, see failureLines.
func (r *Result[Out]) errorEntry(item *Item[Out]) entry[OutputError] {
	var members OutputError
	raw := encode(item.Err)
	_ = json.Unmarshal(raw, &members) // it is an object
	members["index"], members["recoverable"] = item.Index, item.Recoverable
	if item.Key != "" {
		members[r.keyName] = shown(item.Key)
	}
	size := len(raw) + len(encode(r.keyName)) + len(encode(shown(item.Key))) + 48
	text := len(r.keyName) + len(r.name(item)) + len(errorText(item.Err)) + len(item.Err.Reference()) + 24
	return entry[OutputError]{value: members, size: max(size, text)}
}

// section is a list in the text of an answer.
func section(heading, before string, texts []string, missing int) string {
	if len(texts) == 0 && missing == 0 {
		return ""
	}
	heading, more := "\n"+heading, ""
	if len(texts) > 0 {
		heading, more = heading+before+strings.Join(texts, "\n"), "more "
	}
	if missing > 0 {
		heading += fmt.Sprintf("\n(%d %sleft out, because the answer would be too long)", missing, more)
	}
	return heading
}

// written returns items that are JSON as a JSON list.
func written(items []string) []string {
	if len(items) == 0 {
		return nil
	}
	return []string{"[" + strings.Join(items, ",") + "]"}
}

// name names an item in a text: by its key, or by its place in the list.
func (r *Result[Out]) name(item *Item[Out]) string {
	if item.Key == "" {
		return fmt.Sprintf("%s[%d]", r.listName, item.Index)
	}
	return words.Quote(shown(item.Key), 200)
}

// shown returns a key as an answer has it. A key may be what the caller sent, and a credential.
func shown(key string) string { return scrub.Credentials(key) }

// keyed puts the name of the keys before names of items.
func (r *Result[Out]) keyed(item *Item[Out], names string) string {
	if item.Key == "" || r.keyName == defaultKeyName {
		return names
	}
	return r.keyName + " " + names
}

// errorText tells a failure without the name of its item and without what stands in
// the suggestion of the batch.
func errorText(e *fault.Error) string {
	const most = 600
	d := e.Data()
	text := fault.FromData(fault.Data{
		Type: d.Type, Message: d.Message, SimilarMatches: d.SimilarMatches, RequiredPermission: d.RequiredPermission,
	}).Text()
	return strings.ReplaceAll(words.Clip(text, most), "\n", "\n  ")
}

// failureLines tells the failures in one line for each text that they have.
func (r *Result[Out]) failureLines(errors []OutputError) []string {
	type group struct {
		text         string
		quote, keyed bool
	}
	var groups []group
	items := map[group][]*Item[Out]{}
	for _, e := range errors {
		item := &r.Items[e.Index()]
		g := group{errorText(item.Err), item.quote, item.Key != ""}
		if items[g] == nil {
			groups = append(groups, g)
		}
		items[g] = append(items[g], item)
	}
	lines := make([]string, len(groups))
	for i, g := range groups {
		items := items[g]
		line := "- " + r.keyed(items[0], spans(items, r.name))
		if len(items) > 2 {
			line += fmt.Sprintf(" (%d items)", len(items))
		}
		line += ": " + g.text
		if g.quote {
			label := " References: "
			if len(items) == 1 {
				label = " Reference: "
			}
			line += label + spans(items, func(item *Item[Out]) string { return item.Err.Reference() })
		}
		lines[i] = line
	}
	return lines
}

// spans lists what is said of items, three or more in a row by the first and the last.
func spans[Out any](items []*Item[Out], text func(*Item[Out]) string) string {
	const most = 10
	var all []string
	for len(items) > 0 {
		if len(all) == most {
			all = append(all, "...")
			break
		}
		n := 1
		for n < len(items) && items[n].Index == items[0].Index+n {
			n++
		}
		if n == 2 {
			n = 1
		}
		span := text(items[0])
		if n > 1 {
			span += " to " + text(items[n-1])
		}
		all, items = append(all, span), items[n:]
	}
	return strings.Join(all, ", ")
}
