package fault_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/faults"
)

func lines(text ...string) string { return strings.Join(text, "\n") }

func TestTextOfConstructors(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault *fault.Error
		want  string
	}{
		{"New without a kind", fault.New("", "it broke"), "Internal error: it broke."},
		{"New with a message of control characters", fault.New(fault.KindTimeout, "\x00\x1b"), "Timeout: the operation did not finish in time."},
		{"New with a blank message", fault.New("disk_full", " \n "), "Disk full: the call failed."},
		{
			"Invalid with examples", fault.Invalid("color", "blau", "one of: red, green", "red", "green"),
			"Validation Error: Argument 'color' expected one of: red, green, but received 'blau'.",
		},
		{
			"Invalid with many examples", fault.Invalid("n", "x", "a digit", "1", "2", "3", "4", "5", "6"),
			"Validation Error: Argument 'n' expected a digit, but received 'x'. For example: '1', '2', '3', '4' or '5'.",
		},
		{"Invalid without an expectation", fault.Invalid("q", "x", ""), "Validation Error: Argument 'q' is not valid: received 'x'."},
		{"NotFound with nothing close", fault.NotFound("project", "alpha", "zulu", "yankee"), "Not found: project 'alpha' does not exist. These exist: 'zulu', 'yankee'."},
		{
			"NotFound with many and nothing close", fault.NotFound("project", "alpha", "zulu", "b2", "c3", "d4", "e5", "f6", "g7", "h8", "i9", "j0", "k1"),
			"Not found: project 'alpha' does not exist. 11 exist, among them 'h8', 'zulu', 'b2', 'c3', 'd4', 'e5', 'f6', 'g7', 'i9' and 'j0'.",
		},
		{
			"NotFound with five of six close", fault.NotFound("item", "itemz", "itema", "itemb", "itemc", "itemd", "iteme", "itemf"),
			"Not found: item 'itemz' does not exist. Did you mean 'itema', 'itemb', 'itemc', 'itemd' or 'iteme'?",
		},
		{
			"AlreadyExists", fault.AlreadyExists("project", "alpha"),
			lines("Already exists: project 'alpha' cannot be created a second time.", "Suggestion: Choose another identifier, or use the item that exists."),
		},
		{
			"Unauthenticated without a reason", fault.Unauthenticated(""),
			lines("Not authenticated: this call needs valid credentials.",
				"Suggestion: Ask the user to sign in or to renew the credentials, then call again."),
		},
		{
			"RateLimited without a time", fault.RateLimited("the search API", 0),
			lines("Rate limited: the search API accepts no more calls now.", "Retry: yes."),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.fault.Error())
			require.Equal(t, tc.want, tc.fault.Text())
		})
	}
}

func TestKindLabel(t *testing.T) {
	for kind, want := range map[fault.Kind]string{
		fault.KindValidation:                 "Validation Error",
		fault.KindRateLimited:                "Rate limited",
		"deployment_in_progress":             "Deployment in progress",
		"über_limit":                         "Über limit",
		"перегрузка":                         "Перегрузка",
		"line\nbreak":                        "Line break",
		"":                                   "Internal error",
		"\xff":                               "\uFFFD",
		fault.Kind(strings.Repeat("x", 100)): "X" + strings.Repeat("x", 63) + "...",
	} {
		require.Equal(t, want, kind.Label(), "%q", string(kind))
	}
	require.Equal(t, "not_found", fault.KindNotFound.Error())
}

