package failure_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/kinds"
)

// Both decisions are enumerated whole. What they answer in the usual situations stands in tables that a
// reader can check (testdata); what holds in every situation is proven of all of them.

var update = flag.Bool("update", false, "write the tables in testdata anew")

func golden(t *testing.T, file string, table string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(table), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), table)
}

var (
	sources = []string{"-", "kind", "status", "table", "chosen", "error", "rule", "fault", "annotated", "proven", "witnessed", "cut", "counted"}
	origins = []string{"unknown", "classified", "ruled", "bug", "worded", "explained"}
	effects = []fault.Effect{"", fault.EffectNone, fault.EffectUnknown, fault.EffectCommitted}
	safe4   = []failure.Safety{failure.Writes, failure.Keyed, failure.Idempotent, failure.Reads}
)

// allKinds are those of the table in their order by name, and one that a program made for itself.
func allKinds() []fault.Kind {
	all := []fault.Kind{"my_kind"}
	for kind := range kinds.All {
		all = append(all, fault.Kind(kind))
	}
	slices.Sort(all)
	return all
}

func line(a failure.Answer) string {
	if a.Said() == nil {
		return "nothing is said [-]"
	}
	if a.Retry.Unknown {
		return fmt.Sprintf("asked to wait %vs", a.Retry.RetryAfterSeconds)
	}
	text := "no"
	if a.Retry.ShouldRetry {
		text = "yes"
	}
	if a.Retry.RetryAfterSeconds > 0 {
		text += fmt.Sprintf(" %vs", a.Retry.RetryAfterSeconds)
	}
	text += " [" + sources[a.By] + "]"
	if a.Retry.Effect != "" {
		text += fmt.Sprintf(" %s [%s]", a.Retry.Effect, sources[a.Proof])
	}
	if a.Retry.Reason != "" {
		text += " " + a.Retry.Reason
	}
	return text
}

// A situation is one of those in which a call of some kind fails.
type situation struct {
	name  string
	known func(kind fault.Kind) failure.Known
}

// of returns what is known of an error.
func of(err error, change ...func(*failure.Known)) failure.Known {
	k := failure.Known{Finding: classify.Of(err, classify.Options{})}
	for _, c := range change {
		c(&k)
	}
	return k
}

func situations() []situation {
	all := []situation{
		{"the kind alone", func(k fault.Kind) failure.Known { return of(k) }},
		{"a kind that our tables derived", func(k fault.Kind) failure.Known {
			return of(k, func(known *failure.Known) { known.Chosen = false })
		}},
		{"a fault", func(k fault.Kind) failure.Known { return of(fault.New(k, "m")) }},
		{"a fault, never sent", func(k fault.Kind) failure.Known { return of(fault.New(k, "m").Because(errDial)) }},
		{"a fault, sent and lost", func(k fault.Kind) failure.Known { return of(fault.New(k, "m").Because(errBroken)) }},
		{"a fault, after 2 s", func(k fault.Kind) failure.Known { return of(fault.New(k, "m").After(2 * time.Second)) }},
		{"a fault, never", func(k fault.Kind) failure.Known { return of(fault.New(k, "m").Never("over")) }},
		{"refused before", func(k fault.Kind) failure.Known {
			return of(fault.New(k, "m").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone}), func(k *failure.Known) { k.By = classify.Proven })
		}},
		{"a rule: yes", func(k fault.Kind) failure.Known {
			return of(k, func(k *failure.Known) { k.Ruled, k.Rule = true, fault.Hint{Retry: fault.RetryYes} })
		}},
		{"ruled", func(k fault.Kind) failure.Known {
			return failure.Known{Finding: classify.Of(errors.New("x"), classify.Options{Rules: []classify.Rule{func(error) *fault.Error { return fault.New(k, "m") }}})}
		}},
		{"HTTP 503", func(k fault.Kind) failure.Known { return of(fault.New(k, "m").Because(statusError(503))) }},
		{"the error says no", func(k fault.Kind) failure.Known { return of(errors.Join(k, final{})) }},
		{"its caller has gone", func(k fault.Kind) failure.Known {
			return of(k, func(k *failure.Known) { k.Ended = context.Canceled })
		}},
	}
	return all
}

