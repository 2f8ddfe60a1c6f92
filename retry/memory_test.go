package retry

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/owner"
	"github.com/mcpchain/mcpchain/middleware"
)

// size returns how much is remembered, and fails the test when the counters disagree.
func size(t testing.TB, m *memory) int {
	t.Helper()
	n, groups := 0, map[uint64]int{}
	var places map[string]int
	for i := range m.parts {
		p := &m.parts[i]
		p.mu.Lock()
		require.LessOrEqual(t, len(p.counts.counts), p.counts.most)
		n += len(p.counts.counts)
		places = map[string]int{}
		for _, c := range p.counts.counts {
			groups[c.group]++
			places[c.place]++
		}
		require.Equal(t, places, p.counts.places)
		p.mu.Unlock()
	}
	for i := range m.groups {
		require.EqualValues(t, groups[uint64(i)], m.groups[i].Load())
	}
	require.EqualValues(t, n, m.total.Load())
	return n
}

func identified(g *guide, req mcp.Request) identity {
	return g.identify(&call.Call{}, req, g.locate(context.Background(), req))
}

var tenMinutes = failing{keep: 10 * time.Minute}

func (m *memory) call(owner string, c int) *identity {
	return &identity{
		identified: true, owner: owner, place: fmt.Sprint(owner, c/2), call: fmt.Sprint(owner, c),
		group: uint64(c/2) % uint64(len(m.groups)), began: m.ticks.Load(),
	}
}

func (m *memory) failed(what *identity, f failing) (h history) {
	m.update(what, func(k *tally) { h = k.failed(what, &f) })
	return h
}

func (m *memory) closed(what *identity) (p pause) {
	m.update(what, func(k *tally) { p = k.closed(what, 0) })
	return p
}

// soaking asks for as many calls as a busy server sees; fewer show the same, but for what grows slowly.
var soaking = os.Getenv("MCPCHAIN_SOAK") != ""

func TestMemoryIsBounded(t *testing.T) {
	calls := 50_000
	if soaking {
		calls = 1_000_000
	}
	const limit = 2048
	m := newMemory(limit / 16)
	var before, after runtime.MemStats
	measure := func(into *runtime.MemStats) {
		runtime.GC()
		runtime.ReadMemStats(into)
	}
	for i := range calls / 10 {
		m.failed(m.call(fmt.Sprint(i%1000), i), tenMinutes)
	}
	full := size(t, m)
	require.Greater(t, full, limit/2)
	measure(&before)
	for i := range calls {
		m.failed(m.call(fmt.Sprint(i%1000), i), tenMinutes)
	}
	measure(&after)
	require.Equal(t, full, size(t, m))
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(1<<20), "it grows")
	for i := range calls {
		what := m.call(fmt.Sprint(i%1000), i)
		m.update(what, func(k *tally) { k.succeeded(what) })
	}
	require.Zero(t, size(t, m))
}

// The same by way of whole calls, of many callers.
func TestFailingCallsLeaveMemoryBounded(t *testing.T) {
	calls := 10_000
	if soaking {
		calls = 100_000
	}
	g := &guide{
		Options: Options{
			InitialInterval: time.Second, RefuseAfter: 6,
		},
		owners: owner.Finder{Func: func(_ context.Context, req mcp.Request) string { return req.GetExtra().Header.Get("X-Key") }},
		seen:   newMemory(32),
	}
	handler := call.Wrap(g.Call)(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return nil, fault.NotFound("project", "zebra")
	})
	for i := range calls {
		req := &mcp.CallToolRequest{
			Params: &mcp.CallToolParamsRaw{Name: fmt.Sprint("tool ", i%300), Arguments: fmt.Appendf(nil, `{"n":%d}`, i)},
			Extra:  &mcp.RequestExtra{Header: map[string][]string{"X-Key": {fmt.Sprint(i % 77)}}},
		}
		res, err := handler(t.Context(), middleware.MethodCallTool, req)
		f, failed := middleware.FaultOf(res, err)
		require.True(t, failed)
		require.Equal(t, fault.KindNotFound, f.Kind())
	}
	require.LessOrEqual(t, size(t, g.seen), 512)
	require.Greater(t, size(t, g.seen), 256)
}

// What is told long waits, and so is remembered for long, does not push out the rest sooner.
func TestLongWaitsHoldNoRoom(t *testing.T) {
	const rounds = 20
	survived := 0
	for range rounds {
		k := &newMemory(remembered).parts[0].counts
		fail := func(name string, keep time.Duration) {
			k.tick++
			k.failed(&identity{call: name}, &failing{keep: keep})
		}
		for i := range 2 * remembered {
			fail(fmt.Sprint("long ", i), maxKeep)
		}
		for fail("short", forgetAfter); k.get("short") != nil; survived++ {
			fail(fmt.Sprint("more ", survived), maxKeep)
		}
	}
	require.Greater(t, survived/rounds, remembered/2)
}

