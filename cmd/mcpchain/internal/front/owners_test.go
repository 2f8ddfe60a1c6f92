package front

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/proxy"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// guarded is a server over HTTP that accepts the tokens which begin with "good", each message by itself. The tool
// "wait" waits for goOn, "whoami" answers with its token.
type guarded struct {
	goOn chan struct{}
	came chan string // the token of each call of "wait"

	mu   sync.Mutex
	got  []string // token and method of each message
	last *fake
}

func newGuarded(t *testing.T, change func(*Options)) (*world, *guarded) {
	g := &guarded{goOn: make(chan struct{}), came: make(chan string, 10)}
	w := newWorld(t, nil, func(o *Options) {
		if change != nil {
			change(o)
		}
		o.Start = func(accepted func(string)) (proxy.Server, error) {
			f := &fake{out: make(chan []byte, 1000), ended: make(chan struct{}), handle: func(f *fake, m *rpc.Message) { g.handle(f, m, accepted) }}
			g.mu.Lock()
			defer g.mu.Unlock()
			g.last = f
			return f, nil
		}
	})
	return w, g
}

func (g *guarded) handle(f *fake, m *rpc.Message, accepted func(string)) {
	token := strings.TrimPrefix(m.Authorization, "Bearer ")
	g.mu.Lock()
	g.got = append(g.got, token+" "+m.Method)
	g.mu.Unlock()
	if !strings.HasPrefix(token, "good") {
		if m.IsRequest() {
			f.say(string(rpc.Failed(m.ID, &jsonrpc.Error{Code: http.StatusUnauthorized, Message: "Unauthenticated: the token is not valid."}).Line))
		}
		return
	}
	accepted(m.Authorization)
	switch {
	case m.Method == "ping":
		f.answer(m, `{}`)
	case f.usual(m):
	case strings.Contains(string(m.Params), "wait"):
		g.came <- token
		go func() {
			<-g.goOn
			f.answer(m, `{"secret":"of `+token+`"}`)
		}()
	default:
		f.answer(m, `{"you":"`+token+`"}`)
	}
}

func (g *guarded) messages() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.got, "\n")
}

func bearer(token string) []string {
	if token == "" {
		return nil
	}
	return []string{"Authorization", "Bearer " + token}
}

// as sends a message in a session.
func (w *world) as(ctx context.Context, token, mine, method, body string, more ...string) *response {
	w.Helper()
	return w.do(ctx, method, body, append(append(bearer(token), sessionHeader, mine), more...)...)
}

// beginAs begins a session with a token.
func (w *world) beginAs(token string) string {
	w.Helper()
	res := w.do(w.Context(), http.MethodPost, beginning, bearer(token)...)
	require.Equal(w, http.StatusOK, res.StatusCode)
	_ = all(w, res)
	return res.Header.Get(sessionHeader)
}

func toolCall(id, tool string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":{}}}`
}

// Who knows the ID of a session, and has no credentials that its server accepts, neither reads nor ends nor cancels
// anything of it, and its requests reach the server with what it sent.
func TestTheIDOfASessionIsNoCredential(t *testing.T) {
	w, g := newGuarded(t, nil)
	mine := w.beginAs("good-ann")
	waits := w.as(t.Context(), "good-ann", mine, http.MethodPost, toolCall("1", "wait"))
	_, _ = eventsOf(waits).next(t) // primes
	require.Equal(t, "good-ann", <-g.came)
	for _, token := range []string{"", "invented"} {
		require.Equal(t, http.StatusNotFound, w.as(t.Context(), token, mine, http.MethodGet, "").StatusCode, "%q reads", token)
		require.Equal(t, http.StatusNotFound, w.as(t.Context(), token, mine, http.MethodGet, "", "Last-Event-ID", "1_0").StatusCode, "%q resumes", token)
		require.Equal(t, http.StatusNotFound, w.as(t.Context(), token, mine, http.MethodDelete, "").StatusCode, "%q ends", token)
		require.Equal(t, http.StatusNotFound, w.as(t.Context(), token, mine, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).StatusCode, "%q cancels", token)
		require.Equal(t, http.StatusNotFound, w.as(t.Context(), token, mine, http.MethodPost, `{"jsonrpc":"2.0","id":7,"result":{}}`).StatusCode, "%q answers", token)
		require.Contains(t, all(t, w.as(t.Context(), token, mine, http.MethodPost, toolCall("2", "whoami"))), "the token is not valid")
		require.Contains(t, g.messages(), "\n"+token+" tools/call")
		require.NotContains(t, g.messages(), token+" notifications/cancelled")
	}
	close(g.goOn)
	answer := all(t, waits)
	require.Contains(t, answer, "of good-ann")
	require.NotContains(t, answer, "Cancelled")
	require.Equal(t, http.StatusNoContent, w.as(t.Context(), "good-ann", mine, http.MethodDelete, "").StatusCode)
}

