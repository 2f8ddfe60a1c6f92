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
// The text is complete in itself. The result is an error, with the machine form of a failure
// in its _meta, only when nothing succeeded. The error is always nil.
func (r *Result[Out]) Output() (*mcp.CallToolResult, Output[Out], error) {
	r = r.written()
	out := Output[Out]{Counts: r.Counts, Success: r.Total == 0 || r.Succeeded > 0, SuccessRate: 1, Message: r.message()}
	if r.Total > 0 {
		out.SuccessRate = float64(r.Succeeded) / float64(r.Total)
	}
	res, text := &mcp.CallToolResult{}, out.Message
	if r.Failed+r.NotRun > 0 {
		out.ErrorSummary = &ErrorSummary{ByType: map[fault.Kind]int{}, RecoverableCount: r.recoverable, Suggestion: r.suggestion()}
		maps.Copy(out.ErrorSummary.ByType, r.byType)
		if out.ErrorSummary.Suggestion != "" {
			text += "\nSuggestion: " + out.ErrorSummary.Suggestion
		}
	}
	if !out.Success {
		failure := r.fault()
		text = failure.Text()
		r.failer.c.MarkMasked(failure) // the failures are masked, and the rest is the caller's own
		res.IsError, res.Meta = true, mcp.Meta{wire.ErrorKey: failure}
	}
	res.Content = []mcp.Content{&mcp.TextContent{Text: text + r.list(&out, len(text))}}
	return res, out, nil
}

// ToolResult returns the answer of a raw tool: that of [Result.Output], with the output as
// structured content too, because clients drop one or the other.
func (r *Result[Out]) ToolResult() *mcp.CallToolResult {
	res, out, _ := r.Output()
	res.StructuredContent = words.Encode(out)
	return res
}

// fault returns the failure of an answer in which nothing succeeded. If all items failed with the
// same kind, it has that kind.
func (r *Result[Out]) fault() *fault.Error {
	kind := fault.KindTool
	switch len(r.byType) {
	case 0:
		kind = stops[r.Stopped].kind
	case 1:
		for k := range r.byType {
			kind = k
		}
	}
	message := r.message()
	f := fault.New(kind, strings.ToLower(message[:1])+message[1:]).Suggest(r.suggestion())
	if r.Stopped == byShutdown && kind == stops[byShutdown].kind {
		f = f.WithParty(fault.PartyServer)
	}
	if r.recoverable == r.Failed {
		f = f.After(time.Duration(min(r.wait, 1<<30) * float64(time.Second))) // the call can be repeated as it was
	}
	return f
}

// tooLong is the value of an item that no answer could hold, which is not kept.
type tooLong struct{}

// written returns a copy of r in which the values are JSON. An item whose value cannot be written
// has failed in it.
func (r *Result[Out]) written() *Result[Out] {
	cp := *r
	cp.Items = slices.Clone(r.Items)
	for i := range cp.Items {
		item := &cp.Items[i]
		if item.Status != Succeeded {
			continue
		}
		var err error
		if item.raw, err = classify.JSON(item.Value); err != nil {
			*item = Item[Out]{Index: i, Key: item.Key, Status: Failed}
			item.failed = r.failer.failed(i, notJSON("the value of an item", err), nil)
			item.Err = item.failed.public
		}
	}
	cp.count()
	return &cp
}

// notJSON returns the error for a value that is not JSON. It is a bug of the server, whatever err
// looks like.
func notJSON(what string, err error) error {
	return classify.HideError(fmt.Errorf("batch: %s is not JSON: %w", what, err), nil)
}

// An entry is an item in one list of an answer.
type entry struct {
	size int    // bytes, in the longer of the two forms of the answer
	add  func() // adds the item to the list
}

// list adds as many items as fit to out, and returns them as text: first the items to send again, then
// those to check, then errors, then results. If not all fit, each list leaves half of the remaining
// bytes to the lists after it, or as much as they need.
func (r *Result[Out]) list(out *Output[Out], used int) string {
	const headings = 512 // bytes, for the headings and the lines about what is left out
	var again, first, lines []string
	var failed []*Item[Out]
	sent := func(item *Item[Out], items *[]any, texts *[]string) entry {
		raw := r.sendable(item)
		text := words.JSON(string(raw))
		return entry{len(text) + 1, func() { *items, *texts = append(*items, raw), append(*texts, text) }}
	}
	members := []string{"retry_items", "check_items", "errors", "results"}
	lists := map[string][]entry{}
	for i := range r.Items {
		item := &r.Items[i]
		switch item.next() {
		case sendAgain:
			if !r.kept {
				lists["retry_items"] = append(lists["retry_items"], sent(item, &out.RetryItems, &again))
			}
		case checkFirst:
			lists["check_items"] = append(lists["check_items"], sent(item, &out.CheckItems, &first))
		case nothing:
		}
		if item.Status == Failed {
			lists["errors"] = append(lists["errors"], entry{r.errorSize(item), func() {
				failed, out.Errors = append(failed, item), append(out.Errors, r.members(item))
			}})
			continue
		}
		result, line, size := r.resultOf(item)
		lists["results"] = append(lists["results"], entry{size, func() {
			out.Results = append(out.Results, result)
			if line != "" {
				lines = append(lines, line)
			}
		}})
	}
	omitted := map[string]int{}
	room := max(0, r.maxBytes-max(len(words.Encode(out)), used)-headings)
	for i, member := range members {
		behind := 0 // bytes of those items in later lists that can fit
		for _, m := range members[i+1:] {
			for _, e := range lists[m] {
				if e.size <= room-behind {
					behind += e.size
				}
			}
		}
		share := room - min(behind, room/2)
		for _, e := range lists[member] {
			if e.size > share {
				omitted[member]++
				continue
			}
			share -= e.size
			room -= e.size
			e.add()
		}
	}
	text := section("Failed:", "\n", r.failureLines(failed), omitted["errors"]) +
		section("Send again (retry_items):", " ", written(again), omitted["retry_items"]) +
		section("Check first (check_items):", " ", written(first), omitted["check_items"]) +
		section("Results:", "\n", lines, omitted["results"])
	if len(omitted) > 0 {
		out.Omitted = omitted
		out.Omitted["max_bytes"] = r.maxBytes
	}
	return text
}

