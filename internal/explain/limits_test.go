package explain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/explain"
)

func TestMaxViolations(t *testing.T) {
	s := mustCompile(t, `{"items":{"type":"integer"}}`)
	report := s.Explain([]byte(`["a"`+strings.Repeat(`,"a"`, 11)+`]`), false)
	require.Len(t, report.Violations, 10)
	require.Equal(t, 12, report.Total)

	report = s.Explain([]byte(`["a"`+strings.Repeat(`,"a"`, 15_000)+`]`), false)
	require.Equal(t, 1000, report.Total)
	require.True(t, strings.HasPrefix(report.Text(), "At least 1000 things are wrong.\n"))
	require.True(t, strings.HasSuffix(report.Text(), "\n- and 990 more."))
}

// TestMoreThanIsTold: where not all is looked at, the count is the least that is wrong.
func TestMoreThanIsTold(t *testing.T) {
	misspelled := mustCompile(t, hostile["misspelled names"].schema)
	wrong := mustCompile(t, `{"items":{"type":"integer"}}`)
	chosen := mustCompile(t, `{"items":{"anyOf":[{"type":"integer"},{"type":"null"}]}}`)
	for n, all := range map[int]bool{50: true, 3000: false, 9000: false, 14_000: false} {
		for _, report := range []*explain.Report{
			misspelled.Explain([]byte(`[`+strings.Repeat(`{"color":"x"},`, n)+`1]`), false),
			wrong.Explain([]byte(`[`+strings.Repeat(`"x",`, n)+`1]`), false),
			chosen.Explain([]byte(`[`+strings.Repeat(`"x",`, n)+`1]`), false),
		} {
			require.Equal(t, all, !report.More, "%d: %s", n, report.Text())
			require.Len(t, report.Violations, explain.MaxShown)
		}
		require.Nil(t, chosen.Explain([]byte(`[`+strings.Repeat(`null,`, n)+`1]`), false), "what a form finds wrong that is not meant does not count")
	}
}

func TestMaxBytes(t *testing.T) {
	properties := map[string]any{}
	args := map[string]any{}
	for i := range 40 {
		name := fmt.Sprintf("%02d-%s", i, strings.Repeat("ä", 70))
		properties[name] = map[string]any{"type": "integer", "description": strings.Repeat("ö", 500), "enum": []string{strings.Repeat("ü", 300), strings.Repeat("ï", 300)}}
		args[name] = strings.Repeat("é", 64)
	}
	s, err := explain.Compile(map[string]any{"properties": properties})
	require.NoError(t, err)
	text, err := json.Marshal(args)
	require.NoError(t, err)
	report := s.Explain(text, false)
	require.LessOrEqual(t, len(report.Text()), 4096)
	require.GreaterOrEqual(t, len(report.Violations), 2)
	require.Equal(t, 40, report.Total)
	require.NotContains(t, report.Text(), "\ufffd")
}