type final struct{}

func (final) Error() string   { return "final" }
func (final) Retryable() bool { return false }

type statusError int

func (e statusError) Error() string   { return "status" }
func (e statusError) StatusCode() int { return int(e) }

// TestAgainTable writes down what is answered for every kind.
func TestAgainTable(t *testing.T) {
	var b strings.Builder
	for _, s := range situations() {
		fmt.Fprintf(&b, "## %s\n", s.name)
		for _, kind := range allKinds() {
			known := s.known(kind)
			var lines []string
			for _, safety := range safe4 {
				lines = append(lines, line(failure.Again(&known, failure.As(safety))))
			}
			names := []string{"may write", "keyed", "idempotent", "reads"}
			for i := 0; i < len(lines); {
				j := i + 1
				for j < len(lines) && lines[j] == lines[i] {
					j++
				}
				who := strings.Join(names[i:j], ", ")
				if j-i == len(lines) {
					who = "whatever it does"
				}
				fmt.Fprintf(&b, "%s | %s | %s\n", kind, who, lines[i])
				i = j
			}
		}
	}
	golden(t, "testdata/again.txt", b.String())
}

// TestTheDocsHaveEverySentence: docs/retry.md lists each line with its sources.
func TestTheDocsHaveEverySentence(t *testing.T) {
	page, err := os.ReadFile("../../docs/retry.md")
	require.NoError(t, err)
	table, err := os.ReadFile("testdata/again.txt")
	require.NoError(t, err)
	said := map[string]bool{"It may still take effect": true, "Your time limit for this call was over": true} // of limits and of callers
	for row := range strings.Lines(string(table)) {
		cells := strings.SplitN(strings.TrimSpace(row), " | ", 3)
		if len(cells) < 3 {
			continue
		}
		answer := cells[2]
		require.NotRegexp(t, `^(yes|no)\b[^[]* \[(-|kind|status|table)\]`, answer, "a line has a source")
		require.NotRegexp(t, `(none|unknown|committed) \[(-|kind|status|table)\]`, answer, "so has an effect")
		for part := range strings.SplitSeq(answer, " | ") {
			if sentence := strings.TrimSpace(part[strings.LastIndex(part, "]")+1:]); sentence != "" && sentence != "over" { // a reason of the test's own
				said[sentence] = true
			}
		}
	}
	require.Greater(t, len(said), 8)
	for sentence := range said {
		require.Contains(t, string(page), sentence)
	}
	for _, r := range []fault.Retry{
		{Effect: fault.EffectUnknown}, {Effect: fault.EffectUnknown, Reason: "x"}, {Effect: fault.EffectCommitted}, {ShouldRetry: true, Effect: fault.EffectNone}, {RetryAfterSeconds: 30},
	} {
		line := strings.TrimSuffix(strings.TrimPrefix(r.String(), "Retry: yes. "), " X.")
		require.Contains(t, string(page), line)
	}
	for _, source := range []string{"*said*", "*chosen*", "*annotated*", "*proven*", "*witnessed*", "*counted*", "*cut*"} {
		require.Contains(t, string(page), source)
	}
}