// sendable returns what the caller sends for an item.
func (r *Result[Out]) sendable(item *Item[Out]) json.RawMessage {
	raw, err := classify.JSON(r.send(item.Index))
	if err != nil && item.Key != "" {
		raw, err = classify.JSON(item.Key)
	}
	if err != nil {
		raw = json.RawMessage(strconv.Itoa(item.Index))
	}
	return raw
}

// resultOf returns, for an item that did not fail, the item as it is shown, its line of text, and
// its size in bytes in the longer of the two forms of the answer.
func (r *Result[Out]) resultOf(item *Item[Out]) (result Item[Out], line string, size int) {
	result = *item
	result.Key = shown(item.Key)
	text := words.JSON(string(item.raw))
	if text != "" {
		line = "- " + r.keyed(item, r.name(item)) + ": " + text
	}
	size = len(words.Encode(result.Key)) + len(text) + len(r.keyName) + len(r.listName) + 64
	if _, long := any(item.Value).(tooLong); long {
		size = math.MaxInt
	}
	return result, line, size
}

// errorSize returns how many bytes a failed item takes at most. failureLines joins items with equal
// texts.
func (r *Result[Out]) errorSize(item *Item[Out]) int {
	return max(
		len(words.Encode(item.Err))+len(words.Encode(r.keyName))+len(words.Encode(shown(item.Key)))+48,
		len(r.keyName)+len(r.name(item))+len(errorText(item.Err))+len(suggestionOf(item))+len(item.Err.Reference())+27,
	)
}

// members returns a failed item as it stands in the structured value.
func (r *Result[Out]) members(item *Item[Out]) (members OutputError) {
	_ = json.Unmarshal(words.Encode(item.Err), &members) // it is an object
	members["index"], members["recoverable"] = item.Index, item.next() == sendAgain
	if item.Key != "" {
		members[r.keyName] = shown(item.Key)
	}
	return members
}

// section returns a list as it stands in the text of an answer.
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

// name returns how a text names an item: its key, or its place in the list.
func (r *Result[Out]) name(item *Item[Out]) string {
	if item.Key == "" {
		return fmt.Sprintf("%s[%d]", r.listName, item.Index)
	}
	return words.Quote(shown(item.Key), 200)
}

// shown returns a key as it stands in an answer. A key may come from the caller and hold a
// credential.
func shown(key string) string { return scrub.Credentials(key) }

// keyed puts the name of the keys before names of items.
func (r *Result[Out]) keyed(item *Item[Out], names string) string {
	if item.Key == "" || r.keyName == defaultKeyName {
		return names
	}
	return r.keyName + " " + names
}

// suggestionOf returns the line with the suggestion of an item's failure. It is "" if the
// suggestion is the general one of the failure's kind.
func suggestionOf[Out any](item *Item[Out]) string {
	const most = 600
	e := item.Err
	suggestion := e.Suggestion()
	if !item.failed.worded || suggestion == "" || suggestion == fault.Generic(e.Kind()).Suggestion() {
		return ""
	}
	_, line, _ := strings.Cut(fault.FromData(fault.Data{Type: e.Kind(), Message: "-", Suggestion: suggestion}).Text(), "\n")
	return strings.ReplaceAll(words.Clip(line, most), "\n", "\n  ")
}

// errorText returns the text of a failure without the name of its item and without the suggestion.
func errorText(e *fault.Error) string {
	const most = 600
	d := e.Data()
	text := fault.FromData(fault.Data{
		Type: d.Type, Message: d.Message, SimilarMatches: d.SimilarMatches, RequiredPermission: d.RequiredPermission,
	}).Text()
	return strings.ReplaceAll(words.Clip(text, most), "\n", "\n  ")
}

// failureLines returns one line for each text of a failure, with the names of all items that have
// it.
func (r *Result[Out]) failureLines(failed []*Item[Out]) (lines []string) {
	type group struct {
		text         string
		quote, keyed bool
	}
	var groups []group
	items := map[group][]*Item[Out]{}
	for _, item := range failed {
		g := group{errorText(item.Err), item.failed.quote, item.Key != ""}
		if items[g] == nil {
			groups = append(groups, g)
		}
		items[g] = append(items[g], item)
	}
	said := map[string]bool{} // suggestions that have a line already
	for _, g := range groups {
		items, label := items[g], " Reference: "
		if len(items) > 1 {
			label = " References: "
		}
		parts := []string{"- " + r.keyed(items[0], several(items, r.name)) + ": " + g.text}
		if g.quote {
			parts[0] += label + several(items, func(item *Item[Out]) string { return item.Err.Reference() })
		}
		for _, item := range items {
			if text := suggestionOf(item); text != "" && !said[text] {
				said[text] = true
				parts = append(parts, text)
			}
		}
		lines = append(lines, strings.Join(parts, "\n  "))
	}
	return lines
}

// several lists the texts of items, at most ten in one line.
func several[Out any](items []*Item[Out], text func(*Item[Out]) string) string {
	const most = 10
	var all []string
	for _, item := range items[:min(most, len(items))] {
		all = append(all, text(item))
	}
	if len(items) > most {
		all = append(all, fmt.Sprintf("... (%d items)", len(items)))
	}
	return strings.Join(all, ", ")
}
