package explain_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/explain"
)

// hostile makes arguments of any size against a schema that a server may well have.
var hostile = map[string]struct {
	schema string
	args   func(n int) string
}{
	"equal names": {`{"type":"object","additionalProperties":false}`, func(n int) string {
		return `{"a":1` + strings.Repeat(`,"a":1`, n) + `}`
	}},
	"recursive oneOf": {
		`{"$defs":{"e":{"oneOf":[{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#/$defs/e"}}},"required":["and"]},
		{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#/$defs/e"}},"or":{"type":"array"}},"required":["or"]},
		{"type":"object","properties":{"not":{"$ref":"#/$defs/e"}},"required":["not"]}]}},"$ref":"#/$defs/e"}`,
		func(n int) string {
			return strings.Repeat(`{"and":[`, min(n/40, 400)) + strings.Repeat(`{"x":1},`, n) + `1` + strings.Repeat(`]}`, min(n/40, 400))
		},
	},
	"long list of choices": {`{"type":"object","properties":{"l":{"items":{"anyOf":[` + strings.Repeat(`{"type":"object","properties":{"k":{"const":"a"},"v":{"type":"integer"}},"required":["k","v","w"]},`, 30) +
		`{"type":"integer"}]}}}}`, func(n int) string {
		return `{"l":[` + strings.Repeat(`{"k":"b","v":"c"},`, n) + `1]}`
	}},
	"items that are alike": {`{"type":"object","properties":{"l":{"uniqueItems":true}}}`, func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `[[],{"a":%d}],`, i)
		}
		return `{"l":[` + b.String() + `1,1]}`
	}},
	"items that a weak hash takes for alike": {`{"type":"object","properties":{"l":{"uniqueItems":true}}}`, func(n int) string {
		return `{"l":[` + strings.Join(trees(12, n), ",") + `,1,1]}`
	}},
	"lists in lists without repetitions": {`{"uniqueItems":true,"items":{"$ref":"#"}}`, func(n int) string {
		return strings.Repeat(`[1,`, min(n/4, 900)) + strings.Repeat(`[1],`, n) + "1" + strings.Repeat("]", min(n/4, 900))
	}},
	"choices of objects with many names": {`{"type":"object","properties":{"l":{"items":{"anyOf":[` + strings.Repeat(`{"type":"object","properties":{"k":{"type":"integer"}},"required":["w"]},`, 20) +
		`{"type":"integer"}]}}}}`, func(n int) string {
		var b strings.Builder
		for i := range 100 {
			fmt.Fprintf(&b, `"x%d":1,`, i)
		}
		return `{"l":[` + strings.Repeat(`{`+b.String()+`"k":"c"},`, n/100) + `1]}`
	}},
	"unknown names in many objects": {`{"type":"object","properties":{"l":{"items":{"type":"object","properties":{` + wide(150) + `},"required":["colr"],"additionalProperties":false}}}}`, func(n int) string {
		var b strings.Builder
		for i := range 90 {
			fmt.Fprintf(&b, `"colours%c%c":1,`, 'a'+i%26, 'a'+i/26)
		}
		return `{"l":[` + strings.Repeat(`{`+b.String()+`"k":"c"},`, n/100) + `1]}`
	}},
	"unknown names": {`{"type":"object","properties":{"color":{},"colour":{}},"required":["colr"],"additionalProperties":false}`, func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"colo%d":1,`, i)
		}
		return `{` + b.String() + `"x":1}`
	}},
	"names that a pattern matches": {`{"type":"object","patternProperties":{"^(a|aa)+$":{"type":"integer"},"b$":{"type":"null"}},"unevaluatedProperties":false,"allOf":[{"properties":{"x":{}}}]}`, func(n int) string {
		return `{"` + strings.Repeat("a", n) + `b":1,"` + strings.Repeat("a", n) + `":"x"}`
	}},
	"text": {`{"type":"object","properties":{"s":{"pattern":"^(a+)+$","maxLength":3},"e":{"format":"email","enum":["a"]}}}`, func(n int) string {
		return `{"s":"` + strings.Repeat("a", n) + `!","e":"` + strings.Repeat("SELECT MERGE INTO ", n) + `"}`
	}},
	"wrong items": {`{"type":"object","properties":{"l":{"items":{"type":"integer"}}}}`, func(n int) string {
		return `{"l":[` + strings.Repeat(`"x",`, n) + `1]}`
	}},
	"wrong items far inside": {`{"items":{"$ref":"#"},"type":"array"}`, func(n int) string {
		return strings.Repeat("[", 900) + strings.Repeat("1,", n) + `1` + strings.Repeat("]", 900)
	}},
	"a long number": {`{"type":"object","properties":{"n":{"multipleOf":0.1}}}`, func(n int) string { return `{"n":` + strings.Repeat("9", n) + `}` }},
	"a wide object": {`{"type":"object","unevaluatedProperties":false,"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}}},{"additionalProperties":{"type":"integer"}}]}`, func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":"v",`, i)
		}
		return `{` + b.String() + `"x":1}`
	}},
	"JSON in a string": {`{"type":"object","properties":{"o":{"type":"object"}}}`, func(n int) string { return `{"o":"` + strings.Repeat("[", n) + `"}` }},
	"JSON in a string for a choice": {
		`{"type":"object","properties":{"o":{"anyOf":[{"type":"integer"},{"not":{"type":"string"},"allOf":[{"$ref":"#/$defs/e"}]}]}},"$defs":{"e":{"anyOf":[{"items":{"$ref":"#/$defs/e"},"minItems":1},{"items":{"$ref":"#/$defs/e"},"minItems":2}]}}}`,
		func(n int) string {
			return `{"o":"` + strings.Repeat("[", min(n, 900)) + strings.Repeat("]", min(n, 900)) + `"}`
		},
	},
	"broken UTF-8":              {`{"type":"object"}`, func(n int) string { return `{"a":["` + strings.Repeat("\xff\",\"", n) + `"]}` }},
	"numbers of an enumeration": {`{"items":{"enum":[` + strings.Repeat("1.5,", 2000) + `2]}}`, func(n int) string { return "[" + strings.Repeat("3,", n) + "3]" }},
	"names that are refused": {`{"items":{"propertyNames":{"pattern":"^(b+)+$"}}}`, func(n int) string {
		return `[` + strings.Repeat(`{"`+strings.Repeat("a", 100)+`":1},`, n/100) + "1]"
	}},
	"long texts of many patterns": {`{"items":{"allOf":[` + strings.Repeat(`{"pattern":"(a|aa)+b"},`, 50) + `{}]}}`, func(n int) string { return `["` + strings.Repeat("a", n) + `"]` }},
	"many below choices": {`{"oneOf":[{"properties":{"and":{"items":{"$ref":"#"}}},"required":["and"]},{"properties":{"and":{"items":{"$ref":"#"}}},"required":["or"]}]}`, func(n int) string {
		return strings.Repeat(`{"and":[`, 12) + strings.Repeat(`{},`, n/100) + `{}` + strings.Repeat(`]}`, 12)
	}},
	"a choice at each level": {`{"anyOf":[{"items":{"$ref":"#"},"minItems":1},{"items":{"$ref":"#"},"minItems":2}],"type":"array"}`, func(n int) string {
		return strings.Repeat("[", min(n, 1000)) + strings.Repeat("]", min(n, 1000))
	}},
	"conditions": {`{"items":{"if":{"properties":{"k":{"const":1}}},"then":{"required":["a"],"properties":{"v":{"type":"null"}}},"else":{"properties":{"v":{"type":"boolean"}}}}}`, func(n int) string {
		return `[` + strings.Repeat(`{"k":1,"v":2},`, n) + `{"v":2}]`
	}},
	"misspelled names": {`{"items":{"type":"object","properties":{"colour":{"type":"integer"}},"required":["colour"],"additionalProperties":false}}`, func(n int) string {
		return `[` + strings.Repeat(`{"color":"x"},`, n) + `1]`
	}},
	"no JSON": {`{"type":"object"}`, func(n int) string { return strings.Repeat(`{"a":`, n) }},
}

// trees returns at most most different lists of lists with the same number of brackets.
func trees(size, most int) []string {
	var all []string
	var grow func(open, left int, text string)
	grow = func(open, left int, text string) {
		switch {
		case len(all) >= most:
		case left == 0 && open == 0:
			all = append(all, "["+strings.ReplaceAll(text, "][", "],[")+"]")
		default:
			if left > 0 {
				grow(open+1, left-1, text+"[")
			}
			if open > 0 {
				grow(open-1, left, text+"]")
			}
		}
	}
	grow(0, size, "")
	return all
}

func wide(n int) string {
	properties := make([]string, n)
	for i := range properties {
		properties[i] = fmt.Sprintf(`"colour%c%c":{}`, 'a'+i%26, 'a'+i/26)
	}
	return strings.Join(properties, ",")
}

// largest returns as many arguments of a kind as fit into 1 MiB, and a third of them.
func largest(args func(n int) string) (third, all []byte) {
	n := 1500
	for len(args(2*n)) <= 1<<20 && n < 1<<17 {
		n *= 2
	}
	return []byte(args(n / 3)), []byte(args(n))
}

// TestGrowth: what a report costs is bounded whatever is sent, and does not grow faster
// than it. Memory stands for time, which says nothing on a machine that is busy.
func TestGrowth(t *testing.T) {
	for name, h := range hostile {
		t.Run(name, func(t *testing.T) {
			s := mustCompile(t, h.schema)
			third, all := largest(h.args)
			cost := func(args []byte) (work, bytes int) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				report, work := s.Counted(args)
				runtime.ReadMemStats(&after)
				require.NotNil(t, report)
				require.LessOrEqual(t, len(report.Text()), 4096)
				return work, int(after.TotalAlloc - before.TotalAlloc)
			}
			work, bytes := cost(third)
			moreWork, moreBytes := cost(all)
			t.Log(len(all), work, bytes>>10, moreWork, moreBytes>>10)
			require.Less(t, moreWork, min(4*work+2000, explain.MaxUnits+3000))
			require.Less(t, moreBytes, min(4*bytes+4<<20, 64<<20))
		})
	}
}