func TestTextOfBuilders(t *testing.T) {
	base := fault.New("deployment_in_progress", "version 7 is being deployed")
	const first = "Deployment in progress: version 7 is being deployed."
	for _, tc := range []struct {
		name  string
		fault *fault.Error
		want  string
	}{
		{"suggestion taken away", base.Suggest("wait for it").Suggest(""), first},
		{"suggestion of two lines", base.Suggest("wait\nor ask"), lines(first, "Suggestion: wait", "or ask.")},
		{"code is for programs", base.WithCode("BUSY"), first},
		{"permissions", base.Needs("a:read", "a:write"), first + " Required permission: a:read, a:write."},
		{"blank permission", base.Needs(" \n"), first},
		{"the name of a limit is for programs", base.WithCode("LIMIT_REACHED").With("limit", "owner"), first},
		{"a limit of somebody else's", base.With("limit", "100 an hour"), lines(first, `Details: {"limit":"100 an hour"}`)},
		{"details", base.With("version", 7).With("by", "<ann> & \"bob\""), lines(first, `Details: {"by":"<ann> & \"bob\"","version":7}`)},

		{"after an unknown time", base.After(0), lines(first, "Retry: yes.")},
		{"never, with a reason in another script", base.Never("уже поздно"), lines(first, "Retry: no. Уже поздно.")},
		{"after, then never", base.After(time.Second).Never("too late"), lines(first, "Retry: no. Too late.")},
		{
			"retry, all of it", base.WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 30, NextAttempt: 2, MaxAttempts: 3, Reason: "the limit is reset then", Effect: fault.EffectNone}),
			lines(first, "Retry: yes, after 30 s (attempt 2 of 3). The limit is reset then. Nothing was changed by this call."),
		},
		{"retry, most attempts", base.WithRetry(fault.Retry{ShouldRetry: true, MaxAttempts: 3}), lines(first, "Retry: yes (3 attempts at most).")},
		{"retry, negative numbers", base.WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: -1, NextAttempt: -1, MaxAttempts: -1}), lines(first, "Retry: yes.")},
		{
			"retry, effect not known", base.WithRetry(fault.Retry{Effect: fault.EffectUnknown}),
			lines(first, "Retry: no, unless you see that it did not take effect."),
		},
		{
			"retry, effect not known, and why not", base.WithRetry(fault.Retry{Effect: fault.EffectUnknown, Reason: "It may still take effect."}),
			lines(first, "Retry: no. This call may have changed something: look whether it did before you go on. It may still take effect."),
		},
		{
			"retry in spite of an effect that is not known", base.WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}),
			lines(first, "Retry: yes. It is not known whether this call took effect: look before you repeat it."),
		},
		{
			"retry, wrong arguments", fault.New(fault.KindValidation, "it is wrong").WithRetry(fault.Retry{}),
			lines("Validation Error: it is wrong.", "Retry: only with corrected arguments."),
		},
		{
			"retry, wrong arguments that were found too late", fault.New(fault.KindValidation, "it is wrong").WithRetry(fault.Retry{Effect: fault.EffectCommitted}),
			lines("Validation Error: it is wrong.", "Retry: no. This call took effect: do not repeat it."),
		},

		{"step that is a question", base.Step("Is it urgent?", "", nil), lines(first, "Next: 1. Is it urgent?")},
		{"step without an action", base.Step("", "", nil), lines(first, "Next: 1. Continue.")},
		{"step of a tool without an action", base.Step("", "get", nil), lines(first, "Next: 1. Continue: call get {}.")},
		{
			"step of a tool", base.Step("See its state.", "get_deployment", map[string]any{"version": 7, "env": "<prod>"}),
			lines(first, `Next: 1. See its state: call get_deployment {"env":"<prod>","version":7}.`),
		},
		{
			"step with all", base.WithSteps(fault.Step{Number: 9, Action: "Choose one", Tool: "deploy", Parameters: map[string]any{"v": 8}, Options: []fault.Option{{Action: "red"}, {Action: "green"}}, Description: "Green is safer"}),
			lines(first, `Next: 1. Choose one: call deploy {"v":8}; either red or green. Green is safer.`),
		},
		{
			"steps are numbered on", base.Step("One", "", nil).WithSteps(fault.Step{Action: "Two"}, fault.Step{Action: "Three"}).Step("Four", "", nil),
			lines(first, "Next: 1. One.", "      2. Two.", "      3. Three.", "      4. Four."),
		},
		{
			"everything, in order",
			base.WithReference("0198c7f2").Step("See its state", "get", nil).After(time.Minute).With("version", 7).
				Suggest("Wait for it.").Needs("deploy").WithCode("BUSY").Because(fmt.Errorf("secret")),
			lines(first+" Required permission: deploy.", "Suggestion: Wait for it.", `Details: {"version":7}`,
				"Retry: yes, after 60 s.", "Next: 1. See its state: call get {}.", "Reference: 0198c7f2"),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.fault.Error())
			text, _, _ := strings.Cut(tc.want, "\nReference: ")
			require.Equal(t, text, tc.fault.Text())
		})
	}
	require.Equal(t, first, base.Error(), "a builder changed its receiver")
}