func TestLargeArguments(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string","pattern":"^b*$","maxLength":100},"l":{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"}}}}},"additionalProperties":false}`)
	large := strings.Repeat(canary, 20_000)
	report := s.Explain([]byte(`{"n":"`+large+`","s":"`+large+`"}`), false)
	require.Equal(t, "2 things are wrong.\n- Argument 'n' expected an integer, but received a string of 220000 characters.\n"+
		"- Argument 's' expected a string of at most 100 characters that matches the pattern ^b*$, but received a string of 220000 characters.", report.Text())

	report = s.Explain([]byte(`{"l":[`+strings.Repeat(`{"a":1},`, 10_000)+`{"a":"x"}]}`), false)
	require.Equal(t, "Argument 'l[10000].a' expected an integer, but received 'x'.", report.Text())

	report = s.Explain([]byte(`{"n":`+strings.Repeat("9", 1_000_000)+`.5}`), false)
	require.Equal(t, "Argument 'n' has a number that is too long to be checked.", report.Text())
}

func TestLongListsAndWideObjects(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"l":{"uniqueItems":true},"c":{"const":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":11,"l":12,"m":[1]}}}}`)
	numbers := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%d,", i)
		}
		return b.String()
	}
	require.Nil(t, s.Explain([]byte(`{"l":[`+numbers(1000)+`"0",[0],{"0":0},-1,0.5]}`), false))
	require.Equal(t, "Argument 'l' expected a list without repeated items, but received one with l[7] and l[1000] alike. Send each item once.",
		s.Explain([]byte(`{"l":[`+numbers(1000)+`7.0]}`), false).Text())
	require.Equal(t, "Argument 'l' expected a list without repeated items, but received one with l[0] and l[20] alike. Send each item once.",
		s.Explain([]byte(`{"l":[`+numbers(20)+numbers(20)+`null]}`), false).Text())

	wide := `{"m":[1],"l":12,"k":11,"j":10,"i":9,"h":8,"g":7.0,"f":6,"e":5,"d":4,"c":3,"b":2,"a":1}`
	require.Nil(t, s.Explain([]byte(`{"c":`+wide+`}`), false))
	require.NotNil(t, s.Explain([]byte(`{"c":`+strings.Replace(wide, `"a":1`, `"a":2`, 1)+`}`), false))
	require.NotNil(t, s.Explain([]byte(`{"c":`+strings.Replace(wide, `"a":1`, `"z":1`, 1)+`}`), false))
	require.Equal(t, "Argument 'c.a' was sent more than once. Send each name once.", s.Explain([]byte(`{"c":`+strings.Replace(wide, `"a":1`, `"a":2,"a":1`, 1)+`}`), false).Text())
}

func TestTooManyArguments(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"a":{"default":1}}}`)
	args := []byte(`{"l":[0` + strings.Repeat(",0", 1<<21) + `]}`)
	report := s.Explain(args, false)
	require.Equal(t, "The arguments are too large to be checked. Send less at once.", report.Text())
	require.Equal(t, "budget", report.Violations[0].Rule)
	require.Equal(t, args, s.Defaults(args))
}

// TestWork: what is valid is let through as long as its real work is small.
func TestWork(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"l":{"items":{"type":"integer"}}}}`)
	require.Nil(t, s.Explain([]byte(`{"l":[`+strings.Repeat("1,", 65_000)+`1]}`), false))
	require.Nil(t, s.Explain([]byte(`{"l":[`+strings.Repeat("1.5e+05,", 65_000)+`1]}`), false))
	require.Equal(t, "budget", s.Explain([]byte(`{"l":[`+strings.Repeat("1,", 66_000)+`1]}`), false).Violations[0].Rule)

	long := mustCompile(t, `{"items":{"pattern":"^(ab?c?d?e?f?g?)*$"}}`)
	require.Nil(t, long.Explain([]byte(`[`+strings.Repeat(`"`+strings.Repeat("a", 1000)+`",`, 400)+`"a"]`), false))
	require.Equal(t, "budget", long.Explain([]byte(`[`+strings.Repeat(`"`+strings.Repeat("a", 1000)+`",`, 900)+`"a"]`), false).Violations[0].Rule)

	// The validator looks at all forms, of which two lead to what is inside.
	choice := mustCompile(t, `{"anyOf":[{"type":"object","properties":{"not":{"$ref":"#"}},"required":["not"]},{"type":"boolean"},{"type":"object","properties":{"not":{"$ref":"#"}}}]}`)
	require.Nil(t, choice.Explain([]byte(strings.Repeat(`{"not":`, 10)+"true"+strings.Repeat("}", 10)), false))
	require.Equal(t, "budget", choice.Explain([]byte(strings.Repeat(`{"not":`, 400)+"true"+strings.Repeat("}", 400)), false).Violations[0].Rule)
	report := choice.Explain([]byte(strings.Repeat(`{"not":`, 10)+"1"+strings.Repeat("}", 10)), false)
	require.Less(t, len(report.Text()), 600)
	require.NotEqual(t, "budget", report.Violations[0].Rule)
}

