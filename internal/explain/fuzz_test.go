package explain_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/explain"
)

// canary is a secret that stands where nothing may be shown: below the name of a
// secret, in texts that are too long, and in texts that hold JSON.
const canary = "kanari-9f3e"

// FuzzExplain gives any schema and any arguments: nothing panics, the report is
// bounded, and a second one is the same.
func FuzzExplain(f *testing.F) {
	table, err := os.ReadFile("testdata/cases.txt")
	require.NoError(f, err)
	schema := ""
	for line := range strings.Lines(string(table)) {
		switch kind, text, _ := strings.Cut(strings.TrimSpace(line), " "); kind {
		case "S":
			schema = text
		case "A":
			f.Add(schema, text)
		}
	}
	f.Add(`{"$ref":"#"}`, `{}`)
	f.Add(`{"anyOf":[{"$ref":"#"},{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}],"minItems":1}`, `[[[[[[[[]]]]]]]]`)
	f.Add(`{"maximum":1e400}`, `1e999999999`)
	f.Add(`{"multipleOf":0.1}`, `1e-999999999`)
	f.Add(`true`, "\"\xff\"")
	f.Fuzz(func(t *testing.T, schema, args string) {
		compiled, err := explain.Compile([]byte(schema))
		if err != nil {
			return
		}
		checkBounds(t, compiled, args)
	})
}

func checkBounds(t *testing.T, compiled *explain.Schema, args string) *explain.Report {
	t.Helper()
	report := compiled.Explain([]byte(args), false)
	if report == nil {
		return nil
	}
	text := report.Text()
	require.NotEmpty(t, text)
	require.LessOrEqual(t, len(text), 4096)
	require.LessOrEqual(t, len(report.Violations), 10)
	require.GreaterOrEqual(t, report.Total, len(report.Violations))
	require.True(t, utf8.ValidString(text))
	require.Equal(t, text, compiled.Explain([]byte(args), false).Text())
	for _, v := range report.Violations {
		require.NotContains(t, v.Message+v.Suggestion+v.Expected+v.Field, "\n")
		require.NotEmpty(t, v.Message)
		require.NotEmpty(t, v.Rule)
	}
	if report.Corrected != nil {
		require.True(t, compiled.Valid(report.Corrected), "%s", report.Corrected)
		for _, name := range []string{"password", "token"} {
			if regexp.MustCompile(`"` + name + `":"?.*` + canary).Match(report.Corrected) {
				require.True(t, report.Secret, "%s", report.Corrected) // for its sender alone
			}
		}
	}
	shown := *report
	shown.Corrected = nil // it has what else the caller sent
	all, err := json.Marshal(shown)
	require.NoError(t, err)
	require.NotContains(t, string(all), canary)
	return report
}

// TestAgreesWithTheValidator makes random schemas and arguments: what is wrong
// here is what the library finds invalid.
func TestAgreesWithTheValidator(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 500
	}
	invalid := 0
	for seed := range rounds {
		g := generator{rand.New(rand.NewPCG(uint64(seed), 1))}
		schema := g.schema(3)
		if g.IntN(4) == 0 {
			schema["$schema"] = "http://json-schema.org/draft-07/schema#"
		}
		text, err := json.Marshal(schema)
		require.NoError(t, err)
		compiled, err := explain.Compile(text)
		require.NoError(t, err, string(text))
		reference := compileReference(t, text)
		for range 5 {
			args := g.value(3, false)
			report := checkBounds(t, compiled, args)
			instance, err := jsonschema.UnmarshalJSON(strings.NewReader(args))
			require.NoError(t, err)
			err = reference.Validate(instance)
			require.Equal(t, err != nil, report != nil, "seed %d\nschema %s\nargs %s\nthe library: %v\nhere: %s", seed, text, args, err, report.Text())
			if report != nil {
				invalid++
				require.NotEqual(t, "schema", report.Violations[0].Rule, "seed %d\nschema %s\nargs %s", seed, text, args)
			}
		}
	}
	require.Greater(t, invalid, rounds)
}

func compileReference(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("https://schema.invalid/", doc))
	s, err := c.Compile("https://schema.invalid/")
	require.NoError(t, err)
	return s
}

type generator struct{ *rand.Rand }

func (g generator) name() string {
	names := []string{"a", "b", "color", "colour", "size", "password", "token", "x y"}
	return names[g.IntN(len(names))]
}

func (g generator) names() []string {
	set := map[string]bool{}
	for range g.IntN(3) + 1 {
		set[g.name()] = true
	}
	var names []string
	for _, name := range []string{"a", "b", "color", "colour", "size", "password", "token", "x y"} {
		if set[name] {
			names = append(names, name)
		}
	}
	return names
}

