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
// failed. The suggestion follows from the pattern of the failures, and is there too
// when items were not run.
func (r *Result[Out]) ErrorSummary() ErrorSummary {
	p := pattern{
		tally: r.tally, failed: r.Failed, alone: r.Failed == r.Total, kept: r.Items != nil,
		again: r.NotRun + r.resend,
	}
	return ErrorSummary{ByType: maps.Clone(r.byType), RecoverableCount: r.recoverable, Suggestion: p.suggestion()}
}

// pattern is what a suggestion follows from.
type pattern struct {
	tally
	failed int
	again  int  // items that can be sent again as they are
	alone  bool // nothing but failures
	kept   bool // the items are listed
}

// class joins the kinds that ask for the same thing.
type class struct {
	count int
	text  func(p *pattern, count int) string
}

// suggestion is three sentences at most about the failures, the most frequent first, and
// one about what to send again.
func (p *pattern) suggestion() string {
	classes := []class{
		{p.of(fault.KindNotFound), (*pattern).notFound},
		{p.of(fault.KindPermissionDenied, fault.KindUnauthenticated), (*pattern).denied},
		{p.of(fault.KindValidation, fault.KindClientError), (*pattern).invalid},
		{p.of(fault.KindAlreadyExists), (*pattern).exists},
		{p.of(fault.KindConflict, fault.KindPreconditionFailed), (*pattern).conflict},
		{p.of(fault.KindRateLimited), (*pattern).limited},
		{p.of(fault.KindTimeout), (*pattern).late},
		{p.of(fault.KindConnectionFailed, fault.KindServiceUnavailable, fault.KindServerError), (*pattern).down},
		{p.of(fault.KindInternal), (*pattern).internal},
	}
	slices.SortStableFunc(classes, func(a, b class) int { return cmp.Compare(b.count, a.count) })
	var sentences []string
	for _, c := range classes[:3] {
		if c.count > 0 {
			sentences = append(sentences, c.text(p, c.count))
		}
	}
	return strings.Join(append(sentences, p.sendAgain()...), " ")
}

func (p *pattern) of(kinds ...fault.Kind) (count int) {
	for _, kind := range kinds {
		count += p.byType[kind]
	}
	return count
}

// share says how many of the failures are of a class: "All failures are".
func (p *pattern) share(count int) string {
	switch {
	case count == p.failed && count > 1:
		return "All failures are"
	case 2*count > p.failed && count > 1:
		return "Most failures are"
	case count == 1:
		return "One failure is"
	default:
		return strconv.Itoa(count) + " failures are"
	}
}

func (p *pattern) notFound(count int) string {
	switch {
	case p.alone && p.failed == 1 && count == 1: // without it nothing would be left to send
		return "Correct the name of the item, or list first what exists."
	case p.alone && count == p.failed && count > 1:
		return "None of the items exists: check how they are named, or list first what exists."
	case count == 1:
		return "Remove the item that was not found, or correct its name."
	default:
		return fmt.Sprintf("Remove the %d items that were not found, or correct their names.", count)
	}
}

func (p *pattern) denied(count int) string {
	return p.share(count) + " a matter of missing permissions: ask the user for access, or leave these items out; sending them again does not help."
}

func (p *pattern) invalid(count int) string {
	return p.share(count) + " a matter of wrong input: correct these items as their errors say."
}

func (p *pattern) exists(count int) string {
	return p.share(count) + " about something that exists already: use what exists, or choose other identifiers."
}

func (p *pattern) conflict(count int) string {
	return p.share(count) + " about the current state: read it before you decide whether to send these items again."
}

func (p *pattern) limited(count int) string {
	return p.share(count) + " due to a rate limit: send fewer items at a time."
}

func (p *pattern) late(count int) string {
	return p.share(count) + " due to a time limit: send fewer items at a time if it happens again."
}

func (p *pattern) down(count int) string {
	return p.share(count) + " due to a service that could not be used, which is usually temporary."
}

func (p *pattern) internal(count int) string {
	return p.share(count) + " internal to the server: sending these items again is unlikely to help; tell the user if they fail twice."
}

// sendAgain says what to send again, and when.
func (p *pattern) sendAgain() (sentences []string) {
	what := "the items of which the error is recoverable"
	if p.kept {
		what = "the " + some(p.again, "item") + " in retry_items"
	}
	switch {
	case p.again == 0:
	case p.wait > 0:
		sentences = append(sentences, "Wait "+waitText(p.wait)+", then send "+what+" again.")
	default:
		sentences = append(sentences, "Send "+what+" again.")
	}
	if p.unsure > 0 {
		which := "Items that failed in this way"
		if p.kept {
			which = "The " + some(p.unsure, "item") + " in check_items"
		}
		sentences = append(sentences, which+" may have taken effect: check that before you send anything again.")
	}
	return sentences
}

// waitText writes a time to wait, rounded up so that nobody comes back too early.
func waitText(seconds float64) string {
	switch {
	case seconds < 1:
		return strconv.Itoa(int(math.Ceil(seconds*1000))) + " ms"
	case seconds <= 120:
		return strconv.FormatFloat(math.Ceil(seconds*10)/10, 'f', -1, 64) + " s"
	default:
		return strconv.Itoa(int(math.Ceil(min(seconds, 1<<31)/60))) + " min"
	}
}

// some is plural without the number one.
func some(count int, noun string) string {
	if count == 1 {
		return noun
	}
	return plural(count, noun)
}

func plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(count) + " " + noun + "s"
}
