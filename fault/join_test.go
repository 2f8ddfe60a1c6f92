package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
)

func TestJoin(t *testing.T) {
	a, c := fault.Invalid("a", 1, "a text"), fault.Invalid("c", 3, "a text")
	ab := fault.Violations(
		fault.Violation{Field: "a", Expected: "a text", Received: 1, Suggestion: "quote it"},
		fault.Violation{Field: "b", Expected: "a text", Received: 2},
	)
	order := fault.New(fault.KindValidation, "the end is before the start")
	dozen := make([]*fault.Error, 12)
	for i := range dozen {
		dozen[i] = fault.New("busy", fmt.Sprint("no. ", i))
	}

	for _, tc := range []struct {
		name   string
		faults []*fault.Error
		want   string
	}{
		{"one, and nils", []*fault.Error{nil, a, nil}, "Validation Error: Argument 'a' expected a text, but received 1."},
		{
			"validation without violations", []*fault.Error{a, fault.New(fault.KindValidation, "a and b exclude each other").Suggest("leave one out")},
			lines("Validation Error: 2 arguments are wrong.", "- Argument 'a' expected a text, but received 1.", "- a and b exclude each other. leave one out."),
		},
		{
			"violations stand in a list of their own", []*fault.Error{ab, c},
			lines("Validation Error: 2 things failed.", "- 2 arguments are wrong.", "  - Argument 'a' expected a text, but received 1. quote it.",
				"  - Argument 'b' expected a text, but received 2.", "- Argument 'c' expected a text, but received 3."),
		},
		{
			"joined ones too", []*fault.Error{c, fault.Join(c, ab)},
			lines("Validation Error: 2 things failed.", "- Argument 'c' expected a text, but received 3.", "- 2 things failed.", "  - Argument 'c' expected a text, but received 3.",
				"  - 2 arguments are wrong.", "    - Argument 'a' expected a text, but received 1. quote it.", "    - Argument 'b' expected a text, but received 2."),
		},
		{
			"a list without violations", []*fault.Error{fault.Join(order, order), c},
			lines("Validation Error: 2 things failed.", "- 2 arguments are wrong.", "  - the end is before the start.", "  - the end is before the start.",
				"- Argument 'c' expected a text, but received 3."),
		},
		{
			"mixed", []*fault.Error{fault.NotFound("project", "alpah", "alpha"), a, fault.Denied("see", "it").Needs("read"), fault.New("busy", "")},
			lines("Not found: 4 things failed.", "- Not found: project 'alpah' does not exist. Did you mean 'alpha'?",
				"- Argument 'a' expected a text, but received 1.",
				"- Permission denied: you are not allowed to see it. Required permission: read. Ask the user to obtain the permission or to choose another way.",
				"- Busy: the call failed."),
		},
		{
			"a list in a list", []*fault.Error{fault.New("busy", "x"), ab},
			lines("Busy: 2 things failed.", "- Busy: x.", "- 2 arguments are wrong.", "  - Argument 'a' expected a text, but received 1. quote it.",
				"  - Argument 'b' expected a text, but received 2."),
		},
		{"many", dozen, "Busy: 12 things failed." + tenOf("Busy: no. %d.") + "\n- and 2 more."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := fault.Join(tc.faults...)
			require.Equal(t, tc.want, e.Error())
			roundTrip(t, e)
		})
	}
	require.Nil(t, fault.Join())
	require.Nil(t, fault.Join(nil, nil))
	require.Same(t, a, fault.Join(nil, a))
}

func tenOf(format string) (text string) {
	for i := range 10 {
		text += "\n- " + fmt.Sprintf(format, i)
	}
	return text
}

func TestJoinPutsTogether(t *testing.T) {
	a := fault.New("busy", "x").WithCode("A").With("a", 1).With("both", 1).Step("See a", "get", map[string]any{"id": 1}).
		Step("Wait", "", nil).Because(io.EOF)
	b := fault.New("idle", "y").WithCode("A").With("b", 2).With("both", 2).Step("Wait", "", nil).
		Step("See a", "get", map[string]any{"id": 2}).Because(io.ErrClosedPipe).Because(io.ErrNoProgress)
	e := fault.Join(a, fault.New("idle", "z"), b)
	d := e.Data()

	require.Equal(t, fault.Kind("busy"), e.Kind())
	require.Empty(t, d.Code, "the kinds differ")
	require.Equal(t, map[string]any{"a": 1.0, "b": 2.0, "both": 2.0}, d.Details)
	require.Equal(t, []fault.Step{
		{Number: 1, Action: "See a", Tool: "get", Parameters: map[string]any{"id": 1.0}},
		{Number: 2, Action: "Wait"},
		{Number: 3, Action: "See a", Tool: "get", Parameters: map[string]any{"id": 2.0}},
	}, d.RecoverySteps, "what reads the same is said once")
	for _, cause := range []error{io.EOF, io.ErrClosedPipe, io.ErrNoProgress} {
		require.ErrorIs(t, e, cause)
	}
	require.Contains(t, fmt.Sprintf("%+v", e), "\nCause: EOF\n"+io.ErrClosedPipe.Error()+"\n"+io.ErrNoProgress.Error())
	require.NoError(t, fault.Join(fault.New("busy", "x"), fault.New("busy", "y")).Unwrap())

	locked := fault.New(fault.KindConflict, "x").WithCode("LOCKED")
	require.ErrorIs(t, fault.Join(locked, locked.WithMessage("y")), locked)
	require.NotErrorIs(t, fault.Join(locked, locked.WithCode("OTHER")), locked)

	generic := fault.Generic(fault.KindInternal).Step("Wait", "", nil)
	require.Len(t, fault.Join(generic, generic, generic).Data().RecoverySteps, 1)

	v := fault.Join(fault.Invalid("a", 1, "x"), fault.New("busy", "y"), fault.Invalid("b", 2, "x")).Data().Violations
	require.Equal(t, []fault.Violation{{Field: "a", Expected: "x", Received: 1.0}, {Field: "b", Expected: "x", Received: 2.0}}, v)
}