// TestAgainWhole proves what holds for every kind, whatever the fault, a rule and the error say, whatever
// the tool does and whatever was counted.
func TestAgainWhole(t *testing.T) {
	retries := []fault.Retryable{fault.RetryUnknown, fault.RetryYes, fault.RetryNo}
	owns := []*fault.Retry{nil}
	for _, again := range []bool{false, true} {
		for _, effect := range effects {
			owns = append(owns, &fault.Retry{ShouldRetry: again, Effect: effect})
		}
	}
	owns = append(owns, &fault.Retry{Effect: fault.EffectUnknown, Reason: "own"})
	var rules []*fault.Hint
	for _, r := range retries {
		for _, effect := range effects {
			rules = append(rules, &fault.Hint{Retry: r, Effect: effect})
		}
	}
	rules = append(rules, nil)
	var said []classify.Says
	for _, r := range retries {
		for _, effect := range effects {
			for _, inner := range []fault.Kind{"", fault.KindTimeout} {
				s := classify.Says{Kind: inner, Retry: r, Effect: effect}
				if r != fault.RetryUnknown {
					s.By = classify.ByError
				}
				if effect != "" {
					s.Proof = classify.ByError
				}
				said = append(said, s)
			}
		}
	}
	counts := []*failure.Counts{
		nil,
		{Attempts: 1, Limit: 3, Wait: 5 * time.Second},
		{Attempts: 3, Limit: 3, Wait: 5 * time.Second},
		{Attempts: 3, Wait: 5 * time.Second, Lasts: 20 * time.Second},
		{Attempts: 5, Same: 5},
		{Attempts: 5, Streak: 10, Steps: true},
		{Attempts: 8, Wait: 5 * time.Second, Lasts: 5 * time.Minute, NotNow: true},
		{Attempts: 1, Wait: 5 * time.Second, Fact: "This tool has failed for all callers since 14:02 UTC"},
	}
	ends := []error{nil, context.Canceled, context.DeadlineExceeded}
	n := 0
	check := func(k *failure.Known, counts []*failure.Counts) {
		var first failure.Answer
		whatever := false // the answer has to be the same, whatever a repetition does
		for i, safety := range safe4 {
			var without failure.Answer // without counts, which stand first
			for _, count := range counts {
				n++
				asked, counted := 0, 0
				at := failure.Situation{Safety: func() failure.Safety { asked++; return safety }}
				if count != nil {
					at.Counted = func(fault.Retry, bool) failure.Counts { counted++; return *count }
				}
				a := failure.Again(k, at)
				r := a.Retry
				own, says := k.Fault.Retry()
				where := func() string {
					return fmt.Sprintf("%s %s own=%v rule=%v says=%+v ended=%v safety=%d count=%v: %s", origins[k.Origin], k.Fault.Kind(), own, k.Rule, k.Says, k.Ended, safety, count, line(a))
				}
				if a.By.Derived() && (a.By != classify.Nobody || r != fault.Retry{}) && !r.Unknown || a.Proof.Derived() && (a.Proof != classify.Nobody || r.Effect != "") {
					require.Fail(t, "what our tables make of an error is no source: nothing is said, or who says it", where())
				}
				if r.Effect != "" && r.Effect != own.Effect && (k.Rule.Effect == "" && k.Says.Effect == "" && k.Ended == nil) {
					require.Fail(t, "an error proves what it is, never what became of the call", where())
				}
				if r.ShouldRetry && (a.By == classify.Nobody || r.Effect == fault.EffectUnknown || r.Effect == fault.EffectCommitted) {
					require.Fail(t, "a call is repeated only if somebody knows that it helps, and of nothing that may have taken effect", where())
				}
				if r.Effect == "" && a.Proof != classify.Nobody || r.Effect != "" && r.Effect != fault.EffectUnknown && a.Proof == classify.Nobody {
					require.Fail(t, "an effect has a source, unless nobody knows it", where())
				}
				if safety == failure.Reads && r.Effect == fault.EffectUnknown {
					require.Fail(t, "what only reads has changed nothing", where())
				}
				if safety <= failure.Writes && r.ShouldRetry && a.Hint.Effect != fault.EffectNone && !(says && own.Effect != fault.EffectUnknown) && a.Hint.Retry != fault.RetryYes {
					require.Fail(t, "a write is repeated only if nothing was done", where())
				}
				if once := r.MaxAttempts == 2 && safety >= failure.Idempotent && k.Fault.Kind() == fault.KindInternal || k.Origin == classify.Unknown; r.ShouldRetry && a.Hint.Retry != fault.RetryYes && !once {
					require.Fail(t, "what cannot succeed is not repeated", where())
				}
				if says && own.Effect == fault.EffectCommitted && (r.ShouldRetry || r.Effect != fault.EffectCommitted) {
					require.Fail(t, "what took effect is not repeated", where())
				}
				if errors.Is(k.Ended, context.Canceled) && !says && r.ShouldRetry {
					require.Fail(t, "a call that its caller gave up is not repeated", where())
				}
				if asked > 1 || counted > 1 || (count != nil) != (counted == 1) {
					require.Fail(t, "each question is asked once at most, and failures are counted once", where())
				}
				if count != nil {
					if what := wrongOfCounts(a, without, *count); what != "" {
						require.Fail(t, what, where())
					}
					continue
				}
				if without = a; a.By == classify.Counted {
					require.Fail(t, "what is not counted is no source", where())
				}
				if i == 0 {
					first, whatever = a, asked == 0
					continue
				}
				if whatever && (a.Retry != first.Retry || a.By != first.By) {
					require.Fail(t, "what a repetition does is asked where it matters", where())
				}
				if first.Retry.ShouldRetry && !r.ShouldRetry {
					require.Fail(t, "what a write may do, a read may", where())
				}
			}
		}
	}
	for _, kind := range allKinds() {
		for origin := range origins {
			for _, own := range owns {
				public := fault.New(kind, "m")
				if own != nil {
					public = public.WithRetry(*own)
				}
				for i, says := range said {
					for j, rule := range rules {
						k := failure.Known{Finding: classify.Finding{Origin: classify.Origin(origin), Fault: public, Says: says, By: classify.ByFault, Chosen: origin > 1 || j%2 == 0}, Ended: ends[(i+j)%len(ends)], Shown: (i+j)%2 == 1}
						if rule != nil {
							k.Rule, k.Ruled = *rule, true
						}
						if (i+j)%7 == 0 { // what was counted is the last word, so not beside everything else
							check(&k, counts)
						} else {
							check(&k, counts[:1])
						}
					}
				}
			}
		}
	}
	t.Log(n, "situations")
}

