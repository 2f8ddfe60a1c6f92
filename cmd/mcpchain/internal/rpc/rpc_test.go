package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
		`{"jsonrpc":"2.0","id":7,"method":"m","params":{"id":1,"x":"` + filler + `"}}`:              {ID: ID("7"), Method: true, Named: true},
		`{"result":{"id":"no","text":"\"id\":3,` + filler + `\\"},"jsonrpc":"2.0", "id" : "a\"b" }`: {ID: ID(`"a\"b"`), Named: true},
		`{"method":"m","params":["` + filler + `",{"method":1}]}`:                                   {Method: true},
		`{"x":{"id":1},"y":"` + filler + `"}`:                                                       {},
		`{"id":{"id":1},"y":"` + filler + `"}`:                                                      {Named: true},
		`[{"id":1,"method":"m","params":"` + filler + `"}]`:                                         {},
		filler:                    {},
		`"` + filler:              {},
		`{"id":` + filler:         {Named: true},
		`{"id":"` + filler + `"}`: {Named: true},
		`{"` + filler + `":1,"id":null,"method":"` + filler + `"}`: {Method: true, Named: true},
		`{"id":1,"id":2,"method":"x","x":"` + filler + `"}`:        {Method: true, Named: true}, // whose it is cannot be told
		`{"id":1,"\u0069d":2,"x":"` + filler + `"}`:                {Named: true},
		`{"id":1,"ID":2,"x":"` + filler + `"}`:                     {Named: true},
	} {
		r := NewReader(strings.NewReader(line+"\nnext\n"), 100<<10)
		_, err := r.Next()
		var long *TooLongError
		require.ErrorAs(t, err, &long, "%.60s", line)
		require.Equal(t, string(want.ID), string(long.ID), "%.60s", line)
		require.Equal(t, want.Method, long.Method, "%.60s", line)
		require.Equal(t, want.Named, long.Named, "%.60s", line)
		// A request is answered, also if its ID cannot be read: a client that waits must not wait for ever.
		require.Equal(t, want.Method != want.Named, long.Refused(1).Silent, "%.60s", line)
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
		`-0`: "n0", `"\ud800"`: "s\ufffd", `1e18`: "", `1.5`: "", `null`: "", `true`: "", `{}`: "", `[1]`: "", ``: "", `1e400`: "",
	} {
		require.Equal(t, key, ID(id).Key(), id)
	}
}

