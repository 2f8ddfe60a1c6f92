package jsons_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/jsons"
)

var shape = jsons.Shape{"params": {"_meta": {}}, "result": {}}

func TestMembers(t *testing.T) {
	line := ` { "a":1 , "params" : {"x" : "y", "_meta":{"t" :[1 , {"t":2}] }} ,"\u0062":null}`
	d, err := jsons.Strict([]byte(line), shape)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "params", "b"}, d.Names())
	require.Equal(t, []string{"x", "_meta"}, d.Names("params"))
	require.Equal(t, `1`, string(d.Value("a")))
	require.Equal(t, `null`, string(d.Value("b")))
	require.Equal(t, `"y"`, string(d.Value("params", "x")))
	require.Equal(t, `[1 , {"t":2}]`, string(d.Value("params", "_meta", "t")))
	require.Equal(t, `{"t" :[1 , {"t":2}] }`, string(d.Value("params", "_meta")))
	require.Nil(t, d.Value("params", "none"))
	require.Nil(t, d.Value("a", "none"))
	require.Nil(t, d.Value("params", "_meta", "t", "t"), "not in the shape")
}

func TestCount(t *testing.T) {
	d, err := jsons.Strict([]byte(`{"a":1,"params":{"x":[1,{"y":[]}],"_meta":{"t":2}}}`), shape)
	require.NoError(t, err)
	for path, want := range map[string]int{"": 9, "a": 1, "params": 7, "params/x": 4, "params/_meta": 2, "params/_meta/t": 1, "none": 0, "params/x/y": 0} {
		require.Equal(t, want, d.Count(strings.FieldsFunc(path, func(r rune) bool { return r == '/' })...), path)
	}
	require.Equal(t, 4, d.With([]byte(`5`), "a").Count("params", "x"))

	// Two IDs are known behind as many other names as there may be.
	wide := `{"id":1`
	for i := range jsons.MaxRead {
		wide += `,"n` + strconv.Itoa(i) + `":0`
	}
	d, err = jsons.Strict([]byte(wide+`,"id":2}`), shape)
	require.Error(t, err)
	require.Len(t, d.Values("id"), 2)
}

func TestWith(t *testing.T) {
	line := `{"id" : 1, "params":{"_meta":{"t": "long text","u":2},"z":3},"last":4}`
	d, err := jsons.Strict([]byte(line), shape)
	require.NoError(t, err)
	d = d.With([]byte(`7`), "params", "_meta", "t").With([]byte(`"longer"`), "id").With([]byte(`55`), "last")
	require.Equal(t, `{"id" : "longer", "params":{"_meta":{"t": 7,"u":2},"z":3},"last":55}`, string(d.Text))
	for path, want := range map[string]string{"id": `"longer"`, "params/_meta/t": `7`, "params/_meta/u": `2`, "params/z": `3`, "params": `{"_meta":{"t": 7,"u":2},"z":3}`, "last": `55`} {
		require.Equal(t, want, string(d.Value(strings.Split(path, "/")...)), path)
	}
	require.Same(t, d, d.With([]byte(`1`), "none"))
	require.Equal(t, `{}`, string(d.With([]byte(`{}`), "params").Value("params")))
	require.Nil(t, d.With([]byte(`{}`), "params").Value("params", "z"))

	require.Equal(t, `{"a":1,"\"":[2]}`, string(jsons.Written(jsons.Member{"a", []byte(`1`)}, jsons.Member{"b", nil}, jsons.Member{`"`, []byte(`[2]`)})))
}