// wrongOfCounts returns what is wrong with an answer, and "" if that is nothing. without is the answer where
// nobody counts.
func wrongOfCounts(a, without failure.Answer, count failure.Counts) string {
	r, before := a.Retry, without.Retry
	no := without.Said() != nil && !before.ShouldRetry && !before.Unknown
	once := before.MaxAttempts == 2 // no fault here has a limit of its own
	limited := before.ShouldRetry && count.Limit > 0 && count.Attempts >= count.Limit
	notNow := before.ShouldRetry && !once && !limited && count.NotNow
	if r.Effect != before.Effect || r.Partial != before.Partial || a.Hint != without.Hint {
		return "counts say nothing of the effect, nor of what an error is"
	}
	if r.ShouldRetry && !before.ShouldRetry {
		return "no count allows what was not allowed"
	}
	switch {
	case a.By != classify.Counted:
		if r.ShouldRetry && (limited || notNow || once && (count.Attempts > 1 || count.Same > 0)) {
			return "the caller that has tried too often is told so"
		}
		if a.By == classify.Nobody && a.Hint.Retry == fault.RetryYes && count.Attempts > 2 {
			return "how often the call has failed is said where nothing else is"
		}
		if r.ShouldRetry && !once && r.RetryAfterSeconds != cmp.Or(before.RetryAfterSeconds, count.Wait.Seconds()) {
			return "a wait that was stated stays, and any other is that of the outage"
		}
		if r.ShouldRetry && r.Fact != count.Fact || !r.ShouldRetry && r.Fact != "" {
			return "what is known of others is a fact of its own"
		}
		if r.RetryAfterSeconds, r.Fact = before.RetryAfterSeconds, before.Fact; r != before || a.By != without.By {
			return "what was counted is the source of what is said of it"
		}
	case r.Reason == fault.NotNow:
		if !notNow || r.ShouldRetry || r.Unknown || r.RetryAfterSeconds != 300 || r.Fact != "It has failed for 5 min (8 calls)" {
			return "what may pass is not given up for ever, and not before its time"
		}
	case r.Unknown:
		if no || notNow || limited && !once || r.ShouldRetry || r.Reason != "" || r.Fact == "" || r.RetryAfterSeconds != before.RetryAfterSeconds && !once {
			return "an unknown one says how often the call has failed, and takes no answer back"
		}
		if r.Effect == fault.EffectUnknown || r.Effect == fault.EffectCommitted {
			return "a call that may have taken effect is answered with a no"
		}
	default:
		if !no && !limited || r.ShouldRetry || r.Fact != "" || !strings.Contains(r.Reason, "failed") {
			return "a count alone is no \"no\""
		}
	}
	return ""
}