func TestParametersThatAreNull(t *testing.T) {
	line := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}`
	m, refused := Parse([]byte(line))
	require.Nil(t, refused)
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, string(m.Line))
	require.Equal(t, `{}`, string(m.Params))
	m, refused = ParseServer([]byte(line)) // for the client to judge
	require.Nil(t, refused)
	require.Equal(t, line, string(m.Line))
}

// What two readers may take for two things is refused, with the ID of the request if there is no doubt of it.
func TestOneReading(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":`
	for line, want := range map[string]RefusedError{
		call + `{"name":"danger","Name":"look"}}`:                                              {Reason: `the names "name" and "Name" differ in their case only`, ID: ID("7")},
		call + `{"name":"danger","name":"look"}}`:                                              {Reason: `the name "name" stands twice in an object`, ID: ID("7")},
		call + `{"name":"danger","n\u0061me":"look"}}`:                                         {Reason: `the name "name" stands twice in an object`, ID: ID("7")},
		call + `{"Name":"danger"}}`:                                                            {Reason: `the name "Name" has to be spelled "name"`, ID: ID("7")},
		call + `{"name":"a","Arguments":{}}}`:                                                  {Reason: `the name "Arguments" has to be spelled "arguments"`, ID: ID("7")},
		call + `{"name":"a","arguments":{"x":{"y":1,"y":2}}}}`:                                 {Reason: `the name "y" stands twice in an object`, ID: ID("7")},
		call + `{"name":"a","_meta":{"progressToken":1,"ProgressToken":2}}}`:                   {Reason: `the names "progressToken" and "ProgressToken" differ in their case only`, ID: ID("7")},
		call + `{"name":"a","_meta":{"ProgressToken":2}}}`:                                     {Reason: `the name "ProgressToken" has to be spelled "progressToken"`, ID: ID("7")},
		call + `{"name":"a","_Meta":{}}}`:                                                      {Reason: `the name "_Meta" has to be spelled "_meta"`, ID: ID("7")},
		call + `{"name":"a"},"params":{"name":"b"}}`:                                           {Reason: `the name "params" stands twice in an object`, ID: ID("7")},
		call + `{"name":"a"},"id":8}`:                                                          {Reason: `the name "id" stands twice in an object`},
		call + `{"name":"a"},"id":7.0}`:                                                        {Reason: `the name "id" stands twice in an object`, ID: ID("7")},
		call + `{"name":"a"},"ID":8}`:                                                          {Reason: `the names "id" and "ID" differ in their case only`},
		call + `{"name":"a"},"Method":"ping"}`:                                                 {Reason: `the names "method" and "Method" differ in their case only`, ID: ID("7")},
		call + `{"name":"a"},"result":{}}`:                                                     {Reason: `it has a method and is an answer`, ID: ID("7")},
		call + `{"name":"a"},"Result":{}}`:                                                     {Reason: `the name "Result" has to be spelled "result"`, ID: ID("7")},
		call + "{\"name\":\"a\xff\"}}":                                                         {Reason: `it is not UTF-8`, ID: ID("7")},
		`{"jsonrpc":"2.0","Id":7,"method":"tools/call","params":{"name":"a"}}`:                 {Reason: `the name "Id" has to be spelled "id"`, Silent: true},
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}`:                        {Reason: `a request has an ID, and the method of a notification begins with "notifications/"`, Silent: true},
		`{"jsonrpc":"2.0","id":7,"method":"notifications/cancelled","params":{"requestId":1}}`: {Reason: `a notification has no ID`, ID: ID("7")},
		`{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}}`:                 {Reason: `it has a result and an error`, ID: ID("7"), Silent: true},
		call + `{"name\u0000":"danger","name":"look"}}`:                                        {Reason: `the name "name\x00" has to be spelled "name"`, ID: ID("7")},
		call + `{"name":"a"},"Id\u0000x":8}`:                                                   {Reason: `the name "Id\x00x" has to be spelled "id"`},
		`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"Cursor":"2"}}`:               {Reason: `the name "Cursor" has to be spelled "cursor"`, ID: ID("7")},
		`{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1,"a":2}}`:                  {Reason: `the name "a" stands twice in an object`, Silent: true},
	} {
		_, refused := Parse([]byte(line))
		require.NotNil(t, refused, line)
		require.Equal(t, line, string(refused.Line))
		refused.Line = nil
		want.Code, want.Method = -32600, !strings.Contains(want.Reason, "result and an error")
		require.Equal(t, want, *refused, line)
		if want.ID != nil {
			require.Contains(t, string(refused.Answer().Line), `"id":`+string(want.ID)+`,`)
		} else {
			require.Contains(t, string(refused.Answer().Line), `"id":null,`)
		}
	}
	for _, line := range []string{
		call + `{"name":"a","arguments":{"A":1,"a":2,"x":"\ud800","\ud800":1,"n":1e400}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"vendor/odd","params":{"Name":1,"other":2}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"a":1,"A":2}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
	} {
		m, refused := Parse([]byte(line))
		require.Nil(t, refused, line)
		require.Equal(t, line, string(m.Line))
	}
	m, refused := Parse([]byte("{\"jsonrpc\":\"2.0\",\r\"id\":1,\n\"method\":\"ping\"}"))
	require.Nil(t, refused)
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, string(m.Line))
}

// What a server writes passes as it is, but for what this program decides by.
// What guards decode is bounded: values take many times their bytes. The arguments of a tool are not decoded.
func TestValuesThatAreDecodedAreBounded(t *testing.T) {
	many := `[` + strings.Repeat("[],", maxDecoded) + `1]`
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"x":%s}}}`:                          "",
		`{"jsonrpc":"2.0","id":7,"result":{"content":%s}}`:                                                                   "",
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{},"_meta":{"x":%s}}}`:               "beside the arguments of a tool",
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","inputResponses":{"x":%s}}}`:                     "beside the arguments of a tool",
		`{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"a","arguments":{"x":%s}}}`:                         "beside the arguments of a tool",
		`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"a","capabilities":{"experimental":%s}}}`: "beside the arguments of a tool",
		`{"jsonrpc":"2.0","method":"notifications/x","params":{"x":%s}}`:                                                     "beside the arguments of a tool",
	} {
		_, refused := Parse([]byte(strings.Replace(line, "%s", many, 1)))
		if want == "" {
			require.Nil(t, refused, line)
			continue
		}
		require.NotNil(t, refused, line)
		require.Contains(t, refused.Reason, want)
	}
}

