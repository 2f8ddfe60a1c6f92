package front

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// from is the header of a client behind a trusted proxy.
func from(address string) []string { return []string{"X-Forwarded-For", address} }

// behindAProxy trusts this machine.
func behindAProxy(o *Options) { o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }

// held returns what a caller holds of everything, and what all do.
func (w *world) held(t thing, caller string) (each, all int64) {
	return w.front.accounts[t].Held("address " + caller)
}

// nothingIsHeld waits until nobody holds anything but sessions.
func (w *world) nothingIsHeld() {
	w.Helper()
	for _, t := range []thing{calls, subscriptions, bodies, waiting} {
		require.Eventually(w, func() bool { _, all := w.held(t, ""); return all == 0 }, time.Minute, 10*time.Millisecond, t.String())
	}
}

const beginning = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// Whose address it is: a proxy that is trusted says it, and nobody else; what a client has invented stands to the left.
func TestTheAddressOfAClient(t *testing.T) {
	f := New(Options{Logger: slog.New(slog.DiscardHandler), Sessions: 1, Idle: time.Hour, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}})
	defer f.Close(t.Context())
	for _, c := range []struct {
		remote string
		passed []string
		want   string
	}{
		{"192.0.2.1:1000", nil, "192.0.2.1"},
		{"192.0.2.1:1000", []string{"203.0.113.9"}, "192.0.2.1"},
		{"127.0.0.1:1000", nil, "127.0.0.1"},
		{"[2001:db8:1:2:3::4]:1000", nil, "2001:db8:1:2::/64"},
		{"[::ffff:192.0.2.1]:1", nil, "192.0.2.1"},
		{"10.0.0.1:1000", []string{"203.0.113.9"}, "203.0.113.9"},
		{"[fd00::1]:1000", []string{"203.0.113.9"}, "203.0.113.9"},
		{"10.0.0.1:1000", []string{"198.51.100.7, 203.0.113.9"}, "203.0.113.9"},
		{"10.0.0.1:1000", []string{"198.51.100.7", "203.0.113.9, 10.0.0.2"}, "203.0.113.9"},
		{"10.0.0.1:1000", []string{"203.0.113.9:4711"}, "203.0.113.9"},
		{"10.0.0.1:1000", []string{"[2001:db8::1]:4711"}, "2001:db8::/64"},
		{"10.0.0.1:1000", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"10.0.0.1:1000", []string{"203.0.113.9, unknown"}, "10.0.0.1"},
		{"10.0.0.1:1000", nil, "10.0.0.1"},
		{"@", []string{"203.0.113.9"}, "@"},
	} {
		req := httptest.NewRequest(http.MethodPost, "/", nil)
		req.RemoteAddr = c.remote
		req.Header["X-Forwarded-For"] = c.passed
		req.Header.Set("Authorization", "Bearer invented")
		require.Equal(t, "address "+c.want, f.Caller(req), "%s %q", c.remote, c.passed)
	}
}

// One client takes no more than its half of the sessions, and gives them back.
func TestNobodyTakesAllSessions(t *testing.T) {
	w := newWorld(t, func(f *fake, m *rpc.Message) { f.usual(m) }, func(o *Options) {
		behindAProxy(o)
		o.Sessions = 30
	})
	begin := func(address string) *response {
		return w.do(t.Context(), http.MethodPost, beginning, append(from(address), "Authorization", "Bearer invented-"+address+strconv.FormatInt(time.Now().UnixNano(), 36))...)
	}
	fill := func(address string) (first string) {
		for range 15 {
			res := begin(address)
			require.Equal(t, http.StatusOK, res.StatusCode)
			first = res.Header.Get(sessionHeader)
		}
		return first
	}
	fill("192.0.2.1")
	res := begin("192.0.2.1")
	require.Equal(t, http.StatusTooManyRequests, res.StatusCode)
	require.NotEmpty(t, res.Header.Get("Retry-After"))
	require.Contains(t, all(t, res), "there are as many sessions as may be for each caller (15)")
	fill("192.0.2.2")
	res = begin("192.0.2.3")
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	require.Contains(t, all(t, res), "there are as many sessions as may be for all callers together (30)")
	_, taken := w.held(sessions, "")
	require.EqualValues(t, 30, taken)
}