// value writes a JSON value. Below the name of a secret every text is the canary.
func (g generator) value(depth int, secret bool) string {
	n := 8
	if depth == 0 {
		n = 6
	}
	switch g.IntN(n) {
	case 0:
		return "null"
	case 1:
		return []string{"true", "false"}[g.IntN(2)]
	case 2:
		return []string{"0", "1", "-2", "3.5", "1.0", "1e2", "0.3", "12345678901234567890"}[g.IntN(8)]
	case 3, 4:
		if secret {
			return `"` + canary + `"`
		}
		return []string{`""`, `"a"`, `"red"`, `"rde"`, `"2"`, `"é"`, `"2026-01-31"`, `"{\"a\":\"` + canary + `\"}"`, `"` + strings.Repeat("long ", 15) + canary + `"`}[g.IntN(9)]
	case 5, 6:
		members := []string{}
		for _, name := range g.names() {
			members = append(members, `"`+name+`":`+g.value(max(0, depth-1), secret || name == "password" || name == "token"))
		}
		return "{" + strings.Join(members, ",") + "}"
	default:
		items := []string{}
		for range g.IntN(4) {
			items = append(items, g.value(depth-1, secret))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
}

func (g generator) schema(depth int) map[string]any {
	s := map[string]any{}
	for range g.IntN(3) + 1 {
		g.keyword(s, depth)
	}
	return s
}

func (g generator) schemas(depth int) []any {
	list := []any{}
	for range g.IntN(2) + 1 {
		list = append(list, g.schema(depth))
	}
	return list
}

func (g generator) properties(depth int) map[string]any {
	m := map[string]any{}
	for _, name := range g.names() {
		m[name] = g.schema(depth)
	}
	return m
}

func (g generator) keyword(s map[string]any, depth int) {
	n := 41
	if depth == 0 {
		n = 18
	}
	sub := depth - 1
	switch g.IntN(n) {
	case 0, 1, 2:
		s["type"] = []any{"string", "integer", "number", "boolean", "object", "array", "null", []any{"string", "null"}, []any{"integer", "object"}}[g.IntN(9)]
	case 3:
		s["enum"] = []any{[]any{"red", "green"}, []any{1, "a", nil}, []any{true, []any{}}}[g.IntN(3)]
	case 4:
		s["const"] = []any{"red", 1, map[string]any{"a": 1}, nil}[g.IntN(4)]
	case 5:
		s["minimum"] = g.IntN(4)
	case 6:
		s["maximum"] = g.IntN(4)
	case 7:
		s["exclusiveMinimum"] = float64(g.IntN(8)) / 2
	case 8:
		s["exclusiveMaximum"] = g.IntN(4)
	case 9:
		s["multipleOf"] = []any{1, 2, 0.5, 0.1}[g.IntN(4)]
	case 10:
		s["minLength"] = g.IntN(3)
	case 11:
		s["maxLength"] = g.IntN(5)
	case 12:
		s["pattern"] = []any{"^a", "e", "^[a-z]+$", "(?=a)a"}[g.IntN(3)]
	case 13:
		s["format"] = []any{"date", "email", "ipv4", "password", "unheard-of"}[g.IntN(5)]
	case 14:
		s["minItems"], s["uniqueItems"] = g.IntN(3), g.IntN(2) == 0
	case 15:
		s["maxItems"] = g.IntN(3)
	case 16:
		s["minProperties"] = g.IntN(3)
	case 17:
		s["required"] = g.names()
	case 18, 19, 20, 21:
		s["properties"] = g.properties(sub)
	case 22, 23:
		s["additionalProperties"] = g.boolOr(sub)
	case 24:
		s["patternProperties"] = map[string]any{"^c": g.schema(sub), "o": g.schema(sub)}
	case 25:
		s["propertyNames"] = g.schema(0)
	case 26:
		s["dependentRequired"] = map[string]any{g.name(): g.names()}
	case 27:
		s["dependentSchemas"] = map[string]any{g.name(): g.schema(sub)}
	case 28:
		s["dependencies"] = map[string]any{g.name(): g.names(), "zz": g.schema(sub)}
	case 29:
		s["items"] = g.boolOr(sub)
	case 30:
		s["prefixItems"] = g.schemas(sub)
	case 31:
		s["contains"], s["minContains"], s["maxContains"] = g.schema(sub), g.IntN(3), g.IntN(3)+1
	case 32:
		s["unevaluatedItems"] = g.boolOr(sub)
	case 33:
		s["unevaluatedProperties"] = g.boolOr(sub)
	case 34:
		s["allOf"] = g.schemas(sub)
	case 35:
		s["anyOf"] = g.schemas(sub)
	case 36:
		s["oneOf"] = g.schemas(sub)
	case 37:
		s["not"] = g.schema(sub)
	case 38:
		s["if"], s["then"], s["else"] = g.schema(sub), g.schema(sub), g.boolOr(sub)
	case 39:
		s["properties"] = map[string]any{g.name(): map[string]any{"$ref": "#"}} // not in place, where it would mean nothing
	default:
		s["writeOnly"] = true
	}
}

func (g generator) boolOr(depth int) any {
	switch g.IntN(3) {
	case 0:
		return false
	case 1:
		return true
	default:
		return g.schema(depth)
	}
}
