package batch

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/words"
)

// A Status says what became of an item.
type Status uint8

// The zero Status is that of an item that was not run.
const (
	NotRun    Status = iota // the batch was stopped before
	Succeeded               // the function returned a value
	Failed                  // it returned an error, panicked, or was left behind
	Skipped                 // it was done already
)

// String returns the status as it stands in an answer.
func (s Status) String() string {
	if s > Skipped {
		return "unknown"
	}
	return [...]string{"not_run", "succeeded", "failed", "skipped"}[s]
}

// An Item is the outcome of one item.
type Item[Out any] struct {
	// Index is the item's place in the input, from 0.
	Index int

	// Key is the item's own key, "" if it has none. See [RunOptions].
	Key string

	// Value is what the function returned, also when it returned an error too.
	Value Out

	// Err is what a caller may know of the failure, with its reference; nil unless the
	// item failed. Its cause, which is never sent, is the error of the function.
	Err *fault.Error

	Status Status

	// Recoverable reports whether the item failed in a way that may be over when it is
	// sent again as it is. It equals what Err says in its [fault.Retry].
	Recoverable bool

	quote bool // the text shows the reference of the failure
}

func (i *Item[Out]) fail(f failure) {
	i.Status, i.Err, i.Recoverable, i.quote = Failed, f.public, f.again, f.quote
}

// A step is what a caller does next with an item.
type step uint8

const (
	nothing    step = iota
	sendAgain       // as it is
	checkFirst      // it failed but may have taken effect: somebody has to look before it is sent again
)

func (i *Item[Out]) next() step {
	switch retry, _ := i.Err.Retry(); {
	case i.Status == NotRun, i.Recoverable:
		return sendAgain
	case retry.Effect == fault.EffectUnknown:
		return checkFirst
	default:
		return nothing
	}
}

// A StopReason says why a batch did not run to its end.
type StopReason string

// The reasons, as they stand in an answer.
const (
	StoppedByFailures StopReason = "failures"  // RunOptions.MaxFailures
	StoppedByBudget   StopReason = "budget"    // Advanced.Budget
	StoppedByDeadline StopReason = "deadline"  // the context's
	StoppedByCancel   StopReason = "cancelled" // the context was cancelled
	StoppedByStuck    StopReason = "stuck"     // too many items did not return in time
)

// stops says each reason in words, and of which kind an answer is in which nothing else
// failed.
var stops = map[StopReason]struct {
	text string
	kind fault.Kind
}{
	StoppedByFailures: {"too many items failed", fault.KindTool},
	StoppedByBudget:   {"the time for it was over", fault.KindTimeout},
	StoppedByDeadline: {"the time for it was over", fault.KindTimeout},
	StoppedByCancel:   {"it was cancelled", fault.KindCancelled},
	StoppedByStuck:    {"too many items did not finish in time", fault.KindTool},
}

// A Result is what became of a batch. It is not changed once Run has returned it.
type Result[Out any] struct {
	// Total is the number of items. It is the sum of the other four.
	Total     int
	Succeeded int
	Failed    int
	Skipped   int // done already
	NotRun    int // not begun before the batch was stopped

	// Items are the outcomes in the order of the input.
	Items []Item[Out]

	// Stopped says why the batch did not run to its end, "" if it did.
	Stopped StopReason

	byType      map[fault.Kind]int
	recoverable int
	unsure      int
	wait        float64 // seconds, the longest that a recoverable failure asks for

	send     func(index int) any // what a caller sends for an item
	failer   *failer
	keyName  string
	listName string // of the list, for items without a key
	output   OutputOptions
}

// maxKinds bounds the kinds that are told apart: a program may make up its own.
const maxKinds = 64

// count counts the outcomes anew.
func (r *Result[Out]) count() {
	var counts [Skipped + 1]int
	r.byType, r.recoverable, r.unsure, r.wait = nil, 0, 0, 0
	for i := range r.Items {
		item := &r.Items[i]
		if counts[item.Status]++; item.Status != Failed {
			continue
		}
		if r.byType == nil {
			r.byType = make(map[fault.Kind]int)
		}
		kind := item.Err.Kind()
		if _, known := r.byType[kind]; !known && len(r.byType) >= maxKinds {
			kind = "other"
		}
		r.byType[kind]++
		switch item.next() {
		case sendAgain:
			r.recoverable++
			retry, _ := item.Err.Retry()
			r.wait = max(r.wait, retry.RetryAfterSeconds)
		case checkFirst:
			r.unsure++
		case nothing:
		}
	}
	r.Total, r.Succeeded, r.Failed, r.Skipped, r.NotRun = len(r.Items), counts[Succeeded], counts[Failed], counts[Skipped], counts[NotRun]
}

