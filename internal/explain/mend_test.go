package explain_test

import (
	"encoding/json"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// mendable is a schema with a place of each kind.
const mendable = `{"type":"object","properties":{
	"n":{"type":"integer"},"f":{"type":"number"},"on":{"type":"boolean"},"s":{"type":"string"},"day":{"type":"string","format":"date"},
	"tags":{"type":"array","items":{"type":"string"}},"ids":{"type":"array","items":{"type":"integer"}},
	"at":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":["integer","null"]}},"required":["x"],"additionalProperties":false},
	"rows":{"type":"array","items":{"type":"object","properties":{"q":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}}}},
	"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},"maybes":{"type":["array","null"],"items":{"type":"string"}},
	"filter":{"anyOf":[{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false},{"type":"null"}]},
	"text":{"anyOf":[{"type":"integer"},{"type":"string","pattern":"^x"}]},"textual":{"type":["boolean","string"],"maxLength":2},"auto":{"anyOf":[{"type":"boolean"},{"enum":["auto"]}]},
	"many":{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"string"}}]},"free":{"description":"anything","minimum":3,"not":{"type":"string"}},
	"level":{"enum":[1,2,3]},"kind":{"type":"integer","enum":[1,2]},"yes":{"const":true},"maybeLevel":{"anyOf":[{"enum":[1,2]},{"type":"null"}]},
	"pair":{"type":"array","prefixItems":[{"type":"integer"},{"type":"boolean"}],"items":{"type":"number"}},
	"map":{"type":"object","additionalProperties":{"type":"integer"}},"x_map":{"type":"object","patternProperties":{"^k":{"type":"boolean"}}},
	"none":{"type":"string","default":null},"ten":{"type":"integer","default":10,"maximum":100},
	"password":{"type":"integer","format":"password"},"secret":{"type":"array","writeOnly":true},
	"ref":{"$ref":"#/$defs/count"},"all":{"allOf":[{"$ref":"#/$defs/count"}],"title":"All"},"both":{"allOf":[{"description":"d"},{"type":"integer"}]},
	"force":{"type":"boolean"},"never":false
},"$defs":{"count":{"type":"integer","minimum":1}},"additionalProperties":false}`

// TestMend has each class of what is mended, and of what is not.
func TestMend(t *testing.T) {
	s := mustCompile(t, mendable)
	for _, c := range []struct{ sent, meant, changes string }{
		// The JSON text of a list or an object.
		{`{"tags":"[\"a\"]"}`, `{"tags":["a"]}`, "tags:text_to_list"},
		{`{"tags":"[]"}`, `{"tags":[]}`, "tags:text_to_list"},
		{`{"tags":"\n [\"a\", \"b\"] "}`, `{"tags":["a","b"]}`, "tags:text_to_list"},
		{`{"ids":"[1,2]"}`, `{"ids":[1,2]}`, "ids:text_to_list"},
		{`{"at":"{\"x\":1}"}`, `{"at":{"x":1}}`, "at:text_to_object"},
		{`{"rows":[{"q":1},{"q":2,"tags":"[\"a\"]"}]}`, `{"rows":[{"q":1},{"q":2,"tags":["a"]}]}`, "rows[1].tags:text_to_list"},
		{`{"rows":["{\"q\":1}"]}`, `{"rows":[{"q":1}]}`, "rows[0]:text_to_object"},
		{`{"maybes":"[\"a\"]"}`, `{"maybes":["a"]}`, "maybes:text_to_list"},
		{`{"filter":"{\"n\":1}"}`, `{"filter":{"n":1}}`, "filter:text_to_object"},
		{`{"secret":"[1]"}`, `{"secret":[1]}`, "secret:text_to_list"},
		{`{"tags":"a"}`, "", ""}, {`{"tags":"a,b"}`, "", ""}, {`{"tags":"['a']"}`, "", ""}, {`{"tags":"[\"a\""}`, "", ""}, {`{"tags":""}`, "", ""}, {`{"tags":7}`, "", ""},
		{`{"tags":"[1]"}`, "", ""}, {`{"ids":"[\"1\"]"}`, "", ""}, {`{"at":"{\"z\":1}"}`, "", ""}, {`{"at":"[1]"}`, "", ""}, {`{"rows":"{\"q\":1}"}`, "", ""},
		{`{"at":"{\"x\":1,\"x\":2}"}`, "", ""}, {"{\"tags\":\"[\\\"\xff\\\"]\"}", "", ""}, {`{"tags":"[\"\\ud800\"]"}`, "", ""}, {`{"ids":"[9007199254740993]"}`, "", ""}, {`{"ids":"[1e400]"}`, "", ""},
		{`{"tags":"` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + `"}`, "", ""},

		// Numbers and booleans as text.
		{`{"n":"5"}`, `{"n":5}`, "n:text_to_number"},
		{`{"n":"-5"}`, `{"n":-5}`, "n:text_to_number"},
		{`{"n":"0"}`, `{"n":0}`, "n:text_to_number"},
		{`{"f":"0.125"}`, `{"f":0.125}`, "f:text_to_number"},
		{`{"f":"5"}`, `{"f":5}`, "f:text_to_number"},
		{`{"f":"5.0"}`, `{"f":5.0}`, "f:text_to_number"},
		{`{"on":"false"}`, `{"on":false}`, "on:text_to_boolean"},
		{`{"on":"true","n":"1"}`, `{"n":1,"on":true}`, "n:text_to_number on:text_to_boolean"},
		{`{"at":{"x":"1"}}`, `{"at":{"x":1}}`, "at.x:text_to_number"},
		{`{"at":{"x":1,"y":"2"}}`, `{"at":{"x":1,"y":2}}`, "at.y:text_to_number"},
		{`{"maybe":"1"}`, `{"maybe":1}`, "maybe:text_to_number"},
		{`{"filter":{"n":"1"}}`, `{"filter":{"n":1}}`, "filter.n:text_to_number"},
		{`{"ids":["1",2,"3"]}`, `{"ids":[1,2,3]}`, "ids[0]:text_to_number ids[2]:text_to_number"},
		{`{"pair":["1","true","0.5"]}`, `{"pair":[1,true,0.5]}`, "pair[0]:text_to_number pair[1]:text_to_boolean pair[2]:text_to_number"},
		{`{"map":{"a":"1"}}`, `{"map":{"a":1}}`, "map.a:text_to_number"},
		{`{"x_map":{"k1":"true"}}`, `{"x_map":{"k1":true}}`, "x_map.k1:text_to_boolean"},
		{`{"ref":"1"}`, `{"ref":1}`, "ref:text_to_number"},
		{`{"all":"1"}`, `{"all":1}`, "all:text_to_number"},
		{`{"both":"1"}`, `{"both":1}`, "both:text_to_number"},
		{`{"password":"1234"}`, `{"password":1234}`, "password:text_to_number"},
		{`{"n":"00713"}`, "", ""}, {`{"n":"1e3"}`, "", ""}, {`{"f":"1e3"}`, "", ""}, {`{"n":" 5 "}`, "", ""}, {`{"n":"5 "}`, "", ""}, {`{"n":"5.000"}`, "", ""}, {`{"f":"5.000"}`, "", ""}, {`{"f":"1.500"}`, "", ""},
		{`{"n":"5.0"}`, "", ""}, {`{"n":"+5"}`, "", ""}, {`{"n":"-0"}`, "", ""}, {`{"f":"-0"}`, "", ""}, {`{"n":"5,000"}`, "", ""}, {`{"n":"1_000"}`, "", ""}, {`{"n":"0x10"}`, "", ""}, {`{"f":"NaN"}`, "", ""}, {`{"f":"Inf"}`, "", ""}, {`{"f":".5"}`, "", ""},
		{`{"n":"9007199254740993"}`, "", ""}, {`{"n":"18446744073709551615"}`, "", ""}, {`{"n":"5s"}`, "", ""}, {`{"n":"five"}`, "", ""}, {`{"n":""}`, "", ""}, {`{"n":"true"}`, "", ""}, {`{"f":"0.1234567890123456789"}`, "", ""},
		{`{"on":"True"}`, "", ""}, {`{"on":"FALSE"}`, "", ""}, {`{"on":"yes"}`, "", ""}, {`{"on":"1"}`, "", ""}, {`{"on":1}`, "", ""}, {`{"on":" true"}`, "", ""}, {`{"n":"null"}`, "", ""}, {`{"n":"\"5\""}`, "", ""},
		{`{"ten":"500"}`, "", ""}, {`{"ref":"0"}`, "", ""},

		// A place that takes a text may mean the text.
		{`{"text":"5"}`, "", ""}, {`{"textual":"true"}`, "", ""}, {`{"auto":"true"}`, "", ""}, {`{"many":"5"}`, "", ""}, {`{"free":"5"}`, "", ""},

		// What needs a guess.
		{`{"level":"1"}`, "", ""}, {`{"kind":"1"}`, "", ""}, {`{"yes":"true"}`, "", ""}, {`{"maybeLevel":"1"}`, "", ""}, {`{"s":5}`, "", ""}, {`{"day":5}`, "", ""}, {`{"on":true,"tgas":["a"]}`, "", ""},
		{`{"tag":["a"]}`, "", ""}, {`{"no_force":"true"}`, "", ""}, {`{"ids":5}`, "", ""}, {`{"at":{"x":"1","z":"2"}}`, "", ""}, {`{"at":{"y":"1"}}`, "", ""}, {`{"n":"5","s":5}`, "", ""}, {`{"n":"5","tgas":[]}`, "", ""},
		{`{"at":{"x":1.5}}`, "", ""}, {`{"n":["5"]}`, "", ""}, {`{"n":{"value":5}}`, "", ""}, {`{"never":"5"}`, "", ""},

		// Wrapped.
		{`{"arguments":{"n":5}}`, `{"n":5}`, "arguments:unwrapped"},
		{`{"params":{"n":5,"s":"a"}}`, `{"n":5,"s":"a"}`, "params:unwrapped"},
		{`{"input":{}}`, `{}`, "input:unwrapped"},
		{`"{\"n\":5}"`, `{"n":5}`, ":text_to_arguments"},
		{`{"arguments":{"n":"5"}}`, "", ""}, {`{"arguments":{"arguments":{"n":5}}}`, "", ""}, {`{"arguments":"{\"n\":5}"}`, "", ""}, {`{"arguments":{"n":5},"name":"it"}`, "", ""}, {`{"arguments":{"n":5},"n":5}`, "", ""}, {`{"Arguments":{"n":5}}`, "", ""},
		{`{"args":{"n":5}}`, "", ""}, {`{"data":{"n":5}}`, "", ""}, {`{"arguments":[{"n":5}]}`, "", ""}, {`"n"`, "", ""}, {`"[1]"`, "", ""}, {`"\"{}\""`, "", ""}, {`"{\"n\":5,\"n\":6}"`, "", ""}, {`["n"]`, "", ""}, {`null`, "", ""}, {``, "", ""}, {`{`, "", ""},
		{`{"n":5,"n":"6"}`, "", ""},
	} {
		mended, changes := s.Mend([]byte(c.sent), false, "")
		require.Equal(t, c.meant, string(mended), c.sent)
		require.Equal(t, c.changes, kindsOf(changes), c.sent)
		require.Equal(t, c.meant == "", mended == nil, c.sent)
	}
	mended, _ := s.Mend([]byte(`{"tags":"[\"`+strings.Repeat("a", 64<<10)+`\"]"}`), false, "")
	require.Nil(t, mended, "too large")
}

func kindsOf(changes []wire.Change) string {
	var all []string
	for _, c := range changes {
		all = append(all, c.Argument+":"+c.Kind)
	}
	return strings.Join(all, " ")
}

// TestMendNull: null is left out of a call that only reads, or where the schema says that null is the default.
func TestMendNull(t *testing.T) {
	const required = `{"properties":{"n":{"type":"integer"},"m":{"type":"integer"}},"required":["n"]}`
	for _, c := range []struct{ schema, sent, reads, writes string }{
		{mendable, `{"n":null,"s":"a"}`, `{"s":"a"}`, ""},
		{mendable, `{"none":null}`, `{}`, `{}`},
		{mendable, `{"ten":null}`, `{}`, ""},
		{mendable, `{"password":null}`, `{}`, ""},
		{mendable, `{"maybe":null,"n":null}`, `{"maybe":null}`, ""},
		{mendable, `{"at":{"x":null}}`, "", ""},
		{mendable, `{"map":{"a":null}}`, "", ""},
		{mendable, `{"ids":[null]}`, "", ""},
		{mendable, `{"rows":[{"q":null}]}`, `{"rows":[{}]}`, ""},
		{mendable, `{"level":null}`, `{}`, ""}, {mendable, `{"kind":null}`, `{}`, ""}, {mendable, `{"yes":null}`, `{}`, ""},
		{mendable, `{"on":null,"tgas":1}`, "", ""},
		{mendable, `{"on":null,"n":"5"}`, `{"n":5}`, ""},
		{required, `{"n":null}`, "", ""},
		{required, `{"n":1,"m":null}`, `{"n":1}`, ""},
		{`{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":null,"b":1}`, "", ""},
		{`{"properties":{"a":{"type":"integer"}},"minProperties":1}`, `{"a":null}`, "", ""},
		{`{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"dependentRequired":{"b":["a"]}}`, `{"a":null,"b":1}`, "", ""},
		{`{"properties":{"a":{"allOf":[{"type":"integer"},{"default":null}]}}}`, `{"a":null}`, `{}`, `{}`},
	} {
		s := mustCompile(t, c.schema)
		reads, changes := s.Mend([]byte(c.sent), true, "")
		require.Equal(t, c.reads, string(reads), c.sent)
		require.Equal(t, reads != nil, strings.Contains(kindsOf(changes), ":null_left_out"), c.sent)
		writes, _ := s.Mend([]byte(c.sent), false, "")
		require.Equal(t, c.writes, string(writes), c.sent)
	}
}

// TestMendOneReading: where the schema allows another reading, nothing is mended.
func TestMendOneReading(t *testing.T) {
	for _, c := range []struct{ schema, sent, meant string }{
		// A member around the arguments that the schema has, or leaves open on purpose.
		{`{"properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`, `{"input":{"input":"a"}}`, ""},
		{`{"properties":{"input":{"type":"object"},"a":{}},"required":["a"]}`, `{"input":{"a":1}}`, ""},
		{`{"properties":{"a":{}},"required":["a"],"additionalProperties":{"type":"object"}}`, `{"input":{"a":1}}`, ""},
		{`{"properties":{"a":{}},"required":["a"],"patternProperties":{"^in":{"type":"string"}}}`, `{"input":{"a":1}}`, ""},
		{`{"properties":{"a":{},"input":false},"required":["a"]}`, `{"input":{"a":1}}`, ""},
		{`{"properties":{"a":{}},"required":["a"],"anyOf":[{"properties":{"params":{"type":"null"}}},{}]}`, `{"params":{"a":1}}`, ""},
		{`{"properties":{"a":{"properties":{"input":{}}}},"required":["a"]}`, `{"input":{"a":{"input":1}}}`, `{"a":{"input":1}}`},
		{`{"properties":{"a":{}},"required":["a"]}`, `{"input":{"a":1}}`, `{"a":1}`},
		{`{"properties":{"a":{}},"required":["a"],"additionalProperties":true}`, `{"input":{"a":1}}`, `{"a":1}`},
		{`{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"input":{"a":1}}`, `{"a":1}`},
		{`{"properties":{"a":{}}}`, `{"input":{"a":1}}`, ""}, // which is valid

		// Forms.
		{`{"anyOf":[{"properties":{"x":{"type":"integer"}},"required":["x"]},{"properties":{"x":{"type":"string"},"y":{}},"required":["x","y"]}]}`, `{"x":"5"}`, ""},
		{`{"anyOf":[{"properties":{"x":{"type":"integer"}},"required":["x"]},{"additionalProperties":{"type":"string"},"required":["x","y"]}]}`, `{"x":"5"}`, ""},
		{`{"oneOf":[{"properties":{"of":{"const":"a"},"x":{"type":"integer"}},"required":["of","x"]},{"properties":{"of":{"const":"b"},"x":{"type":"string"}},"required":["of","x"]}]}`, `{"of":"a","x":"5"}`, ""},
		{`{"oneOf":[{"properties":{"of":{"const":"a"},"x":{"type":"integer"}},"required":["of","x"]},{"properties":{"of":{"const":"b"},"y":{"type":"integer"}},"required":["of","y"]}]}`, `{"of":"a","x":"5"}`, `{"of":"a","x":5}`},
		{`{"properties":{"x":{"oneOf":[{"type":"integer"},{"type":"number"}]}}}`, `{"x":"5"}`, ""},
		{`{"properties":{"x":{"oneOf":[{"type":"integer"},{"type":"boolean"}]}}}`, `{"x":"5"}`, `{"x":5}`},
		{`{"properties":{"x":{"anyOf":[{"type":"array"},{"type":"object"}]}}}`, `{"x":"{}"}`, `{"x":{}}`},
		{`{"properties":{"x":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"string","maxLength":2}]}}}`, `{"x":"[\"a\"]"}`, ""},
		{`{"properties":{"x":{"type":"integer"}},"patternProperties":{"^x":{"type":["string","integer"]}}}`, `{"x":"5"}`, ""},
		{`{"properties":{"x":{"type":"integer"},"m":{}},"if":{"properties":{"m":{"const":1}}},"then":{"properties":{"x":{"type":"string"}}}}`, `{"x":"5","m":2}`, ""},
		{`{"properties":{"x":{"if":{"type":"string"},"then":{"type":"integer"}}}}`, `{"x":"5"}`, ""},
		{`{"properties":{"x":{"type":"integer","not":{"const":5}}}}`, `{"x":"5"}`, ""},
		{`{"properties":{"x":{"type":"integer"},"y":{"not":{"const":1}}}}`, `{"x":"5","y":1}`, ""},
		{`{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"array","items":{"$ref":"#/$defs/a"}}}}`, `{"x":"[[]]"}`, `{"x":[[]]}`},
	} {
		mended, _ := mustCompile(t, c.schema).Mend([]byte(c.sent), true, "")
		require.Equal(t, c.meant, string(mended), "%s\n%s", c.schema, c.sent)
	}
}

// TestMendHasNoNames: what is said of a change shows no name that may be a secret.
func TestMendHasNoNames(t *testing.T) {
	s := mustCompile(t, `{"type":"object","additionalProperties":{"type":"integer"}}`)
	mended, changes := s.Mend([]byte(`{"ghp_16C7e42F292c6912E7710c838347Ae178B4a":"5"}`), false, "")
	require.NotNil(t, mended)
	require.NotContains(t, kindsOf(changes), "16C7e42F292c6912E7710c838347Ae178B4a")
}

// TestMendBounds: very many changes are not made.
func TestMendBounds(t *testing.T) {
	s := mustCompile(t, mendable)
	list := func(n int) []byte { return []byte(`{"ids":[` + strings.Repeat(`"1",`, n-1) + `"1"]}`) }
	mended, changes := s.Mend(list(100), false, "")
	require.NotNil(t, mended)
	require.Len(t, changes, 100)
	mended, _ = s.Mend(list(101), false, "")
	require.Nil(t, mended)
}

// TestMendSpoilt spoils right calls in each way: what is mended is the right call, or nothing.
func TestMendSpoilt(t *testing.T) {
	tried, mended := map[string]int{}, map[string]int{}
	for _, c := range calls {
		s := mustCompile(t, c.schema)
		for _, w := range ways {
			spoilt := []string{}
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
				if s.Valid([]byte(args)) {
					continue
				}
				tried[w.name]++
				for _, readOnly := range []bool{false, true} {
					if got, _ := s.Mend([]byte(args), readOnly, ""); got != nil {
						require.JSONEq(t, c.args, string(got), "%s\n%s\n%s", w.name, c.schema, args)
						mended[w.name]++
					}
				}
			}
		}
	}
	always := []string{"quoted number", "quoted boolean", "list as text", "object as text", "in arguments", "in params", "as text"}
	for _, w := range ways {
		require.Positive(t, tried[w.name], w.name)
		if !slices.Contains(append(always, "in input"), w.name) {
			require.Zero(t, mended[w.name], w.name)
		}
	}
	for _, name := range always {
		require.GreaterOrEqual(t, 10*mended[name], 2*8*tried[name], "%s: %d of %d", name, mended[name], tried[name])
	}
}

