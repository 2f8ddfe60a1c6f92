package call

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

func TestSchemaOf(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"a":{},"b":{"format":"password"}}}`:                                                 "B",
		`{"properties":{"a":{"properties":{"b":{"writeOnly":true}}}}}`:                                      "B",
		`{"properties":{"a":{"items":{"x-secret":true}}}}`:                                                  "A",
		`{"properties":{"a":{"prefixItems":[{},{"x-is-sensitive":true}]}}}`:                                 "A",
		`{"properties":{"a":{"x-sensitive":false},"b":{"title":"The secret key"},"c":{"title":"Title"}}}`:   "B",
		`{"properties":{"a":{"allOf":[{},{"oneOf":[{"format":"password"}]}]}}}`:                             "A",
		`{"properties":{"a":{"if":{},"then":{"format":"password"}}}}`:                                       "A",
		`{"properties":{"a":{"$ref":"#/$defs/x~1y"}},"$defs":{"x/y":{"format":"password"}}}`:                "A",
		`{"properties":{"a":{"$ref":"#/$defs/l"}},"$defs":{"l":{"properties":{"n":{"$ref":"#/$defs/l"}}}}}`: "",
		`{"properties":{"a":{"$ref":"#"},"b":{"format":"password"}}}`:                                       "B",
		`{"allOf":[{"properties":{"a":{"format":"password"}}}]}`:                                            "A",
		`{"properties":{"a":{"additionalProperties":{"format":"password"}}}}`:                               "A",
		`{"properties":{"a":{"patternProperties":{"x":{"writeOnly":true}}}}}`:                               "A",
		`{"properties":{"a":{}},"$defs":{"x":{"properties":{"b":{"writeOnly":true}}}}}`:                     "B",
		`{"properties":{"c":{"$ref":"#/$defs/b"},"d":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"format":"password"}]},"b":{"items":{"$ref":"#/$defs/a"}}}}`: "C D",
		`{"properties":{"a":{"examples":[{"properties":{"b":{"writeOnly":true}}}]}}}`:                                                                                                "",
		`{"properties":{"tokens":{"type":"integer"},"token":{"type":"integer"},"secret":{"type":"boolean"}}}`:                                                                        "TOKEN",
		`{"properties":{"a":{"properties":{"b":{"$id":"https://example.com/s","$ref":"#/$defs/x"}}}}}`:                                                                               "unsure",
		`{"properties":{"apiKey":{}}}`:                          "APIKEY",
		`{"properties":{"a":true}}`:                             "",
		`{"properties":{"a":{"$ref":"https://example.com/s"}}}`: "unsure",
		`{"properties":{"a":{"$ref":"#anchor"}}}`:               "unsure",
		`{"properties":{"a":{"$ref":"#/$defs/none"}}}`:          "unsure",
		`{"additionalProperties":{"format":"password"}}`:        "unsure",
		`{"patternProperties":{"x":{"writeOnly":true}}}`:        "unsure",
		`{"format":"password"}`:                                 "unsure",
		`7`:                                                     "unsure",
		`{"properties":` + strings.Repeat(`{"a":{"properties":`, 100) + `{}` + strings.Repeat(`}}`, 100) + `}`: "unsure",
	} {
		var value any
		require.NoError(t, json.Unmarshal([]byte(schema), &value), schema)
		got := schemaOf(value)
		if want == "unsure" {
			require.True(t, got.Unsure, schema)
			continue
		}
		require.False(t, got.Unsure, schema)
		require.Equal(t, want, strings.Join(slices.Sorted(maps.Keys(got.secret)), " "), schema)
	}
	require.True(t, schemaOf(func() {}).Unsure)
	require.True(t, schemaOf(nil).Unsure)
}

// TestFolded proves that a name is hidden under every spelling that encoding/json takes.
func TestFolded(t *testing.T) {
	for _, name := range []string{"PIN", "pin", "pIn", "piN"} {
		require.Equal(t, folded("pin"), folded(name))
	}
	require.Equal(t, folded("sk"), folded("ſK")) // the long s and the sign of Kelvin
	require.NotEqual(t, folded("pin"), folded("pins"))
}

// TestReferencesAreFollowedOnce reads schemas that grow fast where each reference is followed
// anew: such a one would have more nodes than are read. A deeper one is not known.
func TestReferencesAreFollowedOnce(t *testing.T) {
	for depth, known := range map[int]bool{14: true, 200: false} {
		var defs []string
		for i := range depth {
			defs = append(defs, fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
		}
		var schema any
		require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{%s,"d%d":{}}}`, strings.Join(defs, ","), depth), &schema))
		require.Greater(t, 1<<14, maxSchemaNodes)
		require.Equal(t, !known, schemaOf(schema).Unsure, "depth %d", depth)
	}
}

// TestOutputsAreReadOnce, until the tool is another one, and for a bounded number of tools.
func TestOutputsAreReadOnce(t *testing.T) {
	var k Outputs
	read := 0
	of := func(tool *mcp.Tool) bool {
		return k.of(tool, func(tool *mcp.Tool) func([]byte) bool { read++; return outputOf(tool) })([]byte(`{"a":1}`))
	}
	tool := &mcp.Tool{Name: "it", OutputSchema: map[string]any{"required": []any{"a"}}}
	require.True(t, of(tool))
	require.True(t, of(tool))
	require.Equal(t, 1, read)
	require.False(t, of(&mcp.Tool{Name: "it", OutputSchema: map[string]any{"required": []any{"b"}}}))
	require.Equal(t, 2, read)
	for i := range 2 * maxNames {
		of(&mcp.Tool{Name: fmt.Sprint(i)})
	}
	require.LessOrEqual(t, len(k.tools), maxNames)
}

func TestACatalogIsBounded(t *testing.T) {
	var k catalog
	for i := range 10 * maxNames {
		k.add(fmt.Sprint(i), &entry{})
	}
	require.EqualValues(t, maxNames, k.count.Load())
	require.False(t, k.add("new", &entry{}))
	require.True(t, k.add("1", &entry{}))
	require.False(t, (&catalog{}).add(strings.Repeat("x", maxName+1), &entry{}))
}

func TestValidID(t *testing.T) {
	require.True(t, ValidID("aZ09-_.:/+=@"))
	for _, id := range []string{"", " ", "a b", "a\n", "ä", "a,b", `"`, "a\x00", strings.Repeat("a", maxID+1), "a;b", "{a}", "%0a", "<a>", "a\\b", "'"} {
		require.False(t, ValidID(id), id)
	}
}