// TestViewTable writes down what a reader may know.
func TestViewTable(t *testing.T) {
	words := []string{"row", "row+", "sentence", "terse", "author"}
	texts := []string{"as it is", "scrubbed", "the error's own"}
	tolds := []string{"", "in a result of its own words", "without an error", "rendered inside"}
	readers := map[string]failure.Reader{
		"1 masked":             {Mask: strings.ToUpper},
		"2 masked, trusted":    {Mask: strings.ToUpper, Trust: failure.Trusted},
		"3 masked, operator":   {Mask: strings.ToUpper, Trust: failure.Operator},
		"4 masked, quotes":     {Mask: strings.ToUpper, Quote: func(string, string) bool { return true }},
		"5 nobody masks":       {},
		"6 nobody masks, bugs": {Reveal: true},
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps(readers)) {
		reader := readers[name]
		fmt.Fprintf(&b, "## %s\n", name[2:])
		last := ""
		for origin, o := range origins {
			for w, word := range words {
				unworded := classify.Origin(origin).Unworded()
				if unworded != (w < 4) || origin == 0 && w > 1 {
					continue // such a failure is not made
				}
				for told, how := range tolds {
					for _, bare := range []bool{true, false} {
						if bare && (unworded || origin == int(classify.Ruled) || origin == int(classify.Bug)) {
							continue
						}
						s := seen(classify.Origin(origin), classify.Words(w), failure.Report(told), bare)
						v := reader.View(s)
						text := "text " + texts[v.Text]
						for _, f := range []struct {
							is   bool
							word string
						}{{v.Own, "the content stays"}, {v.Shown, "shown"}, {v.Quotes, "quotes"}, {v.Hidden, "recorded"}, {v.Refers, "refers"}} {
							if f.is {
								text += ", " + f.word
							}
						}
						who := strings.TrimRight(strings.Join([]string{o, word, how}, " "), " ")
						if bare {
							who += ", bare"
						}
						if row := fmt.Sprintf("%s | %s %q | %s\n", who, v.Fault.Kind(), v.Fault.Message(), text); row != last {
							b.WriteString(row)
							last = row
						}
					}
				}
			}
		}
	}
	golden(t, "testdata/view.txt", b.String())
}