// TestSchemaOfABubble: a schema that was compiled and used with fake time is used without it.
func TestSchemaOfABubble(t *testing.T) {
	var s *explain.Schema
	synctest.Test(t, func(t *testing.T) {
		s = mustCompile(t, `{"type":"object"}`)
		require.Nil(t, s.Explain([]byte(`{}`), false))
	})
	require.Nil(t, s.Explain([]byte(`{}`), false))
}

// TestWorkIsCountedForEachCall: calls at the same time do not count for each other.
func TestWorkIsCountedForEachCall(t *testing.T) {
	s := mustCompile(t, `{"items":{"$ref":"#"},"maxItems":3000}`)
	args := []byte("[" + strings.Repeat("[],", 2500) + "[]]")
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 5 {
				if report := s.Explain(args, false); report != nil {
					t.Error(report.Text())
				}
			}
		})
	}
	wait.Wait()
}

func TestDeepArguments(t *testing.T) {
	s := mustCompile(t, `{"items":{"$ref":"#"},"type":"array"}`)
	require.Nil(t, s.Explain([]byte(strings.Repeat("[", 1000)+strings.Repeat("]", 1000)), false))
	require.Equal(t, "The arguments are nested more than 1000 levels deep.", s.Explain([]byte(strings.Repeat("[", 1001)+strings.Repeat("]", 1001)), false).Text())
	require.Equal(t, "The arguments are nested more than 1000 levels deep.", s.Explain([]byte(strings.Repeat("[", 5_000_000)), false).Text())

	report := s.Explain([]byte(strings.Repeat("[", 999)+"7"+strings.Repeat("]", 999)), false)
	require.Len(t, report.Violations, 1)
	require.Less(t, len(report.Text()), 400)
	require.Empty(t, report.Violations[0].Pointer, "a pointer that was cut would lead elsewhere")
}

func TestBrokenUTF8(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"a":{"type":"string"},"l":{"items":{"type":"string"}}}}`)
	for args, want := range map[string]string{
		"{\"a\":\"x\xff\"}":           "Argument 'a' is not valid UTF-8.",
		"{\"l\":[\"\",\"\xc3\"]}":     "Argument 'l[1]' is not valid UTF-8.",
		"{\"\xff\":1}":                "Argument '\ufffd' is not valid UTF-8.",
		"{\"a\":\"\\n\xff\"}":         "Argument 'a' is not valid UTF-8.",
		`{"l":["",{"x\ud800":1}]}`:    "Argument 'l[1].x\ufffd' is not valid UTF-8: half of a surrogate pair was sent.",
		`{"a":"\ud83d\ude00 \ud800"}`: "Argument 'a' is not valid UTF-8: half of a surrogate pair was sent.",
	} {
		report := s.Explain([]byte(args), false)
		require.Contains(t, report.Text(), want)
		require.Contains(t, []string{"utf8", "surrogate"}, report.Violations[0].Rule)
	}
	for _, args := range []string{`{"a":"\ud83d\ude00 \ufffd"}`, `{"a":"\\ud800"}`} {
		require.Nil(t, s.Explain([]byte(args), false), args)
	}
}

// TestSchemasThatMultiply would take longer than anybody waits, were the walk not
// bounded.
func TestSchemasThatMultiply(t *testing.T) {
	nested := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, schema := range []string{
		`{"anyOf":[{"items":{"$ref":"#"},"minItems":1},{"items":{"$ref":"#"},"minItems":1,"maxItems":9}]}`,
		`{"oneOf":[{"items":{"$ref":"#"},"minItems":1},{"items":{"$ref":"#"},"minItems":2}]}`,
		`{"allOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}],"minItems":1}`,
		`{"not":{"items":{"not":{"$ref":"#"}}},"items":{"$ref":"#"},"contains":{"$ref":"#"}}`,
		`{"if":{"items":{"$ref":"#"}},"then":{"items":{"$ref":"#"},"minItems":1},"else":{"items":{"$ref":"#"}}}`,
		`{"anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}],"unevaluatedItems":false,"minItems":1}`,
	} {
		report := mustCompile(t, schema).Explain([]byte(nested), false)
		require.NotNil(t, report, schema)
		require.NotEmpty(t, report.Violations)
		require.LessOrEqual(t, len(report.Text()), 4096)
	}
	// What could not be checked is refused, not let through.
	s := mustCompile(t, `{"$anchor":"n","allOf":[{"items":{"$ref":"#n"}},{"items":{"$ref":"#n"}}]}`)
	require.Equal(t, "The arguments are too large and complex to be checked. Send less at once.", s.Explain([]byte(nested), false).Text())
}

