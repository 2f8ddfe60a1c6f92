package explain_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	google "github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/explain"
)

func mustCompile(t testing.TB, schema string) *explain.Schema {
	t.Helper()
	s, err := explain.Compile(json.RawMessage(schema))
	require.NoError(t, err)
	return s
}

func Example() {
	schema, err := explain.Compile(json.RawMessage(`{
		"type": "object",
		"properties": {
			"sku":      {"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$", "examples": ["ABC-1"]},
			"quantity": {"type": "integer", "minimum": 1, "maximum": 10},
			"color":    {"enum": ["red", "green", "blue"]}
		},
		"required": ["sku", "quantity"],
		"additionalProperties": false
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	report := schema.Explain([]byte(`{"sku": "abc", "quantiy": "3", "color": "grean"}`), false)
	fmt.Println(report.Text())
	// Output:
	// 4 things are wrong.
	// - Argument 'quantiy' is unknown, and 'quantity' is missing. Did you mean 'quantity'?
	// - Argument 'color' expected 'red', 'green' or 'blue', but received 'grean'. Did you mean 'green'?
	// - Argument 'quantity' expected an integer from 1 to 10, but received '3'. Send 3 without quotes.
	// - Argument 'sku' expected a string that matches the pattern ^[A-Z]{3}-[0-9]+$, but received 'abc'. For example: 'ABC-1'.
}

func TestMachineForm(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{
		"sku":{"type":"string"},"a/b~c":{"type":"integer","maximum":5},"n":{"type":"number"}},"required":["sku"]}}}}`)
	report := s.Explain([]byte(`{"items":[{"sku":"a"},{"a/b~c":7.0,"n":"x"}]}`), false)
	require.Equal(t, []fault.Violation{
		{
			Field: `items[1]["a/b~c"]`, Pointer: "/items/1/a~1b~0c", Rule: "maximum", Expected: "an integer of at most 5", Received: json.Number("7.0"),
			Message: `Argument 'items[1]["a/b~c"]' expected an integer of at most 5, but received 7.0.`,
		},
		{
			Field: "items[1].n", Pointer: "/items/1/n", Rule: "type", Expected: "a number", Received: "x",
			Message: "Argument 'items[1].n' expected a number, but received 'x'.",
		},
		{
			Field: "items[1].sku", Pointer: "/items/1/sku", Rule: "required", Expected: "a string",
			Message: "Argument 'items[1].sku' is required: expected a string.",
		},
	}, report.Violations)
	require.Equal(t, 3, report.Total)

	require.Empty(t, (*explain.Report)(nil).Text())
	require.Nil(t, s.Explain([]byte(`{}`), false))
	require.Nil(t, s.Explain(nil, false))
}

// TestFormats: the validator checks no format, but a number is not corrected to a text that has one.
func TestFormats(t *testing.T) {
	for _, draft := range []string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"} {
		s := mustCompile(t, `{"$schema":"`+draft+`","type":"object","properties":{"day":{"type":"string","format":"date"},"pin":{"type":"string","format":"password"}}}`)
		require.Nil(t, s.Explain([]byte(`{"day":"today"}`), false))
		require.Nil(t, s.Explain([]byte(`{"day":20260131}`), false).Corrected)
		require.Contains(t, s.Explain([]byte(`{"pin":1234}`), false).Text(), "Send it in quotes.")
	}
}

func TestHideReceived(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"n":{"type":"integer"},"e":{"enum":["aa","ab"]},"s":{"type":"string","maxLength":1},"b":{"type":"null"}},"required":["n","q","r"]}`)
	report := s.Explain([]byte(`{"n":"77123","e":"aaa","s":"`+canary+`","b":true}`), true)
	all, err := json.Marshal(report)
	require.NoError(t, err)
	for _, secret := range []string{"77123", "'aaa'", canary, "true"} {
		require.NotContains(t, string(all), secret)
	}
	require.Contains(t, report.Text(), "Argument 'n' expected an integer, but received a string that is not shown. Send it without quotes.")
}

// TestSecretsAreNotShown looks for a secret in everything that is told, wherever
// it was sent.
func TestSecretsAreNotShown(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"password":{"type":"integer"},"key":{"type":"object","properties":{"api_key":{"enum":["a"]},"deep":{"writeOnly":true,"type":"array","items":{"type":"integer"}}}},
		"card":{"$ref":"#/$defs/hidden"},"mark":{"allOf":[{"type":"integer"},{"format":"password"}]},"n":{"type":"integer"},"l":{"type":"array","maxItems":0},
		"o":{"additionalProperties":false,"type":"object"},"u":{"oneOf":[{"type":"integer"},{"type":"string","writeOnly":true,"maxLength":2}]}},
		"$defs":{"hidden":{"type":"string","maxLength":3,"writeOnly":true}},"required":["tokenn"]}`
	s := mustCompile(t, schema)
	for _, args := range []string{
		`{"password":"` + canary + `"}`,
		`{"key":{"api_key":"` + canary + `"}}`,
		`{"key":{"deep":["` + canary + `"]}}`,
		`{"card":"` + canary + `"}`,
		`{"mark":"` + canary + `"}`,
		`{"u":"` + canary + `"}`,
		`{"passwort":"` + canary + `"}`,
		`{"o":{"secret":"` + canary + `"}}`,
		`{"l":["` + canary + `"]}`,
		`{"n":"{\"password\":\"` + canary + `\"}"}`,
		`{"n":"[\"` + canary + `\""}`,
		`{"n":{"x":"` + canary + `"}}`,
		`{"n":"password=` + canary + `"}`,
		`{"n":"Bearer ` + canary + canary + canary + `"}`,
		`{"n":"https://user:` + canary + `@example.com/"}`,
		`{"token":"` + canary + `"}`,
		`["` + canary + `"]`,
		`"{\"password\":\"` + canary + `\",\"n\":1}"`,
		`{"n":1,"password":"` + canary,
		`{"password":"` + canary + `\q"}`,
		`{"password":"` + canary + `","password":"` + canary + `"}`,
		"{\"password\":\"" + canary + "\xff\"}",
		`{"password=` + canary + `":1,"o":{"password=` + canary + `":2}}`,
	} {
		report := s.Explain([]byte(args), false)
		require.NotNil(t, report, args)
		all, err := json.Marshal(report)
		require.NoError(t, err)
		require.NotContains(t, string(all)+report.Text(), canary, args)
	}
}