// What is kept as long as a session lasts is short.
func TestMessagesThatAreKeptAreBounded(t *testing.T) {
	long := strings.Repeat("x", maxKept)
	for line, refuses := range map[string]bool{
		`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"%s"}}`:        true,
		`{"jsonrpc":"2.0","method":"notifications/initialized","params":{"a":"%s"}}`:              true,
		`{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"info","a":"%s"}}`: true,
		`{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"%s"}}`:           true,
		`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"%s"}}`:                false,
		`{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"a"}}`:            false,
	} {
		_, refused := Parse([]byte(strings.Replace(line, "%s", long, 1)))
		require.Equal(t, refuses, refused != nil && strings.Contains(refused.Reason, "it is longer than 262144 bytes"), line)
	}
}

// For readers in C a text ends at a NUL, so that it may be another method or another tool.
func TestTextsThatEndAtANUL(t *testing.T) {
	for line, refuses := range map[string]bool{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call\u0000","params":{"name":"a"}}`:                      true,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a\u0000b"}}`:                     true,
		`{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"a\u0000"}}`:                     true,
		`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"a\u0000"}}`:                   true,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":"\u0000"}}`:       true,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"x":"\u0000"}}}`: false,
	} {
		_, refused := Parse([]byte(line))
		require.Equal(t, refuses, refused != nil, line)
	}
}

func TestServersAreReadTolerantly(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[],"content":[{"a":1e400}],"Content":"\ud800"}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\",\r \"x\":1,\"X\":2}",
		`{"jsonrpc":"2.0","method":"vendor","params":{"a":1,"a":2}}`,
		`{"jsonrpc":"2.0","id":"\ud800","result":{}}`,
	} {
		m, refused := ParseServer([]byte(line))
		require.Nil(t, refused, line)
		require.Equal(t, line, string(m.Line))
	}
	for line, id := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{},"result":{}}`:                        "1",
		`{"jsonrpc":"2.0","id":1,"result":{"isError":false,"isError":true}}`:      "1",
		`{"jsonrpc":"2.0","id":1,"result":{"isError":false,"is\u0045rror":true}}`: "1",
		`{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`:                             "",
		`{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`:                             "1",
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""},"error":{}}`:     "1",
		`{"jsonrpc":"2.0","id":1}`:                                                "1",
		`{"id":1,"result":{}}`:                                                    "1",
		`{"id":1,"error":{"code":1,"message":""}}`:                                "1",
		`{"level":"info","msg":"a call","id":1}`:                                  "",
		`{"level":"error","error":"it failed","id":1}`:                            "",
	} {
		_, refused := ParseServer([]byte(line))
		require.NotNil(t, refused, line)
		require.Equal(t, id, string(refused.ID), line)
		require.False(t, refused.Method)
	}
	m, refused := ParseServer([]byte(`{"jsonrpc":"2.0","id":1,"result":{"is\u0045rror":true,"IsError":false}}`))
	require.Nil(t, refused)
	require.True(t, m.IsError())
}

func TestNamesHaveOneSpelling(t *testing.T) {
	m, refused := ParseServer([]byte(`{"jsonrpc":"2.0","ID":1,"Method":"a","method":"notifications/b"}`))
	require.Nil(t, refused)
	require.True(t, m.IsNotification())
	require.Equal(t, "notifications/b", m.Method)
}

func TestMessagesOfThisProgram(t *testing.T) {
	data := json.RawMessage(`{"a":1}`)
	for want, m := range map[string]*Message{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-5,"message":"a \"b\" <c>","data":{"a":1}}}`:     Failed(nil, &jsonrpc.Error{Code: -5, Message: `a "b" <c>`, Data: data}),
		`{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"�"}}`:                                  Failed(ID("1"), &jsonrpc.Error{Message: "\xff", Data: json.RawMessage(`{`)}),
		`{"jsonrpc":"2.0","id":"x","result":[1e400]}`:                                                Answered(TextID("x"), json.RawMessage(`[1e400]`)),
		`{"jsonrpc":"2.0","id":7,"method":"a/b","params":{"_meta":{"progressToken":"t"}}}`:           Request(NumberID(7), "a/b", json.RawMessage(`{"_meta":{"progressToken":"t"}}`)),
		`{"jsonrpc":"2.0","method":"a"}`:                                                             Request(nil, "a", nil),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"x"}}`: Cancelled(ID("1"), "x"),
	} {
		require.Equal(t, want, string(m.Line))
		again, refused := ParseServer(m.Line)
		require.Nil(t, refused)
		require.Equal(t, again.ID, m.ID)
		require.Equal(t, again.Method, m.Method)
		require.Equal(t, again.Params, m.Params)
		require.Equal(t, again.Result, m.Result)
		require.Equal(t, again.Error, m.Error)
		require.Equal(t, again.Token(), m.Token())
		require.Equal(t, again.Cancels(), m.Cancels())
	}
}

// FuzzParse: what is read never panics, and what is written is one line of JSON.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":null}`, `[]`, `{`, `null`, "\xff", `{"id":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			return
		}
		m, refused := Parse(line)
		require.False(t, m == nil && refused == nil)
		if refused != nil {
			require.True(t, json.Valid(refused.Answer().Line))
			require.NotContains(t, string(refused.Answer().Line), "\n")
			return
		}
		require.NotContains(t, string(m.Line), "\r")
		require.NotContains(t, string(m.Line), "\n")
		for _, out := range []*Message{m.With([]byte(`"x"`), "id"), Answered(m.ID, []byte("{}"))} {
			require.True(t, json.Valid(out.Line))
		}
		server, bad := ParseServer(m.Line) // what is passed on has one reading
		require.Nil(t, bad)
		require.Equal(t, m.ID.Key(), server.ID.Key())
		require.Equal(t, m.Method, server.Method)
		require.Equal(t, m.Params, server.Params)
		long := scanner{}
		long.scan(m.Line)
		if m.ID != nil && len(m.ID) < maxID && !bytes.Contains(line, []byte(`\`)) && bytes.Count(line, []byte(`"id"`)) == 1 {
			require.Equal(t, m.ID.Key(), long.id().Key())
		}
	})
}

func TestUnmarshal(t *testing.T) {
	var v struct {
		Name string `json:"name"`
	}
	require.NoError(t, Unmarshal([]byte(`{"Name":"a","NAME":"b"}`), &v))
	require.Empty(t, v.Name)
	require.NoError(t, Unmarshal([]byte("{\"name\":\"\\ud800\xff\",\"x\":1,\"x\":2}"), &v))
	require.Equal(t, "\ufffd\ufffd", v.Name)
}

func TestATokenIsAdded(t *testing.T) {
	for params, want := range map[string]string{
		`{"name":"a", "_meta": {"x":1e2 } }`:         `{"name":"a", "_meta": {"x":1e2,"progressToken":"t"} }`,
		`{"_meta":{ },"name":"a"}`:                   `{"_meta":{"progressToken":"t"},"name":"a"}`,
		`{"name":"a" }`:                              `{"name":"a","_meta":{"progressToken":"t"}}`,
		`{"name":"a","_meta":{"progressToken":1.0}}`: `{"name":"a","_meta":{"progressToken":1.0}}`,
	} {
		m, refused := Parse([]byte(`{"jsonrpc":"2.0", "id":1,"method":"tools/call","params":` + params + `,"odd":1.0}`))
		require.Nil(t, refused)
		m.Authorization = "a"
		got := m.WithToken(TextID("t"))
		require.Equal(t, `{"jsonrpc":"2.0", "id":1,"method":"tools/call","params":`+want+`,"odd":1.0}`, string(got.Line))
		require.Equal(t, "a", got.Authorization)
		require.Equal(t, m.Text("params", "name"), got.Text("params", "name"))
		if params != want {
			require.JSONEq(t, `"t"`, string(got.Token()))
		}
	}
}