// TestDepthOfAWalk: how many schemas are applied inside of each other is bounded.
func TestDepthOfAWalk(t *testing.T) {
	var chain strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&chain, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	for schema, args := range map[string][2]string{
		`{"$ref":"#/$defs/d0","$defs":{` + chain.String() + `"d2000":{"properties":{"a":{"$ref":"#"}}}}}`: {`{"a":1}`, `{"a":{"a":1}}`},
	} {
		s := mustCompile(t, schema)
		if args[0] != "" {
			require.Nil(t, s.Explain([]byte(args[0]), false))
		}
		require.Equal(t, "budget", s.Explain([]byte(args[1]), false).Violations[0].Rule)
	}
}

func TestSchemasThatGoRoundInCircles(t *testing.T) {
	for _, schema := range []string{
		`{"$ref":"#"}`,
		`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#"}]}}}`,
		`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`,
		`{"dependentSchemas":{"x":{"$ref":"#"}}}`,
	} {
		_, err := explain.Compile([]byte(schema))
		require.ErrorContains(t, err, "refers to itself for the same value", schema)
	}
}

type unmarshalable struct{}

func (unmarshalable) MarshalJSON() ([]byte, error) { return nil, errors.New("no") }

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("at the disco") }

func TestCompileRefuses(t *testing.T) {
	for want, schema := range map[string]any{
		"the schema is nil":                                                   nil,
		"the schema is not valid JSON":                                        []byte(`{"type":`),
		"the schema cannot be marshalled":                                     unmarshalable{},
		"compiling the schema panicked: at the disco":                         panicking{},
		"#/type must be a type or list of types":                              json.RawMessage(`{"type":"text"}`),
		"cannot unmarshal string":                                             json.RawMessage(`{"properties":{"a/b":{"minimum":"one"}}}`),
		"outside of it":                                                       json.RawMessage(`{"$ref":"https://example.com/schema.json"}`),
		"a.json, which is outside of it":                                      json.RawMessage(`{"$defs":{"a":{"$id":"a.json","type":"object"}},"$ref":"a.json"}`),
		"#/items has a $dynamicRef":                                           json.RawMessage(`{"$dynamicAnchor":"n","items":{"$dynamicRef":"#n"}}`),
		"file:///etc/passwd, which is outside of it":                          json.RawMessage(`{"$ref":"file:///etc/passwd"}`),
		"out of range":                                                        json.RawMessage(`{"maximum":1e999999999}`),
		"refers to #/$defs/gone, where there is no schema":                    json.RawMessage(`{"$ref":"#/$defs/gone"}`),
		"refers to #gone, where there is no schema":                           json.RawMessage(`{"items":{"$ref":"#gone"}}`),
		"nested too deeply":                                                   []byte(strings.Repeat("[", 2000)),
		"more than 10000 objects":                                             json.RawMessage(`{"enum":[{}` + strings.Repeat(",{}", 10_001) + `]}`),
		"more than 100000 values":                                             json.RawMessage(`[1` + strings.Repeat(",1", 100_000) + `]`),
		"cannot unmarshal number":                                             json.RawMessage(`7`),
		"#/allOf/0 must be a schema":                                          json.RawMessage(`{"allOf":[null]}`),
		"neither 7 nor 2020-12: http://json-schema.org/draft-04/schema#":      json.RawMessage(`{"$schema":"http://json-schema.org/draft-04/schema#"}`),
		"neither 7 nor 2020-12: https://json-schema.org/draft/2019-09/schema": json.RawMessage(`{"$schema":"https://json-schema.org/draft/2019-09/schema"}`),
	} {
		s, err := explain.Compile(schema)
		require.Nil(t, s, want)
		require.ErrorContains(t, err, want)
		require.True(t, strings.HasPrefix(err.Error(), "explain: "), err.Error())
	}
}

