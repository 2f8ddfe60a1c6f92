package explain_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/explain"
)

// calls are right calls of tools as real servers declare them.
var calls = []struct{ schema, args string }{
	{`{"type":"object","properties":{"owner":{"type":"string"},"repo":{"type":"string"},"state":{"enum":["open","closed","all"]},"sort":{"enum":["created","updated","comments"]},"direction":{"enum":["asc","desc"]},"perPage":{"type":"integer","minimum":1,"maximum":100},"labels":{"type":"array","items":{"type":"string"}}},"required":["owner","repo"]}`,
		`{"owner":"mcpchain","repo":"docs","state":"open","direction":"desc","perPage":30,"labels":["bug"]}`},
	{`{"type":"object","properties":{"namespace":{"type":"string"},"name":{"type":"string"},"tailLines":{"type":"integer"},"previous":{"type":"boolean"},"container":{"type":"string"}},"required":["name"],"additionalProperties":false}`,
		`{"namespace":"shop","name":"web-7d4","tailLines":200,"previous":true}`},
	{`{"type":"object","properties":{"query":{"type":"string"},"filter":{"type":"object","properties":{"from":{"type":"string","format":"date"},"kinds":{"type":"array","items":{"enum":["invoice","order","order_line"]}}},"additionalProperties":false},"order":{"enum":["ascending","descending"]},"limit":{"type":"integer","default":10}},"required":["query"],"additionalProperties":false}`,
		`{"query":"open","filter":{"from":"2026-01-31","kinds":["order"]},"order":"ascending","limit":5}`},
	{`{"type":"object","properties":{"input":{"type":"string"},"params":{"type":"object","properties":{"city":{"type":"string"}}},"language":{"enum":["python","go","javascript"]}},"required":["input"]}`,
		`{"input":"{\"city\":\"Bern\"}","params":{"city":"Bern"},"language":"go"}`},
	{`{"type":"object","properties":{"args":{"type":"array","items":{"type":"string"}},"command":{"type":"string"},"env":{"type":"object","additionalProperties":{"type":"string"}}},"required":["command"],"additionalProperties":false}`,
		`{"args":["-l"],"command":"ls","env":{"HOME":"/home/ann"}}`},
	{`{"type":"object","properties":{"arguments":{"type":"object"},"tool":{"type":"string"}},"required":["tool"],"additionalProperties":false}`,
		`{"arguments":{"tool":"search"},"tool":"run"}`},
	{`{"type":"object","properties":{"user":{"type":"string"},"password":{"type":"string"},"port":{"type":"integer"},"tls":{"type":"boolean"},"mode":{"enum":["read_only","read_write"]}},"required":["user","port"],"additionalProperties":false}`,
		`{"user":"ann","password":"hunter2","port":5432,"tls":true,"mode":"read_only"}`},
	{`{"anyOf":[{"properties":{"id":{"type":"integer"}},"required":["id"]},{"properties":{"name":{"type":"string"}},"required":["name"]}],"type":"object"}`,
		`{"id":7}`},
	{`{"type":"object","properties":{"columns":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"type":{"enum":["text","integer","timestamp"]},"nullable":{"type":"boolean"}},"required":["name","type"],"additionalProperties":false}},"table_name":{"type":"string"}},"required":["table_name","columns"],"additionalProperties":false}`,
		`{"columns":[{"name":"id","type":"integer","nullable":false}],"table_name":"orders"}`},
	{`{"type":"object","additionalProperties":{"type":"object"},"minProperties":1}`,
		`{"arguments":{"a":1},"b":{}}`},
}

// A way spoils one member of a right call. It reports false for one that it does not spoil.
type way struct {
	name  string
	spoil func(args map[string]any, name string) bool
	whole func(args string) string // or the whole call
}

func renamed(to func(string) string) func(map[string]any, string) bool {
	return func(args map[string]any, name string) bool {
		other := to(name)
		if _, taken := args[other]; taken || other == name {
			return false
		}
		args[other] = args[name]
		delete(args, name)
		return true
	}
}

func changed[T any](to func(T) any) func(map[string]any, string) bool {
	return func(args map[string]any, name string) bool {
		value, ok := args[name].(T)
		if !ok {
			return false
		}
		args[name] = to(value)
		return true
	}
}