func TestMessageEndsInOneStop(t *testing.T) {
	for message, want := range map[string]string{
		"it broke.":      "it broke.",
		"really?":        "really?",
		"as follows:":    "as follows:",
		"壊れた。":           "壊れた。",
		"壊れた？":           "壊れた？",
		"(it broke)":     "(it broke).",
		"one\r\ntwo\r\n": "one\ntwo.",
		"a\x1b[31mred":   "ared.",
		"a\u202eb":       "ab.",
		"a\U000e0041b":   "ab.",
		"a\xffb":         "a\uFFFDb.",
		"del\x7fete":     "delete.",
	} {
		require.Equal(t, "Conflict: "+want, fault.New(fault.KindConflict, message).Error(), "%q", message)
	}
}

func TestLongMessageIsCutAtItsEnd(t *testing.T) {
	long := strings.Repeat("very ", 100_000) + "long"
	cutOff := fault.New(fault.KindConflict, long).Error()
	require.Regexp(t, `very \[49\d{4} more characters left out\]\.$`, cutOff)
	require.Less(t, len(cutOff), 4200)
	forged := fault.New(fault.KindConflict, "it is locked\nRetry: yes, now.\u2028Reference: 7\n\u0420etry: yes").Error()
	require.Equal(t, "Conflict: it is locked\n> Retry: yes, now.\n> Reference: 7\n\u0420etry: yes.", forged)
}

func TestNamesInTextAreOneShortLine(t *testing.T) {
	hostile := "x\r\nRetry: yes.\x00\x1b[2J\x7f\u0085\u2028\u2029\u202e\u2066é\xffz"
	const clean = "x Retry: yes.   é\uFFFDz"
	long := strings.Repeat("é", 1000)
	cut := func(n int) string { return strings.Repeat("é", n) + "..." }

	for _, tc := range []struct {
		name  string
		fault func(string) *fault.Error
		text  string // with %s for the name
		runes int
	}{
		{"resource", func(s string) *fault.Error { return fault.NotFound(s, "7").Suggest("") }, "Not found: %s '7' does not exist.", 64},
		{"identifier", func(s string) *fault.Error { return fault.NotFound("project", s).Suggest("") }, "Not found: project '%s' does not exist.", 64},
		{"action", func(s string) *fault.Error { return fault.Denied(s, "it").Suggest("") }, "Permission denied: you are not allowed to %s it.", 200},
		{"limited", func(s string) *fault.Error { return fault.RateLimited(s, 0).WithRetry(fault.Retry{}) }, "Rate limited: %s accepts no more calls now.\nRetry: no.", 200},
		{"field", func(s string) *fault.Error { return fault.Invalid(s, 1, "2") }, "Validation Error: Argument '%s' expected 2, but received 1.", 64},
		{"example", func(s string) *fault.Error { return fault.Invalid("q", 1, "2", s) }, "Validation Error: Argument 'q' expected 2, but received 1. For example: '%s'.", 64},
		{"permission", func(s string) *fault.Error { return fault.New("busy", "x").Needs(s) }, "Busy: x. Required permission: %s.", 200},
		{"tool", func(s string) *fault.Error { return fault.New("busy", "x").Step("Go", s, nil) }, "Busy: x.\nNext: 1. Go: call %s {}.", 128},
		{"similar match", func(s string) *fault.Error {
			return fault.FromData(fault.Data{Type: "busy", Message: "x", SimilarMatches: []string{s}})
		}, "Busy: x. Did you mean '%s'?", 64},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, fmt.Sprintf(tc.text, clean), tc.fault(hostile).Error())
			want := fmt.Sprintf(tc.text, cut(tc.runes))
			if tc.name == "permission" || tc.name == "denied resource" {
				want = strings.TrimSuffix(want, ".") // the dots of the cut are the end of its sentence
			}
			require.Equal(t, want, tc.fault(long).Error())
			require.Equal(t, strings.ReplaceAll(fmt.Sprintf(tc.text, "o'neil"), "'o'neil'", `"o'neil"`), tc.fault("o'neil").Error())
		})
	}
}

func TestAllOfTheTextIsValid(t *testing.T) {
	bad := "a\xff\xfeb"
	e := fault.FromData(fault.Data{
		Type: fault.Kind(bad), Message: bad, Suggestion: bad, SimilarMatches: []string{bad}, RequiredPermission: bad,
		Retry: &fault.Retry{Reason: bad}, Details: map[string]any{bad: bad}, ReferenceID: bad,
		RecoverySteps: []fault.Step{{Action: bad, Tool: bad, Parameters: map[string]any{bad: bad}, Options: []fault.Option{{Action: bad}}, Description: bad}},
	})
	for _, e := range []*fault.Error{
		e,
		fault.New(fault.Kind(bad), bad).Suggest(bad).Needs(bad).Never(bad).With(bad, bad).WithReference(bad).
			WithSteps(fault.Step{Action: bad, Tool: bad, Parameters: map[string]any{bad: bad}, Options: []fault.Option{{Action: bad}}, Description: bad}),
		fault.Violations(fault.Violation{Field: bad, Expected: bad, Received: bad, Suggestion: bad}, fault.Violation{}),
	} {
		require.True(t, utf8.ValidString(e.Error()), "%q", e.Error())
		require.Contains(t, e.Error(), "a\uFFFD\uFFFDb")
	}
}

