package fault_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/explain"
)

// TestOneOf compares with the words of an enumeration in a schema.
func TestOneOf(t *testing.T) {
	values := []string{"celsius", "fahrenheit", "kelvin", "in_progress", "in_progress_2"}
	schema, err := explain.Compile(map[string]any{"type": "object", "properties": map[string]any{"unit": map[string]any{"enum": values}}})
	require.NoError(t, err)
	const expected = "'celsius', 'fahrenheit', 'kelvin', 'in_progress' or 'in_progress_2'"
	for _, received := range []any{"celzius", "KELVIN", "InProgress", "rankine", "", 5.0, true, nil, []any{}, map[string]any{"a": 1.0}, strings.Repeat("x", 65), "in progress", "token=hunter2hunter2"} {
		raw, err := json.Marshal(map[string]any{"unit": received})
		require.NoError(t, err)
		of := schema.Explain(raw, false).Violations[0]
		if received == nil {
			of.Suggestion = "" // that it can be left out only the schema says
		}
		e := fault.OneOf("unit", received, values...)
		require.Equal(t, "Validation Error: "+strings.TrimSpace(of.Message+" "+of.Suggestion), e.Text(), "%v", received)
		d := e.Data()
		require.Len(t, d.Violations, 1)
		of.Message, of.Pointer = "", ""
		if n, ok := of.Received.(json.Number); ok {
			of.Received, _ = n.Float64()
		}
		require.Equal(t, of, d.Violations[0])
		require.Equal(t, expected, d.Expected)
		require.Empty(t, d.Suggestion)
		roundTrip(t, e)
	}
	require.Equal(t, "Validation Error: Argument 'state' expected 'open' or 'closed', but received 'opne'. Did you mean 'open'?", fault.OneOf("state", "opne", "open", "closed").Error())
	require.Equal(t, "Validation Error: Argument 'state' is not valid: received 'x'.", fault.OneOf("state", "x").Error())
	require.Equal(t, "Validation Error: Argument 'api_key' expected 'aaaa' or 'bbbb', but received a string that is not shown.", fault.OneOf("api_key", "aaab", "aaaa", "bbbb").Error())
	require.Equal(t, "Validation Error: Argument 'state' expected 'locked' or 'open', but received 'unlocked'.", fault.OneOf("state", "unlocked", "locked", "open").Error())
	many := make([]string, 100)
	for i := range many {
		many[i] = strings.Repeat("v", i+1)
	}
	require.Contains(t, fault.OneOf("n", "x", many...).Error(), " others, but received 'x'.")
}

// TestExamplesThatAreExpected: what was said is not said again.
func TestExamplesThatAreExpected(t *testing.T) {
	for _, c := range []struct {
		expected string
		examples []string
		want     string
	}{
		{"one of: create, delete", []string{"create", "delete"}, "."},
		{"'create' or 'delete'", []string{"create", "update"}, ". For example: 'update'."},
		{"a created item", []string{"create"}, ". For example: 'create'."},
		{"one of: re-create", []string{"create"}, ". For example: 'create'."},
		{"a date such as 2026-01-31", []string{"2026-01-31", "2026-12-01"}, ". For example: '2026-12-01'."},
		{"10 or 100", []string{"0", "10"}, ". For example: '0'."},
		{"", []string{""}, ". For example: ''."},
	} {
		e := fault.Invalid("a", 1, c.expected, c.examples...)
		require.True(t, strings.HasSuffix(e.Error(), "received 1"+c.want), "%s", e.Error())
		require.Equal(t, c.examples, e.Data().Examples, "the machine form has all")
	}
}

// TestSuggestionOfNotFound: names and steps stand in the place of what is said of everything.
func TestSuggestionOfNotFound(t *testing.T) {
	const general = "Check the name. If a tool lists what exists, call it first."
	require.Equal(t, general, fault.NotFound("app", "x").Suggestion())
	require.Equal(t, general, fault.NotFound("app", "x").Because(errors.New("x")).WithMessage("gone").Suggestion())
	require.Empty(t, fault.NotFound("app", "x", "abc").Suggestion())
	require.Empty(t, fault.NotFound("app", "x").Step("List applications", "list_apps", nil).Suggestion())
	require.Empty(t, fault.Generic(fault.KindNotFound).Step("List applications", "", nil).Suggestion())
	require.Equal(t, "Ask Ann.", fault.NotFound("app", "x").Suggest("Ask Ann.").Step("List applications", "list_apps", nil).Suggestion())
	require.Empty(t, fault.AlreadyExists("app", "x").Step("Look at it", "get_app", nil).Suggestion())
	require.Equal(t, general, fault.Generic(fault.KindNotFound).Suggestion(), "the generic one is as it was")
}

func TestViolationsInALog(t *testing.T) {
	e := fault.Violations(
		fault.Violation{Field: "a", Rule: "type", Expected: "an integer", Received: "x"},
		fault.Violation{Field: "b", Rule: "required", Expected: "a\nstring"},
		fault.Violation{Field: "c\nd", Rule: "additionalProperties"},
		fault.Violation{Field: "password", Expected: "12 characters", Received: canary},
		fault.Violation{Field: "e", Received: 5},
	)
	var text, object bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("x", slog.Any("fault", e))
	require.Contains(t, text.String(), `fault.violations="a: expected an integer, received \"x\"; b: required, expected a string; c d: additionalProperties; password: expected 12 characters; e: not valid, received 5"`)
	slog.New(slog.NewJSONHandler(&object, nil)).Info("x", slog.Any("fault", e))
	var record struct {
		Fault struct{ Violations []fault.Violation }
	}
	require.NoError(t, json.Unmarshal(object.Bytes(), &record))
	require.Equal(t, e.Data().Violations, record.Fault.Violations)
	require.NotContains(t, text.String()+object.String(), canary)
}
