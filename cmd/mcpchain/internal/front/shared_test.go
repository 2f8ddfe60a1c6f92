package front

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/proxy"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// hostile answers twice, with IDs of others, speaks to nobody, and asks what nobody may be asked.
func hostile(f *fake, m *rpc.Message) {
	if f.usual(m) {
		return
	}
	var params struct {
		Arguments struct{ Of string }
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params)
	if m.Method != "tools/call" {
		f.answer(m, `{"tools":[]}`)
		return
	}
	f.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(params.Meta.Token) + `,"message":"` + params.Arguments.Of + `"}}`)
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"log of ` + params.Arguments.Of + `"}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"token"}}`, `{"jsonrpc":"2.0","id":1,"result":{"of":"nobody"}}`,
		`{"jsonrpc":"2.0","id":"http-9999","result":{"of":"nobody"}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"nobody"}}`,
		`{"jsonrpc":"2.0","id":"x","method":"sampling/createMessage","params":{}}`, `no JSON`, `[]`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"http-1"}}`,
	} {
		f.say(line)
	}
	f.answer(m, `{"of":"`+params.Arguments.Of+`"}`)
	f.answer(m, `{"of":"nobody"}`)
}

// Everybody gets the own answer, and nothing of anybody else's, whatever the server says besides.
func TestNobodyGetsWhatIsForOthers(t *testing.T) {
	w := newWorld(t, hostile, nil)
	var wait sync.WaitGroup
	for client := range 30 {
		wait.Go(func() {
			me := fmt.Sprintf("client-%02d", client)
			for range 20 {
				req := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"of":"` + me + `"},` +
					strings.Replace(about, `{`, `{"progressToken":"token","io.modelcontextprotocol/logLevel":"debug",`, 1) + `}}`
				body := all(t, w.do(t.Context(), http.MethodPost, req, versionHeader, modern, "Mcp-Method", "tools/call", "Mcp-Name", "t"))
				if n := strings.Count(body, "client-"); n != 2 || strings.Count(body, me) != 2 {
					t.Errorf("%s got %s", me, body)
				}
				if strings.Contains(body, "nobody") || !strings.Contains(body, `"progressToken":"token"`) || !strings.Contains(body, `"id":1`) {
					t.Errorf("%s got %s", me, body)
				}
			}
		})
	}
	wait.Wait()
	require.Len(t, w.front.sessions, 1)
	for _, s := range w.front.sessions {
		require.Empty(t, s.streams)
		require.Empty(t, s.tokens)
		require.Empty(t, s.newest)
	}
}

// What a server logs does not say whose it is. It is given to nobody, but where all have the same credentials.
func TestWhatIsLoggedIsForNobodyElse(t *testing.T) {
	for _, passed := range []bool{false, true} {
		w := newWorld(t, hostile, func(o *Options) {
			if start := o.Proxy.Start; passed {
				o.Start = func(func(string)) (proxy.Server, error) { return start() }
			}
		})
		req := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"of":"ann"},` + strings.Replace(about, `{`, `{"io.modelcontextprotocol/logLevel":"debug",`, 1) + `}}`
		body := all(t, w.do(t.Context(), http.MethodPost, req, versionHeader, modern, "Mcp-Method", "tools/call", "Mcp-Name", "t", "Authorization", "Bearer ann"))
		require.Equal(t, passed, strings.Contains(body, "log of ann"), body)
		require.Contains(t, body, `"of":"ann"`)
	}
}

// Arguments that stand in headers are compared. The server is asked for its tools once, and again before a call
// is refused, but not by everybody at once.
func TestArgumentsInHeaders(t *testing.T) {
	var lists atomic.Int64
	var schema atomic.Value
	schema.Store(`{"properties":{"a":{"x-mcp-header":"A"}}}`)
	w := newWorld(t, func(f *fake, m *rpc.Message) {
		switch {
		case f.usual(m):
		case m.Method == "tools/list" && !strings.Contains(string(m.Params), "cursor"):
			lists.Add(1)
			f.answer(m, `{"tools":[{"name":"plain","inputSchema":{}}],"nextCursor":"2"}`)
		case m.Method == "tools/list":
			f.answer(m, `{"tools":[{"name":"bound","inputSchema":`+schema.Load().(string)+`}]}`)
		default:
			f.answer(m, `{"content":[]}`)
		}
	}, nil)
	got := func(tool, args string, header ...string) (int, string) {
		res := w.newer(t.Context(), "7", tool, args, header...)
		return res.StatusCode, all(t, res)
	}
	status, body := got("plain", `{}`)
	require.Equal(t, http.StatusOK, status, body)
	require.Zero(t, lists.Load(), "there is nothing to compare")
	for range 5 {
		status, _ = got("plain", `{"a":"x"}`)
		require.Equal(t, http.StatusOK, status)
		status, _ = got("bound", `{"a":"x"}`, "Mcp-Param-A", "x")
		require.Equal(t, http.StatusOK, status)
	}
	require.EqualValues(t, 1, lists.Load())
	for range 5 {
		status, body = got("bound", `{"a":"x"}`)
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, body, strconv.Itoa(mcp.CodeHeaderMismatch))
		require.Contains(t, body, `"id":7`)
	}
	require.LessOrEqual(t, lists.Load(), int64(2))
	schema.Store(`{"properties":{"a":{"x-mcp-header":"B"}}}`)
	require.Eventually(t, func() bool { // nobody has said that it has changed
		status, _ = got("bound", `{"a":"x"}`, "Mcp-Param-B", "x")
		return status == http.StatusOK
	}, 5*time.Second, 100*time.Millisecond)
	require.Less(t, lists.Load(), int64(8))
}

// What 2026-07-28 removed would hold for all clients of the server, and what does not name its version a server
// over stdio takes for something older.
func TestWhatASharedServerNeverSees(t *testing.T) {
	var seen atomic.Int64
	w := newWorld(t, func(f *fake, m *rpc.Message) {
		if m.Method == "server/discover" {
			f.usual(m)
			return
		}
		seen.Add(1)
		f.answer(m, `{}`)
	}, nil)
	for method := range removed {
		for _, params := range []string{`{` + about + `}`, `{"level":7,"uri":[],` + about + `}`, `{}`} {
			res := w.do(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":"a","method":"`+method+`","params":`+params+`}`, versionHeader, modern, "Mcp-Method", method)
			require.Equal(t, http.StatusNotFound, res.StatusCode, method)
			require.Contains(t, all(t, res), "-32601")
		}
	}
	for _, params := range []string{`{}`, `{"_meta":{}}`, `{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}`} {
		res := w.do(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":"a","method":"tools/list","params":`+params+`}`, versionHeader, modern, "Mcp-Method", "tools/list")
		require.Equal(t, http.StatusBadRequest, res.StatusCode, params)
		require.Contains(t, all(t, res), "-32602")
	}
	require.Zero(t, seen.Load())
}

// Clients that subscribe and go take nothing from those that stay.
func TestSubscriptionsThatComeAndGo(t *testing.T) {
	var server atomic.Pointer[fake]
	var last atomic.Value
	w := newWorld(t, func(f *fake, m *rpc.Message) {
		server.Store(f)
		if m.Method == "subscriptions/listen" {
			last.Store(string(m.ID))
		}
		f.usual(m)
	}, nil)
	listen := func(ctx context.Context, what string) *response {
		return w.do(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{"notifications":`+what+`,`+about+`}}`, versionHeader, modern, "Mcp-Method", "subscriptions/listen")
	}
	stays := eventsOf(listen(t.Context(), `{"toolsListChanged":true}`))
	_, data := stays.next(t)
	require.Contains(t, data, "acknowledged")
	refused := 0
	for n := 0; refused == 0; n++ {
		var list []string
		for i := range maxURIsOfOne {
			list = append(list, strconv.Quote(fmt.Sprintf("test://%d/%d", n, i)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		res := listen(ctx, `{"resourceSubscriptions":[`+strings.Join(list, ",")+`]}`)
		if res.StatusCode != http.StatusOK {
			refused = res.StatusCode
			require.Contains(t, all(t, res), "there are as many subscriptions and URIs of the server as may be for each caller (10000)")
			require.Equal(t, 9, n)
		} else {
			eventsOf(res).next(t)
		}
		cancel()
	}
	require.Equal(t, http.StatusTooManyRequests, refused)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return listen(ctx, `{"resourceSubscriptions":["test://more"]}`).StatusCode == http.StatusOK
	}, 10*time.Second, 100*time.Millisecond)
	_, data = stays.next(t)
	require.Contains(t, data, "tools/list_changed", "it may have changed")
	server.Load().say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"n":2,"_meta":{"io.modelcontextprotocol/subscriptionId":` + last.Load().(string) + `}}}`)
	_, data = stays.next(t)
	require.Contains(t, data, `"n":2`)
	var list []string
	for i := range maxURIsOfOne + 1 {
		list = append(list, strconv.Quote(strconv.Itoa(i)))
	}
	require.Equal(t, http.StatusBadRequest, listen(t.Context(), `{"resourceSubscriptions":[`+strings.Join(list, ",")+`]}`).StatusCode)
}

// A panic of this program fails a call, and ends nothing.
func TestAPanicEndsOneCall(t *testing.T) {
	w := newWorld(t, func(f *fake, m *rpc.Message) {
		if !f.usual(m) {
			f.say(string(rpc.Failed(m.ID, &jsonrpc.Error{Code: -32000, Message: "explode secret-value"}).Line))
		}
	}, func(o *Options) {
		o.Proxy.Hide = func(text string) string {
			if strings.Contains(text, "explode") {
				panic("boom " + text)
			}
			return text
		}
	})
	for range 3 {
		body := all(t, w.newer(t.Context(), "1", "t", `{}`))
		require.Contains(t, body, "Internal error")
		require.NotContains(t, body, "secret-value")
		require.NotContains(t, body, "boom")
	}
	require.Contains(t, w.log.String(), "mcpchain panicked")
}

// A token that the server refuses takes no place of a session, however many of them come.
func TestARefusedTokenTakesNoPlace(t *testing.T) {
	w := newWorld(t, nil, func(o *Options) {
		o.Sessions = 3
		o.Start = func(accepted func(authorization string)) (proxy.Server, error) {
			return &fake{out: make(chan []byte, 1000), ended: make(chan struct{}), handle: func(f *fake, m *rpc.Message) {
				good := strings.HasSuffix(m.Authorization, "good")
				if good {
					accepted(m.Authorization)
				}
				switch {
				case good && f.usual(m):
				case good:
					f.answer(m, `{"content":[]}`)
				default:
					f.say(string(rpc.Failed(m.ID, &jsonrpc.Error{Code: http.StatusUnauthorized, Message: "Unauthenticated: the token is not valid."}).Line))
				}
			}}, nil
		}
	})
	for n := range 10 {
		token := fmt.Sprintf("Bearer bad-%d", n)
		require.Eventually(t, func() bool {
			res := w.newer(t.Context(), "1", "t", `{}`, "Authorization", token)
			return res.StatusCode != http.StatusServiceUnavailable && strings.Contains(all(t, res), "the token is not valid")
		}, 10*time.Second, 10*time.Millisecond, token)
	}
	require.Eventually(t, func() bool {
		return w.newer(t.Context(), "1", "t", `{}`, "Authorization", "Bearer good").StatusCode == http.StatusOK
	}, 10*time.Second, 10*time.Millisecond)
}

// deadlines notes how long writing may take.
type deadlines struct {
	http.ResponseWriter

	set []time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// Writing to a client that never reads ends, and takes no time from the next answer of its connection.
func TestWritingIsBounded(t *testing.T) {
	d := &deadlines{ResponseWriter: httptest.NewRecorder()}
	began := time.Now()
	Patient(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		o := &output{control: http.NewResponseController(w)}
		o.wait(10)
		o.wait(10 << 20)
	})).ServeHTTP(d, httptest.NewRequest(http.MethodPost, "/", nil))
	require.Len(t, d.set, 3)
	require.WithinRange(t, d.set[0], began.Add(leastWait), time.Now().Add(leastWait+time.Second))
	require.WithinRange(t, d.set[1], d.set[0].Add(10<<20/leastRate*time.Second), d.set[0].Add(10<<20/leastRate*time.Second+time.Minute))
	require.Zero(t, d.set[2])
}