func TestStepsText(t *testing.T) {
	require.Empty(t, faults.StepsText(nil))
	require.Equal(t, lines(`Next: 1. See it: call get {"id":7}.`, "      2. Done."),
		faults.StepsText([]fault.Step{{Number: 5, Action: "See it", Tool: "get", Parameters: map[string]any{"id": 7}}, {Action: "Done"}}))
	require.Equal(t, `Next: 1. See it: call get {"a":1,"f":"(a value that cannot be written as JSON)"}.`,
		faults.StepsText([]fault.Step{{Action: "See it", Tool: "get", Parameters: map[string]any{"a": 1, "f": func() {}}}}))
	require.Equal(t, `Next: 1. See it: call get {"a":"(a value that cannot be written as JSON)"}.`,
		faults.StepsText([]fault.Step{{Action: "See it", Tool: "get", Parameters: map[string]any{"a": panicMarshaler{}}}}))
}

func TestChoicesAndWhatIsMissing(t *testing.T) {
	wait := fault.Option{Action: "Wait", Tool: "wait_for_deployment", Parameters: map[string]any{"id": 7}}
	cancel := fault.Option{Action: "Cancel it", Tool: "cancel_deployment", Missing: []string{"id"}}
	for _, c := range []struct {
		step fault.Step
		want string
	}{
		{fault.Step{Action: "Choose", Options: []fault.Option{wait, {Action: "Cancel", Tool: "cancel_deployment"}}}, `Choose: either call wait_for_deployment {"id":7} or call cancel_deployment {}.`},
		{fault.Step{Action: "Choose", Options: []fault.Option{wait, cancel}}, `Choose: either call wait_for_deployment {"id":7} or call cancel_deployment {} with 'id' filled in (Cancel it).`},
		{fault.Step{Action: "Choose:", Options: []fault.Option{wait, {Action: "Ask the user."}, {Action: "Give up"}}}, `Choose: one of call wait_for_deployment {"id":7}, Ask the user or Give up.`},
		{fault.Step{Action: "Then", Options: []fault.Option{wait}}, `Then: call wait_for_deployment {"id":7}.`},
		{fault.Step{Action: "Choose", Options: []fault.Option{{Action: "no\nRetry: yes"}, {Action: ""}}}, `Choose: either no Retry: yes or .`},
		{fault.Step{Action: "Look at it", Tool: "get_order", Parameters: map[string]any{"shop": "x"}, Missing: []string{"id"}}, `Look at it: call get_order {"shop":"x"} with 'id' filled in.`},
		{fault.Step{Action: "Look", Tool: "get", Missing: []string{"a", "b\nNext: 1. x", "c"}}, `Look: call get {} with 'a', 'b Next: 1. x' and 'c' filled in.`},
	} {
		e := fault.New("busy", "x").WithSteps(c.step)
		require.Equal(t, "Busy: x.\nNext: 1. "+c.want, e.Error())
		roundTrip(t, e)
	}
}

type panicMarshaler struct{}

func (panicMarshaler) MarshalJSON() ([]byte, error) { panic("canary-4711") }

func TestOneAnswerAboutRetrying(t *testing.T) {
	base := fault.New("busy", "it is busy")
	for _, e := range []*fault.Error{
		base.After(30 * time.Second),
		base.WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1.5, NextAttempt: 2, MaxAttempts: 3}),
		base.Never("it has failed 3 times"),
	} {
		retry, said := e.Retry()
		require.True(t, said)
		require.Equal(t, *e.Data().Retry, retry)
		require.Equal(t, base.Text()+"\n"+retry.String(), e.Text(), "the same line as in the text")
	}
	_, said := base.Retry()
	require.False(t, said)
	require.Equal(t, "wait\ufffd", base.Suggest("wait\xff").Suggestion())
	retry, _ := base.Never("no\xff").Retry()
	require.Equal(t, "no\ufffd", retry.Reason)
}