// Ten requests of a thousand URIs leave room for others.
func TestNobodyTakesAllSubscriptions(t *testing.T) {
	w := newWorld(t, func(f *fake, m *rpc.Message) { f.usual(m) }, behindAProxy)
	listen := func(ctx context.Context, address string, n int) *response {
		var list []string
		for i := range 1000 {
			list = append(list, strconv.Quote(fmt.Sprintf("test://%s/%d/%d", address, n, i)))
		}
		return w.do(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[`+strings.Join(list, ",")+`]},`+about+`}}`,
			append(from(address), versionHeader, modern, "Mcp-Method", "subscriptions/listen")...)
	}
	ctx, leave := context.WithCancel(t.Context())
	statuses := map[int]int{}
	for n := range 10 {
		res := listen(ctx, "192.0.2.1", n)
		if statuses[res.StatusCode]++; res.StatusCode != http.StatusOK {
			require.Contains(t, all(t, res), "there are as many subscriptions and URIs as may be for each caller (5000)")
		}
	}
	require.Equal(t, map[int]int{http.StatusOK: 4, http.StatusTooManyRequests: 6}, statuses)
	for n := range 4 {
		require.Equal(t, http.StatusOK, listen(ctx, "192.0.2.2", n).StatusCode)
	}
	res := listen(ctx, "192.0.2.3", 1)
	if res.StatusCode == http.StatusOK {
		res = listen(ctx, "192.0.2.3", 2)
	}
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	require.Contains(t, all(t, res), "there are as many subscriptions and URIs as may be for all callers together (10000)")
	leave()
	w.nothingIsHeld()
}

// The calls of one client that run leave room for others, and a call that nobody waits for is one that runs.
func TestNobodyTakesAllCalls(t *testing.T) {
	goOn := make(chan struct{})
	w := newWorld(t, func(f *fake, m *rpc.Message) {
		if !f.usual(m) {
			go func() {
				<-goOn
				f.answer(m, `{"content":[]}`)
			}()
		}
	}, behindAProxy)
	w.front.accounts[calls].Each, w.front.accounts[calls].All = 3, 5
	mine := w.begin("2025-11-25")
	call := func(ctx context.Context, id int, address string) *response {
		return w.do(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":`+strconv.Itoa(id)+`,"method":"tools/call","params":{"name":"t","arguments":{}}}`, append(from(address), sessionHeader, mine)...)
	}
	ctx, gone := context.WithCancel(t.Context())
	for id := range 3 {
		call(ctx, id, "192.0.2.1")
	}
	gone()
	res := call(t.Context(), 3, "192.0.2.1")
	require.Equal(t, http.StatusTooManyRequests, res.StatusCode)
	require.Contains(t, all(t, res), "there are as many calls as may be for each caller (3)")
	for id := range 2 {
		require.Equal(t, http.StatusOK, call(t.Context(), 4+id, "192.0.2.2").StatusCode)
	}
	res = call(t.Context(), 6, "192.0.2.2")
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	require.Contains(t, all(t, res), "there are as many calls as may be for all callers together (5)")
	close(goOn)
	w.nothingIsHeld()
}