func TestHostileNames(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"a":{}},"additionalProperties":false}`)
	long := strings.Repeat("é", 1<<20)
	for _, name := range []string{"x\\ny", "\\u202egnol", "\\u0000", long, "", "'", "a]b", "[0]", "\\\\", "\U000e0041"} {
		report := s.Explain([]byte(`{"`+name+`":{"`+name+`":1}}`), false)
		require.Len(t, report.Violations, 1)
		text := report.Text()
		require.Less(t, len(text), 400)
		require.NotContains(t, text, "\n")
		require.NotContains(t, text, "\u202e")
		require.NotContains(t, text, "\x00")
	}
}

// TestStable compiles and explains again and again: maps have no order of their own.
func TestStable(t *testing.T) {
	const args = `{"zz":1,"colour":"rde","b":"x","a":null,"x2":[1,1],"deep":{"q":1,"p":"2"},"x1":"s"}`
	const schema = `{"type":"object","properties":{"color":{"enum":["red"]},"b":{"type":"integer"},"a":{"type":"string"},"deep":{"properties":{"p":{"type":"integer"},"q":{"type":"string"}}}},
		"patternProperties":{"^x":{"type":"boolean"},"1$":{"type":"null"},"2$":{"uniqueItems":true}},"dependentRequired":{"a":["k1","k2"],"b":["k3"]},"dependencies":{"zz":["k4"]},
		"required":["color","w","v"],"additionalProperties":false,"propertyNames":{"maxLength":6}}`
	want := mustCompile(t, schema).Explain([]byte(args), false)
	require.Greater(t, want.Total, 12)
	s := mustCompile(t, schema)
	for i := range 200 {
		if i%50 == 0 {
			s = mustCompile(t, schema)
		}
		require.Equal(t, want, s.Explain([]byte(args), false))
	}
}

// TestOrder: violations come by the alphabet of their places, items by their indexes, and known
// names in the order in which the schema declares them, also when it is a struct that keeps it.
func TestOrder(t *testing.T) {
	fields := func(r *explain.Report) (names []string) {
		for _, v := range r.Violations {
			names = append(names, v.Field)
		}
		return names
	}
	s := mustCompile(t, `{"properties":{"c":{"type":"null"},"a":{"items":{"type":"null"}},"b":{"properties":{"9":{"type":"null"},"10":{"type":"null"},"5x":{"type":"null"}},"maxProperties":1}},"required":["z","y"]}`)
	require.Equal(t, []string{"a[2]", "a[10]", "b", "b.9", "b.10", "b.5x", "c", "y", "z"},
		fields(s.Explain([]byte(`{"b":{"10":1,"9":1,"5x":1},"a":[null,null,1,null,null,null,null,null,null,null,1],"c":1}`), false)))

	type in struct {
		C string `json:"c"`
		A string `json:"a"`
		B string `json:"b"`
	}
	inferred, err := google.For[in](nil)
	require.NoError(t, err)
	s, err = explain.Compile(inferred)
	require.NoError(t, err)
	require.Contains(t, s.Explain([]byte(`{"c":"","a":"","b":"","other":1}`), false).Text(), "Known here are 'c', 'a' and 'b'.")
}

func TestConcurrent(t *testing.T) {
	s := mustCompile(t, order)
	want := s.Explain([]byte(badOrder), false)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 50 {
				if have := s.Explain([]byte(badOrder), false); have.Text() != want.Text() {
					t.Error(have.Text())
				}
				if s.Explain([]byte(goodOrder), false) != nil {
					t.Error("valid arguments are refused")
				}
			}
		})
	}
	wait.Wait()
}
