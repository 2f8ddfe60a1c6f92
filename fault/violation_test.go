package fault_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

// everything is all that can be seen of a fault, also by the operator.
func everything(t *testing.T, e *fault.Error) string {
	t.Helper()
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, bareLog)).Error("x", slog.Any("err", e))
	slog.New(slog.NewTextHandler(&log, bareLog)).Error("x", slog.Any("err", e))
	return strings.Join([]string{
		e.Error(), e.Text(), e.Message(), string(mustJSON(t, e)), string(mustJSON(t, e.Data())),
		fmt.Sprintf("%v %s %q %+v %#v %x", e, e, e, e, e, e), fmt.Sprintf("%+v", e.Data()), log.String(),
	}, "\n")
}

func TestSecretsAreNotKept(t *testing.T) {
	for _, field := range []string{"password", "Password", "apiToken", "api_key", "user.password", "accounts[1].client_secret"} {
		for name, c := range map[string]struct {
			received any
			words    string
		}{
			"text": {canary, "a string that is not shown"}, "empty text": {"", "an empty string"}, "number": {int64(4711471147), "a number that is not shown"},
			"boolean": {true, "a boolean that is not shown"}, "bytes": {[]byte(canary), "binary data"}, "long text": {strings.Repeat(canary, 100), "a string of 1100 characters"},
			"list": {[]any{canary}, "a list with 1 item"}, "object": {map[string]any{"a": canary}, "an object with 1 property"}, "marshaler": {panicMarshaler{}, "a value that cannot be shown"},
			"huge number": {json.Number("4711471147e400"), "a number that is not shown"},
		} {
			t.Run(field+" "+name, func(t *testing.T) {
				received := c.received
				text := "Validation Error: Argument '" + field + "' expected 12 characters, but received " + c.words + "."
				e := fault.Invalid(field, received, "12 characters")
				require.Equal(t, text, e.Error())
				several := fault.Violations(
					fault.Violation{Field: field, Rule: "required", Expected: "12 characters", Received: received},
					fault.Violation{Field: "q", Received: 1},
				).Because(io.EOF)
				for _, e := range []*fault.Error{e, several, fault.Join(e, several), e.ScrubbedBy(scrub.Credentials)} {
					for _, secret := range []string{canary, "47114711", "received\":", "Received:true"} {
						require.NotContains(t, strings.ReplaceAll(everything(t, e), `"received":1}`, ""), secret)
					}
				}
				require.Nil(t, e.Data().Received)
				require.Nil(t, several.Data().Violations[0].Received)
			})
		}
		t.Run(field+" missing", func(t *testing.T) {
			e := fault.Invalid(field, nil, "12 characters")
			require.Equal(t, "Validation Error: Argument '"+field+"' expected 12 characters, but received null.", e.Error())
		})
	}
}

func TestViolations(t *testing.T) {
	require.Same(t, fault.Generic(fault.KindValidation), fault.Violations())

	one := fault.Violations(fault.Violation{Field: "q", Received: 1, Expected: "a text"})
	require.Equal(t, fault.Invalid("q", 1, "a text").Data(), one.Data())

	for _, tc := range []struct {
		name string
		v    fault.Violation
		want string
	}{
		{"nothing", fault.Violation{}, "The arguments are not valid."},
		{"required", fault.Violation{Field: "q", Rule: "required", Expected: "a text"}, "Argument 'q' is required: expected a text."},
		{"required, but something came", fault.Violation{Field: "q", Rule: "required", Expected: "a text", Received: []any{}}, "Argument 'q' expected a text, but received an empty list."},
		{"required secret", fault.Violation{Field: "password", Rule: "required", Expected: "a text"}, "Argument 'password' is required: expected a text."},
		{"null", fault.Violation{Field: "q", Rule: "type", Expected: "a text", Received: (*int)(nil)}, "Argument 'q' expected a text, but received null."},
		{"expectation of two lines", fault.Violation{Field: "q", Expected: " a\ntext ", Received: 1}, "Argument 'q' expected a text, but received 1."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := fault.Violations(tc.v)
			require.Equal(t, "Validation Error: "+tc.want, e.Error())
			e = fault.Violations(tc.v, tc.v)
			require.Equal(t, lines("Validation Error: 2 arguments are wrong.", "- "+tc.want, "- "+tc.want), e.Error())
			roundTrip(t, e)
		})
	}

	withHint := fault.Violation{Field: "a", Expected: "a text", Received: 1, Suggestion: "quote\nit"}
	require.Equal(t, lines("Validation Error: Argument 'a' expected a text, but received 1.", "Suggestion: quote", "it."), fault.Violations(withHint).Error())
	require.Equal(t, lines("Validation Error: 2 arguments are wrong.", "- Argument 'a' expected a text, but received 1. quote it.",
		"- Argument 'a' expected a text, but received 1. quote it."), fault.Violations(withHint, withHint).Error())

	for n, more := range map[int]string{10: "", 11: "\n- and 1 more.", 1000: "\n- and 990 more."} {
		many := make([]fault.Violation, n)
		want := fmt.Sprintf("Validation Error: %d arguments are wrong.", n)
		for i := range many {
			many[i] = fault.Violation{Field: fmt.Sprintf("items[%d]", i), Expected: "a text", Received: i}
			if i < 10 {
				want += fmt.Sprintf("\n- Argument 'items[%d]' expected a text, but received %d.", i, i)
			}
		}
		e := fault.Violations(many...)
		require.Equal(t, want+more, e.Error())
		require.Len(t, e.Data().Violations, n, "the machine form has them all")
		require.Equal(t, "items[9]", e.Data().Violations[9].Field)
		require.Empty(t, e.Data().Field)
		roundTrip(t, e)
	}
}

func TestViolationsInOwnWords(t *testing.T) {
	v := fault.Violation{Field: "items[1].sku", Pointer: "/items/1/sku", Rule: "pattern", Expected: "a code", Received: "x", Message: " 'x' is\nno code "}
	kept := v
	kept.Message = ""
	one := fault.Violations(v)
	require.Equal(t, "Validation Error: 'x' is no code.", one.Error())
	require.Equal(t, []fault.Violation{kept}, one.Data().Violations, "the sentence stands in the message")
	roundTrip(t, one)
	v.Suggestion = "ask"
	require.Equal(t, lines("Validation Error: 2 arguments are wrong.", "- 'x' is no code. ask.", "- 'x' is no code. ask."), fault.Violations(v, v).Error())
}

func TestFirstViolations(t *testing.T) {
	v := fault.Violation{Field: "q", Rule: "required"}
	const sentence = "Argument 'q' is required."
	require.Same(t, fault.Generic(fault.KindValidation), faults.FirstViolations(7))
	require.Equal(t, fault.Violations(v).Data(), faults.FirstViolations(1, v).Data())
	require.Equal(t, fault.Violations(v, v).Data(), faults.FirstViolations(0, v, v).Data(), "there are at least those that are given")
	one := faults.FirstViolations(3, v)
	require.Equal(t, lines("Validation Error: 3 arguments are wrong.", "- "+sentence, "- and 2 more."), one.Error())
	require.Empty(t, one.Data().Field)
	require.Equal(t, lines("Validation Error: 1000 arguments are wrong.", "- "+sentence, "- "+sentence, "- and 998 more."), faults.FirstViolations(1000, v, v).Error())
}