func TestCompileTakes(t *testing.T) {
	for _, schema := range []any{
		true,
		json.RawMessage(`true`),
		[]byte(`{"type":"object"}`),
		map[string]any{"type": "object", "properties": map[string]any{"x-1": true}},
		json.RawMessage(`{"$schema":"https://example.com/our-draft","type":"object"}`), // unknown: taken as the newest
		json.RawMessage(`{"$id":"https://example.com/s.json","$defs":{"a":{"$id":"a.json","type":"object","$ref":"#b","$defs":{"b":{"$anchor":"b"}}}},"$ref":"#/$defs/a"}`),
		json.RawMessage(`{"unevaluatedProperties":{"$ref":"#"}}`),
		json.RawMessage(`{"unevaluatedItems":{"allOf":[{"unevaluatedProperties":{"$ref":"#"}}]}}`),
		json.RawMessage(`{"propertyNames":{"$ref":"#/$defs/a"},"$defs":{"a":{"unevaluatedItems":{"$ref":"#/$defs/a"}}}}`),
		json.RawMessage(`{"$schema":"https://json-schema.org/draft-07/schema"}`),
		json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema#"}`),
		json.RawMessage(`{"properties":{"~/%":{"default":1},"é ":{"$ref":"#/properties/~0~1%25"}}}`),
		json.RawMessage(`{"pattern":"(?<!a)b","patternProperties":{"(?=x)":{}},"properties":{"u":{"pattern":"^\\u0041$"}}}`),
	} {
		s, err := explain.Compile(schema)
		require.NoError(t, err)
		require.Nil(t, s.Explain([]byte(`{}`), false))
	}
}

// TestCompiledIsSmall: a compiled schema takes at most 80 times the memory of its text, of which package
// validate bounds what it keeps, or 160 times where there is nothing in its schemas.
func TestCompiledIsSmall(t *testing.T) {
	for text, most := range map[string]int{
		order: 80,
		`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`: 80,
		`{"type":"object","properties":{` + wide(150) + `}}`:                                                         160,
	} {
		heap := func() int {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int(m.HeapAlloc)
		}
		const many = 100
		var kept [many]*explain.Schema
		before := heap()
		for i := range kept {
			kept[i] = mustCompile(t, text)
		}
		size := (heap() - before) / many
		require.InDelta(t, size, kept[0].Size(), 0.5*float64(size), text)
		runtime.KeepAlive(kept)
		require.Less(t, size, most*len(text), text)
	}
}

// TestCallsShareASchema: a compiled schema serves calls at the same time, none of which makes it anew.
func TestCallsShareASchema(t *testing.T) {
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	const calls = 100
	var s *explain.Schema
	once := allocated(func() { s = mustCompile(t, `{"type":"object","properties":{`+wide(500)+`}}`) })
	require.Less(t, allocated(func() {
		var all sync.WaitGroup
		for range calls {
			all.Go(func() { s.Explain([]byte(`{"x":1}`), false) })
		}
		all.Wait()
	}), once)
}

// TestFormsThatAreNotLookedAt: where the work ends within the forms of a choice, the choice is told.
func TestFormsThatAreNotLookedAt(t *testing.T) {
	s := mustCompile(t, `{"properties":{"o":{"oneOf":[`+list(30, `{"properties":{"l":{"items":{"type":"integer"}}},"required":["l"],"minProperties":%d}`)+`]}}}`)
	report := s.Explain([]byte(`{"o":{"l":[`+list(5000, `"x"`)+`]}}`), false)
	require.True(t, report.More)
	require.Len(t, report.Violations, 1)
	require.Equal(t, "o", report.Violations[0].Field)
}