func TestStrict(t *testing.T) {
	deep := strings.Repeat("[", jsons.MaxDepth) + strings.Repeat("]", jsons.MaxDepth)
	wide := ""
	for i := range jsons.MaxRead {
		wide += strconv.Quote(strconv.Itoa(i)) + ":0,"
	}
	for text, want := range map[string]string{
		`{"a":1,"a":2}`:                                               `the name "a" stands twice in an object`,
		`{"a":1,"\u0061":2}`:                                          `the name "a" stands twice in an object`,
		`{"a":1,"A":2}`:                                               `the names "a" and "A" differ in their case only`,
		`{"params":{"name":1,"Name":2}}`:                              `the names "name" and "Name" differ in their case only`,
		`{"params":{"_meta":{"k":1,"\u212a":2}}}`:                     `the names "k" and "\u212a" differ in their case only`,
		`{"params":{"x":[{"a":{"b":1,"b":2}}]}}`:                      `the name "b" stands twice in an object`,
		`{"params":{"\ud800":1,"\uD800":2}}`:                          `the name "\ufffd" stands twice in an object`,
		`{"params":{"\ud83d\ude00":1,"😀":2}}`:                         `the name "\U0001f600" stands twice in an object`,
		`{"params":{"arguments":{"a":1,"A":2}}}`:                      ``,
		`{"params":{"\ud800":1,"\ud801":2}}`:                          `the name "\ufffd" stands twice in an object`,
		"{\"a\":\"\xff\"}":                                            `it is not UTF-8`,
		"{\"a\":\"\xed\xa0\x80\"}":                                    `it is not UTF-8`,
		`{"a":"\ud800"}`:                                              ``,
		`{"a":1e400,"b":-0,"c":1.0}`:                                  ``,
		`{"a":` + deep + `}`:                                          `it is deeper than 512 values in each other`,
		`{"a":[` + strings.Repeat("1,", jsons.MaxValues) + `1]}`:      `it has more than 1000000 values`,
		`{"a":[` + strings.Repeat(`{"b":0},`, jsons.MaxNames) + `0]}`: `it has more than 250000 names`,
		`{"params":{` + wide + `"z":0}}`:                              `an object has more than 10000 names`,
		`{"x":{` + wide + `"z":0}}`:                                   ``,
		`[]`:                                                          `it is not an object`,
		`null`:                                                        `it is not an object`,
		``:                                                            `it is not JSON`,
		`{`:                                                           `it is not JSON`,
		`{"a":1,}`:                                                    `it is not JSON`,
		`{"a":01}`:                                                    `it is not JSON`,
		`{"a":1} {}`:                                                  `it is not JSON`,
		`{"a":'b'}`:                                                   `it is not JSON`,
		`{a:1}`:                                                       `it is not JSON`,
		"{\"a\":\"\r\"}":                                              `it is not JSON`,
		`{"a":[1 2]}`:                                                 `it is not JSON`,
		"{\"a\":[1\r2]}":                                              `it is not JSON`,
		"\ufeff{}":                                                    `it is not JSON`,
	} {
		d, err := jsons.Strict([]byte(text), shape)
		if want == "" {
			require.NoError(t, err, "%.60s", text)
			require.Equal(t, text, string(d.Text))
			continue
		}
		require.EqualError(t, err, "jsons: "+want, "%.60s", text)
		var refused *jsons.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, want == "it is not JSON", refused.Syntax)
		require.Equal(t, d == nil, refused.Syntax || want == "it is not an object", "%.60s", text)
	}
	items := func(n int) string { return `{"a":[` + strings.Repeat("1,", n-1) + `1]}` }
	require.NoError(t, strict(items(jsons.MaxValues-1)), "the list is a value, too")
	require.Error(t, strict(items(jsons.MaxValues)))
	many := make([]string, 0, 200)
	for i := range 200 {
		many = append(many, `"n`+strings.Repeat("x", i)+`":1`)
	}
	require.NoError(t, strict(`{"params":{`+strings.Join(many, ",")+`}}`))
	require.ErrorContains(t, strict(`{"params":{`+strings.Join(many, ",")+`,"Nxx":1}}`), "differ in their case only")
	require.ErrorContains(t, strict(`{"x":{`+strings.Join(many, ",")+`,"nxx":1}}`), "stands twice")
	require.NoError(t, strict(`{"x":{`+strings.Join(many, ",")+`,"Nxx":1}}`))
}

func strict(text string) error {
	_, err := jsons.Strict([]byte(text), shape)
	return err
}

// Readers of lines take CR for an end of a line, and JSON takes it for white space.
func TestBreaksBetweenTokens(t *testing.T) {
	d, err := jsons.Strict([]byte("{\r\"a\" :\n[1,\r\n 2] ,\r\"params\":{\"x\":\"\\r\"}}\r"), shape)
	require.NoError(t, err)
	require.Equal(t, `{"a" :[1, 2] ,"params":{"x":"\r"}}`, string(d.Text))
	value := d.Value("a")
	require.Equal(t, `[1, 2]`, string(value))
	require.Equal(t, len(value), cap(value), "who appends to it does not write into the text")
}

func TestTolerant(t *testing.T) {
	for _, line := range []string{
		`{"result":{"a":1,"a":2,"A":3},"id":1,"id":2}`, "{\"a\":\"\xff\"}", `{"a":"\ud800","b":1e400}`, "{\"a\":\r1}",
	} {
		d, err := jsons.Tolerant([]byte(line), shape)
		require.NoError(t, err, line)
		require.Equal(t, line, string(d.Text))
	}
	d, err := jsons.Tolerant([]byte(`{"result":{"a":1,"\u0061":2},"id":1,"id":2}`), shape)
	require.NoError(t, err)
	require.Len(t, d.Values("id"), 2)
	require.Equal(t, []json.RawMessage{json.RawMessage("1"), json.RawMessage("2")}, d.Values("result", "a"))
	require.Len(t, d.Values("result"), 1)
	require.Empty(t, d.Values("none", "none"))
	require.Equal(t, "1", string(d.Value("id")))
}

