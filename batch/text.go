package batch

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/words"
)

// section is a list in the text of an answer.
func section(heading, before, text string, missing int) string {
	if text == "" && missing == 0 {
		return ""
	}
	heading, more := "\n"+heading, ""
	if text != "" {
		heading, more = heading+before+text, "more "
	}
	if missing > 0 {
		heading += fmt.Sprintf("\n(%d %sleft out, because the answer would be too long)", missing, more)
	}
	return heading
}

// written returns items that are JSON as a JSON list.
func written(items []any) string {
	if len(items) == 0 {
		return ""
	}
	texts := make([]string, len(items))
	for i, item := range items {
		raw, _ := item.(json.RawMessage)
		texts[i] = words.JSON(string(raw))
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// clip shortens a text.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// name names an item in a text: by its key, or by its place in the list.
func (r *Result[Out]) name(item *Item[Out]) string {
	if item.Key == "" {
		return fmt.Sprintf("%s[%d]", r.listName, item.Index)
	}
	return words.Quote(item.Key, 200)
}

// keyed puts the name of the keys before names of items.
func (r *Result[Out]) keyed(item *Item[Out], names string) string {
	if item.Key == "" || r.keyName == defaultKeyName {
		return names
	}
	return r.keyName + " " + names
}

func (r *Result[Out]) resultLines(items []OutputItem[Out]) string {
	var lines []string
	for _, out := range items {
		item := &r.Items[out.Index]
		switch name := r.keyed(item, r.name(item)); item.Status {
		case Succeeded:
			lines = append(lines, "- "+name+": "+words.JSON(string(out.raw)))
		case Skipped:
			lines = append(lines, "- "+name+": had been done before")
		case Failed, NotRun: // have no result
		}
	}
	return strings.Join(lines, "\n")
}

// errorText tells a failure without the name of its item and without what stands in
// the suggestion of the batch.
func errorText(e *fault.Error) string {
	const most = 600
	d := e.Data()
	text := fault.FromData(fault.Data{
		Type: d.Type, Message: d.Message, SimilarMatches: d.SimilarMatches, RequiredPermission: d.RequiredPermission,
	}).Text()
	return strings.ReplaceAll(clip(text, most), "\n", "\n  ")
}

// failureLines tells the failures in one line for each text that they have.
func (r *Result[Out]) failureLines(errors []OutputError) string {
	type group struct {
		text  string
		quote bool
		items []*Item[Out]
	}
	var groups []*group
	known := map[string]*group{}
	for _, e := range errors {
		item := &r.Items[e.Index()]
		text := errorText(item.Err)
		id := fmt.Sprint(item.quote, item.Key == "", text)
		g := known[id]
		if g == nil {
			g = &group{text: text, quote: item.quote}
			known[id], groups = g, append(groups, g)
		}
		g.items = append(g.items, item)
	}
	lines := make([]string, len(groups))
	for i, g := range groups {
		names, references := r.spans(g.items)
		line := "- " + r.keyed(g.items[0], names)
		if len(g.items) > 2 {
			line += fmt.Sprintf(" (%d items)", len(g.items))
		}
		line += ": " + g.text
		switch {
		case !g.quote || references == "":
		case len(g.items) == 1:
			line += " Reference: " + references
		default:
			line += " References: " + references
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// spans lists names of items and their references, three or more in a row by the first
// and the last.
func (r *Result[Out]) spans(items []*Item[Out]) (names, references string) {
	const most = 10
	var name, reference []string
	for first := 0; first < len(items); {
		last := first
		for last+1 < len(items) && items[last+1].Index == items[last].Index+1 {
			last++
		}
		if last == first+1 {
			last = first
		}
		if len(name) == most {
			name, reference = append(name, "..."), append(reference, "...")
			break
		}
		a, b := items[first], items[last]
		if first == last {
			name, reference = append(name, r.name(a)), append(reference, a.Err.Reference())
		} else {
			name, reference = append(name, r.name(a)+" to "+r.name(b)), append(reference, a.Err.Reference()+" to "+b.Err.Reference())
		}
		first = last + 1
	}
	if items[0].Err.Reference() == "" {
		return strings.Join(name, ", "), ""
	}
	return strings.Join(name, ", "), strings.Join(reference, ", ")
}
