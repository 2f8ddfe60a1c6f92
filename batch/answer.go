package batch

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
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
	if _, _, failure := r.answer(); failure != nil {
		return failure
	}
	return nil
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

// A room is what is left of the size of an answer, in bytes.
type room struct {
	left    int
	omitted map[string]int // how many items did not fit, by the member that they would stand in
}

// A listing is one list of an answer.
type listing[Out any] struct {
	member  string
	wanted  func(*Item[Out]) bool
	measure func(*Item[Out]) (size int, keep func())
}

// take lists the items that are wanted as long as there is room. It leaves half of the room
// to what comes behind, or as much as that needs. What comes when the room is used up is only
// counted: it costs neither time nor memory.
func (r *Result[Out]) take(room *room, l listing[Out], behind []listing[Out]) {
	limit, reserve, seen := room.left, room.left/2, 0
	for i := range r.Items {
		if !l.wanted(&r.Items[i]) {
			continue
		}
		if seen <= limit {
			size, keep := l.measure(&r.Items[i])
			if size <= limit {
				seen += size
			}
			if size > room.left-reserve && behind != nil {
				reserve, behind = r.needed(behind, limit), nil
			}
			if size <= room.left-reserve {
				room.left -= size
				keep()
				continue
			}
		}
		room.omitted[l.member]++
	}
}

// needed returns the size, in bytes, of what may fit of lists, or half of the limit if it is more.
func (r *Result[Out]) needed(lists []listing[Out], limit int) (sum int) {
	for _, l := range lists {
		for i := range r.Items {
			if sum >= limit/2 {
				return limit / 2
			}
			if l.wanted(&r.Items[i]) {
				if size, _ := l.measure(&r.Items[i]); size <= limit {
					sum += size
				}
			}
		}
	}
	return min(sum, limit/2)
}

// list puts what fits of the items into out, and returns it as text: what to send again and
// what to check first, then errors, then results.
func (r *Result[Out]) list(out *Output[Out], used int) string {
	const headings = 512 // bytes of them, and of what is said about what is left out
	room := &room{max(0, r.maxBytes-max(len(encode(out)), used)-headings), map[string]int{}}
	next := func(next step) func(*Item[Out]) bool { return func(i *Item[Out]) bool { return i.next() == next } }
	sent := func(items *[]any, texts *[]string) func(*Item[Out]) (int, func()) {
		return func(item *Item[Out]) (int, func()) {
			raw := r.sendable(item)
			text := words.JSON(string(raw))
			return len(text) + 1, func() { *items, *texts = append(*items, raw), append(*texts, text) }
		}
	}
	var again, first, lines []string
	var failed []*Item[Out]
	lists := []listing[Out]{
		{"retry_items", next(sendAgain), sent(&out.RetryItems, &again)},
		{"check_items", next(checkFirst), sent(&out.CheckItems, &first)},
		{"errors", func(i *Item[Out]) bool { return i.Status == Failed && r.mode != ModeSummary }, func(item *Item[Out]) (int, func()) {
			return r.errorSize(item), func() { failed, out.Errors = append(failed, item), append(out.Errors, r.members(item)) }
		}},
		{"results", func(i *Item[Out]) bool { return i.Status != Failed && r.mode == ModeAll }, func(item *Item[Out]) (int, func()) {
			shown, line, size := r.resultOf(item)
			return size, func() {
				out.Results = append(out.Results, shown)
				if line != "" {
					lines = append(lines, line)
				}
			}
		}},
	}
	for i, l := range lists {
		r.take(room, l, lists[i+1:])
	}
	text := section("Failed:", "\n", r.failureLines(failed), room.omitted["errors"]) +
		section("Send again (retry_items):", " ", written(again), room.omitted["retry_items"]) +
		section("Check first (check_items):", " ", written(first), room.omitted["check_items"]) +
		section("Results:", "\n", lines, room.omitted["results"])
	if len(room.omitted) > 0 {
		out.Omitted = room.omitted
		out.Omitted["max_bytes"] = r.maxBytes
	}
	return text
}

// sendable is what the caller sends for an item.
func (r *Result[Out]) sendable(item *Item[Out]) json.RawMessage {
	raw, err := marshal(r.send(item.Index))
	if err != nil && item.Key != "" {
		raw, err = marshal(item.Key)
	}
	if err != nil {
		raw = json.RawMessage(strconv.Itoa(item.Index))
	}
	return raw
}

// resultOf returns an item that did not fail as it is shown, its line, and its size in bytes
// in the longer of the two forms of the answer.
func (r *Result[Out]) resultOf(item *Item[Out]) (shown Item[Out], line string, size int) {
	shown, text := *item, ""
	shown.Key = scrub.Credentials(item.Key)
	switch item.Status {
	case Succeeded:
		text = words.JSON(string(item.raw))
	case Skipped:
		text = "had been done before"
	case NotRun, Failed: // stand in other lists
	}
	if text != "" {
		line = "- " + r.keyed(item, r.name(item)) + ": " + text
	}
	size = len(encode(shown.Key)) + len(text) + len(r.keyName) + len(r.listName) + 64
	if _, long := any(item.Value).(tooLong); long {
		size = math.MaxInt
	}
	return shown, line, size
}

// errorSize is the size of a failed item. Its text is made of all of them, see failureLines.
func (r *Result[Out]) errorSize(item *Item[Out]) int {
	return max(
		len(encode(item.Err))+len(encode(r.keyName))+len(encode(shown(item.Key)))+48,
		len(r.keyName)+len(r.name(item))+len(errorText(item.Err))+len(item.Err.Reference())+24,
	)
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
func (r *Result[Out]) failureLines(failed []*Item[Out]) (lines []string) {
	type group struct {
		text         string
		quote, keyed bool
	}
	var groups []group
	items := map[group][]*Item[Out]{}
	for _, item := range failed {
		g := group{errorText(item.Err), item.quote, item.Key != ""}
		if items[g] == nil {
			groups = append(groups, g)
		}
		items[g] = append(items[g], item)
	}
	for _, g := range groups {
		items, label := items[g], " Reference: "
		line := "- " + r.keyed(items[0], spans(items, r.name))
		if len(items) > 1 {
			label = " References: "
		}
		if len(items) > 2 {
			line += fmt.Sprintf(" (%d items)", len(items))
		}
		if line += ": " + g.text; g.quote {
			line += label + spans(items, func(item *Item[Out]) string { return item.Err.Reference() })
		}
		lines = append(lines, line)
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
