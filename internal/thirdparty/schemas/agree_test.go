// Package schemas compares what internal/explain says of arguments with what two libraries do.
package schemas

import (
	"bytes"
	"encoding/json"
	"flag"
	"regexp"
	"strings"
	"testing"

	google "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/explain/randomschema"
)

var rounds = flag.Int("rounds", 300, "so many schemas of each draft, each with ten values")

var drafts = []int{4, 6, 7, 2019, 2020}

// lenient takes a pattern that regexp cannot read for one that matches everything, as explain does.
type lenient struct {
	text string
	re   *regexp.Regexp
}

func (p lenient) String() string            { return p.text }
func (p lenient) MatchString(s string) bool { return p.re == nil || p.re.MatchString(s) }

func compileOther(t testing.TB, text []byte) (*jsonschema.Schema, error) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		re, _ := regexp.Compile(text)
		return lenient{text, re}, nil
	})
	require.NoError(t, c.AddResource("https://schema.invalid/", doc))
	return c.Compile("https://schema.invalid/")
}

// forOther returns a schema without what stands beside references, which old drafts ignore. That library
// heeds const, contains, propertyNames and if there.
func forOther(t testing.TB, draft int, document map[string]any) []byte {
	t.Helper()
	if draft < 2019 {
		alone(document)
	}
	text, err := json.Marshal(document)
	require.NoError(t, err)
	return text
}

func alone(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if alone(member); v["$ref"] != nil && name != "$ref" {
				delete(v, name)
			}
		}
	case []any:
		for _, item := range v {
			alone(item)
		}
	}
}

// TestAgreesWithTwoLibraries makes random schemas of each draft and values: what explain finds wrong is
// what santhosh-tekuri/jsonschema finds invalid, and, of the two drafts that it knows, what the library of
// the SDK does.
func TestAgreesWithTwoLibraries(t *testing.T) {
	valid, invalid, bySDK := 0, 0, 0
	for seed := range *rounds {
		for _, draft := range drafts {
			g := randomschema.New(uint64(seed), uint64(draft))
			document := g.Document(draft, 3)
			text, err := json.Marshal(document)
			require.NoError(t, err)
			if bytes.Contains(text, []byte(`"propertyNames":{"$recursiveRef"`)) || bytes.Contains(text, []byte(`"propertyNames":{"$dynamicRef"`)) {
				continue // santhosh-tekuri forgets by which way it came to a name
			}
			ours, err := explain.Compile(text)
			require.NoError(t, err, "%s", text)
			other, err := compileOther(t, forOther(t, draft, document))
			require.NoError(t, err, "%s", text)
			sdk := ofSDK(t, draft, text)
			for range 10 {
				args := g.Value(3, false)
				report := ours.Explain([]byte(args), false)
				if report == nil {
					valid++
				} else {
					invalid++
				}
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(args))
				require.NoError(t, err)
				if err = other.Validate(value); (err != nil) != (report != nil) {
					t.Fatalf("draft %d, seed %d\n%s\n%s\nexplain: %v\nsanthosh-tekuri: %v", draft, seed, text, args, report, err)
				}
				if sdk == nil {
					continue
				}
				bySDK++
				var plain any
				require.NoError(t, json.Unmarshal([]byte(args), &plain))
				if err = sdk.Validate(plain); (err != nil) != (report != nil) {
					t.Fatalf("draft %d, seed %d\n%s\n%s\nexplain: %v\nthe SDK: %v", draft, seed, text, args, report, err)
				}
			}
		}
	}
	t.Log(valid, invalid, bySDK)
	require.Greater(t, valid, *rounds)
	require.Greater(t, invalid, *rounds)
	require.Greater(t, bySDK, *rounds)
}

// ofSDK returns a schema as the library of the SDK compiles it, nil where that is known to differ.
func ofSDK(t *testing.T, draft int, text []byte) *google.Resolved {
	t.Helper()
	for _, known := range []bool{
		draft != 7 && draft != 2020,                                 // it knows no others
		bytes.Contains(text, []byte(`"multipleOf":0.1`)),            // it divides floats: 0.3 is no multiple of 0.1 there
		bytes.Contains(text, []byte(`"(?=a)a"`)),                    // it refuses patterns that regexp cannot read
		bytes.Contains(text, []byte(`"dependencies"`)) && draft > 7, // no keyword of this draft for it
		bytes.Contains(text, []byte(`"format"`)) && draft == 7,      // it checks no formats
	} {
		if known {
			return nil
		}
	}
	for _, newer := range []string{"minContains", "maxContains", "unevaluated", "dependent", "prefixItems"} {
		if draft == 7 && bytes.Contains(text, []byte(`"`+newer)) {
			return nil // it takes keywords of later drafts for those of this one
		}
	}
	var schema google.Schema
	require.NoError(t, json.Unmarshal(text, &schema), "%s", text)
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err, "%s", text)
	return resolved
}
