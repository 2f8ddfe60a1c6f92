package scrub

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type publicError struct{ Secret string }

func (publicError) Error() string         { return "canary" }
func (publicError) PublicMessage() string { return "the disk is full" }

type evilJSON struct{}

func (evilJSON) MarshalJSON() ([]byte, error) { panic("canary") }

type inner struct {
	APIKey string `json:"api_key"`
	Note   string `json:"note,omitempty"`
}

type outer struct {
	inner
	Hidden string `json:"-"`
	Raw    []byte
	Count  int `json:"count"`
	inside string
}

func TestValue(t *testing.T) {
	c := Cleaner{Text: Text}
	for name, tt := range map[string]struct{ in, want any }{
		"an error":                 {map[string]any{"err": &url.Error{Op: "Get", URL: "https://canary", Err: errors.New("canary")}}, map[string]any{"err": Unshown}},
		"an error that is a value": {map[string]any{"err": url.Error{URL: "canary"}}, map[string]any{"err": Unshown}},
		"errors in a list":         {[]error{errors.New("canary"), nil}, []any{Unshown, nil}},
		"a public error":           {[]any{publicError{"canary"}, fmt.Errorf("canary")}, []any{"the disk is full", Unshown}},
		"a nil error":              {map[string]any{"err": (*url.Error)(nil)}, map[string]any{"err": nil}},
		"names": {map[string]any{"password": "canary", "user": map[string]any{"apiKeys": []any{"canary"}, "tokens": 12, "pin": 1234, "has_password": true, "token": nil}},
			map[string]any{"password": redacted, "user": map[string]any{"apiKeys": []any{redacted}, "tokens": 12, "pin": redacted, "has_password": true, "token": nil}}},
		"names of a map": {map[string]string{"secret": "canary", "a": "b"}, map[string]any{"secret": redacted, "a": "b"}},
		"a struct":       {outer{inner: inner{APIKey: "canary"}, Hidden: "canary", Raw: []byte("password=canary"), Count: 3, inside: "canary"}, map[string]any{"api_key": redacted, "Raw": redacted, "count": json.Number("3")}},
		"a struct with an error": {[]any{struct {
			A   string
			Err error
		}{"canary", errors.New("canary")}, struct{ A *publicError }{&publicError{"canary"}}, struct{ Err error }{}}, []any{Unshown, "the disk is full", map[string]any{"Err": nil}}},
		"bytes under a name":     {map[string]any{"token": []byte("canary")}, map[string]any{"token": redacted}},
		"bytes of a secret":      {[]byte(`{"password":"canary"}`), redacted},
		"bytes that are cut":     {[]byte("password=canary" + strings.Repeat(" of an order", 10_000)), redacted},
		"raw":                    {json.RawMessage(`{"a":"https:\/\/u:canary7@h.example.com\/x","\u0070assword":"canary"}`), map[string]any{"a": "https://[redacted]@h.example.com/x", "password": redacted}},
		"JSON in JSON in JSON":   {map[string]any{"body": `{"b":"{\"password\":\"canary\"}"}`}, map[string]any{"body": `{"b":"{\"password\":\"[redacted]\"}"}`}},
		"a key":                  {map[string]any{"/etc/canary/x": 1}, map[string]any{"[path]": 1}},
		"what cannot be written": {[]any{math.NaN(), make(chan int), evilJSON{}, json.Number("x")}, []any{Unwritable, Unwritable, Unwritable, Unwritable}},
		"channels":               {[]any{math.NaN(), func() {}}, []any{Unwritable, Unwritable}},
		"a schema":               {map[string]any{"properties": map[string]any{"password": map[string]any{"type": "string"}}, "x": "/etc/x"}, map[string]any{"properties": map[string]any{"password": map[string]any{"type": "string"}}, "x": "[path]"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.Value(tt.in)
			require.Equal(t, tt.want, got)
			raw, err := json.Marshal(got)
			require.NoError(t, err)
			require.NotContains(t, string(raw), "canary")
			require.NotContains(t, string(raw), "Y2FuYXJ5")
			require.Equal(t, got, c.Value(got), "idempotent")
		})
	}
}

func TestValueIsTheSameWhenNothingChanges(t *testing.T) {
	c := Cleaner{Text: Text}
	m := map[string]any{"a": []any{1, "b", nil, true, 1.5, map[string]any{"c": json.Number("7")}}}
	require.Equal(t, reflect.ValueOf(m).Pointer(), reflect.ValueOf(c.Value(m)).Pointer())
	s := &struct {
		A string
		T time.Time
		B []byte
	}{A: "x", B: []byte("hello")}
	require.Same(t, s, c.Value(s))
	raw := []byte(`{ "a" : "b" }`)
	require.Equal(t, &raw[0], &c.JSON(raw)[0])
	copied := Cleaner{Text: Text, Copy: true}.Value(m)
	require.Equal(t, m, copied)
	require.NotEqual(t, reflect.ValueOf(m).Pointer(), reflect.ValueOf(copied).Pointer())
}