// One who makes a great many failing calls pushes out few of the others'.
func TestMemoryIsShared(t *testing.T) {
	m := newMemory(remembered)
	for i := range 256 {
		m.failed(m.call(fmt.Sprint("caller ", i), 1), tenMinutes)
	}
	for i := range 1 << 16 {
		m.failed(m.call("noisy", i), tenMinutes)
	}
	size(t, m)
	kept := 0
	for i := range 256 {
		if m.failed(m.call(fmt.Sprint("caller ", i), 1), tenMinutes).failures == 2 {
			kept++
		}
	}
	require.Greater(t, kept, 256*3/4)
}

func TestSmallMemories(t *testing.T) {
	for limit := 1; limit < 30; limit++ {
		m := newMemory(limit)
		for i := range 2000 {
			m.failed(m.call(fmt.Sprint(i), i), tenMinutes)
		}
		require.LessOrEqual(t, size(t, m), 16*limit)
	}
}

func TestMemoryForgetsWithTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(64)
		require.False(t, m.busyWith(nil))
		m.failed(m.call("ann", 1), failing{keep: time.Hour})
		time.Sleep(time.Minute)
		m.failed(m.call("ann", 2), failing{keep: time.Minute})
		m.failed(m.call("ann", 3), failing{keep: time.Minute})
		time.Sleep(time.Minute)
		// The second is too old, though the first, which is older, is not.
		require.Equal(t, 1, m.failed(m.call("ann", 2), failing{keep: time.Minute}).failures)
		require.Equal(t, 2, m.failed(m.call("ann", 1), failing{keep: time.Minute}).failures)
		require.Equal(t, 2, size(t, m))
		m.closes("ann", firstPause)
		require.Len(t, m.part("ann").refused, 1)
		time.Sleep(2 * time.Hour)
		require.Zero(t, m.closed(m.call("ann", 1)).rest)
		require.Zero(t, size(t, m), "whoever looks drops what is old")
		require.Empty(t, m.part("ann").refused)
	})
}

// Of the calls that come while a probe is running none is another one.
func TestOneProbeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(64)
		f := failing{keep: time.Hour, refuseAfter: 1}
		require.Equal(t, 30*time.Second, m.failed(m.call("ann", 1), f).rest)
		for _, pause := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 2 * time.Minute} {
			require.Equal(t, pause, m.closed(m.call("ann", 1)).rest)
			require.Zero(t, m.closed(m.call("bob", 1)), "nobody is refused for another")
			time.Sleep(pause)
			require.Zero(t, m.closed(m.call("ann", 1)), "one run after the pause")
			require.True(t, m.closed(m.call("ann", 1)).refused, "which is running")
			require.Positive(t, m.failed(m.call("ann", 1), f).rest)
		}
		m.update(m.call("ann", 1), func(k *tally) { k.succeeded(m.call("ann", 1)) })
		require.Zero(t, m.closed(m.call("ann", 1)))
	})
}

// What is remembered of a connection does not keep it.
func TestMemoryKeepsNoConnection(t *testing.T) {
	g := &guide{seen: newMemory(64)}
	gone := make(chan struct{})
	func() {
		session := &mcp.ServerSession{}
		runtime.AddCleanup(session, func(done chan struct{}) { close(done) }, gone)
		req := &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{Name: "it"}}
		what := identified(g, req)
		require.True(t, what.identified)
		g.seen.failed(&what, tenMinutes)
		require.Equal(t, what, identified(g, req))
	}()
	require.Eventually(t, func() bool {
		runtime.GC()
		select {
		case <-gone:
			return true
		default:
			return false
		}
	}, 10*time.Second, time.Millisecond)
	// A later connection is never taken for it, wherever it lies in memory.
	for range 1000 {
		what := identified(g, &mcp.CallToolRequest{Session: &mcp.ServerSession{}, Params: &mcp.CallToolParamsRaw{Name: "it"}})
		require.Equal(t, 1, g.seen.failed(&what, tenMinutes).failures)
	}
}

