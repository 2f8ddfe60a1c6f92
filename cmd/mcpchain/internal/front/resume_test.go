package front

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"p"}}}`

// slow is a server whose calls end when go is closed.
func slow(until chan struct{}) func(f *fake, m *rpc.Message) {
	return func(f *fake, m *rpc.Message) {
		if f.usual(m) {
			return
		}
		go func() {
			<-until
			f.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`)
			f.answer(m, `{"content":[],"of":`+string(m.ID)+`}`)
		}()
	}
}

// A client that has lost its connection before the answer gets all of it with another one.
func TestAnAnswerThatWasLostIsReadAgain(t *testing.T) {
	until := make(chan struct{})
	w := newWorld(t, slow(until), nil)
	mine, other := w.begin("2025-11-25"), w.begin("2025-11-25")
	ctx, cancel := context.WithCancel(t.Context())
	res := w.do(ctx, http.MethodPost, call, sessionHeader, mine)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	id, data := eventsOf(res).next(t)
	require.NotEmpty(t, id)
	require.Empty(t, data, "it only says how to come back")
	cancel()
	require.Eventually(t, func() bool { return !w.front.session(mine).named[strings.Split(id, "_")[0]].read() }, time.Minute, time.Millisecond)
	close(until)
	for range 2 { // as often as it likes
		e := eventsOf(w.do(t.Context(), http.MethodGet, "", sessionHeader, mine, "Last-Event-Id", id))
		next, data := e.next(t)
		require.Contains(t, data, "notifications/progress")
		require.NotEqual(t, id, next)
		_, data = e.next(t)
		require.Contains(t, data, `"of":1`)
	}
	for _, c := range [][]string{{other, id}, {mine, "7_0"}, {mine, "x"}, {mine, "0_x"}, {mine, "_1"}, {mine, "1_-1"}} {
		res = w.do(t.Context(), http.MethodGet, "", sessionHeader, c[0], "Last-Event-Id", c[1])
		require.Equal(t, http.StatusBadRequest, res.StatusCode, c)
		require.NotContains(t, all(t, res), "of")
	}
}

// Who comes back while the connection before still seems to be there takes the stream over.
func TestAStreamIsTakenOver(t *testing.T) {
	until := make(chan struct{})
	w := newWorld(t, slow(until), nil)
	mine := w.begin("2025-11-25")
	first := eventsOf(w.do(t.Context(), http.MethodPost, call, sessionHeader, mine))
	id, _ := first.next(t)
	second := eventsOf(w.do(t.Context(), http.MethodGet, "", sessionHeader, mine, "Last-Event-Id", id))
	_, err := first.r.ReadByte()
	require.Error(t, err, "nobody writes to it any more")
	close(until)
	_, data := second.next(t)
	require.Contains(t, data, "notifications/progress")
	_, data = second.next(t)
	require.Contains(t, data, `"of":1`)
}

// What belongs to no request is numbered, too: nothing comes twice, and nothing is lost.
func TestTheStreamOfNoRequestIsResumed(t *testing.T) {
	w := newWorld(t, func(f *fake, m *rpc.Message) {
		if !f.usual(m) {
			f.answer(m, `{}`)
			f.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"n":` + string(m.ID) + `}}`)
		}
	}, nil)
	mine := w.begin("2025-11-25")
	change := func(n int) {
		require.Contains(t, all(t, w.do(t.Context(), http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"change"}`, n), sessionHeader, mine)), `"result"`)
	}
	change(1)
	ctx, cancel := context.WithCancel(t.Context())
	res := w.do(ctx, http.MethodGet, "", sessionHeader, mine)
	e := eventsOf(res)
	before, _ := e.next(t)
	first, data := e.next(t)
	require.Contains(t, data, `"n":1`, "it came before anybody listened")
	require.Equal(t, http.StatusConflict, w.do(t.Context(), http.MethodGet, "", sessionHeader, mine).StatusCode)
	cancel()
	require.Eventually(t, func() bool { return !w.front.session(mine).alone.read() }, time.Minute, time.Millisecond)
	change(2)
	_, data = eventsOf(w.do(t.Context(), http.MethodGet, "", sessionHeader, mine, "Last-Event-Id", first)).next(t)
	require.Contains(t, data, `"n":2`)
	_, data = eventsOf(w.do(t.Context(), http.MethodGet, "", sessionHeader, mine, "Last-Event-Id", before)).next(t)
	require.Contains(t, data, `"n":1`)
}