func maps[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// request is one of which the caller sent nothing.
type request struct{}

func (request) Sent() func(string) bool { return func(string) bool { return false } }

// seen is a failure of an origin, as far as the view looks at it.
func seen(origin classify.Origin, words classify.Words, report failure.Report, bare bool) *failure.Seen {
	kind := fault.KindServiceUnavailable
	if origin == classify.Unknown || origin == classify.Bug {
		kind = fault.KindInternal
	}
	s := &failure.Seen{
		Found:  classify.Finding{Origin: origin, Words: words, Fault: fault.New(kind, "words"), Says: classify.Says{Status: 422}},
		Report: report, Err: errors.New("the error of /srv/app"),
		Request: request{},
	}
	if bare {
		s.Err = &jsonrpc.Error{Message: "the error of /srv/app"}
	}
	s.Words = func() *fault.Error { return fault.New(fault.KindTool, "content") }
	return s
}

// TestViewWhole proves what holds for every failure and every reader.
func TestViewWhole(t *testing.T) {
	n := 0
	for bits := range 1 << 7 {
		var reader failure.Reader
		masked := bits&1 != 0
		if masked {
			reader.Mask = strings.ToUpper
		}
		reader.Reveal = bits&2 != 0
		if masked {
			reader.Trust = []failure.Trust{failure.Anyone, failure.Trusted, failure.Operator, failure.Operator}[bits>>2&1+bits>>5&2]
		}
		if bits&8 != 0 {
			reader.Quote = func(string, string) bool { return true }
		}
		for origin := range origins {
			for words := range 5 {
				for told := range 4 {
					for flags := range 1 << 4 {
						n++
						s := seen(classify.Origin(origin), classify.Words(words), failure.Report(told), flags&1 != 0)
						s.Hints, s.Found.Lost, s.Found.Refused = bits&16 != 0, flags&2 != 0, flags&4 != 0
						v := reader.View(s)
						holds := func(ok bool, why string) {
							if !ok {
								require.Failf(t, why, "%+v of %+v for %06b", v, s, bits)
							}
						}
						switch v.Origin {
						case classify.Unknown, classify.Classified:
							holds(v.Hidden == masked && v.Refers, "what nobody worded is recorded where it is masked, and refers to its record")
						case classify.Bug:
							holds(v.Hidden && v.Refers, "a bug is recorded")
						case classify.Ruled:
							holds(v.Hidden == masked && v.Refers, "the error that a rule knows is recorded")
						case classify.Worded, classify.Explained:
							holds(v.Hidden == (masked && flags&1 == 0), "so is what stands around or below what was worded")
						}
						foreign := v.Words != classify.OfRow && v.Origin != classify.Bug && v.Origin != classify.Explained
						holds(!masked || v.Text != failure.Original, "where somebody masks, no error is shown as it is")
						holds(masked || v.Text != failure.Scrubbed, "there is nothing to scrub with")
						holds(v.Origin != classify.Bug || v.Text != failure.Original || reader.Reveal, "a bug is revealed on purpose only")
						holds(v.Text != failure.Original || !v.Origin.Worded(), "what was worded stays")
						holds(!masked || !foreign || v.Text == failure.Scrubbed, "words of others are scrubbed")
						holds(v.Closed == (masked && reader.Trust == failure.Anyone && v.Origin.Unworded()), "an error is closed to anyone if nobody worded it")
						shows := reader.Trust != failure.Anyone && !v.Own &&
							(s.Found.Origin.Unworded() || s.Found.Origin == classify.Bug && s.Found.Words == classify.OfRow)
						holds(v.Shown == shows, "words are shown to whoever may read errors, of what nobody worded")
						holds(!v.Shown || v.Text == failure.Scrubbed && strings.HasPrefix(v.Fault.Message(), "the error of "), "they stand first, and are scrubbed")
						holds(!v.Shown || strings.Contains(v.Fault.Message(), "/srv/app") == (reader.Trust == failure.Operator), "a place is the operator's")
						holds(v.Own == (s.Report == failure.Alone || s.Report == failure.Apart || s.Report == failure.Rendered && !masked), "what a tool told itself stays")
						holds(!v.Own || !v.Shown, "in one way")
						holds(v.Own || v.Shown || v.Fault == s.Found.Fault, "what is known does not change")
						holds(!v.Quotes || reader.Quote != nil && reader.Trust == failure.Anyone && v.Text == failure.Scrubbed, "a quotation is asked for, and scrubbed")
					}
				}
			}
		}
	}
	t.Log(n, "failures and readers")
}
