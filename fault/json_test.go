package fault_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

// golden is the wire form; its names are fixed.
const golden = `{
	"type": "deployment_in_progress",
	"message": "version 7 is being deployed",
	"suggestion": "wait for it",
	"code": "BUSY",
	"field": "version",
	"received": ["7", {"a": [1]}],
	"expected": "a finished version",
	"examples": ["5", "6"],
	"violations": [
		{
			"field": "items[1].sku", "pointer": "/items/1/sku", "rule": "type", "expected": "a string",
			"received": {"n": [1]}, "suggestion": "quote it", "message": "it is no string"
		}
	],
	"resource_type": "deployment",
	"identifier": "7",
	"similar_matches": ["6", "8"],
	"action": "deploy",
	"resource": "production",
	"required_permission": "deploy:production",
	"retry": {
		"should_retry": true, "retry_after_seconds": 1.5, "next_attempt": 2, "max_attempts": 3,
		"reason": "it is nearly done", "fact": "it has failed once", "effect": "none", "partial": true
	},
	"recovery_steps": [
		{
			"step": 1, "action": "See its state", "tool": "get_deployment",
			"parameters": {"fields": ["state"], "version": 7},
			"missing": ["at"], "description": "It has a percentage", "options": [{"action": "short", "tool": "render", "parameters": {"size": "short"}, "missing": ["unit"]}]
		}
	],
	"corrected_arguments": {"version": 8},
	"corrected_tool": "deploy",
	"party": "upstream",
	"details": {"log": [{"line": "ok"}], "percent": 99.5},
	"reference_id": "0198c7f2-9d3e-7c41-9f0a-5b7d6c1e2a34"
}`

func TestGoldenJSON(t *testing.T) {
	var want bytes.Buffer
	require.NoError(t, json.Compact(&want, []byte(golden)))
	require.Equal(t, want.String(), string(mustJSON(t, full())))
	require.Equal(t, want.String(), string(mustJSON(t, full().Data())), "Data is the same on the wire")
	roundTrip(t, full())
}

