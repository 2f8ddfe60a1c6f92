package batch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

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
	out, text, failure := r.answer()
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	if failure != nil {
		res.IsError = true
		res.Meta = mcp.Meta{wire.ErrorKey: failure}
	}
	return res, out, nil
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
func (r *Result[Out]) Err() error {
	_, _, failure := r.answer()
	return failure.Err()
}

// answer makes the answer in both forms. The failure is nil when it is no error. It does not
// change r: a value that cannot be written as JSON fails its item in the answer only.
func (r *Result[Out]) answer() (out Output[Out], text string, failure *fault.Error) {
	r = r.written()
	done := r.Succeeded + r.Skipped
	out = Output[Out]{
		Success: r.Total == 0 || done > 0, Total: r.Total, Succeeded: r.Succeeded, Failed: r.Failed, Skipped: r.Skipped, NotRun: r.NotRun,
		SuccessRate: 1, Stopped: r.Stopped, Message: r.message(),
	}
	if r.Total > 0 {
		out.SuccessRate = float64(done) / float64(r.Total)
	}
	text = out.Message
	if r.Failed+r.NotRun > 0 {
		out.ErrorSummary = &ErrorSummary{ByType: map[fault.Kind]int{}, RecoverableCount: r.recoverable, Suggestion: r.suggestion()}
		maps.Copy(out.ErrorSummary.ByType, r.byType)
		if out.ErrorSummary.Suggestion != "" {
			text += "\nSuggestion: " + out.ErrorSummary.Suggestion
		}
		if !out.Success || r.strict {
			failure = r.fault()
			text = failure.Text()
			r.failer.c.Clean(failure) // the failures are masked, and the rest is the caller's own
		}
	}
	return out, text + r.list(&out, len(text)), failure
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
		f = f.After(time.Duration(min(r.wait, 1<<30) * float64(time.Second))) // the call can be repeated as it was
	}
	return f
}

// tooLong is the value of an item that no answer could hold, which is not kept.
type tooLong struct{}

