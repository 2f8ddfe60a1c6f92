package explain_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	google "github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/jsons"
)

// TestTheSDKDecides: over all cases, explain finds something wrong where the package that the SDK validates with does,
// and nowhere else.
func TestTheSDKDecides(t *testing.T) {
	table, err := os.ReadFile("testdata/cases.txt")
	require.NoError(t, err)
	var resolved *google.Resolved
	var compiled *explain.Schema
	valid, invalid := 0, 0
	for line := range strings.Lines(string(table)) {
		switch kind, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); kind {
		case "S":
			compiled = mustCompile(t, text)
			var schema google.Schema
			require.NoError(t, json.Unmarshal([]byte(text), &schema))
			resolved, _ = schema.Resolve(nil) // of patterns that regexp cannot read there is none
		case "A":
			var args any
			if resolved == nil || !jsons.Clear([]byte(text)) || json.Unmarshal([]byte(text), &args) != nil {
				continue
			}
			switch report := compiled.Explain([]byte(text), false); {
			case resolved.Validate(args) == nil:
				valid++
				require.Nil(t, report, "%s\n%s", text, report.Text())
			default:
				invalid++
				require.NotNil(t, report, text)
			}
		}
	}
	require.Greater(t, valid, 10)
	require.Greater(t, invalid, 200)
}

// TestDefaultsAreThoseOfTheSDK compares with what the SDK fills in for typed tools.
func TestDefaultsAreThoseOfTheSDK(t *testing.T) {
	schemas := []string{
		`{}`,
		`{"type":"object","properties":{"a":{"default":1},"b":{"default":"x"},"c":{}}}`,
		`{"type":"object","properties":{"a":{"default":1},"b":{"default":2}},"required":["a"]}`,
		`{"type":"object","properties":{"o":{"type":"object","properties":{"x":{"default":1},"y":{"properties":{"z":{"default":[1,{"b":null}]}}}}}}}`,
		`{"type":"object","properties":{"o":{"required":["x"],"properties":{"x":{"default":1}}}}}`,
		`{"type":"object","properties":{"o":{"default":{"x":5},"properties":{"x":{"default":1},"y":{"default":2}}}}}`,
		`{"type":"object","required":["o"],"properties":{"o":{"properties":{"x":{"default":1}}}}}`,
		`{"type":"object","properties":{"l":{"items":{"properties":{"x":{"default":1}}}},"n":{"default":null}}}`,
		`{"type":"object","properties":{"r":{"$ref":"#/$defs/d"}},"$defs":{"d":{"default":3,"properties":{"x":{"default":1}}}}}`,
		`{"type":"object","allOf":[{"properties":{"a":{"default":1}}}],"properties":{"b":{"default":true}}}`,
		`{"type":"object","properties":{"default":{"type":"string"}}}`,
		`{"type":"object","properties":{"a":true,"b":{"default":false}}}`,
	}
	args := []string{
		``, `{}`, `{"a":7}`, `{"b":null}`, `{"o":{}}`, `{"o":{"x":3}}`, `{"o":{"y":{"z":1}}}`, `{"o":null}`, `{"o":[]}`, `{"o":"text"}`,
		`{"l":[{}]}`, `{"r":{}}`, `{"z":1,"a":[1,2],"o":{"y":{}}}`, "{\"a\":\"é \\u0041 <&>\"}",
	}
	for _, text := range schemas {
		var schema google.Schema
		require.NoError(t, json.Unmarshal([]byte(text), &schema))
		resolved, err := schema.Resolve(nil)
		require.NoError(t, err)
		compiled, err := explain.Compile([]byte(text))
		require.NoError(t, err)
		for _, arg := range args {
			want := map[string]any{}
			if arg != "" {
				require.NoError(t, json.Unmarshal([]byte(arg), &want))
			}
			require.NoError(t, resolved.ApplyDefaults(&want))
			wantText, err := json.Marshal(want)
			require.NoError(t, err)
			have := compiled.Defaults([]byte(arg))
			require.JSONEq(t, string(wantText), string(have), "%s\n%s", text, arg)
		}
	}
}

func TestDefaults(t *testing.T) {
	s, err := explain.Compile([]byte(`{"type":"object","properties":{"n":{"type":"integer"},"unit":{"default":"celsius"}}}`))
	require.NoError(t, err)
	for args, want := range map[string]string{
		`{"n":12345678901234567890,"m":1.0}`: `{"m":1.0,"n":12345678901234567890,"unit":"celsius"}`, // nothing is rounded
		`{"n":1,"n":2}`:                      `{"n":2,"unit":"celsius"}`,
		`null`:                               `null`,
		`[1]`:                                `[1]`,
		"\t":                                 `{"unit":"celsius"}`,
	} {
		have := s.Defaults([]byte(args))
		require.Equal(t, want, string(have))
	}
	for _, args := range []string{`{"n":`, strings.Repeat("[", 1001)} {
		require.Equal(t, args, string(s.Defaults([]byte(args))))
	}

	plain, err := explain.Compile([]byte(`{"type":"object"}`))
	require.NoError(t, err)
	args := []byte(`{"a":1}`)
	have := plain.Defaults(args)
	require.Same(t, &args[0], &have[0]) // nothing to do, nothing copied
}

// TestDefaultsOfTheSuite compares with the SDK over all schemas of the suite that
// have defaults.
func TestDefaultsOfTheSuite(t *testing.T) {
	groups := suiteGroups(t, "draft2020-12")["default.json"]
	require.NotEmpty(t, groups)
	for _, g := range groups {
		var schema google.Schema
		require.NoError(t, json.Unmarshal(g.Schema, &schema))
		resolved, err := schema.Resolve(nil)
		require.NoError(t, err)
		compiled, err := explain.Compile(g.Schema)
		require.NoError(t, err)
		want := map[string]any{}
		require.NoError(t, resolved.ApplyDefaults(&want))
		wantText, err := json.Marshal(want)
		require.NoError(t, err)
		have := compiled.Defaults(nil)
		require.JSONEq(t, string(wantText), string(have))
	}
}
