package batch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/words"
)

// A Status says how an item ended.
type Status string

// The ways in which an item can end.
const (
	NotRun    Status = "not_run"   // the batch was stopped before
	Succeeded Status = "succeeded" // the function returned a value
	Failed    Status = "failed"    // it returned an error, panicked, or was left behind
)

// An Item is the outcome of one item. In an answer it is one that did not fail.
type Item[Out any] struct {
	// Index is the item's place in the input, from 0.
	Index int `json:"index" jsonschema:"the place in the input, from 0"`

	// Key is the item's own key, "" if it has none. See [RunOptions].
	Key string `json:"key,omitempty"`

	Status Status `json:"status" jsonschema:"succeeded or not_run"`

	// Value is what the function returned, also when it returned an error too.
	Value Out `json:"value,omitempty"`

	// Err is what a caller may know of the failure, with its reference; nil unless the
	// item failed. Its [fault.Retry] says whether to send the item again. Its cause, which
	// is never sent, is the error of the function.
	Err *fault.Error `json:"-"`

	raw    json.RawMessage // the value, as it was written when its size was measured
	failed failed
}

// MarshalJSON writes the value only if the item succeeded, also a zero value. A null is
// left out: schemas of maps do not allow it.
func (i Item[Out]) MarshalJSON() ([]byte, error) {
	raw := i.raw
	if raw == nil && i.Status == Succeeded {
		var err error
		if raw, err = json.Marshal(i.Value); err != nil {
			return nil, err
		}
	}
	if string(raw) == "null" {
		raw = nil
	}
	type plain Item[json.RawMessage] // without this method
	return json.Marshal(plain{Index: i.Index, Key: i.Key, Status: i.Status, Value: raw})
}

// A step is what a caller does next with an item.
type step uint8

const (
	nothing    step = iota
	sendAgain       // as it is
	checkFirst      // it failed but may have taken effect: that has to be checked before it is sent again
)

func (i *Item[Out]) next() step {
	switch retry, _ := i.Err.Retry(); {
	case i.Status == NotRun, retry.ShouldRetry:
		return sendAgain
	case retry.Effect == fault.EffectUnknown, retry.Partial:
		return checkFirst
	default:
		return nothing
	}
}

// Why a batch did not run to its end, as it stands in an answer.
const (
	byFailures = "failures"
	byDeadline = "deadline"
	byCancel   = "cancelled"
	byShutdown = "shutdown"
	byStuck    = "stuck"
)

// stops has, for each reason, its words and the kind of an answer in which no item failed and none
// succeeded.
var stops = map[string]struct {
	text string
	kind fault.Kind
}{
	byFailures: {"too many items failed", fault.KindTool},
	byDeadline: {"the time for it was over", fault.KindTimeout},
	byCancel:   {"it was cancelled", fault.KindCancelled},
	byShutdown: {"this server is being replaced", fault.KindServiceUnavailable},
	byStuck:    {"too many items did not finish in time", fault.KindTool},
}

// A Result is the outcome of a batch. It does not change once Run has returned it.
type Result[Out any] struct {
	Counts

	// Items are the outcomes in the order of the input.
	Items []Item[Out]

	byType      map[fault.Kind]int
	recoverable int
	unsure      int
	later       int     // the failed items of which "not now" is said
	wait        float64 // seconds, the longest that a recoverable failure asks for

	send     func(index int) any // what a caller sends for an item
	failer   *failer
	listName string // of the list, for items without a key
	kept     bool   // an earlier call with its key may have run any item, so no part of the list is to be sent under another key
	keyName  string
	maxBytes int
}

// maxKinds bounds the kinds that are counted apart: a program may make up its own.
const maxKinds = 64

// count counts the outcomes anew.
func (r *Result[Out]) count() {
	r.Counts = Counts{Total: len(r.Items), Stopped: r.Stopped}
	r.byType, r.recoverable, r.unsure, r.later, r.wait = nil, 0, 0, 0, 0
	for i := range r.Items {
		switch item := &r.Items[i]; item.Status {
		case Succeeded:
			r.Succeeded++
		case NotRun:
			r.NotRun++
		case Failed:
			r.Failed++
			r.countFailed(item)
		}
	}
}

func (r *Result[Out]) countFailed(item *Item[Out]) {
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
		if retry, _ := item.Err.Retry(); retry.Reason == fault.NotNow {
			r.later++
		}
	}
}

// causes joins the kinds after which the caller should do the same.
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
	{"failed by a service", "keep the arguments", []fault.Kind{fault.KindConnectionFailed, fault.KindServiceUnavailable, fault.KindServerError}},
	{"with an internal error", "tell the user", []fault.Kind{fault.KindInternal}},
}

// suggestion has one clause for each cause, the most frequent first, behind its count, and says what to send again and what to check.
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
		sentences = append(sentences, strings.Join(clauses, "; ")+".")
	}
	if r.NotRun+r.recoverable > 0 {
		sentences = append(sentences, waitText(r.wait, r.again()))
	}
	if r.later > 0 {
		sentences = append(sentences, words.Plural(r.later, "item")+" may work again later, but not now: tell the user.")
	}
	if r.unsure > 0 {
		sentences = append(sentences, "Check whether each item in 'check_items' took effect before you send anything again.")
	}
	return strings.Join(sentences, " ")
}

// again says what to send.
func (r *Result[Out]) again() string {
	if r.kept {
		return "the same list again with the same idempotency key"
	}
	return "retry_items again"
}

// waitText says when to send something again. Nobody in a conversation waits for longer than two
// minutes.
func waitText(seconds float64, what string) string {
	switch whole := int(math.Ceil(min(seconds, 1<<31))); {
	case whole == 0:
		return "Send " + what + "."
	case whole <= 120:
		return fmt.Sprintf("Wait %d s, then send %s.", whole, what)
	default:
		return fmt.Sprintf("Sending %s is possible in %d min; tell the user.", what, (whole+59)/60)
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
	default:
		text = fmt.Sprintf("%d of %s succeeded", r.Succeeded, items)
		if r.Failed > 0 {
			text += fmt.Sprintf(", %d failed", r.Failed)
		}
		if r.NotRun > 0 {
			text += fmt.Sprintf(", %d not run", r.NotRun)
		}
	}
	if r.Stopped != "" {
		text += "; the batch was stopped because " + stops[r.Stopped].text
	}
	return text + "."
}