// written returns a copy of r in which the values are JSON, and the items are failures of
// which the value cannot be written.
func (r *Result[Out]) written() *Result[Out] {
	if r.mode != ModeAll {
		return r
	}
	cp := *r
	cp.Items = slices.Clone(r.Items)
	for i := range cp.Items {
		item := &cp.Items[i]
		if item.Status != Succeeded {
			continue
		}
		var err error
		if item.raw, err = marshal(item.Value); err != nil {
			*item = Item[Out]{Index: i, Key: item.Key, Status: Failed}
			item.Err, item.quote = r.failer.failed(i, notJSON("the value of an item", err), nil)
		}
	}
	cp.count()
	return &cp
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

// A list is a list of items in an answer.
type list[Out any] struct {
	entries []entry[Out]
	used    int // the sum of the sizes
	total   int // entries, also those that are not kept
}

// An entry stands in the structured value and in the text. The longer form is its size,
// in bytes.
type entry[Out any] struct {
	item *Item[Out]
	sent json.RawMessage // what the caller sends for it
	text string
	size int
}

// add keeps an entry if it may fit. What comes when the room is used up is only counted:
// it costs neither time nor memory.
func (l *list[Out]) add(limit int, of func() entry[Out]) {
	if l.total++; l.used > limit {
		return
	}
	if e := of(); e.size <= limit {
		l.entries, l.used = append(l.entries, e), l.used+e.size
	}
}

// fit drops what does not fit, leaving what comes later at least the half of the room
// if it wants that. It returns what is left of the room.
func (l *list[Out]) fit(room, later int) int {
	may, used := max(room/2, room-later), 0
	l.entries = slices.DeleteFunc(l.entries, func(e entry[Out]) bool {
		if used+e.size > may {
			return true
		}
		used += e.size
		return false
	})
	return room - used
}

// text returns the texts of the entries.
func (l *list[Out]) text(between string) string {
	texts := make([]string, len(l.entries))
	for i, e := range l.entries {
		texts[i] = e.text
	}
	return strings.Join(texts, between)
}

// list puts what fits of the items into out, and returns it as text.
func (r *Result[Out]) list(out *Output[Out], used int) string {
	const headings = 512 // and what is said about what is left out
	limit := max(0, r.maxBytes-max(len(encode(out)), used)-headings)
	var retry, check, failed, rest list[Out]
	for i := range r.Items {
		item := &r.Items[i]
		switch item.next() {
		case sendAgain:
			retry.add(limit, func() entry[Out] { return r.sentEntry(item) })
		case checkFirst:
			check.add(limit, func() entry[Out] { return r.sentEntry(item) })
		case nothing:
		}
		switch {
		case item.Status == Failed && r.mode != ModeSummary:
			failed.add(limit, func() entry[Out] { return r.errorEntry(item) })
		case item.Status != Failed && r.mode == ModeAll:
			rest.add(limit, func() entry[Out] { return r.resultEntry(item, limit) })
		}
	}
	room := retry.fit(limit, check.used+failed.used+rest.used)
	room = check.fit(room, failed.used+rest.used)
	room = failed.fit(room, rest.used)
	rest.fit(room, 0)
	var text strings.Builder
	section := func(member, heading, listed string, l *list[Out]) {
		missing, more := l.total-len(l.entries), ""
		if listed == "" && missing == 0 {
			return
		}
		text.WriteString("\n" + heading)
		if listed != "" {
			text.WriteString(listed)
			more = "more "
		}
		if missing > 0 {
			fmt.Fprintf(&text, "\n(%d %sleft out, because the answer would be too long)", missing, more)
			if out.Omitted == nil {
				out.Omitted = map[string]int{"max_bytes": r.maxBytes}
			}
			out.Omitted[member] = missing
		}
	}
	for _, e := range failed.entries {
		out.Errors = append(out.Errors, r.members(e.item))
	}
	section("errors", "Failed:", r.failureLines(failed.entries), &failed)
	again := func(l *list[Out]) (items []any, listed string) {
		for _, e := range l.entries {
			items = append(items, e.sent)
		}
		if len(items) > 0 {
			listed = " [" + l.text(",") + "]"
		}
		return items, listed
	}
	var listed string
	out.RetryItems, listed = again(&retry)
	section("retry_items", "Send again (retry_items):", listed, &retry)
	out.CheckItems, listed = again(&check)
	section("check_items", "Check first (check_items):", listed, &check)
	for _, e := range rest.entries {
		item := *e.item
		item.Key = shown(item.Key)
		out.Results = append(out.Results, item)
	}
	section("results", "Results:", rest.text(""), &rest)
	return text.String()
}

// sentEntry is what the caller sends for an item.
func (r *Result[Out]) sentEntry(item *Item[Out]) entry[Out] {
	raw, err := marshal(r.send(item.Index))
	if err != nil && item.Key != "" {
		raw, err = marshal(item.Key)
	}
	if err != nil {
		raw = json.RawMessage(strconv.Itoa(item.Index))
	}
	text := words.JSON(string(raw))
	return entry[Out]{sent: raw, text: text, size: len(text) + 1}
}

// resultEntry is an item that did not fail.
func (r *Result[Out]) resultEntry(item *Item[Out], limit int) entry[Out] {
	e, text := entry[Out]{item: item}, ""
	switch item.Status {
	case Succeeded:
		text = words.JSON(string(item.raw))
	case Skipped:
		text = "had been done before"
	case NotRun, Failed: // stand in other lists
	}
	if text != "" {
		e.text = "\n- " + r.keyed(item, r.name(item)) + ": " + text
	}
	e.size = len(encode(shown(item.Key))) + len(text) + len(r.keyName) + len(r.listName) + 64
	if _, long := any(item.Value).(tooLong); long {
		e.size = limit + 1
	}
	return e
}

// errorEntry is a failed item. Its text is made of all of them, see failureLines.
func (r *Result[Out]) errorEntry(item *Item[Out]) entry[Out] {
	size := len(encode(item.Err)) + len(encode(r.keyName)) + len(encode(shown(item.Key))) + 48
	text := len(r.keyName) + len(r.name(item)) + len(errorText(item.Err)) + len(item.Err.Reference()) + 24
	return entry[Out]{item: item, size: max(size, text)}
}

// members is a failed item in the structured value.
func (r *Result[Out]) members(item *Item[Out]) (members OutputError) {
	_ = json.Unmarshal(encode(item.Err), &members) // it is an object
	members["index"], members["recoverable"] = item.Index, item.next() == sendAgain
	if item.Key != "" {
		members[r.keyName] = shown(item.Key)
	}
	return members
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
func (r *Result[Out]) failureLines(failed []entry[Out]) string {
	type group struct {
		text         string
		quote, keyed bool
	}
	var groups []group
	items := map[group][]*Item[Out]{}
	for _, e := range failed {
		g := group{errorText(e.item.Err), e.item.quote, e.item.Key != ""}
		if items[g] == nil {
			groups = append(groups, g)
		}
		items[g] = append(items[g], e.item)
	}
	var lines strings.Builder
	for _, g := range groups {
		items := items[g]
		lines.WriteString("\n- " + r.keyed(items[0], spans(items, r.name)))
		if len(items) > 2 {
			fmt.Fprintf(&lines, " (%d items)", len(items))
		}
		lines.WriteString(": " + g.text)
		if g.quote {
			label := " References: "
			if len(items) == 1 {
				label = " Reference: "
			}
			lines.WriteString(label + spans(items, func(item *Item[Out]) string { return item.Err.Reference() }))
		}
	}
	return lines.String()
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