// Clients of older versions may take an event without a message for one.
func TestOlderVersionsAreNotPrimed(t *testing.T) {
	until := make(chan struct{})
	w := newWorld(t, slow(until), nil)
	mine := w.begin("2025-06-18")
	close(until)
	id, data := eventsOf(w.do(t.Context(), http.MethodPost, call, sessionHeader, mine, "Accept", "text/event-stream")).next(t)
	require.NotEmpty(t, id)
	require.Contains(t, data, "notifications/progress")
}

func TestMemory(t *testing.T) {
	m := &memory{}
	for n := range 2 * maxKept {
		m.keep("s", "", event{n + 1, &rpc.Message{Line: []byte("x")}})
	}
	require.Len(t, m.after("s", 0), maxKept)
	require.Len(t, m.after("s", 2*maxKept-3), 3)
	require.Empty(t, m.after("other", 0))
	m.keep("s", "", event{5000, &rpc.Message{Line: make([]byte, 9<<20)}})
	require.Len(t, m.after("s", 0), 1, "the last one is kept, however large it is")
	m.keep("s", "", event{5001, &rpc.Message{Line: make([]byte, maxKeptBytes)}})
	require.Len(t, m.after("s", 0), 1)
	require.Equal(t, maxKeptBytes, m.bytes)
	m.age()
	require.Len(t, m.kept, 1)
	m.kept[0].at = time.Now().Add(-maxKeptTime - time.Second)
	m.age()
	require.Empty(t, m.kept)
	require.Zero(t, m.bytes)
}

// What waits for a client is bounded, but for the answer.
func TestWhatWaitsIsBounded(t *testing.T) {
	line := &rpc.Message{Line: make([]byte, 1<<20)}
	for _, c := range []struct {
		st   *stream
		most int
	}{
		{newStream(rpc.ID("1")), maxWaiting},
		{&stream{memory: &memory{}, name: "0", ready: make(chan struct{}, 1)}, maxBacklog},
	} {
		put := 0
		for range 100 {
			if c.st.put(line, false) {
				put += len(line.Line)
			}
		}
		require.Equal(t, c.most, put)
		require.True(t, c.st.put(line, true))
		require.False(t, c.st.put(line, true), "there is one answer")
	}
}

// A cancelled request is answered, or its client would come back for an answer. Its ID may be used again.
func TestACancelledRequestIsAnswered(t *testing.T) {
	w := newWorld(t, slow(make(chan struct{})), nil)
	for _, version := range []string{"2025-11-25", "2025-06-18"} {
		mine := w.begin(version)
		for range 3 {
			done := make(chan string, 1)
			go func() {
				res := w.do(t.Context(), http.MethodPost, call, sessionHeader, mine)
				body, err := io.ReadAll(res.Body)
				done <- string(body)
				if err != nil {
					t.Error(err)
				}
			}()
			require.Eventually(t, func() bool {
				s := w.front.session(mine)
				s.mu.Lock()
				defer s.mu.Unlock()
				return len(s.streams) == 1
			}, time.Minute, time.Millisecond)
			time.Sleep(100 * time.Millisecond) // until the server has it
			require.Equal(t, http.StatusAccepted, w.do(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, sessionHeader, mine).StatusCode)
			require.Contains(t, <-done, "Cancelled: the client has cancelled the request.")
		}
	}
}

// The ID of a call whose client has gone stays in use until it is answered: nobody gets the answer to another call.
func TestTheIDOfACallThatGoesOn(t *testing.T) {
	until := make(chan struct{})
	w := newWorld(t, slow(until), nil)
	mine := w.begin("2025-06-18")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // once the call runs
		defer cancel()
		for running := 0; running == 0 && t.Context().Err() == nil; time.Sleep(time.Millisecond) {
			s := w.front.session(mine)
			s.mu.Lock()
			running = len(s.streams)
			s.mu.Unlock()
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(call))
	require.NoError(t, err)
	req.Header = http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}, sessionHeader: {mine}}
	_, err = http.DefaultClient.Do(req) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, context.Canceled)
	again := w.do(t.Context(), http.MethodPost, call, sessionHeader, mine)
	require.Equal(t, http.StatusBadRequest, again.StatusCode)
	require.Contains(t, all(t, again), "not answered yet")
	close(until)
	require.Eventually(t, func() bool {
		return strings.Contains(all(t, w.do(t.Context(), http.MethodPost, call, sessionHeader, mine)), `"of":1`)
	}, 5*time.Second, 5*time.Millisecond)
}