// Requests that run hold their bodies: those of one client leave room for others'.
func TestBodiesOfCallsThatRun(t *testing.T) {
	goOn := make(chan struct{})
	w := newWorld(t, func(f *fake, m *rpc.Message) {
		if !f.usual(m) {
			go func() {
				<-goOn
				f.answer(m, `{"content":[]}`)
			}()
		}
	}, func(o *Options) {
		behindAProxy(o)
		o.Proxy.MaxRequest = 1 << 20
	})
	mine := w.begin("2025-11-25")
	arguments := `{"x":"` + strings.Repeat("x", 1<<20-1000) + `"}`
	call := func(ctx context.Context, id int, address string) *response {
		return w.do(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":`+strconv.Itoa(id)+`,"method":"tools/call","params":{"name":"t","arguments":`+arguments+`}}`, append(from(address), sessionHeader, mine)...)
	}
	ctx, gone := context.WithCancel(t.Context())
	refused := ""
	for id := range 40 {
		if res := call(ctx, id, "192.0.2.1"); res.StatusCode != http.StatusOK {
			require.Equal(t, http.StatusTooManyRequests, res.StatusCode)
			require.Equal(t, 32, id)
			refused = all(t, res)
			break
		}
	}
	require.Contains(t, refused, "each caller")
	gone() // the requests run on
	_, taken := w.held(bodies, "")
	require.Greater(t, taken, int64(31<<20))
	res := call(t.Context(), 50, "192.0.2.1")
	require.Equal(t, http.StatusTooManyRequests, res.StatusCode)
	require.Contains(t, all(t, res), "each caller")
	require.Equal(t, http.StatusOK, call(t.Context(), 60, "192.0.2.2").StatusCode)
	close(goOn)
	w.nothingIsHeld()
}

// Answers that nobody reads hold a bounded number of bytes, and hold up nobody else.
func TestAnswersThatNobodyReads(t *testing.T) {
	big := `{"content":[],"x":"` + strings.Repeat("x", 9<<20-1000) + `"}`
	var answered atomic.Int64
	w := newWorld(t, func(f *fake, m *rpc.Message) {
		switch {
		case f.usual(m):
		case m.Method == "tools/list":
			f.answer(m, `{"tools":[]}`)
		default:
			f.answer(m, big)
			answered.Add(1)
		}
	}, behindAProxy)
	w.front.accounts[waiting].Each, w.front.accounts[waiting].All = 40<<20, 60<<20
	bound := "there are as many bytes of answers that wait to be read as may be for each caller (41943040)"
	ctx, gone := context.WithCancel(t.Context())
	lost, began := 0, make(chan *response, 25)
	for id := range 25 {
		go func() { began <- w.newer(ctx, strconv.Itoa(id), "t", `{}`, from("192.0.2.1")...) }()
	}
	for range 25 {
		res := <-began
		if size := res.Header.Get("Content-Length"); len(size) > 4 {
			continue // nobody reads it
		}
		body := all(t, res)
		require.Contains(t, body, bound)
		lost++
		if res.StatusCode == http.StatusOK { // else the call was not made
			require.Contains(t, body, "The server has answered it: what the call does may have been done.")
		}
	}
	require.GreaterOrEqual(t, lost, 25-6, "no more than six have a place, of which some have been sent in part")
	each, _ := w.held(waiting, "192.0.2.1")
	require.LessOrEqual(t, each, int64(40<<20+25*1000))
	require.Contains(t, all(t, w.newer(t.Context(), "1", "t", `{}`, from("192.0.2.2")...)), "xxx")
	gone()
	w.nothingIsHeld()
}

// Who comes back for one kept answer many times, and reads none of them, holds no more than answers that wait.
func TestResumedAnswersThatNobodyReads(t *testing.T) {
	big := `{"content":[],"x":"` + strings.Repeat("x", 9<<20-1000) + `"}`
	w := newWorld(t, func(f *fake, m *rpc.Message) {
		if !f.usual(m) {
			f.answer(m, big)
		}
	}, behindAProxy)
	w.front.accounts[waiting].Each = 40 << 20
	mine := w.begin("2025-11-25")
	res := w.do(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}`, append(from("192.0.2.1"), sessionHeader, mine)...)
	events := eventsOf(res)
	first, _ := events.next(t)
	_, answer := events.next(t)
	require.Contains(t, answer, "xxx")
	ctx, gone := context.WithCancel(t.Context())
	statuses := map[int]int{}
	for range 10 {
		res := w.do(ctx, http.MethodGet, "", append(from("192.0.2.1"), sessionHeader, mine, "Last-Event-ID", first)...)
		if statuses[res.StatusCode]++; res.StatusCode != http.StatusOK {
			require.Contains(t, all(t, res), "bytes of answers that wait to be read as may be for each caller")
		}
	}
	require.Equal(t, map[int]int{http.StatusOK: 4, http.StatusTooManyRequests: 6}, statuses)
	gone()
	w.nothingIsHeld()
}

// What clients may read again is bounded for each of them and for all, over all sessions.
func TestWhatIsKeptHasABound(t *testing.T) {
	a := newAccounts(&Options{Sessions: 100})
	a[kept].Each, a[kept].All = 100, 150
	one, other := &memory{purse: purse{a, "a"}}, &memory{purse: purse{a, "a"}}
	third := &memory{purse: purse{a, "b"}}
	line := func(n int) event { return event{1, &rpc.Message{Line: make([]byte, n)}} }
	one.keep("s", "", line(60))
	other.keep("s", "", line(60))
	require.Empty(t, other.kept, "there is no place beside the first")
	one.keep("s", "", line(90))
	require.Len(t, one.kept, 1, "the oldest of the session goes")
	third.keep("s", "", line(60))
	third.keep("s", "", line(70))
	require.Empty(t, third.kept, "all together")
	one.forget()
	_, total := a[kept].Held("")
	require.Zero(t, total)
}

// Also of few sessions one is left to others.
func TestNobodyTakesAllOfFewSessions(t *testing.T) {
	for all, each := range map[int]int64{3: 0, 4: 3, 10: 9, 11: 10, 12: 10, 20: 10, 21: 10, 22: 11, 100: 50} {
		require.Equal(t, each, newAccounts(&Options{Sessions: all})[sessions].Each, all)
	}
}

// A call that runs keeps its session, also when its client has lost the connection; a connection does not.
func TestIdleCountsCalls(t *testing.T) {
	goOn, came := make(chan struct{}), make(chan struct{})
	var done atomic.Bool
	var server atomic.Pointer[fake]
	w := newWorld(t, func(f *fake, m *rpc.Message) {
		if f.usual(m) {
			return
		}
		server.Store(f)
		close(came)
		go func() {
			<-goOn
			done.Store(true)
			f.answer(m, `{"content":[]}`)
		}()
	}, func(o *Options) { o.Idle = 50 * time.Millisecond })
	mine := w.begin("2025-11-25")
	ctx, gone := context.WithCancel(t.Context())
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{}}}`))
		req.Header = http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}, sessionHeader: {mine}}
		if res, err := client.Do(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	<-came
	gone()
	time.Sleep(10 * w.front.Idle)
	select {
	case <-server.Load().ended:
		require.Fail(t, "the session has ended under its call")
	default:
	}
	stream := w.do(t.Context(), http.MethodGet, "", sessionHeader, mine)
	require.Equal(t, http.StatusOK, stream.StatusCode)
	close(goOn)
	select {
	case <-server.Load().ended:
		require.True(t, done.Load())
	case <-time.After(time.Minute):
		require.Fail(t, "a session that is only listened to goes on")
	}
}
