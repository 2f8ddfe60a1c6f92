package probe

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is judged by its look is judged by these.

func TestOwnPath(t *testing.T) {
	p := &prober{Options: Options{URL: "https://example.com/mcp"}}
	for text, want := range map[string]string{
		"cannot open /home/ada/.keys/main.pem":         "/home/ada/.keys/main.pem",
		`{"message":"ENOENT: '/usr/lib/node/x.js'"}`:   "/usr/lib/node/x.js",
		"see file:///opt/app/main.py":                  "file:///opt/app/main.py",
		`not in C:\Users\ada\files`:                    `C:\Users\ada\files`,
		"the type is application/json or text/plain":   "",
		`validating /properties/a: type`:               "",
		"see https://example.com/home/ada/x":           "",
		"/tmp is full":                                 "",
		"cannot open /srv/sent/by/caller":              "",
		"method resources/read, tools/call, and/or /a": "",
	} {
		got := ""
		if at := p.ownPath(text, `{"path":"/srv/sent/by/caller"}`); at != nil {
			got = text[at[0]:at[1]]
		}
		require.Equal(t, want, got, text)
	}
}

func TestPrivateAddress(t *testing.T) {
	p := &prober{Options: Options{URL: "http://127.0.0.1:8080/mcp"}}
	for text, want := range map[string]string{
		"dial tcp 10.0.0.7:5432: refused":    "10.0.0.7:5432",
		"172.20.1.2 and 192.168.1.1":         "172.20.1.2",
		"ECONNREFUSED 127.0.0.1:5432":        "127.0.0.1:5432",
		"cannot reach localhost:6379":        "localhost:6379",
		"version 10.2.3 of 2026.10.1":        "",
		"172.15.0.1, 8.8.8.8, 192.0.2.1":     "",
		"10.0.0.999 is none":                 "",
		"http://127.0.0.1:8080/mcp is this":  "",
		"localhost, and localhost:1234 sent": "",
	} {
		got := ""
		if at := p.privateAddress(text, "localhost:1234"); at != nil {
			got = text[at[0]:at[1]]
		}
		require.Equal(t, want, got, text)
	}
}

func TestNothing(t *testing.T) {
	for _, text := range []string{
		"", " ", "Error", "error.", "Internal error", "An error occurred.", "Something went wrong!", "MCP error -32603: undefined", "null",
		"Unexpected error", "invalid params", "failed", "EOF", "500", "Error: [object Object]", "Tool error",
	} {
		require.True(t, nothing(text), text)
	}
	for _, text := range []string{
		"The file is locked.", "Error: no such user", "invalid argument 'a'", "Internal error. Reference: 0198c7f2", "unknown tool x", "quota exceeded",
		"MCP error -32602: Tool x not found",
	} {
		require.False(t, nothing(text), text)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		text, word string
		want       bool
	}{
		{"Argument 'a' is wrong", "a", true},
		{"validating /properties/b: type", "b", true},
		{"A bad thing", "b", false},
		{"a_b is wrong", "a", false},
		{"the user name is missing", "user_name", true},
		{"Audience is required", "audience", true},
		{"the number is wrong", "count", false},
		{"1 and (x+)", "(x+)", true},
	} {
		require.Equal(t, c.want, names(c.text, c.word), "%+v", c)
	}
}

// TestWrongArguments proves that what is sent as wrong is wrong by the schema, and differs from what fits
// in nothing else.
func TestWrongArguments(t *testing.T) {
	tl := &tool{Name: "x", InputSchema: []byte(`{"type":"object","required":["a"],"additionalProperties":false,"properties":{
		"a":{"type":"integer","minimum":5},"b":{"type":["string","null"],"enum":["x","y"]},"c":{"type":"array","minItems":1,"items":{"type":"boolean"}},
		"d":{"$ref":"#/properties/a"},"e":{}}}`)}
	tl.prepare()
	good, ok := tl.good()
	require.True(t, ok)
	require.False(t, tl.refuses(object(good, "")))
	want := map[string][]string{
		missingArg: {"a"}, typeArg: {"a", "b", "c", "d"}, enumArg: {"b"}, rangeArg: {"a", "c"}, unknownArg: {"mcpchain_unknown"}, severalArg: {"a"},
	}
	for kind, fields := range want {
		var got []string
		for _, a := range tl.wrongOf(kind) {
			require.True(t, tl.refuses(a.arguments), a.arguments)
			got = append(got, a.fields[0])
		}
		require.Equal(t, fields, got, kind)
	}
	require.Equal(t, []string{"a", "b"}, tl.wrongOf(severalArg)[0].fields)

	none := &tool{Name: "x", InputSchema: []byte(`{"$ref":"#"}`)}
	none.prepare()
	_, ok = none.good()
	require.False(t, ok)
	require.Empty(t, none.wrongOf(typeArg))
}