func TestJoinRetry(t *testing.T) {
	type r = fault.Retry
	for _, tc := range []struct {
		name  string
		retry []*r // nil: the fault says nothing
		want  *r
	}{
		{"nobody says anything", []*r{nil, nil}, nil},
		{"the longer wait", []*r{{ShouldRetry: true, RetryAfterSeconds: 1}, {ShouldRetry: true, RetryAfterSeconds: 3}, {ShouldRetry: true}}, &r{ShouldRetry: true, RetryAfterSeconds: 3}},
		{
			"attempts", []*r{{ShouldRetry: true, NextAttempt: 3, MaxAttempts: 5}, {ShouldRetry: true, NextAttempt: 2, MaxAttempts: 4}, {ShouldRetry: true}},
			&r{ShouldRetry: true, NextAttempt: 3, MaxAttempts: 4},
		},
		{"the first reason", []*r{{ShouldRetry: true}, {ShouldRetry: true, Reason: "a"}, {ShouldRetry: true, Reason: "b"}}, &r{ShouldRetry: true, Reason: "a"}},
		{"no after yes", []*r{{ShouldRetry: true, RetryAfterSeconds: 3, Reason: "soon"}, {Reason: "gone"}}, &r{Reason: "gone"}},
		{"no after not now", []*r{{Reason: fault.NotNow, RetryAfterSeconds: 300}, {Reason: "gone"}}, &r{Reason: "gone"}},
		{"not now after yes", []*r{{ShouldRetry: true, RetryAfterSeconds: 3}, {Reason: fault.NotNow, RetryAfterSeconds: 300}}, &r{Reason: fault.NotNow, RetryAfterSeconds: 300}},
		{"the longer not now", []*r{{Reason: fault.NotNow, RetryAfterSeconds: 30}, {Reason: fault.NotNow, RetryAfterSeconds: 300}}, &r{Reason: fault.NotNow, RetryAfterSeconds: 300}},
		{"nothing was changed by any", []*r{{Effect: fault.EffectNone}, {Effect: fault.EffectNone}}, &r{Effect: fault.EffectNone}},
		{"one does not say", []*r{{Effect: fault.EffectNone}, {}}, &r{}},
		{"one may have changed something", []*r{{Effect: fault.EffectUnknown}, {Effect: fault.EffectNone}, nil}, &r{Effect: fault.EffectUnknown}},
		{"one has changed something", []*r{{ShouldRetry: true, Effect: fault.EffectUnknown}, {Effect: fault.EffectCommitted}, {}}, &r{Effect: fault.EffectCommitted}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var faults []*fault.Error
			for _, retry := range tc.retry {
				e := fault.New("busy", "x")
				if retry != nil {
					e = e.WithRetry(*retry)
				}
				faults = append(faults, e)
			}
			e := fault.Join(faults...)
			require.Equal(t, tc.want, e.Data().Retry)
			for i, f := range faults {
				require.Equal(t, tc.retry[i], f.Data().Retry, "a joined fault was changed")
			}
			roundTrip(t, e)
		})
	}
}

// Arguments stay wrong when a limit is over.
func TestJoinRetryOfWrongArguments(t *testing.T) {
	wrong, limited, down := fault.Invalid("n", "x", "a number"), fault.RateLimited("it", 5*time.Second), fault.Generic(fault.KindServiceUnavailable)
	unsure := limited.WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 5, Effect: fault.EffectUnknown})
	for name, tc := range map[string]struct{ have, want *fault.Retry }{
		"yes after wrong":     {fault.Join(wrong, limited).Data().Retry, &fault.Retry{}},
		"wrong after yes":     {fault.Join(limited, wrong).Data().Retry, &fault.Retry{}},
		"wrong after not now": {fault.Join(limited.WithRetry(fault.Retry{Reason: fault.NotNow, RetryAfterSeconds: 300}), wrong).Data().Retry, &fault.Retry{}},
		"the effect is kept":  {fault.Join(unsure, wrong).Data().Retry, &fault.Retry{Effect: fault.EffectUnknown}},
		"nobody says a thing": {fault.Join(wrong, down).Data().Retry, nil},
		"the handler says":    {fault.Join(wrong.After(time.Second), limited).Data().Retry, &fault.Retry{ShouldRetry: true, RetryAfterSeconds: 5}},
	} {
		require.Equal(t, tc.want, tc.have, name)
	}
	require.Contains(t, fault.Join(wrong, limited).Text(), "\nRetry: only with corrected arguments.")
}

func TestJoinOfMany(t *testing.T) {
	faults := make([]*fault.Error, 2_000)
	for i := range faults {
		faults[i] = fault.Invalid(fmt.Sprint("field", i), i, "a text").With(fmt.Sprint("key", i), i).
			Step(fmt.Sprint("Look at ", i), "get", map[string]any{"id": i}).Because(errors.New("x"))
	}
	e := fault.Join(faults...) // with quadratic work it would outlast the test
	require.Len(t, e.Data().Details, 2_000)
	require.Len(t, e.Data().RecoverySteps, 2_000)
}
