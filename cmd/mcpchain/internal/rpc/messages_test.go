package rpc

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// readAll returns the messages and the errors of a text, in their order.
func readAll(t *testing.T, text string, most int) (all []string) {
	t.Helper()
	messages := NewMessages(strings.NewReader(text), most)
	for {
		m, err := messages.Next()
		refused, long := &RefusedError{}, &TooLongError{}
		switch {
		case errors.As(err, &refused):
			all = append(all, "refused "+string(refused.ID)+": "+refused.Reason)
		case errors.As(err, &long):
			all = append(all, "too long "+string(long.ID))
		case err != nil:
			require.ErrorIs(t, err, io.EOF)
			require.False(t, messages.Open())
			return all
		case m.Mended != "":
			all = append(all, string(m.Line)+" mended: "+m.Mended)
		default:
			all = append(all, string(m.Line))
		}
	}
}

func TestMessagesAreMended(t *testing.T) {
	const (
		ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		two  = `{"jsonrpc":"2.0","id":2,"result":{}}`
		many = " mended: a message on many lines"
	)
	pretty := "{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 7,\n\n  \"result\": {\n    \"content\": [\n      {\"a\": \"b } c\"}\n    ]\n  }\n}\n"
	for text, want := range map[string][]string{
		ping + "\n\n" + two:                      {ping, two},
		"\ufeff" + ping + "\n" + two:             {ping + " mended: a byte order mark before a message", two},
		"\ufeff\n" + ping:                        {ping},
		pretty:                                   {`{"jsonrpc":"2.0","id":7,"result":{"content":[{"a":"b } c"}]}}` + many},
		"\ufeff" + pretty + ping:                 {`{"jsonrpc":"2.0","id":7,"result":{"content":[{"a":"b } c"}]}}` + many, ping},
		"{\"jsonrpc\":\"2.0\",\n" + ping[17:]:    {ping + many},
		"{ starting\n" + ping:                    {"refused : the line is no JSON", ping},
		"{\n" + ping + "\n" + two:                {"refused : an object on many lines does not end", ping, two},
		"{\n  name: 'it',\n  of: {}\n}\n" + ping: {"refused : it stands on many lines and is no JSON", ping},
		"{\n  it's \"\n}\n" + ping:               {"refused : an object on many lines does not end", ping},
		"{\n  name: 'a {'\n}\n" + pretty:         {"refused : an object on many lines does not end", `{"jsonrpc":"2.0","id":7,"result":{"content":[{"a":"b } c"}]}}` + many},
		"{\"cut\": \"of\n" + pretty + pretty:     {"refused : an object on many lines does not end", `{"jsonrpc":"2.0","id":7,"result":{"content":[{"a":"b } c"}]}}` + many, `{"jsonrpc":"2.0","id":7,"result":{"content":[{"a":"b } c"}]}}` + many},
		"{\n":                                    {"refused : an object on many lines does not end"},
		"[\n" + ping + "\n]\n":                   {"refused : the line is no JSON", ping, "refused : the line is no JSON"},
		"{\"a\":\n1}\n":                          {`refused : the member "jsonrpc" is not "2.0"`},
		"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[{\"text\":\"one\ntwo\"}]}}\n" + ping: {
			"refused 5: it stands on many lines and is no JSON", ping},
		"{\"jsonrpc\":\"2.0\",\"id\":5,\n\"result\":[\"" + strings.Repeat("x", 120) + "\",\n\"" + strings.Repeat("x", 120) + "\"\n" + two: {"too long 5", two},
		"{\"jsonrpc\":\"2.0\",\"id\":5,\n\"result\":\"" + strings.Repeat("x", 300) + "\"\n" + two:                                         {"too long 5", two},
		"{\"jsonrpc\":\"2.0\",\"id\":5,\n{\"id\":6,\"result\":\"" + strings.Repeat("x", 300) + "\"\n" + two:                               {"refused : an object on many lines does not end", "too long 6", two},
	} {
		require.Equal(t, want, readAll(t, text, 200), text)
	}
}

func TestAnObjectIsOpen(t *testing.T) {
	r, w := io.Pipe()
	messages := NewMessages(r, 100)
	got := make(chan *Message)
	go func() {
		m, _ := messages.Next()
		got <- m
	}()
	_, _ = io.WriteString(w, "{\n")
	_, _ = io.WriteString(w, "\n") // then the line before it was read, and this one is being read
	_, _ = io.WriteString(w, "\n")
	require.Eventually(t, messages.Open, time.Minute, time.Millisecond)
	_, _ = io.WriteString(w, "\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n")
	require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/x"}`, string((<-got).Line))
	require.False(t, messages.Open())
}

// FuzzMessages: whatever was written before a message, the message is read.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{"", "{", "{\n\"", "{\"a\":[\n", "\ufeff{\n}\n{", "{\"jsonrpc\":\n", "x\n\n{\n{\n"} {
		f.Add([]byte(seed))
	}
	const message = `{"jsonrpc":"2.0","id":"last","result":{}}`
	f.Fuzz(func(t *testing.T, before []byte) {
		messages := NewMessages(bytes.NewReader(append(append(bytes.Clone(before), '\n'), message...)), 1<<10)
		last := ""
		for {
			m, err := messages.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if last = ""; err == nil {
				require.NotContains(t, string(m.Line), "\n")
				last = string(m.Line)
			}
		}
		require.Equal(t, message, last)
	})
}