// What the server says by itself is for whom the session belongs to, whoever has sent the newest request.
func TestAStrangersRequestHearsNothing(t *testing.T) {
	w, g := newGuarded(t, nil)
	mine := w.beginAs("good-ann")
	answer := make(chan string, 1)
	g.mu.Lock() // the server is slow to refuse
	go func() {
		answer <- all(t, w.as(t.Context(), "invented", mine, http.MethodPost, toolCall("9", "t"))) //nolint:testifylint // who waits for it ends with the test
	}()
	s := w.front.session(mine)
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.streams) == 1
	}, time.Minute, time.Millisecond)
	g.last.say(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"secret":"for ann"}}`)
	g.last.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"for ann"}}`)
	require.Eventually(t, func() bool {
		s.alone.mu.Lock()
		defer s.alone.mu.Unlock()
		return len(s.alone.events) == 2
	}, time.Minute, time.Millisecond)
	g.mu.Unlock()
	require.NotContains(t, <-answer, "for ann")
	stream := eventsOf(w.as(t.Context(), "good-ann", mine, http.MethodGet, ""))
	for data := ""; !strings.Contains(data, "sampling"); {
		_, data = stream.next(t)
	}
}

// A token that is renewed belongs to the session once the server has answered one of its messages with 2xx.
func TestRenewedTokens(t *testing.T) {
	w, g := newGuarded(t, nil)
	mine := w.beginAs("good-1")
	require.Equal(t, http.StatusNotFound, w.as(t.Context(), "good-2", mine, http.MethodGet, "").StatusCode)
	require.Contains(t, all(t, w.as(t.Context(), "good-2", mine, http.MethodPost, toolCall("1", "whoami"))), `"you":"good-2"`)
	require.Equal(t, http.StatusOK, w.as(t.Context(), "good-2", mine, http.MethodGet, "").StatusCode)
	require.Contains(t, all(t, w.as(t.Context(), "good-1", mine, http.MethodPost, toolCall("2", "whoami"))), `"you":"good-1"`)

	// One whose first message is a notification is asked for first.
	require.Equal(t, http.StatusAccepted, w.as(t.Context(), "good-3", mine, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`).StatusCode)
	require.Eventually(t, func() bool { return strings.Contains(g.messages(), "good-3 notifications/roots/list_changed") }, time.Minute, time.Millisecond)
	require.Contains(t, g.messages(), "good-3 ping")
	require.Equal(t, http.StatusNoContent, w.as(t.Context(), "good-3", mine, http.MethodDelete, "").StatusCode)
}

// What a stranger's requests are answered with takes no place of what is kept for the owner.
func TestAStrangerForgetsNothing(t *testing.T) {
	w, g := newGuarded(t, nil)
	mine := w.beginAs("good-1")
	ctx, gone := context.WithCancel(t.Context())
	first, _ := eventsOf(w.as(ctx, "good-1", mine, http.MethodPost, toolCall("1", "wait"))).next(t)
	gone()
	close(g.goOn)
	for range 2 * maxKept {
		_ = all(t, w.as(t.Context(), "invented", mine, http.MethodPost, toolCall("2", "t")))
	}
	require.Contains(t, all(t, w.as(t.Context(), "good-1", mine, http.MethodGet, "", "Last-Event-ID", first)), "of good-1")
}

// Of the answers that are kept, each is for who has sent its request, and for those who came after it.
func TestKeptAnswersBelongToTheirCredentials(t *testing.T) {
	w, g := newGuarded(t, nil)
	mine := w.beginAs("good-1")
	lose := func(token, id string) (event string) {
		ctx, gone := context.WithCancel(t.Context())
		event, _ = eventsOf(w.as(ctx, token, mine, http.MethodPost, toolCall(id, "wait"))).next(t)
		require.Equal(t, token, <-g.came)
		gone()
		return event
	}
	first := lose("good-1", "1")
	require.Contains(t, all(t, w.as(t.Context(), "good-2", mine, http.MethodPost, toolCall("5", "whoami"))), `"you":"good-2"`)
	second := lose("good-2", "2")
	s := w.front.session(mine)
	require.Eventually(t, func() bool { // their clients have gone
		s.mu.Lock()
		defer s.mu.Unlock()
		n := 0
		for _, st := range s.streams {
			if !st.read() {
				n++
			}
		}
		return n == 2
	}, time.Minute, time.Millisecond)
	close(g.goOn)
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.streams) == 0
	}, time.Minute, time.Millisecond)
	resume := func(token, event string) (int, string) {
		res := w.as(t.Context(), token, mine, http.MethodGet, "", "Last-Event-ID", event)
		return res.StatusCode, all(t, res)
	}
	status, body := resume("good-1", second)
	require.Equal(t, http.StatusBadRequest, status, "it is an answer for who came later")
	require.NotContains(t, body, "secret")
	status, _ = resume("good-9", first)
	require.Equal(t, http.StatusNotFound, status, "no message of it was ever accepted here")
	for token, event := range map[string]string{"good-1": first, "good-2": second} {
		_, body = resume(token, event)
		require.Contains(t, body, `"secret":"of `+token+`"`)
	}
	_, body = resume("good-2", first)
	require.Contains(t, body, `"secret":"of good-1"`, "it has taken the place of the first")
}

// The bounds are those of the address until the server has accepted the credentials, and those of the principal then.
func TestPrincipalsHaveBoundsOfTheirOwn(t *testing.T) {
	w, _ := newGuarded(t, func(o *Options) {
		behindAProxy(o)
		o.Sessions = 40
	})
	begin := func(token string) int {
		res := w.do(t.Context(), http.MethodPost, beginning, append(bearer(token), from("192.0.2.1")...)...)
		_ = all(t, res)
		return res.StatusCode
	}
	for range 20 {
		require.Equal(t, http.StatusOK, begin("good-ann"))
	}
	require.Equal(t, http.StatusTooManyRequests, begin("good-ann"))
	require.Equal(t, http.StatusOK, begin("good-bob"), "who shares her address")
	each, _ := w.held(sessions, "192.0.2.1")
	require.Zero(t, each)
}

// Without credentials for the server a session belongs to the header that began it, or to those who send none.
func TestSessionsOfOneHeader(t *testing.T) {
	var cancelled atomic.Bool
	w := newWorld(t, func(f *fake, m *rpc.Message) {
		cancelled.Store(cancelled.Load() || m.Method == "notifications/cancelled")
		if !f.usual(m) {
			f.answer(m, `{"content":[]}`)
		}
	}, nil)
	for _, c := range []struct {
		owner  string
		others []string
	}{{"ann", []string{"", "bob"}}, {"", []string{"bob"}}} {
		mine := w.beginAs(c.owner)
		for _, other := range c.others {
			for method, body := range map[string]string{http.MethodGet: "", http.MethodDelete: "", http.MethodPost: toolCall("1", "t")} {
				require.Equal(t, http.StatusNotFound, w.as(t.Context(), other, mine, method, body).StatusCode, "%q as %q", other, c.owner)
			}
			require.Equal(t, http.StatusNotFound, w.as(t.Context(), other, mine, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).StatusCode)
		}
		require.Equal(t, http.StatusOK, w.as(t.Context(), c.owner, mine, http.MethodPost, toolCall("1", "t")).StatusCode)
		require.Equal(t, http.StatusNoContent, w.as(t.Context(), c.owner, mine, http.MethodDelete, "").StatusCode)
	}
	require.False(t, cancelled.Load())
}

// Whether a stranger's token is any good is asked as one of the calls of its caller: a client cannot ask without end.
func TestTheQuestionAboutAStrangerIsACall(t *testing.T) {
	w, g := newGuarded(t, nil)
	const changed, here = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, "address 127.0.0.1"
	mine := w.beginAs("good-ann")
	w.front.accounts[calls].Each = 1
	require.Nil(t, w.front.accounts[calls].Take(here, 1))
	require.Equal(t, http.StatusNotFound, w.as(t.Context(), "good-bob", mine, http.MethodPost, changed).StatusCode)
	require.NotContains(t, g.messages(), "good-bob")
	w.front.accounts[calls].Give(here, 1)
	require.Equal(t, http.StatusAccepted, w.as(t.Context(), "good-bob", mine, http.MethodPost, changed).StatusCode)
	w.nothingIsHeld()
}
