package remote

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A refusal is an answer with a status.
type refusal struct {
	status int
	body   string
}

func (r refusal) answer(w http.ResponseWriter, id string) {
	body := strings.ReplaceAll(r.body, "ID", id)
	if strings.HasPrefix(body, "data:") {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(r.status)
		_, _ = io.WriteString(w, body)
		return
	}
	answerJSON(w, r.status, body)
}

const (
	write     = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write"}}`
	noSession = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32001,"message":"Session not found"}}`
	served    = `{"jsonrpc":"2.0","id":ID,"result":{}}`
)

// idOf returns the ID that stands in a body.
func idOf(body []byte) string {
	m, err := rpc.Read(body)
	if err != nil {
		return "null"
	}
	return string(m.ID)
}

// A session is lost if the server refuses a ping of it as it has refused a request of it. A request is sent
// once, and its own answer passes, whatever the status.
func TestWhatALostSessionIs(t *testing.T) {
	ofNone := strings.Replace(noSession, "ID", "null", 1)
	for name, one := range map[string]struct {
		call, ping refusal
		passes     string // the line that comes, "" if the request fails
		fails      string
		effect     fault.Effect
		lost       bool // the request says so
		ends       bool // the session does
	}{
		"404 with its own error":                   {call: refusal{404, noSession}, ping: refusal{200, served}, passes: strings.Replace(noSession, "ID", "1", 1)},
		"404 with its own error, and no session":   {call: refusal{404, noSession}, ping: refusal{404, ""}, passes: strings.Replace(noSession, "ID", "1", 1), ends: true},
		"404 with its own result":                  {call: refusal{404, served}, ping: refusal{200, served}, passes: strings.Replace(served, "ID", "1", 1)},
		"404 with its own error in a list":         {call: refusal{404, "[" + noSession + "]"}, ping: refusal{200, served}, passes: strings.Replace(noSession, "ID", "1", 1)},
		"404 with its own error in events":         {call: refusal{404, "data: " + noSession + "\n\n"}, ping: refusal{200, served}, passes: strings.Replace(noSession, "ID", "1", 1)},
		"404 with an error of none":                {call: refusal{404, ofNone}, ping: refusal{200, served}, passes: strings.Replace(noSession, "ID", "1", 1)},
		"404 with an error of none, no session":    {call: refusal{404, ofNone}, ping: refusal{404, ofNone}, fails: "The session was lost; it is not known whether this call took effect", effect: fault.EffectUnknown, lost: true, ends: true},
		"404 without an answer, and no session":    {call: refusal{404, "gone"}, ping: refusal{404, ""}, fails: "The session was lost; it is not known whether this call took effect", effect: fault.EffectUnknown, lost: true, ends: true},
		"404 of one that has the session":          {call: refusal{404, "gone"}, ping: refusal{200, served}, fails: "404 Not Found, and not with the answer to the request", effect: fault.EffectUnknown},
		"404 of one that does not know the ping":   {call: refusal{404, "gone"}, ping: refusal{404, noSession}, fails: "404 Not Found, and not with the answer to the request", effect: fault.EffectUnknown},
		"404 of one that answers the ping as 400":  {call: refusal{404, "gone"}, ping: refusal{400, ""}, fails: "404 Not Found, and not with the answer to the request", effect: fault.EffectUnknown},
		"400 with its own error, and no session":   {call: refusal{400, noSession}, ping: refusal{404, ""}, passes: strings.Replace(noSession, "ID", "1", 1)},
		"400 without an answer, and no session":    {call: refusal{400, "gone"}, ping: refusal{404, ""}, fails: "The session was lost; it is not known whether this call took effect", effect: fault.EffectUnknown, lost: true, ends: true},
		"400 of one that says so of a session":     {call: refusal{400, "gone"}, ping: refusal{400, ""}, fails: "The session was lost; it is not known whether this call took effect", effect: fault.EffectUnknown, lost: true, ends: true},
		"400 of one that has the session":          {call: refusal{400, "gone"}, ping: refusal{200, served}, fails: "400 Bad Request", effect: fault.EffectNone},
		"400 with an error of none":                {call: refusal{400, ofNone}, ping: refusal{200, served}, passes: strings.Replace(noSession, "ID", "1", 1)},
		"500 says nothing of the session":          {call: refusal{500, "gone"}, ping: refusal{404, ""}, fails: "500 Internal Server Error", effect: fault.EffectUnknown},
		"403 with its own error, of whatever kind": {call: refusal{403, noSession}, ping: refusal{404, ""}, passes: strings.Replace(noSession, "ID", "1", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				switch {
				case strings.Contains(string(body), "initialize"):
					w.Header().Set("Mcp-Session-Id", "s")
					answerJSON(w, 200, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`)
				case strings.Contains(string(body), `"ping"`):
					one.ping.answer(w, idOf(body))
				default:
					calls.Add(1)
					one.call.answer(w, idOf(body))
				}
			}))
			s.send(hi)
			s.line()
			s.send(write)
			if one.passes != "" {
				require.JSONEq(t, one.passes, s.line())
			} else {
				var of *rpc.FailedError
				var f *failure
				require.ErrorAs(t, s.event().err, &of)
				require.ErrorAs(t, of.Err, &f)
				require.ErrorContains(t, of.Err, one.fails)
				require.Equal(t, one.effect, f.Effect())
				require.Equal(t, one.lost, of.Lost)
				require.NotErrorIs(t, of.Err, rpc.ErrUnsent)
			}
			require.EqualValues(t, 1, calls.Load())
			select {
			case <-s.Ended():
				require.True(t, one.ends, s.How())
				require.Contains(t, s.How(), "the server has no such session")
			case <-time.After(map[bool]time.Duration{true: time.Minute, false: 50 * time.Millisecond}[one.ends]):
				require.False(t, one.ends)
			}
		})
	}
}

// What comes after a session was lost is not sent, and may be sent to the next one. What was on its way is waited
// for.
func TestAfterALostSession(t *testing.T) {
	var calls atomic.Int64
	slow := make(chan struct{})
	s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), "initialize"):
			w.Header().Set("Mcp-Session-Id", "s")
			answerJSON(w, 200, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`)
		case strings.Contains(string(body), "slow"):
			<-slow
			answerJSON(w, 200, `{"jsonrpc":"2.0","id":5,"result":{}}`)
		default:
			calls.Add(1)
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	s.send(hi)
	s.line()
	s.send(`{"jsonrpc":"2.0","id":5,"method":"slow"}`)
	s.send(write)
	var of *rpc.FailedError
	require.ErrorAs(t, s.event().err, &of)
	require.True(t, of.Lost)
	late, err := rpc.Read([]byte(write))
	require.NoError(t, err)
	require.ErrorIs(t, s.Write(late), rpc.ErrUnsent)
	require.EqualValues(t, 2, calls.Load(), "the call, and the ping")
	close(slow)
	for { // unless it took longer than a moment
		e, ok := <-s.next
		if !ok {
			break
		}
		if !errors.As(e.err, &of) {
			require.Contains(t, string(e.m.Line), `"id":5`)
		}
	}
	<-s.Ended()
}

// A call that was taken before the session was lost, and not yet sent, is not sent.
func TestWhatWasNotSentIsSaidToBe(t *testing.T) {
	s := begin(t, serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }))
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	m, err := rpc.Read([]byte(write))
	require.NoError(t, err)
	c := &call{Message: m, key: m.ID.Key()}
	var of *rpc.FailedError
	require.ErrorAs(t, failed(c, s.exchange(t.Context(), c)), &of)
	require.ErrorIs(t, of.Err, rpc.ErrUnsent)
}
