package explain_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/explain"
)

// list writes n texts with commas between them. A %d is the number of each.
func list(n int, text string) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = strings.ReplaceAll(text, "%d", fmt.Sprint(i))
	}
	return strings.Join(texts, ",")
}

// nested writes what is n times around something.
func nested(n int, open, inner, end string) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

// TestHostileSchemas: a server may relay the schemas of others. Whatever stands in one, to compile it and
// to explain arguments by it takes some milliseconds, of which many are allowed here: the machine may be busy.
func TestHostileSchemas(t *testing.T) {
	dots, long := strings.Repeat("a", 700_000), strings.Repeat("n", 2000)
	for name, c := range map[string]struct{ schema, args, err string }{
		"required without end":                  {`{"properties":{` + list(9000, `"p%d":true`) + `},"required":[` + list(70_000, `"p%d"`) + `]}`, `{}`, ""},
		"allOf that many refer to":              {`{"$defs":{"a":{"type":"object","allOf":[` + list(4900, `{"minProperties":0}`) + `]}},"properties":{` + list(4900, `"p%d":{"type":"object","$ref":"#/$defs/a"}`) + `}}`, `{"p1":1}`, ""},
		"properties in a condition":             {`{"allOf":[` + list(4900, `{}`) + `],"if":{"properties":{"a":{"const":1}}},"then":{"properties":{` + list(4900, `"p%d":{"type":"string"}`) + `}}}`, `{"p1":1}`, ""},
		"forms that know many names":            {`{"$defs":{"w":{"properties":{` + list(4000, `"p%d":true`) + `}}},"anyOf":[` + list(2000, `{"$ref":"#/$defs/w"}`) + `]}`, `{"p1":1}`, ""},
		"long names":                            {nested(200, `{"properties":{"`+long+`":`, `{"type":"string"}`, "}}"), `{}`, "nested too deeply"},
		"long names of properties":              {`{"properties":{"` + strings.Repeat(long, 200) + `":{"properties":{` + list(9000, `"p%d":true`) + `}}}}`, `{}`, "nested too deeply for the length"},
		"many schemas far inside":               {nested(900, `{"additionalProperties":`, `{"allOf":[`+list(9000, `{"minLength":1}`)+`]}`, "}"), `{}`, "nested too deeply"},
		"booleans":                              {`{"anyOf":[` + list(90_000, `true`) + `]}`, `{}`, "more than 10000 objects and booleans"},
		"10 MB":                                 {`{"description":"` + strings.Repeat(long, 5000) + `"}`, `{}`, "more than 1048576"},
		"references to a long name":             {`{"properties":{"` + strings.Repeat(long, 200) + `":{"$id":"http://a.example/r","$defs":{"a":{"type":"string"}},"items":{"allOf":[` + list(40, `{"$ref":"#/$defs/a"}`) + `]}}}}`, `{}`, "nested too deeply for the length"},
		"depth 10,000":                          {nested(10_000, `{"not":`, `{}`, "}"), `{}`, "nested too deeply"},
		"patterns that repeat":                  {`{"properties":{` + list(3000, `"p%d":{"pattern":"(\\pL\\pL\\pL){1000}"}`) + `}}`, `{"p1":1}`, "patterns of the schema are too large"},
		"patterns without end":                  {`{"patternProperties":{` + list(9_000, `"^a%d":true`) + `}}`, `{"a1":1}`, "patterns of the schema are too large"},
		"pattern without end":                   {`{"pattern":"` + strings.Repeat("(a|b)", 200_000) + `"}`, `"x"`, "patterns of the schema are too large"},
		"pattern that regexp refuses":           {`{"pattern":"(a{1000}){1000}"}`, `{}`, ""},
		"text for a large pattern":              {`{"pattern":".{1000}x$"}`, `"` + dots + `"`, ""},
		"text for a pattern":                    {`{"pattern":".{30}x$"}`, `"` + dots + `"`, ""},
		"names for a large pattern":             {`{"patternProperties":{"(.{1000}x)$":{"type":"string"}},"required":["z"]}`, `{"` + dots + `":1}`, ""},
		"names for many patterns":               {`{"patternProperties":{` + list(500, `".{20}x%d$":{"type":"string"}`) + `}}`, `{` + list(2000, `"`+strings.Repeat("a", 200)+`%d":1`) + `}`, ""},
		"numbers that are large":                {`{"items":{"type":"integer","minimum":1e-400,"multipleOf":1e-300,"enum":[1.7e-399]}}`, `[` + list(65_000, `1e400`) + `]`, ""},
		"names that others depend on":           {`{"items":{"dependentRequired":{` + list(40_000, `"p%d":[]`) + `}}}`, `[` + list(30_000, `{}`) + `]`, ""},
		"forms with large values":               {`{"items":{"anyOf":[{"const":[` + list(40_000, `%d`) + `]},{"const":{"a":[` + list(40_000, `%d`) + `]}}]}}`, `[` + list(6000, `1`) + `]`, ""},
		"forms that differ by many values":      {`{"items":{"oneOf":[{"properties":{"k":{"enum":[` + list(45_000, `"a%d"`) + `]}},"required":["k"]},{"properties":{"k":{"enum":[` + list(45_000, `"b%d"`) + `]}},"required":["k"]}]}}`, `[` + list(6000, `{"k":"x"}`) + `]`, ""},
		"names that nothing has looked at":      {`{"anyOf":[` + list(9900, `true`) + `],"properties":{"l":{"items":{"unevaluatedProperties":false,"properties":{"z":{"type":"integer"}}}},"s":{"type":"string"}}}`, `{"s":1,"l":[` + list(6000, `{"x":1,"z":""}`) + `]}`, ""},
		"mistakes below long names":             {`{"additionalProperties":{"$ref":"#"},"type":["object","null"]}`, nested(900, `{"`+long[:1000]+`":`, `{`+list(2000, `"x%d":1`)+`}`, "}"), ""},
		"repetitions below long names":          {`{"additionalProperties":{"$ref":"#"},"items":{"uniqueItems":true}}`, nested(900, `{"`+long[:1000]+`":`, `[`+list(2000, `[1,1]`)+`]`, "}"), ""},
		"a condition at each level":             {`{"if":{"items":{"$ref":"#"}},"then":{"items":{"$ref":"#"}},"else":{"items":{"$ref":"#"}}}`, nested(900, "[", "1", "]"), ""},
		"dependent schemas at each level":       {`{"dependentSchemas":{"a":{"properties":{"a":{"$ref":"#"}}},"b":{"properties":{"a":{"$ref":"#"}}}}}`, nested(400, `{"b":1,"a":`, "1", "}"), ""},
		"unevaluated values at each level":      {`{"unevaluatedProperties":{"$ref":"#"},"allOf":[{"additionalProperties":{"$ref":"#"}},{"additionalProperties":{"$ref":"#"}}]}`, nested(400, `{"a":`, "1", "}"), ""},
		"large values of many wrong types":      {`{"anyOf":[` + list(4900, `{"type":"string"}`) + `]}`, `{"a":[` + list(60_000, `"text"`) + `]}`, ""},
		"large values far inside":               {`{"type":"array","items":{"anyOf":[{"$ref":"#"},{"type":"string"}]}}`, nested(900, "[", `{`+list(50_000, `"a%d":1`)+`}`, "]"), ""},
		"large values that are named":           {`{"items":{"anyOf":[{"enum":["` + dots + `"]},{"const":"b"}]}}`, `[` + list(60_000, `1`) + `]`, ""},
		"large lists without what they contain": {`{"anyOf":[` + list(4900, `{"contains":false}`) + `]}`, `[` + list(60_000, `1`) + `]`, ""},
		"many names of many wrong types":        {`{"items":{"anyOf":[{"required":[` + list(40_000, `"a%d"`) + `]},{}]}}`, `[` + list(30_000, `{}`) + `]`, ""},
		"long texts that are too short":         {`{"anyOf":[` + list(4900, `{"minLength":999999}`) + `]}`, `"` + dots + `"`, ""},
		"evaluated members at each level":       {`{` + nested(400, `"allOf":[{`, `"additionalProperties":true`, `}]`) + `,"unevaluatedProperties":false}`, `{` + list(60_000, `"a%d":1`) + `}`, ""},
		"forms that all look at many items":     {`{"unevaluatedItems":{"type":"string"},"anyOf":[` + list(100, `{"contains":{"type":"integer"}}`) + `]}`, `[` + list(60_000, `1`) + `]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			s, err := explain.Compile([]byte(c.schema))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
			} else {
				require.NoError(t, err)
				s.Defaults([]byte(c.args))
				s.Explain([]byte(c.args), false)
			}
			require.Less(t, time.Since(begin), 10*time.Second)
			runtime.ReadMemStats(&after)
			require.Less(t, int(after.TotalAlloc-before.TotalAlloc)>>20, 150, "MB")
		})
	}
}