func snaked(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func swapped(name string) string {
	if len(name) < 4 {
		return name
	}
	return name[:1] + name[2:3] + name[1:2] + name[3:]
}

func in(name string) func(string) string {
	return func(args string) string { return `{"` + name + `":` + args + `}` }
}

func asText(args string) string { return strconv.Quote(args) }

var ways = []way{
	{name: "name with two letters swapped", spoil: renamed(swapped)},
	{name: "name in snake case", spoil: renamed(snaked)},
	{name: "name in capitals", spoil: renamed(strings.ToUpper)},
	{name: "quoted number", spoil: changed(func(n json.Number) any { return n.String() })},
	{name: "quoted boolean", spoil: changed(func(b bool) any { return strconv.FormatBool(b) })},
	{name: "list as text", spoil: changed(func(list []any) any { raw, _ := json.Marshal(list); return string(raw) })},
	{name: "object as text", spoil: changed(func(o map[string]any) any { raw, _ := json.Marshal(o); return string(raw) })},
	{name: "value in capitals", spoil: changed(func(s string) any { return strings.ToUpper(s) })},
	{name: "value with spaces", spoil: changed(func(s string) any { return strings.ReplaceAll(s, "_", " ") })},
	{name: "value in kebab case", spoil: changed(func(s string) any { return strings.ReplaceAll(s, "_", "-") })},
	{name: "in arguments", whole: in("arguments")},
	{name: "in args", whole: in("args")},
	{name: "in input", whole: in("input")},
	{name: "in params", whole: in("params")},
	{name: "in parameters", whole: in("parameters")},
	{name: "in Params", whole: in("Params")},
	{name: "in kwargs", whole: in("kwargs")},
	{name: "in tool_input", whole: in("tool_input")},
	{name: "in body", whole: in("body")},
	{name: "in arguments beside the tool", whole: func(args string) string { return `{"function":"it","arguments":` + args + `}` }},
	{name: "in input beside the tool", whole: func(args string) string { return `{"input":` + args + `,"tool":"it"}` }},
	{name: "in arguments as text", whole: func(args string) string { return in("arguments")(asText(args)) }},
	{name: "as text", whole: asText},
	{name: "in input in args", whole: func(args string) string { return in("args")(in("input")(args)) }},
}

func decode(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	return v
}

// TestNoCorrectionIsWrong spoils right calls in each way: what is offered is the right call, or
// nothing. What no other reading stands against has to be offered.
func TestNoCorrectionIsWrong(t *testing.T) {
	tried, repaired := map[string]int{}, map[string]int{}
	for _, c := range calls {
		s := mustCompile(t, c.schema)
		require.True(t, s.Valid([]byte(c.args)), c.args)
		for _, w := range ways {
			var spoilt []string
			if w.whole != nil {
				spoilt = append(spoilt, w.whole(c.args))
			}
			for _, name := range slices.Sorted(maps.Keys(decode(t, c.args))) {
				if args := decode(t, c.args); w.spoil != nil && w.spoil(args, name) {
					raw, err := json.Marshal(args)
					require.NoError(t, err)
					spoilt = append(spoilt, string(raw))
				}
			}
			for _, args := range spoilt {
				report := s.Explain([]byte(args), false)
				if report == nil {
					continue // it means something else
				}
				tried[w.name]++
				if report.Corrected != nil {
					require.JSONEq(t, c.args, string(report.Corrected), "%s\n%s\n%s", w.name, c.schema, args)
				}
				if report.Corrected != nil || report.Withheld != nil {
					repaired[w.name]++
				}
			}
		}
	}
	for _, w := range ways {
		t.Logf("%-32s %d of %d", w.name, repaired[w.name], tried[w.name])
		require.Positive(t, tried[w.name], w.name)
		require.GreaterOrEqual(t, 10*repaired[w.name], 7*tried[w.name], w.name)
	}
}

// TestWrappedHostile: what is taken off is bounded in number, depth, size and work.
func TestWrappedHostile(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}},"required":["a"],"additionalProperties":false}`)
	for name, args := range map[string]string{
		"deep":         strings.Repeat(`{"args":`, 900) + `{"a":[1]}` + strings.Repeat("}", 900),
		"too deep":     strings.Repeat(`{"args":`, 2000) + `{"a":[1]}` + strings.Repeat("}", 2000),
		"deep text":    asText(strings.Repeat("[", 1000) + strings.Repeat("]", 1000)),
		"doubled":      `{"args":{"a":[1]},"args":{"a":[2]}}`,
		"doubled text": asText(`{"a":[1],"a":[2]}`),
		"long":         in("args")(`{"a":[` + strings.Repeat("1,", 60_000) + `1]}`),
		"long text":    asText(`{"a":[` + strings.Repeat("1,", 60_000) + `1]}`),
		"not UTF-8":    "{\"args\":{\"a\":[1],\"\xff\":1}}",
		"number":       in("args")(`{"a":[1e999999999]}`),
		"number, text": in("args")(asText(`{"a":[1e999999999]}`)),
		"half":         asText(`{"a":[1]`),
		"text in text": asText(asText(asText(asText(asText(`{"a":[1]}`))))),
	} {
		report, units := s.Counted([]byte(args))
		require.NotNil(t, report, name)
		require.Nil(t, report.Corrected, name)
		require.LessOrEqual(t, units, explain.MaxUnits+100, name)
	}
	report := s.Explain([]byte(in("args")(`{"a":[`+strings.Repeat("1,", 2000)+`1]}`)), false)
	require.Equal(t, "The arguments were sent inside of 'args'. Send them as they are.", report.Text(), "it is said although it would be too long to repeat")
	require.Nil(t, report.Corrected)
	for _, args := range []string{
		`{"args":{"a":[1]},"b":"it"}`, `{"args":{"a":[1]},"name":1}`, `{"args":{"a":[1]},"input":{"a":[2]}}`, `{"args":{"a":[1]},"name":"it","tool":"it"}`, `{"name":"it"}`, `{"args":{"a":[1]},"a":[2]}`,
	} {
		report := s.Explain([]byte(args), false)
		require.NotContains(t, report.Text(), "inside of", args)
	}
	named := mustCompile(t, `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`)
	require.Nil(t, named.Explain([]byte(`{"name":"it","arguments":{"name":"Ann"}}`), false).Corrected, "the name may be meant")
	hidden := s.Explain([]byte(`{"args":{"a":[1]}}`), true)
	require.Equal(t, "wrapped", hidden.Violations[0].Rule)
	require.Nil(t, hidden.Corrected, "received values are hidden")
}
