package batch

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/words"
)

// text writes the answer for a reader who sees nothing else.
func (r *Result[Out]) text(a *answer[Out]) string {
	var b strings.Builder
	switch {
	case a.fault != nil:
		b.WriteString(a.fault.Text())
	default:
		b.WriteString(a.Message)
		if a.ErrorSummary != nil && a.ErrorSummary.Suggestion != "" {
			b.WriteString("\nSuggestion: " + a.ErrorSummary.Suggestion)
		}
	}
	var retry, check, failed, rest list[string]
	const overhead = 512 // for the headings, and for what is said about what is left out
	limit := max(0, r.output.MaxBytes-b.Len()-overhead)
	add := func(l *list[string], line string) {
		if l.wants(limit) {
			l.add(line, len(line)+1)
		}
		l.total++
	}
	for _, raw := range a.RetryItems {
		add(&retry, written(raw))
	}
	for _, raw := range a.CheckItems {
		add(&check, written(raw))
	}
	for _, e := range a.Errors {
		add(&failed, "- "+r.errorLine(&r.Items[e.Index()]))
	}
	for _, item := range a.Results {
		switch item.Status {
		case Succeeded.String():
			add(&rest, "- "+r.name(item.Index, item.Key)+": "+words.JSON(string(item.raw)))
		case Skipped.String():
			add(&rest, "- "+r.name(item.Index, item.Key)+": had been done before")
		}
	}
	fit(limit, &retry.room, &check.room, &failed.room, &rest.room)
	var omitted Omitted
	if a.Omitted != nil {
		omitted = *a.Omitted
	}
	write := func(heading, before, between, after string, l *list[string], missing int) {
		missing += l.missing()
		if len(l.fits()) == 0 && missing == 0 {
			return
		}
		b.WriteString("\n" + heading)
		more := ""
		if len(l.fits()) > 0 {
			b.WriteString(before + strings.Join(l.fits(), between) + after)
			more = "more "
		}
		if missing > 0 {
			fmt.Fprintf(&b, "\n(%d %sleft out, because the answer would be too long)", missing, more)
		}
	}
	write("Failed:", "\n", "\n", "", &failed, omitted.Errors)
	write("Send again (retry_items):", " [", ",", "]", &retry, omitted.RetryItems)
	write("Check first (check_items):", " [", ",", "]", &check, omitted.CheckItems)
	write("Results:", "\n", "\n", "", &rest, omitted.Results)
	return b.String()
}

// written returns an item as it was written for the structured value.
func written(item any) string {
	raw, _ := item.(json.RawMessage)
	return words.JSON(string(raw))
}

// errorLine tells a failure in one line.
func (r *Result[Out]) errorLine(item *Item[Out]) string {
	const most = 600
	d := item.Err.Data()
	text := fault.FromData(fault.Data{
		Type: d.Type, Message: d.Message, SimilarMatches: d.SimilarMatches, RequiredPermission: d.RequiredPermission,
	}).Text()
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " ..."
	}
	text = r.name(item.Index, item.Key) + ": " + strings.ReplaceAll(text, "\n", "\n  ")
	if ref := item.Err.Reference(); ref != "" && item.quote {
		text += " Reference: " + ref
	}
	return text
}

// name names an item in a text.
func (r *Result[Out]) name(index int, key string) string {
	if key == "" {
		return "item " + strconv.Itoa(index)
	}
	const most = 200
	if key = words.Quote(key, most); r.keyName == defaultKeyName {
		return key
	}
	return r.keyName + " " + key
}