func TestText(t *testing.T) {
	for raw, want := range map[string]string{
		`""`: "", `"a\"\\\/\b\f\n\r\t"`: "a\"\\/\b\f\n\r\t", `"\u00e9é"`: "éé", `"\ud83d\ude00"`: "😀", `"\ud83dx"`: "\ufffdx",
		`"\ude00\ud83d"`: "\ufffd\ufffd", `"\ud83d\u0041"`: "\ufffdA", "\"\xff\"": "\ufffd",
	} {
		got, ok := jsons.Text(json.RawMessage(raw))
		require.True(t, ok)
		require.Equal(t, want, got, raw)
	}
	for _, raw := range []string{`1`, `null`, ``, `{}`} {
		_, ok := jsons.Text(json.RawMessage(raw))
		require.False(t, ok)
	}
	require.Equal(t, `"a\n\""`, string(jsons.Quoted("a\n\"")))
	require.True(t, json.Valid(jsons.Quoted("\xff\u2028")))
}

// TestFewAndManyNames: names of an object are compared with each other, or by a table when there are many.
func TestFewAndManyNames(t *testing.T) {
	for _, pair := range [][2]string{{"Name", "nAME"}, {"kſ", "\u212as"}, {"É", "é"}} {
		for _, others := range []int{0, 100} {
			text := "{"
			for i := range others {
				text += `"n` + strconv.Itoa(i) + `":0,`
			}
			require.ErrorContains(t, strict(text+`"`+pair[0]+`":1,"`+pair[1]+`":2}`), "differ in their case only")
			require.NoError(t, strict(text+`"`+pair[0]+`":1,"`+pair[1]+`x":2}`))
		}
	}
}

// FuzzStrict: what the strict reader takes, the standard library reads alike, and no change goes wrong.
func FuzzStrict(f *testing.F) {
	for _, seed := range []string{`{"params":{"_meta":{"a":1}},"id":2}`, `{"a":"\ud800"}`, "{\"a\":\r\n[1]}", `{"a":1,"a":2}`, "{\"\xff\":1}", `{"a":{}} x`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := jsons.Strict(text, shape)
		tolerant, loose := jsons.Tolerant(text, shape)
		if err != nil {
			return
		}
		require.NoError(t, loose)
		require.Equal(t, text, tolerant.Text)
		var members map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(d.Text, &members))
		require.NotContains(t, string(d.Text), "\r")
		for _, name := range d.Names() {
			require.Equal(t, string(tolerant.Value(name)) != "", len(d.Value(name)) > 0)
			require.True(t, json.Valid(d.Value(name)))
			changed := d.With([]byte(`[7]`), name)
			require.True(t, json.Valid(changed.Text))
			for _, other := range changed.Names() {
				require.True(t, json.Valid(changed.Value(other)))
			}
			require.Equal(t, `[7]`, string(changed.Value(name)))
		}
	})
}

func BenchmarkStrict(b *testing.B) {
	numbers := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","arguments":{"list":[` + strings.Repeat("123,", 25_000) + `1]}}}`
	objects := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","arguments":{"list":[` + strings.Repeat(`{"name":"x","value":1},`, 4_000) + `1]}}}`
	for name, text := range map[string]string{
		"call": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","arguments":{"a":"text","b":5}}}`, "numbers": numbers, "objects": objects,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_, _ = jsons.Strict([]byte(text), shape)
			}
		})
	}
}

func TestCompact(t *testing.T) {
	for raw, want := range map[string]string{
		" {\"a b\" : [1.0 ,\r\n\t\"\\\" \\ud800\" , \"\xff \"] , \"a b\":{ } } ": "{\"a b\":[1.0,\"\\\" \\ud800\",\"\xff \"],\"a b\":{}}",
		`{"a":1}}`: "", `{"a":01}`: "", ` `: "", "[\"\x01\"]": "",
	} {
		require.Equal(t, want, string(jsons.Compact([]byte(raw))), raw)
	}
	plain := []byte(`{"a":["b c",1e400]}`)
	require.Same(t, &plain[0], &jsons.Compact(plain)[0])
}
