package batch

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
)

// ErrorSummary is what the failures of a batch have in common.
type ErrorSummary struct {
	ByType           map[fault.Kind]int `json:"by_type" jsonschema:"how many items failed with each type of error"`
	RecoverableCount int                `json:"recoverable_count" jsonschema:"how many of them may succeed when they are sent again"`
	Suggestion       string             `json:"suggestion,omitempty" jsonschema:"what to do next"`
}

// ErrorSummary returns what the failures have in common; ByType is nil when nothing
// failed. The suggestion is there too when items were not run.
func (r *Result[Out]) ErrorSummary() ErrorSummary {
	return ErrorSummary{ByType: maps.Clone(r.byType), RecoverableCount: r.recoverable, Suggestion: r.suggestion()}
}

// causes joins the kinds that ask for the same thing.
var causes = []struct {
	name, advice string
	kinds        []fault.Kind
}{
	{"not found", "check the name, or list what exists", []fault.Kind{fault.KindNotFound}},
	{"not permitted", "ask the user for access, or leave it out", []fault.Kind{fault.KindPermissionDenied, fault.KindUnauthenticated}},
	{"wrong input", "correct it as the error says", []fault.Kind{fault.KindValidation, fault.KindClientError}},
	{"in existence already", "use what exists, or choose another name", []fault.Kind{fault.KindAlreadyExists}},
	{"in conflict with the current state", "read it, then decide", []fault.Kind{fault.KindConflict, fault.KindPreconditionFailed}},
	{"rate limited", "send fewer items at a time", []fault.Kind{fault.KindRateLimited}},
	{"not finished in time", "send fewer items at a time", []fault.Kind{fault.KindTimeout}},
	{"failed by a service", "usually temporary", []fault.Kind{fault.KindConnectionFailed, fault.KindServiceUnavailable, fault.KindServerError}},
	{"internal to the server", "tell the user if it fails twice", []fault.Kind{fault.KindInternal}},
}

// suggestion has one clause for each of the three most frequent causes, behind its
// count, and says what to send again and what to check.
func (r *Result[Out]) suggestion() string {
	type clause struct {
		count int
		text  string
	}
	var clauses []clause
	for _, cause := range causes {
		count := 0
		for _, kind := range cause.kinds {
			count += r.byType[kind]
		}
		switch count {
		case 0:
		case r.Total: // the answer begins with its name
			clauses = append(clauses, clause{count, strings.ToUpper(cause.advice[:1]) + cause.advice[1:]})
		default:
			clauses = append(clauses, clause{count, fmt.Sprintf("%d %s: %s", count, cause.name, cause.advice)})
		}
	}
	slices.SortStableFunc(clauses, func(a, b clause) int { return cmp.Compare(b.count, a.count) })
	var sentences []string
	clauses = clauses[:min(3, len(clauses))]
	texts := make([]string, 0, len(clauses))
	for _, c := range clauses {
		texts = append(texts, c.text)
	}
	if len(texts) > 0 {
		sentences = append(sentences, strings.Join(texts, "; ")+".")
	}
	if r.NotRun+r.recoverable > 0 {
		sentences = append(sentences, waitText(r.wait))
	}
	if r.unsure > 0 {
		sentences = append(sentences, "Check whether check_items took effect before you send anything again.")
	}
	return strings.Join(sentences, " ")
}

// waitText says when to send again what can be. Nobody in a conversation waits for
// longer than two minutes.
func waitText(seconds float64) string {
	switch whole := int(math.Ceil(min(seconds, 1<<31))); {
	case whole == 0:
		return "Send retry_items again."
	case whole <= 120:
		return "Wait " + strconv.Itoa(whole) + " s, then send retry_items again."
	default:
		return "Sending retry_items again is possible in " + strconv.Itoa((whole+59)/60) + " min; tell the user."
	}
}

// message says in one sentence how the batch ended.
func (r *Result[Out]) message() string {
	var b strings.Builder
	switch {
	case r.Total == 0:
		return "There were no items."
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

func plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(count) + " " + noun + "s"
}