func TestAbsentIsAbsent(t *testing.T) {
	empty := fault.FromData(fault.Data{
		Message: "x", Examples: []string{}, Violations: []fault.Violation{}, SimilarMatches: []string{},
		RecoverySteps: []fault.Step{}, Details: map[string]any{},
	})
	for _, tc := range []struct {
		name  string
		fault *fault.Error
		want  string
	}{
		{"New", fault.New("busy", "x"), `{"type":"busy","message":"x"}`},
		{"empty lists", empty, `{"type":"internal_error","message":"x"}`},
		{
			"step with empty parts", fault.New("busy", "x").WithSteps(fault.Step{Action: "Wait", Parameters: map[string]any{}, Options: []fault.Option{}}),
			`{"type":"busy","message":"x","recovery_steps":[{"step":1,"action":"Wait"}]}`,
		},
		{"no retry", fault.New("busy", "x").Never(""), `{"type":"busy","message":"x","retry":{"should_retry":false}}`},
		{
			"nothing received", fault.Invalid("q", nil, "a text"),
			`{"type":"validation_error","message":"Argument 'q' expected a text, but received null.","field":"q","expected":"a text","violations":[{"field":"q","expected":"a text"}]}`,
		},
		{
			"false received", fault.Invalid("q", false, ""),
			`{"type":"validation_error","message":"Argument 'q' is not valid: received false.","field":"q","received":false,"violations":[{"field":"q","received":false}]}`,
		},
		// What a user puts there is the user's: null may mean something.
		{"null in details", fault.New("busy", "x").With("parent", nil), `{"type":"busy","message":"x","details":{"parent":null}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, string(mustJSON(t, tc.fault)))
			roundTrip(t, tc.fault)
		})
	}
}

// roundTrip checks that a fault equals itself after a journey over the wire.
func roundTrip(t *testing.T, e *fault.Error) *fault.Error {
	t.Helper()
	b := mustJSON(t, e)
	var back fault.Error
	require.NoError(t, json.Unmarshal(b, &back), string(b))
	require.Equal(t, e.Data(), back.Data())
	require.Equal(t, e.Error(), back.Error())
	require.Equal(t, e.Text(), back.Text())
	// encoding/json escapes U+FFFD only where it stands for a broken byte.
	text := strings.ReplaceAll(string(b), `\ufffd`, "\uFFFD")
	require.Equal(t, text, strings.ReplaceAll(string(mustJSON(t, &back)), `\ufffd`, "\uFFFD"))
	require.Equal(t, text, strings.ReplaceAll(string(mustJSON(t, e.Data())), `\ufffd`, "\uFFFD"))
	require.Equal(t, e.Data(), fault.FromData(e.Data()).Data())
	require.NoError(t, back.Unwrap())
	return &back
}

func TestValuesTravelUnchanged(t *testing.T) {
	type point struct {
		X, Y int
		Name string `json:"name,omitempty"`
	}
	for _, tc := range []struct {
		name  string
		value any
		want  any // what Data has
	}{
		{"nil", nil, nil},
		{"text", "<b>é\u2028", "<b>é\u2028"},
		{"broken text", "a\xff\xfeb", "a\uFFFD\uFFFDb"},
		{"largest exact int", int64(1<<53 - 1), float64(1<<53 - 1)},
		{"2^53+1, which a float64 cannot hold", int64(1<<53 + 1), json.Number("9007199254740993")},
		{"smallest int64", int64(math.MinInt64), json.Number("-9223372036854775808")},
		{"largest uint64", uint64(math.MaxUint64), json.Number("18446744073709551615")},
		{"big.Int", mustBig("123456789012345678901234567890"), json.Number("123456789012345678901234567890")},
		{"2^53 as a float", float64(1 << 53), json.Number("9007199254740992")},
		{"negative zero", math.Copysign(0, -1), 0.0},
		{"json.Number of many digits", json.Number("12345678901234567890.5"), json.Number("12345678901234567890.5")},
		{"json.Number beyond float64", json.Number("1e400"), "1e400"}, // which many decoders refuse
		{"json.Number without a number", json.Number(""), 0.0},
		{"time", time.Date(2026, 7, 28, 12, 0, 0, 5, time.UTC), "2026-07-28T12:00:00.000000005Z"},
		{"bytes", []byte("hello"), "aGVsbG8="},
		{"raw JSON", json.RawMessage(`{"a":[1,9007199254740993]}`), map[string]any{"a": []any{1.0, json.Number("9007199254740993")}}},
		{"empty object", map[string]int{}, map[string]any{}},
		{"struct", point{X: 1, Y: 2}, map[string]any{"X": 1.0, "Y": 2.0}},
		{"numbered keys", map[int]string{2: "b", 1: "a"}, map[string]any{"1": "a", "2": "b"}},
		{"broken keys", map[string]any{"a\xff": 1}, map[string]any{"a\uFFFD": 1.0}},
		{
			"nested", map[string]any{"list": []any{1, "a", nil, []point{{Name: "n"}}, map[string]int64{"big": math.MaxInt64}}},
			map[string]any{"list": []any{1.0, "a", nil, []any{map[string]any{"X": 0.0, "Y": 0.0, "name": "n"}}, map[string]any{"big": json.Number("9223372036854775807")}}},
		},
		{"fault", fault.New("busy", "x").Because(errors.New(canary)), map[string]any{"type": "busy", "message": "x"}},
		{"100 levels", nested(100), nested(100)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := fault.New("busy", "x").With("value", tc.value).With("again", []any{tc.value}).
				Step("Go", "tool", map[string]any{"value": tc.value})
			if tc.name == "100 levels" { // one more would be too many
				e = fault.New("busy", "x").With("value", tc.value).Step("Go", "tool", map[string]any{"value": tc.value})
			}
			d := e.Data()
			require.Equal(t, tc.want, d.Details["value"])
			require.Equal(t, tc.want, d.RecoverySteps[0].Parameters["value"])
			roundTrip(t, e)

			e = fault.FromData(fault.Data{
				Type: "busy", Received: tc.value, Violations: []fault.Violation{{Received: tc.value}},
				RecoverySteps: []fault.Step{{Parameters: map[string]any{"value": tc.value}}}, Details: map[string]any{"value": tc.value},
			})
			require.Equal(t, tc.want, e.Data().Received)
			require.Equal(t, tc.want, e.Data().Violations[0].Received)
			roundTrip(t, e)
		})
	}
}

func mustBig(s string) *big.Int {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		panic(s)
	}
	return n
}

// nested returns a list in a list and so on.
func nested(levels int) any {
	v := any("bottom")
	for range levels {
		v = []any{v}
	}
	return v
}

type (
	failingMarshaler struct{}
	wrongMarshaler   struct{}
	failingText      struct{}
)

func (failingMarshaler) MarshalJSON() ([]byte, error) { return nil, errors.New(canary) }
func (wrongMarshaler) MarshalJSON() ([]byte, error)   { return []byte(`{"a":` + canary), nil }
func (failingText) MarshalText() ([]byte, error)      { return nil, errors.New(canary) }

func TestValuesThatJSONCannotHold(t *testing.T) {
	// A part that cannot be written is replaced by itself, and so is what is nested too deeply.
	replaced := func(v any) {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		require.Regexp(t, `\(a value that cannot be written as JSON\)|\(left out: the value is too large or deep\)|"true":|"\{\}":`, string(raw))
	}
	type node struct{ Next *node }
	loop := &node{}
	loop.Next = loop
	cyclicMap := map[string]any{}
	cyclicMap["a"], cyclicMap["b"] = cyclicMap, cyclicMap
	cyclicSlice := make([]any, 2)
	cyclicSlice[0], cyclicSlice[1] = cyclicSlice, cyclicSlice

	for name, value := range map[string]any{
		"NaN":                             math.NaN(),
		"float32 infinite":                float32(math.Inf(1)),
		"channel":                         make(chan int),
		"in an object":                    map[string]any{"f": func() {}},
		"keys that are no texts":          map[bool]int{true: 1},
		"broken raw JSON":                 json.RawMessage(`{`),
		"MarshalJSON fails":               failingMarshaler{},
		"MarshalJSON panics":              panicMarshaler{},
		"MarshalJSON is wrong":            wrongMarshaler{},
		"in a key":                        map[failingText]int{{}: 1},
		"pointer to itself":               loop,
		"list in itself":                  cyclicSlice,
		"101 levels":                      nested(101),
		"101 levels of objects":           map[string]any{"a": json.RawMessage(strings.Repeat(`{"a":`, 101) + "1" + strings.Repeat("}", 101))},
		"more levels than a reader takes": nested(20_000),
		"a year without a format":         time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		t.Run(name, func(t *testing.T) {
			parameters := map[string]any{"value": value, "other": 1}
			e := fault.New("busy", "x").With("value", value).With("other", 1).Step("Go", "tool", parameters)
			d := e.Data()
			for _, m := range []map[string]any{d.Details, d.RecoverySteps[0].Parameters} {
				require.Len(t, m, 2)
				require.InDelta(t, 1.0, m["other"], 0)
				replaced(m["value"])
			}
			roundTrip(t, e)
			require.NotContains(t, e.Error(), canary)

			e = fault.FromData(fault.Data{
				Type: "busy", Received: value, Violations: []fault.Violation{{Received: value}},
				RecoverySteps: []fault.Step{{Parameters: parameters}}, Details: parameters,
			})
			replaced(e.Data().Received)
			replaced(e.Data().Violations[0].Received)
			require.Equal(t, d.Details, e.Data().Details)
			roundTrip(t, e)

			e = fault.Invalid("q", value, "a text")
			require.Nil(t, e.Data().Received)
			require.Regexp(t, `^Validation Error: Argument 'q' expected a text, but received (a value that cannot be shown|a list with [12] items?|an object with \d propert(y|ies))\.$`, e.Error())
			roundTrip(t, e)
		})
	}

	for _, seconds := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, math.Copysign(0, -1)} {
		e := fault.New("busy", "x").WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: seconds})
		require.Equal(t, "Busy: x.\nRetry: yes.", e.Error())
		require.Equal(t, e.Data(), fault.FromData(fault.Data{
			Type: "busy", Message: "x", Retry: &fault.Retry{ShouldRetry: true, RetryAfterSeconds: seconds},
		}).Data())
		roundTrip(t, e)
	}
}

func TestBrokenTextsTravelUnchanged(t *testing.T) {
	bad := "a\xff\xfe\x80b"
	roundTrip(t, fault.New(fault.Kind(bad), bad).Suggest(bad).WithCode(bad).Needs(bad).WithReference(bad).With(bad, bad).
		WithRetry(fault.Retry{Reason: bad, Effect: fault.Effect(bad)}).
		WithSteps(fault.Step{Action: bad, Tool: bad, Parameters: map[string]any{bad: bad}, Description: bad, Options: []fault.Option{{Action: bad}}}))
	roundTrip(t, fault.NotFound(bad, bad, bad+"c"))
	roundTrip(t, fault.AlreadyExists(bad, bad))
	roundTrip(t, fault.Denied(bad, bad))
	roundTrip(t, fault.Invalid(bad, bad, bad, bad))
	roundTrip(t, fault.Violations(fault.Violation{Field: bad, Pointer: bad, Rule: bad, Expected: bad, Received: bad, Suggestion: bad, Message: bad}, fault.Violation{}))
	roundTrip(t, fault.Join(fault.New("busy", bad), fault.New("busy", bad).With(bad, 1)))

	// Keys that become the same are told apart.
	e := fault.New("busy", "x").Step("Go", "tool", map[string]any{"a\xff": 1, "a\xfe": 2, "a\uFFFD": 3, "a\uFFFD (2)": 4})
	require.Equal(t, map[string]any{"a\uFFFD": 3.0, "a\uFFFD (2)": 4.0, "a\uFFFD (1)": 2.0, "a\uFFFD (3)": 1.0}, e.Data().RecoverySteps[0].Parameters)
	roundTrip(t, e)
	require.Equal(t, "\uFFFD", fault.New("busy", "\xff").Message())
	require.Equal(t, "\uFFFD", fault.New("busy", "x").WithReference("\xff").Reference())
}

func TestUnmarshal(t *testing.T) {
	for _, tc := range []struct {
		name string
		json string
		want string // the text
	}{
		{"least", `{"type":"busy"}`, "Busy: the call failed."},
		{"unknown members", `{"type":"busy","message":"x","new":{"a":[1]},"uri":"file:///x"}`, "Busy: x."},
		{"nulls in lists", `{"type":"busy","message":"x","similar_matches":[null],"violations":[null],"recovery_steps":[null]}`, "Busy: x. Did you mean ''?\nNext: 1. Continue."},
		{"steps are numbered", `{"type":"busy","message":"x","recovery_steps":[{"step":7,"action":"a"},{"step":-1,"action":"b"}]}`, "Busy: x.\nNext: 1. a.\n      2. b."},
		{"endless wait", `{"type":"busy","message":"x","retry":{"should_retry":true,"retry_after_seconds":1e308}}`, "Busy: x.\nRetry: not now: possible again in 876000 h; tell the user."},
		{"a yes that is no yes", `{"type":"busy","message":"x","retry":{"should_retry":true,"retry_after_seconds":7,"reason":"not_now"}}`, "Busy: x.\nRetry: not now. Tell the user; it may work again later."},
		{"running, in a word", `{"type":"busy","message":"x","retry":{"retry_after_seconds":7,"reason":"still_running"}}`, "Busy: x.\nRetry: not the same call: it is still running."},
		{"number beyond float64", `{"type":"busy","message":"x","details":{"n":1e400}}`, "Busy: x.\nDetails: {\"n\":\"1e400\"}"},
		{"half of a surrogate pair", `{"type":"busy","message":"\ud800"}`, "Busy: \uFFFD."},
		{"same member twice", `{"type":"busy","type":"idle","message":"x"}`, "Idle: x."},
		{"deep details", `{"type":"busy","message":"x","details":{"a":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + `}}`, "Busy: x.\nDetails: {\"a\":\"(a value that cannot be written as JSON)\"}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var e fault.Error
			require.NoError(t, json.Unmarshal([]byte(tc.json), &e))
			require.Equal(t, tc.want, e.Error())
			roundTrip(t, &e)
			var direct fault.Error
			require.NoError(t, direct.UnmarshalJSON([]byte(tc.json)))
			require.Equal(t, e.Data(), direct.Data())
		})
	}
}

func TestUnmarshalFails(t *testing.T) {
	for name, text := range map[string]string{
		"null":                `null`,
		"list":                `[]`,
		"no type":             `{"message":"x"}`,
		"type is a number":    `{"type":1}`,
		"violations no list":  `{"type":"busy","violations":{}}`,
		"details a list":      `{"type":"busy","details":[1]}`,
		"should_retry a text": `{"type":"busy","retry":{"should_retry":"yes"}}`,
		"huge wait":           `{"type":"busy","retry":{"retry_after_seconds":1e400}}`,
		"half an attempt":     `{"type":"busy","retry":{"next_attempt":1.5}}`,
		"parameters a list":   `{"type":"busy","recovery_steps":[{"parameters":[]}]}`,
		"too deep":            `{"type":"busy","details":{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}}`,
		"cut off":             `{"type":"busy"`,
		"two values":          `{"type":"busy"}{"type":"busy"}`,
		"broken":              "\x00\xff",
	} {
		t.Run(name, func(t *testing.T) {
			e := full()
			require.Error(t, e.UnmarshalJSON([]byte(text)))
			require.Equal(t, full().Data(), e.Data(), "a failure changes nothing")
			require.Error(t, json.Unmarshal([]byte(text), e))
		})
	}
	var e *fault.Error
	require.NoError(t, json.Unmarshal([]byte("null"), &e))
	require.Nil(t, e)
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(golden))
	f.Add([]byte(`{"type":"busy"}`))
	f.Add([]byte(`{"type":"\ud800","details":{"a":1e400,"b":[9007199254740993,-0,1.0,null]}}`))
	f.Add([]byte(`{"type":"x","violations":[null],"recovery_steps":[null,{"parameters":{}}],"examples":[],"retry":{"retry_after_seconds":-1}}`))
	f.Add([]byte(`{"TYPE":"x","details":{"\u0000":{"":[]}},"received":{}}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e fault.Error
		if e.UnmarshalJSON(b) != nil {
			return
		}
		back := roundTrip(t, &e)
		roundTrip(t, back)
		_ = fmt.Sprintf("%+v %q", &e, &e)
		_ = e.LogValue()
		scrubbed := e.ScrubbedBy(scrub.Credentials)
		roundTrip(t, scrubbed)
		roundTrip(t, fault.Join(&e, scrubbed, full()))

		var members map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(mustJSON(t, &e), &members))
		noNull(t, members)
		var lists struct {
			Violations []map[string]json.RawMessage `json:"violations"`
			Steps      []map[string]json.RawMessage `json:"recovery_steps"`
			Retry      map[string]json.RawMessage   `json:"retry"`
		}
		require.NoError(t, json.Unmarshal(mustJSON(t, &e), &lists))
		noNull(t, lists.Retry)
		for _, object := range append(lists.Violations, lists.Steps...) {
			noNull(t, object)
		}
	})
}

func noNull(t *testing.T, members map[string]json.RawMessage) {
	t.Helper()
	for name, value := range members {
		require.NotEqual(t, "null", string(value), name)
	}
}