func TestValueIsBounded(t *testing.T) {
	c := Cleaner{Text: Text}
	type node struct {
		Next *node
		M    map[string]any
	}
	loop := &node{M: map[string]any{}}
	loop.Next, loop.M["self"] = loop, loop
	deep := any("canary")
	for range 100_000 {
		deep = []any{deep}
	}
	for name, v := range map[string]any{
		"a loop": loop, "deep": deep, "long": make([]int, 1_000_000), "wide": strings.Repeat("a ", 1<<20), "many": func() []any {
			all := make([]any, 100_000)
			for i := range all {
				all[i] = strings.Repeat("x", 100)
			}
			return all
		}(), "bytes": make([]byte, 10<<20), "raw": json.RawMessage(strings.Repeat("[", 1<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(c.Value(v))
			require.NoError(t, err)
			require.Less(t, len(raw), 1<<20)
		})
	}
}

// TestLargeValuesAreLookedAtSeldom: each of them has to be written to see how large it is.
func TestLargeValuesAreLookedAtSeldom(t *testing.T) {
	large := &counted{}
	list := make([]any, 5000)
	for i := range list {
		list[i] = large
	}
	Cleaner{Text: Text}.Value(list)
	require.Less(t, large.written, 20)
}

type counted struct{ written int }

func (c *counted) MarshalJSON() ([]byte, error) {
	c.written++
	return []byte(`"` + strings.Repeat("x", MaxBytes) + `"`), nil
}

func TestJSON(t *testing.T) {
	c := Cleaner{Text: Credentials}
	require.JSONEq(t, `{"a":"b"}`, string(c.JSON([]byte(`{"a":"password=canary7","a":"b"}`))), "a doubled name")
	bytes := quote(base64.StdEncoding.EncodeToString([]byte("password=canary" + strings.Repeat(" of an order", 10_000))))
	require.JSONEq(t, `"[redacted]"`, string(c.JSON(bytes)), "a text that is cut")
	require.JSONEq(t, `"password=[redacted]"`, string(c.JSON([]byte(`password=canary7`))))
	require.Equal(t, `{"a":12345678901234567890,"p":"/etc/x"}`, string(c.JSON([]byte(`{"a":12345678901234567890,"p":"/etc/x"}`))))
}

func TestTextBut(t *testing.T) {
	shown := Sent
	const text = "file '/home/ann/report.txt' does not exist, /srv/private/x does; password=hunter2"
	require.Equal(t, "file '/home/ann/report.txt' does not exist, [path] does; password=[redacted]", TextBut(text, shown("/home/ann/report.txt", "hunter2")))
	require.Equal(t, Text(text), TextBut(text, shown()))
	require.Equal(t, Text(text), TextBut(text, nil))
	require.Equal(t, "bad: SELECT id FROM t WHERE id = 1", TextBut("bad: SELECT id FROM t WHERE id = 1", shown("SELECT id FROM t WHERE id = 1")))
	require.Equal(t, "dial tcp 10.0.0.7:5432: refused", TextBut("dial tcp 10.0.0.7:5432: refused", shown("10.0.0.7:5432")))
	require.Equal(t, "[path]", TextBut("/home/ann/x", shown(strings.Repeat("a", maxSentLen), "/home/ann/x")), "bounded")
}

// TestNamesAndValues: a member that is called a value is the secret that another one names.
func TestNamesAndValues(t *testing.T) {
	pair := func(name, value string) map[string]any { return map[string]any{"name": name, "value": value} }
	for _, v := range []any{pair("DB_PASSWORD", "canary"), []any{pair("api_key", "canary")}, map[string]string{"key": "token", "value": "canary"}, struct{ Name, Value string }{"SECRET", "canary"}} {
		raw, err := json.Marshal(Cleaner{Text: Text}.Value(v))
		require.NoError(t, err)
		require.NotContains(t, string(raw), "canary")
		require.Contains(t, string(raw), redacted)
	}
	for _, v := range []any{pair("city", "canary"), pair("token_count", "canary"), pair("password", "required"), pair("password", ""), map[string]any{"note": "token", "value": "canary"}} {
		require.Equal(t, v, Cleaner{Text: Text}.Value(v))
	}
}

// TestEmptySecrets: there is nothing to hide where there is nothing, and a reader sees that.
func TestEmptySecrets(t *testing.T) {
	empty := map[string]any{"password": "", "token": nil, "secrets": []any{}, "api_key": map[string]any{}, "pin": 0, "auth": false, "jwt": []string(nil)}
	raw, err := json.Marshal(Cleaner{Text: Text}.Value(empty))
	require.NoError(t, err)
	require.JSONEq(t, `{"password":"","token":null,"secrets":[],"api_key":{},"pin":0,"auth":false,"jwt":null}`, string(raw))
	require.False(t, SecretMember("password", ""))
	require.True(t, SecretMember("password", " "))
	whole := `{"password":"","token":null,"secrets":[],"api_key":{},"pin":0,"auth":false}`
	require.Equal(t, whole, string(WholeJSON([]byte(whole))))
	for _, text := range []string{`password=""`, "password=''", `{"password":"","token":null}`, "token= ", "<password></password>", `setPassword("")`, `--token ""`} {
		require.Equal(t, text, Text(text))
	}
}
