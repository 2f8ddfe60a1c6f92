package secrets

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

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
