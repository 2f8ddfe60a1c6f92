package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestLines(t *testing.T) {
	for _, one := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader} {
		r := NewReader(one(strings.NewReader("a\n\r\n  \nbb\r\nlast")), 10)
		for _, want := range []string{"a", "bb", "last"} {
			line, err := r.Next()
			require.NoError(t, err)
			require.Equal(t, want, string(line))
		}
		_, err := r.Next()
		require.ErrorIs(t, err, io.EOF)
	}
}

func TestLinesThatAreTooLong(t *testing.T) {
	filler := strings.Repeat("x", 200<<10)
	for line, want := range map[string]TooLongError{
		`{"jsonrpc":"2.0","id":7,"method":"m","params":{"id":1,"x":"` + filler + `"}}`:              {ID: ID("7"), Method: true},
		`{"result":{"id":"no","text":"\"id\":3,` + filler + `\\"},"jsonrpc":"2.0", "id" : "a\"b" }`: {ID: ID(`"a\"b"`)},
		`{"method":"m","params":["` + filler + `",{"method":1}]}`:                                   {Method: true},
		`{"x":{"id":1},"y":"` + filler + `"}`:                                                       {},
		`{"id":{"id":1},"y":"` + filler + `"}`:                                                      {},
		`[{"id":1,"method":"m","params":"` + filler + `"}]`:                                         {},
		filler:                    {},
		`"` + filler:              {},
		`{"id":` + filler:         {},
		`{"id":"` + filler + `"}`: {},
		`{"` + filler + `":1,"id":null,"method":"` + filler + `"}`: {Method: true},
	} {
		r := NewReader(strings.NewReader(line+"\nnext\n"), 100<<10)
		_, err := r.Next()
		var long *TooLongError
		require.ErrorAs(t, err, &long, "%.60s", line)
		require.Equal(t, string(want.ID), string(long.ID), "%.60s", line)
		require.Equal(t, want.Method, long.Method, "%.60s", line)
		require.Equal(t, len(line)+1, long.Bytes)
		next, err := r.Next()
		require.NoError(t, err)
		require.Equal(t, "next", string(next))
	}
	for _, size := range []int{99, 100, 101} { // the end of the line does not count
		_, err := NewReader(strings.NewReader(strings.Repeat("x", size)+"\n"), 100).Next()
		require.Equal(t, size > 100, errors.As(err, new(*TooLongError)), size)
	}
}

func TestIDs(t *testing.T) {
	for id, key := range map[string]string{
		`1`: "n1", `-5`: "n-5", `1.0`: "n1", `1e2`: "n100", `"1"`: "s1", `"a"`: "sa", `"\u0061"`: "sa", `""`: "s",
		`1.5`: "", `null`: "", `true`: "", `{}`: "", `[1]`: "", `"x`: "", ``: "", `1e400`: "",
	} {
		require.Equal(t, key, ID(id).Key(), id)
	}
}

func TestParametersThatAreNull(t *testing.T) {
	line := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}`
	m, refused := Parse([]byte(line))
	require.Nil(t, refused)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, string(m.Line))
	m, refused = ParseServer([]byte(line)) // for the client to judge
	require.Nil(t, refused)
	require.Equal(t, line, string(m.Line))
}

func TestNamesHaveOneSpelling(t *testing.T) {
	m, refused := Parse([]byte(`{"jsonrpc":"2.0","ID":1,"Method":"a","method":"notifications/b"}`))
	require.Nil(t, refused)
	require.True(t, m.IsNotification())
	require.Equal(t, "notifications/b", m.Method)
}

// FuzzParse: what is read never panics, and what is written is one line of JSON.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":null}`, `[]`, `{`, `null`, "\xff", `{"id":"\ud800"}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":[]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(bytes.TrimSpace(line)) == 0 {
			return
		}
		m, refused := Parse(bytes.TrimSpace(line))
		require.NotEqual(t, m == nil, refused == nil)
		if refused != nil {
			require.True(t, json.Valid(refused.Answer()))
			require.NotContains(t, string(refused.Answer()), "\n")
			return
		}
		for _, out := range [][]byte{Renamed(m.Line, TextID("x")), Answered(m.ID, []byte("{}"))} {
			require.True(t, json.Valid(out))
		}
		long := scanner{}
		long.scan(m.Line)
		if m.ID != nil && len(m.ID) < maxID && !bytes.Contains(line, []byte(`\`)) && bytes.Count(line, []byte(`"id"`)) == 1 {
			require.Equal(t, m.ID.Key(), long.id().Key())
		}
	})
}

func TestEdited(t *testing.T) {
	for _, c := range []struct {
		line, want string
		path       []string
	}{
		{`{"jsonrpc": "2.0", "result" : {"id":1,"x":[1, 2]} , "id" : "a b" }`, `{"jsonrpc": "2.0", "result" : {"id":1,"x":[1, 2]} , "id" : 7 }`, []string{"id"}},
		{`{"params":{"_meta":{"other":{"token":1},"token": 1.0e2}}}`, `{"params":{"_meta":{"other":{"token":1},"token": 7}}}`, []string{"params", "_meta", "token"}},
		{`{"params":{"a":1},"id":2}`, `{"params":{"a":1},"id":2}`, []string{"params", "token"}},
		{`{"params":[1],"id":2}`, `{"params":[1],"id":2}`, []string{"params", "token"}},
		{`{"method":"x"}`, `{"method":"x"}`, []string{"id"}},
		{`[]`, `[]`, []string{"id"}},
		{`{"id":`, `{"id":`, []string{"id"}},
		{``, ``, []string{"id"}},
	} {
		require.Equal(t, c.want, string(Edited([]byte(c.line), []byte("7"), c.path...)))
	}
}