// TestMendKeepsMeaning: no opposite name is mended, wherever it stands.
func TestMendKeepsMeaning(t *testing.T) {
	for _, file := range []string{"opposites.txt", "misspelled.txt"} {
		for _, names := range namesIn(t, file) {
			for _, n := range positions {
				mended, _ := mustCompile(t, written(t, n.schema, names)).Mend([]byte(written(t, n.sent, names)), true, "")
				require.Nil(t, mended, "%s: %q", n.name, names)
			}
		}
	}
}

// TestMendGrowth: what Mend costs does not grow faster than what was sent.
func TestMendGrowth(t *testing.T) {
	cost := func(s *explain.Schema, args []byte) int {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s.Mend(args, true, "")
		runtime.ReadMemStats(&after)
		return int(after.TotalAlloc - before.TotalAlloc)
	}
	for name, h := range hostile {
		s := mustCompile(t, h.schema)
		n := 1 << 13
		for n > 1 && len(h.args(4*n)) > 60<<10 {
			n /= 2
		}
		once, more := cost(s, []byte(h.args(n))), cost(s, []byte(h.args(4*n)))
		require.Less(t, more, 6*once+1<<20, name)
	}
	s := mustCompile(t, mendable)
	list := func(n int) []byte {
		return []byte(`{"tags":` + strconv.Quote(`[`+strings.Repeat(`"a",`, n-1)+`"a"]`) + `}`)
	}
	require.Less(t, cost(s, list(8000)), 6*cost(s, list(2000))+1<<20)
	quoted := func(n int) []byte { return []byte(`{"ids":[` + strings.Repeat(`"1",`, n-1) + `"1"]}`) }
	require.Less(t, cost(s, quoted(12000)), 6*cost(s, quoted(3000))+1<<20)
}