func TestWhichCallItIs(t *testing.T) {
	g := &guide{seen: newMemory(64)}
	session := &mcp.ServerSession{}
	tool := func(name, args string) string {
		return identified(g, &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{Name: name, Arguments: json.RawMessage(args)}}).call
	}
	prompt := func(args map[string]string) string {
		return identified(g, &mcp.GetPromptRequest{Session: session, Params: &mcp.GetPromptParams{Name: "it", Arguments: args}}).call
	}
	big := `{"a":"` + string(make([]byte, maxArguments)) + `"}`
	same := [][]string{
		{tool("it", ""), tool("it", "null"), tool("it", "{}"), tool("it", ` { } `)},
		{tool("it", `{"a":1,"b":{"c":[true,null,"x"],"d":-0}}`), tool("it", `{"b":{"d":0,"c":[true,null,"x"]},"a":1.0}`), tool("it", `{"a":10e-1,"b":{"c":[true,null,"\u0078"],"d":0.0}}`)},
		{tool("it", `{"a":"1"}`)}, {tool("it", `{"a":true}`)}, {tool("it", `{"a":null}`)}, {tool("it", `{"a":[]}`)}, {tool("it", `{"a":{}}`)}, {tool("it", `{"a":{"try":1}}`)},
		{tool("it", `{"a":[[1],2]}`)}, {tool("it", `{"a":[1,[2]]}`)}, {tool("it", `{"a":[1,2]}`)}, {tool("it", `{"a":[2,1]}`)},
		{tool("it", `{"a":{"b":"c"}}`)}, {tool("it", `{"b":{"a":"c"}}`)}, {tool("it", `{"a":"b","c":"d"}`)}, {tool("it", `{"a":"d","c":"b"}`)},
		{tool("it", `{"id":9007199254740993}`)}, {tool("it", `{"id":9007199254740992}`)},
		{tool("it", `[1]`)}, {tool("it", `"x"`)}, {tool("it", `{"amount":1,"Amount":2}`)}, {tool("it", `{"Amount":2,"amount":1}`)},
		{tool("it", big), tool("it", big)}, {tool("it", " "+big)},
		{tool("at", "{}")},
		{prompt(nil), prompt(map[string]string{})},
		{prompt(map[string]string{"a": "b"})}, {prompt(map[string]string{"b": "a"})},
		{identified(g, &mcp.ReadResourceRequest{Session: session, Params: &mcp.ReadResourceParams{URI: "it"}}).call},
		{identified(g, &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{
			Name: "it", InputResponses: mcp.InputResponseMap{"name": &mcp.ElicitResult{Action: "accept"}},
		}}).call},
		{identified(g, &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{
			Name: "it", InputResponses: mcp.InputResponseMap{"name": &mcp.ElicitResult{Action: "decline"}},
		}}).call},
	}
	seen := map[string]int{}
	for i, group := range same {
		for j, hash := range group {
			require.Equal(t, group[0], hash, "%d %d", i, j)
		}
		require.NotContains(t, seen, group[0], "%d", i)
		seen[group[0]] = i
	}
	for _, args := range []string{`{"a":1`, `{"a":1,"a":2}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{"b":{"c":[{"d":1,"d":1}]}}`} {
		require.Zero(t, identified(g, &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{Name: "it", Arguments: json.RawMessage(args)}}), "%s is the same as no other call, nor as itself", args)
	}
}

// TestTheArgumentsOfOthersAreNotRead: what one caller's call failed with does not have the calls of
// another, or of another tool, pay for it.
func TestTheArgumentsOfOthersAreNotRead(t *testing.T) {
	long := json.RawMessage(`{"lines":["` + strings.Repeat(`\u0061","`, 4_000) + `"]}`) // escapes have to be decoded
	fails := false
	handle := New(nil)(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		if fails {
			return nil, fault.Denied("pay", "it")
		}
		return &mcp.CallToolResult{}, nil
	})
	allocs := func(user, tool string) float64 {
		req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: tool, Arguments: long}, Extra: &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: user}}}
		return testing.AllocsPerRun(10, func() {
			_, err := handle(t.Context(), middleware.MethodCallTool, req)
			require.NoError(t, err)
		})
	}
	before := allocs("bob", "pay")
	fails = true
	allocs("ann", "pay")
	fails = false
	require.LessOrEqual(t, allocs("bob", "pay"), before+5)
	require.Greater(t, allocs("ann", "pay"), before+1000, "hers are: the call is refused by them")
}

// Names of any length, which a caller may invent where calls are passed on, take no more room than others.
func TestLongNamesTakeNoRoom(t *testing.T) {
	var o others
	long := strings.Repeat("x", 1<<20)
	for _, owner := range []string{"ann", "bob", long} {
		o.failed(&identity{target: long, owner: owner}, false, 0)
	}
	require.NotEmpty(t, o.failed(&identity{target: long, owner: "ann"}, false, 0))
	require.Empty(t, o.failed(&identity{target: long + "y", owner: "ann"}, false, 0))
	_, known := o.tools.Get(long)
	require.False(t, known)
	o.worked(long)
	require.Empty(t, o.failed(&identity{target: long, owner: "ann"}, false, 0))
}
