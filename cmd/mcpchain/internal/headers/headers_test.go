package headers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextsInHeaders(t *testing.T) {
	for _, text := range []string{"", "plain", " a", "größe", "=?base64?eA==?=", "a\nb", "=?base64?eA=="} {
		got, ok := Decoded(Encoded(text))
		require.True(t, ok)
		require.Equal(t, text, got)
		require.NotContains(t, Encoded(text), "\n")
	}
	for _, value := range []string{"=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?="} {
		_, ok := Decoded(value)
		require.False(t, ok, value)
	}
}

const listed = `{"tools":[{"name":"t","inputSchema":{"properties":{
	"s":{"x-mcp-header":"S"},"in":{"properties":{"n":{"x-mcp-header":"N"},"bad":{"x-mcp-header":"a b"}}}}}}]}`

func TestMismatch(t *testing.T) {
	var tools Tools
	require.Empty(t, tools.Of("t"))
	tools.Learn("", []byte(listed))
	require.Len(t, tools.Of("t"), 2)
	for _, c := range []struct {
		s, n string // headers; "-" for none
		args string
		want string
	}{
		{"-", "-", `{}`, ""},
		{"-", "-", `{"s":null,"in":7}`, ""},
		{"a", "7", `{"s":"a","in":{"n":7}}`, ""},
		{"=?base64?YQ==?=", "7.0", `{"s":"a","in":{"n":7}}`, ""},
		{"", "-", `{"s":""}`, ""},
		{"a", "-", `{}`, "for an argument that there is not"},
		{"-", "-", `{"s":"a"}`, "Mcp-Param-S is missing"},
		{"-", "-", `{"in":{"n":false}}`, "Mcp-Param-N is missing"},
		{"b", "-", `{"s":"a"}`, "Mcp-Param-S is not the argument"},
		{"=?base64?YQ?=", "-", `{"s":"a"}`, "no valid base64"},
		{"x", "-", `{"s":[1]}`, "neither a text"},
		{"-", "1.5", `{"in":{"n":1.5}}`, "neither a text"},
		{"-", "8", `{"in":{"n":7}}`, "Mcp-Param-N is not the argument"},
	} {
		header := http.Header{}
		for name, value := range map[string]string{"S": c.s, "N": c.n} {
			if value != "-" {
				header.Set(Param+name, value)
			}
		}
		var args map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(c.args), &args))
		got := ""
		for _, b := range tools.Of("t") {
			got += b.Mismatch(header, args)
		}
		if c.want == "" {
			require.Empty(t, got, "%+v", c)
		}
		require.Contains(t, got, c.want, "%+v", c)
	}
}

func TestWhatIsLearntIsBounded(t *testing.T) {
	var tools Tools
	var properties []string
	for n := range maxBindings {
		properties = append(properties, fmt.Sprintf(`"p%d":{"x-mcp-header":"P%[1]d"}`, n))
	}
	page := func(name string) []byte {
		return []byte(`{"tools":[{"name":"` + name + `","inputSchema":{"properties":{` + strings.Join(properties, ",") + `}}}]}`)
	}
	tools.Learn("", page("a"))
	require.Len(t, tools.Of("a"), maxBindings)
	tools.Learn("2", page("b"))
	require.Empty(t, tools.Of("b"))
	tools.Learn("2", page("a"))
	require.Len(t, tools.Of("a"), maxBindings, "the same tool again takes no more")
	tools.Learn("", []byte(`{"tools":[]}`))
	require.Empty(t, tools.Of("a"), "the first page says all anew")
}