// Success reports whether anything succeeded or was done already, or whether there was
// nothing to do.
func (r *Result[Out]) Success() bool { return r.Total == 0 || r.Succeeded+r.Skipped > 0 }

// SuccessRate returns the share of the items that succeeded or were done already, from
// 0 to 1; it is 1 when there were none.
func (r *Result[Out]) SuccessRate() float64 {
	if r.Total == 0 {
		return 1
	}
	return float64(r.Succeeded+r.Skipped) / float64(r.Total)
}

// Failures yields the items that failed, in the order of the input.
func (r *Result[Out]) Failures() iter.Seq[Item[Out]] {
	return func(yield func(Item[Out]) bool) {
		for i := range r.Items {
			if r.Items[i].Status == Failed && !yield(r.Items[i]) {
				return
			}
		}
	}
}

// Values returns the values of the items that succeeded, in the order of the input.
func (r *Result[Out]) Values() []Out {
	values := make([]Out, 0, r.Succeeded)
	for i := range r.Items {
		if r.Items[i].Status == Succeeded {
			values = append(values, r.Items[i].Value)
		}
	}
	return values
}

// RetryItems returns what is to be sent again, in the order of the input: the items
// that were not run, and those that failed in a way that may be over, without any of
// which it is not known whether they took effect.
func (r *Result[Out]) RetryItems() []any { return r.sent(sendAgain) }

// CheckItems returns the items that failed, but may have taken effect nevertheless, such
// as a write that did not finish in time: what is to be checked before it is sent
// again.
func (r *Result[Out]) CheckItems() []any { return r.sent(checkFirst) }

func (r *Result[Out]) sent(next step) (items []any) {
	for i := range r.Items {
		if r.Items[i].next() == next {
			items = append(items, r.send(i))
		}
	}
	return items
}

// Wait returns how long to wait before anything is sent again: the longest time that a
// failure asks for, zero when none does.
func (r *Result[Out]) Wait() time.Duration {
	return time.Duration(min(r.wait, float64(1<<30)) * float64(time.Second))
}

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
	counts := map[string]int{}
	var clauses []string
	for _, cause := range causes {
		count := 0
		for _, kind := range cause.kinds {
			count += r.byType[kind]
		}
		clause := fmt.Sprintf("%d %s: %s", count, cause.name, cause.advice)
		if count == r.Total { // the answer begins with its name
			clause = words.Capital(cause.advice)
		}
		if count > 0 {
			counts[clause] = count
			clauses = append(clauses, clause)
		}
	}
	slices.SortStableFunc(clauses, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	var sentences []string
	if len(clauses) > 0 {
		sentences = append(sentences, strings.Join(clauses[:min(3, len(clauses))], "; ")+".")
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
		return fmt.Sprintf("Wait %d s, then send retry_items again.", whole)
	default:
		return fmt.Sprintf("Sending retry_items again is possible in %d min; tell the user.", (whole+59)/60)
	}
}

// message says in one sentence how the batch ended.
func (r *Result[Out]) message() string {
	items := words.Plural(r.Total, "item")
	all, none := "All "+items, "None of the "+items+" succeeded"
	if r.Total == 1 {
		all, none = "The item", "The item failed"
	}
	var text string
	switch r.Total {
	case 0:
		return "There were no items."
	case r.Failed:
		text = none
	case r.NotRun:
		text = "None of " + items + " was run"
	case r.Succeeded:
		text = all + " succeeded"
	case r.Skipped:
		text = all + " had been done before"
	default:
		text = fmt.Sprintf("%d of %s succeeded", r.Succeeded, items)
	}
	for _, part := range []struct {
		count int
		text  string
	}{{r.Failed, "failed"}, {r.Skipped, "had been done before"}, {r.NotRun, "not run"}} {
		if part.count > 0 && part.count < r.Total {
			text += fmt.Sprintf(", %d %s", part.count, part.text)
		}
	}
	if r.Stopped != "" {
		text += "; the batch was stopped because " + stops[r.Stopped].text
	}
	return text + "."
}
