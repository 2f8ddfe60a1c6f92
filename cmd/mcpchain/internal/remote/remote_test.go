package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

const canary = "zq-canary-of-a-header"

// A side is a session with a handler, and what it has logged.
type side struct {
	*Session

	t    *testing.T
	log  *logs
	next chan event
}

type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// serve starts a server and returns its URL.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

func begin(t *testing.T, url string) *side {
	t.Helper()
	log := &logs{}
	c, err := New(Options{
		URL: url, Header: http.Header{"Authorization": {canary}}, MaxAnswer: 64 << 10,
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	require.NoError(t, err)
	c.first = time.Millisecond
	s := &side{Session: c.Start(nil), t: t, log: log, next: make(chan event, 100)}
	go func() {
		for {
			m, err := s.Next()
			if errors.Is(err, io.EOF) {
				close(s.next)
				return
			}
			s.next <- event{m, err}
		}
	}()
	t.Cleanup(func() {
		s.Stop(0)
		require.NotContains(t, log.String(), canary)
	})
	return s
}

func (s *side) send(line string) {
	s.t.Helper()
	m, err := rpc.Read([]byte(line))
	require.NoError(s.t, err)
	require.NoError(s.t, s.Write(m))
}

// line returns the next line.
func (s *side) line() string {
	s.t.Helper()
	e := s.event()
	if of := (*rpc.FailedError)(nil); errors.As(e.err, &of) {
		require.NoError(s.t, of.Err)
	}
	if refused := (*rpc.RefusedError)(nil); errors.As(e.err, &refused) {
		return string(refused.Line)
	}
	require.NoError(s.t, e.err)
	return string(e.m.Line)
}

func (s *side) event() event {
	s.t.Helper()
	select {
	case e, ok := <-s.next:
		require.True(s.t, ok, "the session has ended: %s\n%s", s.How(), s.log)
		return e
	case <-time.After(15 * time.Second):
		require.FailNow(s.t, "nothing comes", s.log)
		return event{}
	}
}

// failure returns what the next request fails with.
func (s *side) failure() *failure {
	s.t.Helper()
	e := s.event()
	var of *rpc.FailedError
	require.ErrorAs(s.t, e.err, &of, "%v", e.m)
	require.NotErrorIs(s.t, of.Err, rpc.ErrUnsent)
	var f *failure
	require.ErrorAs(s.t, of.Err, &f)
	require.NotContains(s.t, f.Error(), canary)
	return f
}

// nothing says that nothing comes.
func (s *side) nothing() {
	s.t.Helper()
	select {
	case e, ok := <-s.next:
		require.FailNow(s.t, "something comes", "%v %v %v", ok, e.m, e.err)
	case <-time.After(100 * time.Millisecond):
	}
}

const (
	ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	hi   = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
)

// call returns a call of version 2026-07-28.
func callOf(id, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, id, tool, args)
}

func answerJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func events(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// A message passes as it is. What has several lines is one line then, and not changed otherwise.
func TestMessagesPassAsTheyAre(t *testing.T) {
	const odd = `{ "jsonrpc":"2.0",  "result":{"é":"\u00e9\n","n":1.00,"x":{}}, "id":1,"unknown":[ ] }`
	for name, answer := range map[string]struct {
		serve func(w http.ResponseWriter)
		want  []string
	}{
		"JSON": {func(w http.ResponseWriter) { answerJSON(w, 200, " "+odd+"\n") }, []string{odd}},
		"JSON in lines": {func(w http.ResponseWriter) {
			answerJSON(w, 200, "{\"jsonrpc\":\"2.0\",\r\n\"id\":1,\n\"result\":{\"b\":\"\xff\"}}")
		}, []string{"{\"jsonrpc\":\"2.0\",  \"id\":1, \"result\":{\"b\":\"\xff\"}}"}},
		"no type":          {func(w http.ResponseWriter) { w.Header()["Content-Type"] = nil; _, _ = io.WriteString(w, odd) }, []string{odd}},
		"a list":           {func(w http.ResponseWriter) { answerJSON(w, 200, `[{"jsonrpc":"2.0","method":"a"} , `+odd+`]`) }, []string{`{"jsonrpc":"2.0","method":"a"}`, odd}},
		"events":           {func(w http.ResponseWriter) { events(w, "data: "+odd+"\n\n") }, []string{odd}},
		"events with CR":   {func(w http.ResponseWriter) { events(w, "\xef\xbb\xbfid:7\rdata:"+odd+"\r\r") }, []string{odd}},
		"events with CRLF": {func(w http.ResponseWriter) { events(w, ": hello\r\nevent: message\r\ndata: "+odd+"\r\n\r\n") }, []string{odd}},
		"events in lines": {func(w http.ResponseWriter) {
			events(w, "data: {\"jsonrpc\":\"2.0\",\ndata:\"id\":1,\ndata:  \"result\":{}}\n\n")
		}, []string{`{"jsonrpc":"2.0", "id":1,  "result":{}}`}},
		"other events": {func(w http.ResponseWriter) {
			events(w, "event: prime\ndata: x\n\ndata\n\nretry: 5\n\nnonsense\n\ndata:"+odd+"\n\n")
		}, []string{odd}},
		"before and behind": {func(w http.ResponseWriter) {
			events(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\ndata: "+odd+"\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n\n")
		}, []string{`{"jsonrpc":"2.0","method":"a"}`, odd, `{"jsonrpc":"2.0","method":"b"}`}},
		"an error": {func(w http.ResponseWriter) {
			answerJSON(w, 400, `{"jsonrpc":"2.0","id":1,"error":{"code":-3,"message":"m"}}`)
		}, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-3,"message":"m"}}`}},
		"an error of none": {func(w http.ResponseWriter) {
			answerJSON(w, 500, `{"jsonrpc":"2.0","id":null,"error":{"code":-3,"message":"m","data":[1]}}`)
		}, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-3,"message":"m","data":[1]}}`}},
		"an illegal answer": {func(w http.ResponseWriter) { answerJSON(w, 200, `{"id":1,"result":{}}`) }, []string{`{"id":1,"result":{}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != canary || r.Header.Get("Accept") != "application/json, text/event-stream" {
					w.WriteHeader(http.StatusTeapot)
					return
				}
				answer.serve(w)
			}))
			s.send(ping)
			for _, want := range answer.want {
				require.Equal(t, want, s.line())
			}
			s.nothing()
		})
	}
}

// A seen is what a server saw of a request of HTTP.
type seen struct{ method, session, version, mcp, name, last, body string }

// A session up to 2025-11-25: what the headers say, the stream of its own, and how it ends.
func TestASession(t *testing.T) {
	var mu sync.Mutex
	var all []seen
	stream := make(chan string)
	s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		all = append(all, seen{r.Method, r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Protocol-Version"), r.Header.Get("Mcp-Method"), r.Header.Get("Mcp-Name"), r.Header.Get("Last-Event-ID"), string(body)})
		mu.Unlock()
		switch {
		case r.Method == http.MethodGet:
			events(w, "retry: 1\n\n")
			select {
			case text := <-stream:
				events(w, text)
			case <-r.Context().Done():
			}
		case strings.Contains(string(body), "initialize\""):
			w.Header().Set("Mcp-Session-Id", "the-session")
			answerJSON(w, 200, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}`)
		case strings.Contains(string(body), `"id"`):
			answerJSON(w, 200, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	saw := func(i int) seen {
		t.Helper()
		require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(all) > i }, time.Minute, time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		return all[i]
	}
	const ready, roots, asked = `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, `{"jsonrpc":"2.0","id":"q","result":{}}`
	s.send(hi)
	require.Contains(t, s.line(), "2025-06-18")
	s.send(ready)
	s.send(ping)
	require.Contains(t, s.line(), `"id":1`)
	s.send(roots)
	s.send(asked)
	for i, want := range []seen{
		{"POST", "", "", "", "", "", hi},
		{"POST", "the-session", "2025-06-18", "", "", "", ready},
		{"GET", "the-session", "2025-06-18", "", "", "", ""},
		{"POST", "the-session", "2025-06-18", "", "", "", ping},
		{"POST", "the-session", "2025-06-18", "", "", "", roots},
		{"POST", "the-session", "2025-06-18", "", "", "", asked},
	} {
		require.Equal(t, want, saw(i))
	}
	stream <- "id: e1\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}\n\nid: e2\n\n" // and it ends
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"q","method":"roots/list"}`, s.line())
	require.Equal(t, seen{"GET", "the-session", "2025-06-18", "", "", "e2", ""}, saw(6))
	stream <- "data: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\n"
	require.Contains(t, s.line(), `"m"`)
	saw(7)
	s.Stop(time.Second)
	require.Equal(t, seen{"DELETE", "the-session", "2025-06-18", "", "", "", ""}, saw(8))
	<-s.Ended()
	_, err := s.Next()
	require.ErrorIs(t, err, io.EOF)
}

// Since 2026-07-28 there is no session, and the headers describe the message.
func TestHeadersOfAMessage(t *testing.T) {
	lists, strict := atomic.Int64{}, atomic.Bool{}
	s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), "tools/list"):
			lists.Add(1)
			page := `"nextCursor":"2","tools":[{"name":"plain","inputSchema":{}}]`
			if strings.Contains(string(body), `"cursor":"2"`) {
				page = `"tools":[{"name":"größe","inputSchema":{"properties":{"a":{"x-mcp-header":"A"},"in":{"properties":{"b":{"x-mcp-header":"B"},"c":{"x-mcp-header":7},"d":{"x-mcp-header":"no name"}}}}}}]`
			}
			asked, err := rpc.Read(body)
			if err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			answerJSON(w, 200, string(rpc.Answered(asked.ID, json.RawMessage(`{`+page+`}`)).Line))
		case strict.Load() && r.Header.Get("Mcp-Name") != "größe":
			answerJSON(w, 400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"header mismatch"}}`)
		default:
			h := r.Header
			saw, _ := json.Marshal([]string{h.Get("Mcp-Session-Id"), h.Get("Mcp-Protocol-Version"), h.Get("Mcp-Method"), h.Get("Mcp-Name"), h.Get("Mcp-Param-A"), h.Get("Mcp-Param-B"), h.Get("Mcp-Param-C")})
			answerJSON(w, 200, `{"jsonrpc":"2.0","id":1,"result":`+string(saw)+`}`)
		}
	}))
	s.send(callOf("1", "plain", `{"a":1}`))
	require.Contains(t, s.line(), `["","2026-07-28","tools/call","plain","","",""]`)
	s.send(callOf("1", "größe", `{"a":1}`))
	require.Contains(t, s.line(), `["","2026-07-28","tools/call","=?base64?Z3LDtsOfZQ==?=","","",""]`)
	require.Zero(t, lists.Load(), "nobody asked for them")

	strict.Store(true) // and a server that compares the name as it stands
	s.send(callOf("1", "größe", `{"a":-12,"in":{"b":" x","c":"y","d":"z"}}`))
	require.Contains(t, s.line(), `"größe","-12","=?base64?IHg=?=",""]`)
	require.EqualValues(t, 2, lists.Load(), "both pages, once")
	s.send(callOf("1", "other", `{}`))
	require.Contains(t, s.line(), "header mismatch", "the third refusal is the server's own")

	strict.Store(false)
	s.send(strings.NewReplacer("tools/call", "resources/read", `"name":"x"`, `"uri":"a://b"`).Replace(callOf("1", "x", `{}`)))
	require.Contains(t, s.line(), `"resources/read","a://b","",""`)
	s.send(strings.Replace(callOf("1", "x", `{}`), "tools/call", `odd\nmethod`, 1))
	require.Contains(t, s.line(), `"=?base64?b2RkCm1ldGhvZA==?=","","",""`)
	s.send(callOf("1", "größe", `{"a":true,"in":7}`))
	require.Contains(t, s.line(), `"true","",""]`)
	s.send(callOf("1", "größe", `{"a":1.5,"in":{"b":null}}`))
	require.Contains(t, s.line(), `"","",""]`)
}

// What became of a request that failed on its way.
func TestFailures(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	cut := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}
	answered := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Location", "https://u:"+canary+"@elsewhere.example/"+canary)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, one := range map[string]struct {
		url    string
		serve  http.HandlerFunc
		effect fault.Effect
		want   string
	}{
		"refused":       {url: closed.URL, effect: fault.EffectNone, want: "the server cannot be reached: dial tcp"},
		"no name":       {url: "http://no.such.name.invalid/mcp", effect: fault.EffectNone, want: "the server cannot be reached: "},
		"no TLS":        {url: strings.Replace(serve(t, answered(200, "", "")), "http:", "https:", 1), effect: fault.EffectNone, want: "the server cannot be reached: http: server gave HTTP response to HTTPS client"},
		"cut":           {serve: cut(""), effect: fault.EffectUnknown, want: "the connection to the server broke before the answer came: EOF"},
		"no HTTP":       {serve: cut("SSH-2.0\r\n\r\n"), effect: fault.EffectUnknown, want: "malformed HTTP response"},
		"cut in JSON":   {serve: cut("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"json"), effect: fault.EffectUnknown, want: "the answer of the server broke off: unexpected EOF"},
		"cut in events": {serve: cut("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100\r\n\r\ndata: {\n"), effect: fault.EffectUnknown, want: "the stream of the server ended before the answer came: unexpected EOF"},
		"no answer":     {serve: answered(200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}"), effect: fault.EffectUnknown, want: "the stream of the server ended before the answer came"},
		"accepted":      {serve: answered(202, "text/plain", ""), effect: fault.EffectUnknown, want: "the server answered 202 Accepted with text/plain"},
		"a page":        {serve: answered(200, "text/html", "<html>"), effect: fault.EffectUnknown, want: "the server answered 200 OK with text/html"},
		"401":           {serve: answered(401, "text/plain", "who are you"), effect: fault.EffectNone, want: "answered 401 Unauthorized"},
		"404":           {serve: answered(404, "text/html", "<html>"), effect: fault.EffectNone, want: "answered 404 Not Found"},
		"500":           {serve: answered(500, "text/html", "<html>"), effect: fault.EffectUnknown, want: "answered 500 Internal Server Error"},
		"503":           {serve: answered(503, "text/html", "<html>"), effect: fault.EffectUnknown, want: "answered 503 Service Unavailable"},
		"other server":  {serve: answered(307, "", ""), effect: fault.EffectUnknown, want: "the server answered 307 Temporary Redirect, a redirect to https://elsewhere.example that is not followed"},
		"other request": {serve: answered(302, "", ""), effect: fault.EffectUnknown, want: "302 Found, a redirect"},
		"large headers": {serve: cut("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2*maxHeaders) + "\r\n\r\n"), effect: fault.EffectUnknown, want: "exceeded"},
		"endless refusal": {serve: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			for r.Context().Err() == nil {
				_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<10))
			}
		}, effect: fault.EffectUnknown, want: "answered 502 Bad Gateway"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := one.url
			if url == "" {
				url = serve(t, one.serve)
			}
			s := begin(t, url)
			s.send(ping)
			f := s.failure()
			require.ErrorContains(t, f, one.want)
			require.Equal(t, one.effect, f.Effect())
		})
	}
}

// A redirect at the same server is followed, a few times.
func TestRedirects(t *testing.T) {
	s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp/" && r.Method == http.MethodPost && r.Header.Get("Authorization") == canary {
			answerJSON(w, 200, `{"jsonrpc":"2.0","id":1,"result":{}}`)
			return
		}
		http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
	}))
	s.send(ping)
	require.Contains(t, s.line(), "result")

	// Neither another server, nor the same one without or with encryption, nor another request.
	asked := atomic.Int64{}
	other := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{other, "https://HOST/", "/"} {
			if to == "/" && status > 303 {
				continue
			}
			got := atomic.Int64{}
			s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
				got.Add(1)
				http.Redirect(w, r, strings.Replace(to, "HOST", r.Host, 1), status)
			}))
			s.send(ping)
			require.ErrorContains(t, s.failure(), "a redirect to ")
			require.EqualValues(t, 1, got.Load())
		}
	}
	require.Zero(t, asked.Load())

	times := atomic.Int64{}
	s = begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		times.Add(1)
		http.Redirect(w, r, "/loop", http.StatusPermanentRedirect)
	}))
	s.send(ping)
	require.ErrorContains(t, s.failure(), "308 Permanent Redirect, a redirect to http://")
	require.EqualValues(t, maxRedirects+1, times.Load())
}

// What is too long fails the call, and is not kept.
func TestTooLong(t *testing.T) {
	for name, begins := range map[string]string{"JSON": "application/json", "events": "text/event-stream", "lines": "lines"} {
		t.Run(name, func(t *testing.T) {
			written := atomic.Int64{}
			s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
				part := []byte(strings.Repeat("x", 1<<10))
				w.Header().Set("Content-Type", strings.Replace(begins, "lines", "text/event-stream", 1))
				_, _ = io.WriteString(w, "data: ")
				if begins == "lines" {
					part = append(part, "\ndata: "...)
				}
				for {
					n, err := w.Write(part)
					if written.Add(int64(n)); err != nil || r.Context().Err() != nil {
						return
					}
				}
			}))
			s.send(ping)
			e := s.event()
			var long *rpc.TooLongError
			require.ErrorAs(t, e.err, &long)
			require.Equal(t, "1", string(long.ID))
			require.Less(t, written.Load(), int64(32<<20), "the server was stopped")
		})
	}
}

// A stream that broke is resumed behind its last event, as often as something new comes.
func TestResumed(t *testing.T) {
	var asked []string
	var mu sync.Mutex
	s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPost {
			events(w, "retry: 1\nid: e0\ndata:\n\n")
			return
		}
		asked = append(asked, r.Header.Get("Last-Event-ID"))
		switch len(asked) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			events(w, "id: e1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\nid: e2\ndata: {\"jsonrp") // and no end
		default:
			events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
		}
	}))
	s.send(ping)
	require.Contains(t, s.line(), `"m"`)
	require.Contains(t, s.line(), `"result"`)
	require.Equal(t, []string{"e0", "e0", "e1"}, asked)

	const rounds = 3 * maxResumes // each with something new
	var round atomic.Int64
	s = begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n := round.Add(1); n < rounds {
			events(w, fmt.Sprintf("id: e%d\ndata:\n\n", n))
			return
		}
		events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
	}))
	s.send(ping)
	require.Contains(t, s.line(), `"result"`)
	round.Store(0)
	s = begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		round.Add(1)
		events(w, "id: e0\ndata:\n\n")
	}))
	s.send(ping)
	require.ErrorContains(t, s.failure(), "and could not be resumed")
	require.EqualValues(t, 1+maxResumes, round.Load())

	// Versions without sessions have no such thing, and it does not go on for ever.
	s = begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		events(w, "retry: 1\nid: e0\ndata:\n\n")
	}))
	s.send(ping)
	require.ErrorContains(t, s.failure(), "and could not be resumed: GET")
	s.send(callOf("1", "t", "{}"))
	require.Equal(t, "the stream of the server ended before the answer came", s.failure().Error())
}

// Before 2026-07-28 a notification cancels a request, since then the end of its stream.
func TestCancelled(t *testing.T) {
	came, ended, noted := make(chan struct{}, 10), make(chan string, 10), make(chan string, 10)
	s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "notifications/cancelled") {
			noted <- string(body)
			w.WriteHeader(http.StatusAccepted)
			return
		}
		events(w, ": \n")
		came <- struct{}{}
		<-r.Context().Done()
		ended <- r.Header.Get("Mcp-Protocol-Version")
	}))
	cancel := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
	}
	s.send(ping)
	<-came
	s.send(cancel("1"))
	require.Equal(t, cancel("1"), <-noted)
	require.Empty(t, <-ended)
	s.send(callOf("2", "t", "{}"))
	<-came
	s.send(cancel("2"))
	require.Equal(t, "2026-07-28", <-ended)
	s.send(cancel("2"))
	s.send(callOf("3", "t", "{}"))
	<-came
	s.Abandon(rpc.ID("3"))
	require.Equal(t, "2026-07-28", <-ended)
	s.nothing()
	require.Empty(t, noted)
}

// The stream of a session is asked for once if there is none. If there was one, it tells that the
// session is gone, before anybody calls. Versions without sessions see nothing of it.
func TestTheStreamOfASession(t *testing.T) {
	for _, has := range []bool{false, true} {
		var gets atomic.Int64
		gone, cut := atomic.Bool{}, make(chan struct{})
		s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			switch {
			case gone.Load():
				w.WriteHeader(http.StatusNotFound)
			case r.Method == http.MethodGet && has:
				events(w, ":\n\n")
				<-cut
			case r.Method == http.MethodGet:
				gets.Add(1)
				w.WriteHeader(http.StatusMethodNotAllowed)
			case strings.Contains(string(body), "initialize\""):
				w.Header().Set("Mcp-Session-Id", "s")
				answerJSON(w, 200, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`)
			case strings.Contains(string(body), "2026-07-28"):
				answerJSON(w, 200, `{"jsonrpc":"2.0","id":1,"result":"`+r.Header.Get("Mcp-Session-Id")+`"}`)
			default:
				w.WriteHeader(http.StatusAccepted)
			}
		}))
		s.send(hi)
		s.line()
		s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		s.send(callOf("1", "t", "{}"))
		require.Contains(t, s.line(), `"result":""`)
		if !has {
			s.nothing()
			require.EqualValues(t, 1, gets.Load())
			continue
		}
		gone.Store(true)
		close(cut)
		select {
		case <-s.Ended():
		case <-time.After(10 * time.Second):
			require.Fail(t, "it is not found out")
		}
	}
}