// FuzzMend: what is mended is valid by the schema and not mended again, and nothing that is valid is mended.
func FuzzMend(f *testing.F) {
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
	f.Add(mendable, `{"n":"5","at":"{\"x\":1}","rows":[{"tags":"[]","q":null}]}`)
	f.Add(mendable, `"{\"n\":5}"`)
	f.Add(`{"anyOf":[{"properties":{"x":{"type":"integer"}}},{"properties":{"x":{"type":"string"}}}]}`, `{"x":"5"}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		s, err := explain.Compile([]byte(schema))
		if err != nil {
			return
		}
		for _, readOnly := range []bool{false, true} {
			mended, changes := s.Mend([]byte(args), readOnly, "")
			require.Equal(t, mended == nil, changes == nil)
			if mended == nil {
				continue
			}
			require.NotNil(t, s.Explain([]byte(args), false), "it was valid")
			require.Nil(t, s.Explain(mended, false), "%s", mended)
			again, _ := s.Mend(mended, readOnly, "")
			require.Nil(t, again)
			for _, c := range changes {
				require.NotContains(t, c.Argument, "\n")
			}
		}
	})
}

func BenchmarkMend(b *testing.B) {
	s := mustCompile(b, order)
	for name, args := range map[string]string{
		"mended":  `{"sku":"ABC-1","quantity":"3","tags":"[\"a\",\"b\"]","express":"true"}`,
		"refused": badOrder,
		"valid":   goodOrder,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Mend([]byte(args), false, "")
			}
		})
	}
}
