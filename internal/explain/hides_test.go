package explain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHides(t *testing.T) {
	s := mustCompile(t, `{"properties":{"a":{"properties":{"b":{"writeOnly":true}}},"l":{"items":{"anyOf":[{"type":"integer"},{"format":"password"}]}}}}`)
	for pointer, want := range map[string]bool{
		"/": false, "/a": false, "/a/b": true, "/a/b/c": true, "/a/d": false, "/l": false, "/l/0": true, "/l/9": true, "/m": false, "/m/api_key": true,
	} {
		require.Equal(t, want, s.Hides(strings.Split(pointer, "/")[1:]), pointer)
	}
	require.True(t, mustCompile(t, `{"writeOnly":true}`).Hides([]string{"a"}))
	for _, draft := range []string{`"$schema":"http://json-schema.org/draft-07/schema#",`, `"$schema":"https://json-schema.org/draft/2020-12/schema",`, ``} {
		s := mustCompile(t, `{`+draft+`"definitions":{"a":{"type":"string"}},"properties":{"a":{"writeOnly":true,"$ref":"#/definitions/a"},"b":{"allOf":[{"format":"password"}]}}}`)
		require.True(t, s.Hides([]string{"a"}), draft)
		require.True(t, s.Hides([]string{"b"}), draft)
	}
	require.False(t, mustCompile(t, `{}`).Hides([]string{"a"}))
	require.True(t, mustCompile(t, `{"properties":{"a/b~c":{"writeOnly":true}}}`).Hides([]string{"a/b~c"}))
}

// TestHidesWhatIsNotLookedAt: where so many schemas apply that not all are looked at, a value is hidden.
func TestHidesWhatIsNotLookedAt(t *testing.T) {
	for _, hidden := range []string{
		`{"properties":{"a":{"allOf":[` + list(300, `{"minLength":%d}`) + `,{"writeOnly":true}]}}}`,
		`{"properties":{"a":{"type":"integer"}},"allOf":[` + list(300, `{"minProperties":0}`) + `,{"properties":{"a":{"writeOnly":true}}}]}`,
		`{"allOf":[` + list(150, `{"properties":{"a":{"type":"integer"}}}`) + `,{"$ref":"#/$defs/b"}],"$defs":{"b":{"allOf":[` + list(150, `{"properties":{"a":{"minimum":1}}}`) + `,{"properties":{"a":{"writeOnly":true}}}]}}}`,
		`{"patternProperties":{` + list(250, `"^a|%d":{"type":"integer"}`) + `},"allOf":[{"properties":{"a":{"writeOnly":true}}}]}`,
		`{"additionalProperties":{"writeOnly":true,"type":"integer"},"patternProperties":{"(.?){900}b":{"type":"integer"}}}`,
	} {
		s := mustCompile(t, hidden)
		require.True(t, s.Hides([]string{"a"}), hidden)
		require.True(t, s.Hides([]string{strings.Repeat("a", 60)}) || !strings.Contains(hidden, "patternProperties"), hidden)
	}
	require.False(t, mustCompile(t, `{"properties":{"a":{"oneOf":[`+list(300, `{"const":%d}`)+`]}}}`).Hides([]string{"a"}))
	require.True(t, mustCompile(t, `{"properties":{"a":{"oneOf":[`+list(300, `{"const":%d}`)+`,{"format":"password"}]}}}`).Hides([]string{"a"}))
	require.False(t, mustCompile(t, `{"properties":{"a":{"allOf":[`+list(100, `{"minLength":%d}`)+`]}}}`).Hides([]string{"a"}))
}
