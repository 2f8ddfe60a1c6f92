package scrub

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const ghp = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

func TestWholeJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"b":[true,null,"x"],"c":{}}`:                             ``,
		` { "b" : 1.50 , "a" : [ ] } `:                                   ``,
		`{"password":"hunter2","b":1}`:                                   `{"password":"[redacted]","b":1}`,
		`{"\u0070assword":"a\"b\\"}`:                                     `{"\u0070assword":"[redacted]"}`,
		`{"password":""}`:                                                ``,
		`{"password":null,"secret":true}`:                                ``,
		`{"pin":1234,"pin_code":-12.5e3,"x":1234}`:                       `{"pin":0,"pin_code":0,"x":1234}`,
		`{"tokens":512,"token":512,"secret":0}`:                          `{"tokens":512,"token":0,"secret":0}`,
		`{"secrets":{"a":["x",{"b":"y","c":3}],"d":[]}}`:                 `{"secrets":{"a":["[redacted]",{"b":"[redacted]","c":0}],"d":[]}}`,
		`{"password":{"type":"string","title":"Yours"}}`:                 ``,
		`{"password":{"type":["string","null"]}}`:                        ``,
		`{"password":{"$ref":"#/$defs/p"}}`:                              ``,
		`{"password":{"kind":"type","string":"hunter2"}}`:                `{"password":{"kind":"type","string":"[redacted]"}}`,
		`{"credentials":{"type":"oauth","value":"v"}}`:                   `{"credentials":{"type":"oauth","value":"[redacted]"}}`,
		`["` + ghp + `"]`:                                                `["[redacted]"]`,
		`{"` + ghp + `":1,"` + ghp[:30] + `0123456789":2}`:               `{"[redacted]":1,"[redacted] (2)":2}`,
		`{"a":"{\"token\":\"hunter2\"}"}`:                                `{"a":"{\"token\":\"[redacted]\"}"}`,
		`"password=hunter2 <b>"`:                                         `"password=[redacted] <b>"`,
		`{"raw":"dG9rZW49a2FuYXJpZW52b2dlbDd4","id":"c2ltcGxlIHRleHQ="}`: `{"raw":"[redacted]","id":"c2ltcGxlIHRleHQ="}`,
		`7`: ``,
		`[{"name":"DB_PASSWORD","value":"x"},{"name":"A","value":"x"},{"Key":"api_key","Value":"y"}]`: `[{"name":"DB_PASSWORD","value":"[redacted]"},{"name":"A","value":"x"},{"Key":"api_key","Value":"[redacted]"}]`,
		`{"name":"token","value":"required","values":["x"]}`:                                          ``,
		`{"name":"token","value":5,"x":{"value":"y"}}`:                                                ``,
		`{"token":"a","token":"b"}`:                                                                   `{"token":"[redacted]","token":"[redacted]"}`,
	} {
		if want == "" {
			want = in
		}
		require.Equal(t, want, string(WholeJSON([]byte(in))), in)
		require.True(t, json.Valid([]byte(want)))
	}
}

// TestDeclarationsAreLinear: a schema is told by what stands at its end, too, and not looked for again in each object
// of a text that has thousands of them in one another.
func TestDeclarationsAreLinear(t *testing.T) {
	late := `{"password":{"description":"` + strings.Repeat("of the account ", 100) + `","type":"string"}}`
	require.Equal(t, late, string(WholeJSON([]byte(late))))
	for _, open := range []string{`{"token":`, `{"token":{"type":`} {
		n := 8000 / strings.Count(open, "{")
		deep := strings.Repeat(open, n) + `{"a":"` + strings.Repeat("x ", 10_000) + `","type":"string"}` +
			strings.Repeat(strings.Repeat(`,"type":"string"}`, strings.Count(open, "{")), n)
		require.True(t, json.Valid([]byte(deep)))
		r := rewriting{s: deep, clean: func(s string) string { return s }}
		r.value(under{})
		require.Less(t, r.ahead, 6*len(deep))
		require.Contains(t, string(WholeJSON([]byte(deep))), `"a":"[redacted]"`)
	}
}

func TestCredentialsIn(t *testing.T) {
	asked := func(name string) bool { return name == "asked" || name == "api_key" }
	for in, want := range map[string]string{
		`{"a":1,"b":["x"],"api_key":"k","password":"","secret":null,"token":true}`: "",
		`{"asked":["` + ghp + `",{"password":"x"}],"b":"y"}`:                       "",
		`{"a":["x",{"b":"Bearer ` + ghp + `"}],"c":"` + ghp + `"}`:                 "a/1/b c",
		`{"password":{"user":"u","list":["a","b"]},"pin":1234}`:                    "password pin",
		`{"credentials":{"type":"oauth","value":"v"}}`:                             "credentials",
		`{"a":"` + ghp + `","a":"x"}`:                                              "a", // which a decoder does not see
		`{"` + ghp + `":{"b":"` + ghp + `"}}`:                                      ghp,
		`"` + ghp + `"`:                                                            ".",
		`["` + ghp + `","` + ghp + `","` + ghp + `","` + ghp + `","` + ghp + `"]`:  "0 1 2 3",
	} {
		var got []string
		for _, at := range CredentialsIn([]byte(in), asked, 4) {
			got = append(got, cmp.Or(strings.Join(at, "/"), "."))
		}
		require.Equal(t, want, strings.Join(got, " "), in)
	}
}

// TestWholeIsNotCut: what a credential stands behind stays as long as it is.
func TestWholeIsNotCut(t *testing.T) {
	prose := strings.Repeat("An ordinary line of a report about nothing at all.\n", 20_000)
	require.Equal(t, prose, Whole(prose))
	text := Whole(prose + "token=" + ghp + "\n" + prose)
	require.Len(t, text, 2*len(prose)+len("token=[redacted]\n"))
	raw := []byte(`{"text":` + fmt.Sprintf("%q", prose) + `,"list":[` + strings.Repeat(`{"n":1},`, 50_000) + `{"token":"` + ghp + `"}]}`)
	clean := WholeJSON(raw)
	require.Len(t, clean, len(raw)-len(ghp)+len(Redacted))
	require.NotContains(t, string(clean), ghp)
}

// FuzzWholeJSON: what comes out is valid, has the same shape, and nothing is found in it any more.
func FuzzWholeJSON(f *testing.F) {
	f.Add(`{"password":{"a":["x",1,true,null]},"x":"Bearer ` + ghp + `"}`)
	f.Add(`{"pin":{"type":"string"},"\u0070in":"\ud800","a\"":1e400}`)
	f.Fuzz(func(t *testing.T, in string) {
		var before, after any
		if json.Unmarshal([]byte(in), &before) != nil {
			t.Skip("no JSON")
		}
		out := WholeJSON([]byte(in))
		require.NoError(t, json.Unmarshal(out, &after))
		require.True(t, sameShape(before, after), "%s became %s", in, out)
		if again := WholeJSON(out); !strings.Contains(string(out), "[redacted] (") {
			require.Equal(t, string(out), string(again))
		}
	})
}

// sameShape reports whether two values have the same types. Names may differ.
func sameShape(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, e := range a {
			if other, there := b[name]; there && !sameShape(e, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameShape(a[i], b[i]) {
				return false
			}
		}
		return true
	default:
		return reflect.TypeOf(a) == reflect.TypeOf(b)
	}
}
