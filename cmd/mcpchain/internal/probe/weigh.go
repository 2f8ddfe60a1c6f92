package probe

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/conduct"
)

// A Weight says who notices what a finding is about.
type Weight string

// The weights.
const (
	// User: the server ends, hangs, leaks, lies about an effect or loses a write. A person notices it.
	User Weight = "user"
	// Model: a model gets an answer that it cannot act on.
	Model Weight = "model"
	// Letter: the protocol wants it otherwise, and few notice.
	Letter Weight = "letter"
)

// Weights are all weights, the heaviest first.
var Weights = []Weight{User, Model, Letter}

var (
	// Checks whose findings a user notices, and those that a model cannot act on. The others are about the letter.
	userChecks = strings.Fields(`fitting-arguments ends-with-input ends-in-a-call ends-unread leaves-nothing unknown-tool many-at-once late-reader
		many-failures cancelled-call http-origin leaks-argument failures-told writes-kept leaks-stderr progress-ends
		only-messages no-flood legal-messages result-type structured-content leaks-stack leaks-path leaks-address leaks-environment`)
	modelChecks = strings.Fields(`unknown-tool-named near-tool-named unknown-prompt prompt-argument-missing unknown-resource
		argument-missing argument-of-wrong-type argument-out-of-enum argument-out-of-range argument-unknown arguments-no-object
		wrong-argument-named all-wrong-named choices-named huge-argument invisible-argument one-text says-something bounded-failures`)
	// Checks that send what no good client sends. That it is not answered is a matter of the letter.
	brokenChecks = strings.Fields(`odd-initialize before-initialize initialize-twice no-json no-object no-method wrong-jsonrpc odd-params no-params
		odd-meta odd-id id-twice batch broken-utf8 empty-line unasked-answer odd-notification no-tool-name`)
)

func weightOf(check string) Weight {
	switch {
	case slices.Contains(userChecks, check):
		return User
	case slices.Contains(modelChecks, check):
		return Model
	}
	return Letter
}

// unanswered is the weight of a request without an answer.
func (t *trial) unanswered(none reason) Weight {
	if none == silent && slices.Contains(brokenChecks, t.about.Name) {
		return Letter
	}
	return User
}

// malformed is the subject of findings in answers to what is no request.
const malformed = "a malformed message"

// causes are checks whose findings explain those of others, if both are about one tool, or about none.
var causes = []struct{ cause, effects string }{
	{"says-something", "unknown-tool-named near-tool-named wrong-argument-named all-wrong-named choices-named"},
	{"wrong-argument-named", "all-wrong-named choices-named"},
	{"failures-told", "argument-missing argument-of-wrong-type argument-out-of-enum argument-out-of-range argument-unknown arguments-no-object structured-content"},
	{"leaks-stack", "leaks-path"},
	{"bounded-failures", "huge-argument"},
	{"ends-with-input", "ends-in-a-call ends-unread ends-when-told leaves-nothing"},
	{"answers-once", "answers-only-requests"},
	{"notification-unanswered", "answers-only-requests"},
	{conduct.RuleMessages, "one-text result-type"},
	{"only-messages", "legal-messages"},
}

// Explain finds the findings that others explain, so that no report blames a server twice for one thing. They name the
// check that does.
func (r *Report) Explain() {
	first := map[string]string{} // what happened to which tool: the check that saw it first
	ended := ""                  // the last check that the server did not survive
	for i := range r.Results {
		check := r.Results[i].Check.Name
		broken := slices.Contains(brokenChecks, check)
		for j := range r.Results[i].Findings {
			f := &r.Results[i].Findings[j]
			f.Because = ""
			switch {
			case f.none == noReturn:
				f.Because = ended
			case f.none == replied:
				f.Because = r.cause(check, f)
			case broken || f.tool() != "":
				what := f.What
				if !broken {
					what += " " + f.tool()
				}
				if known := first[what]; known == "" {
					first[what] = check
				} else if known != check {
					f.Because = known
				}
			}
			if f.none == dead || f.none == lost {
				ended = cmp.Or(f.Because, check)
			}
		}
	}
}

// cause returns the check that explains a finding of another one, "" if none does.
func (r *Report) cause(check string, f *Finding) string {
	if strings.HasPrefix(f.What, "The code is") {
		return ""
	}
	for _, c := range causes {
		if !slices.Contains(strings.Fields(c.effects), check) {
			continue
		}
		for _, result := range r.Results {
			if result.Check.Name == c.cause && slices.ContainsFunc(result.Findings, func(g Finding) bool { return g.tool() == f.tool() && g.Protocol == f.Protocol }) {
				return c.cause
			}
		}
	}
	return ""
}

// tool returns the first word of a subject, which is a tool or a method without one.
func (f *Finding) tool() string {
	word, _, _ := strings.Cut(strings.TrimPrefix(f.Subject, "tools/call "), " ")
	return word
}
