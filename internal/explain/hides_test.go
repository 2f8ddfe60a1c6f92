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
	for _, draft := range []string{draft4, draft6, draft7, draft2019, draft2020} {
		s := mustCompile(t, `{`+draft+`"definitions":{"a":{"type":"string"}},"properties":{"a":{"writeOnly":true,"$ref":"#/definitions/a"},"b":{"allOf":[{"format":"password"}]}}}`)
		require.True(t, s.Hides([]string{"a"}), draft)
		require.True(t, s.Hides([]string{"b"}), draft)
	}
	require.False(t, mustCompile(t, `{}`).Hides([]string{"a"}))
	require.True(t, mustCompile(t, `{"properties":{"a/b~c":{"writeOnly":true}}}`).Hides([]string{"a/b~c"}))
}