// BenchmarkHostile shows what 1 MiB of hostile arguments take: about 50 ms at most.
func BenchmarkHostile(b *testing.B) {
	for name, h := range hostile {
		s := mustCompile(b, h.schema)
		third, all := largest(h.args)
		for _, args := range [][]byte{third, all} {
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s.Explain(args, false)
				}
				_, work := s.Counted(args)
				b.ReportMetric(float64(work), "units")
			})
		}
	}
}

// TestExamplesCostNothingWhereTheyAreLong: of a schema with examples that are too long to be told
// no call writes them, however many names are misspelled.
func TestExamplesCostNothingWhereTheyAreLong(t *testing.T) {
	args := []byte(`[` + strings.Repeat(`{"alhpa":1},`, 100) + `{}]`)
	allocs := func(examples string) float64 {
		s, err := explain.Compile([]byte(`{"items":{"examples":[` + examples + `],"anyOf":[{"required":["alpha"]},{"required":["omega"]}]}}`))
		require.NoError(t, err)
		s.Explain(args, false)
		return testing.AllocsPerRun(3, func() { s.Explain(args, false) })
	}
	long := `{"alpha":[` + strings.Repeat(`"x",`, 100) + `1]}`
	require.Less(t, allocs(strings.Repeat(long+",", 300)+long), 2*allocs(""))
}