// A stream that goes on behind the answer is ended.
func TestBehindTheAnswer(t *testing.T) {
	ended := make(chan struct{})
	s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
		<-r.Context().Done()
		close(ended)
	}))
	s.send(ping)
	require.Contains(t, s.line(), `"result"`)
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		require.Fail(t, "the stream goes on")
	}
}

// A server of an older version does not know the first request of a newer client, which falls back.
func TestDiscover(t *testing.T) {
	s := begin(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Bad Request: no session", http.StatusBadRequest)
	}))
	s.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`, s.line())
	s.send(ping)
	require.ErrorContains(t, s.failure(), "400 Bad Request")
}

func TestCheck(t *testing.T) {
	for _, url := range []string{"http://localhost:80/mcp", "https://u:p@example.com/mcp?x=y", "http://[::1]"} {
		_, err := Check(url)
		require.NoError(t, err)
	}
	for url, want := range map[string]string{
		"": "no URL", "localhost:8080": "no URL", "/mcp": "no URL", "http://": "no URL", "http:///x": "no URL", "http://a b/" + canary: "no URL", "example.com/mcp": "no URL",
		"ftp://" + canary: "neither http nor https", "http://x/#" + canary: "fragment",
	} {
		_, err := Check(url)
		require.ErrorContains(t, err, want, url)
		require.NotContains(t, err.Error(), canary)
	}
}

// Not every 400 is of a session that there is not, and a notification finds out, too. initialize is of
// no version yet.
func TestNotGone(t *testing.T) {
	gone := atomic.Bool{}
	s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case gone.Load():
			w.WriteHeader(http.StatusNotFound)
		case strings.Contains(string(body), "initialize"):
			if r.Header.Get("Mcp-Protocol-Version") != "" || r.Header.Get("Mcp-Session-Id") != "" {
				w.WriteHeader(http.StatusTeapot)
				return
			}
			w.Header().Set("Mcp-Session-Id", "s")
			answerJSON(w, 200, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`)
		case strings.Contains(string(body), `"ping"`):
			answerJSON(w, 200, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		default:
			answerJSON(w, 400, "no such method")
		}
	}))
	s.send(callOf("1", "t", "{}")) // of a version that the server does not speak
	require.ErrorContains(t, s.failure(), "400 Bad Request")
	for range 2 {
		s.send(hi)
		require.Contains(t, s.line(), "2025-11-25")
	}
	s.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
	require.ErrorContains(t, s.failure(), "400 Bad Request")
	s.send(ping)
	require.Contains(t, s.line(), `"result"`)
	gone.Store(true)
	s.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	select {
	case <-s.Ended():
	case <-time.After(10 * time.Second):
		require.Fail(t, "it is not found out")
	}
}

// A body may begin with a byte order mark, and stand on many lines.
func TestAByteOrderMark(t *testing.T) {
	s := begin(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "\ufeff{\n\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")
	}))
	s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	require.Contains(t, s.line(), `"id":1,"result":{}}`)
}
