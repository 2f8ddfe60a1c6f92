package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/budget"
	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/store"
)

const (
	storesOpening = "<!-- stores -->\n"
	storesClosing = "<!-- end of stores -->\n"
)

// storeTables compare whole calls of what waits for a store, a disk or a large answer with those of the bare SDK. dir is
// for the files of audit.
func storeTables(dir string) (tables []*table, end func()) {
	var ends []func()
	tables = []*table{keyedCalls(&ends), auditedCalls(dir, &ends), largeAnswers()}
	return tables, func() {
		for _, end := range ends {
			end()
		}
	}
}

// trips is a hook that counts what goes to Redis: each command is a round trip.
type trips struct {
	goredis.Hook
	atomic.Int64
}

func (t *trips) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (t *trips) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next // with which go-redis opens its connections
}

func (t *trips) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		t.Add(1)
		return next(ctx, cmd)
	}
}

// keyedCalls compares calls that a store is asked about: that in memory, and the Redis at REDIS_ADDR, or else an embedded
// one, which is slower.
func keyedCalls(ends *[]func()) *table {
	addr, what := os.Getenv("REDIS_ADDR"), "a Redis on the same machine"
	if addr == "" {
		mini := miniredis.NewMiniRedis()
		must(mini.Start())
		*ends = append(*ends, mini.Close)
		addr, what = mini.Addr(), "an embedded one, written in Go"
	}
	client := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true})
	*ends = append(*ends, func() { _ = client.Close() })
	hook := &trips{}
	client.AddHook(hook)
	shared := mcpredis.New(client, &mcpredis.Options{Prefix: fmt.Sprintf("bench-%d:", time.Now().UnixNano()), Timeout: 5 * time.Second})

	t := &table{
		title: "A call that a store is asked about", first: "server", absolute: true, loose: true,
		jobs: "in memory | over Redis | round trips",
		note: "Times as ratios to a whole call of the bare SDK, between a client and a server in one process. Redis is " + what + ".",
	}
	bare := connectTo(nil)("good", rightOrder)
	t.add("bare SDK", []func(){bare, nil}, "0")
	owner := func(context.Context, mcp.Request) string { return "ann" }
	kept := func(s store.Store) mcp.Middleware {
		return replay.New(&replay.Options{Store: s, Owner: owner, Keep: time.Minute, Limits: replay.Limits{KeysPerOwner: -1, OwnerBytes: -1}})
	}
	limits := func(s limit.Taker) mcp.Middleware {
		return limit.New(&limit.Options{Shared: s, Owner: owner, Limits: []limit.Limit{
			{Calls: 1 << 30}, {Scope: limit.PerTool, Calls: 1 << 30}, {Scope: limit.ForAll, Calls: 1 << 30},
		}})
	}
	memory := func() store.Store { return store.NewMemory(&store.MemoryOptions{MaxBytes: 1 << 30}) }
	var keys atomic.Int64
	next := func() string { return strconv.FormatInt(keys.Add(1), 10) }
	for _, r := range []struct {
		name         string
		memory, here mcp.Middleware
		tool         string
		key          func() string
	}{
		{"`replay`, a call that runs", kept(memory()), kept(shared), "good", next},
		{"`replay`, a repetition", kept(memory()), kept(shared), "good", func() string { return "same" }},
		{"`limit`, three limits", limits(nil), limits(shared), "good", nil},
	} {
		here := withKeys(r.here, r.tool, r.key)
		for range 3 {
			here() // Redis learns the scripts, and there is a first answer
		}
		hook.Store(0)
		here()
		t.add(r.name, []func(){withKeys(r.memory, r.tool, r.key), here}, strconv.FormatInt(hook.Load(), 10))
	}
	return t
}

// withKeys returns a call of a tool of a server with this middleware, with the key that a function returns, if it is not nil.
func withKeys(mw mcp.Middleware, tool string, key func() string) func() {
	session := session(mw)
	return func() {
		params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(rightOrder)}
		if key != nil {
			params.Meta = mcp.Meta{"io.modelcontextprotocol/idempotencyKey": key()}
		}
		_, err := session.CallTool(context.Background(), params)
		must(err)
	}
}

// httpServer returns a session over HTTP with a server that has a tool that reads and one that writes.
func httpServer(mw mcp.Middleware, ends *[]func()) *mcp.ClientSession {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench"}, nil)
	answer := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "22 degrees"}}}, nil
	}
	schema := json.RawMessage(orderSchema)
	server.AddTool(&mcp.Tool{Name: "write", InputSchema: schema}, answer)
	server.AddTool(&mcp.Tool{Name: "read", InputSchema: schema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, answer)
	if mw != nil {
		server.AddReceivingMiddleware(mw)
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	must(err)
	web := &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil), ReadHeaderTimeout: time.Minute}
	go func() { _ = web.Serve(listener) }()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(context.Background(),
		&mcp.StreamableClientTransport{Endpoint: "http://" + listener.Addr().String(), HTTPClient: client, DisableStandaloneSSE: true}, nil)
	must(err)
	*ends = append(*ends, func() { _ = session.Close(); _ = web.Close() })
	return session
}

const atOnce, each = 64, 4

// auditedCalls compares many callers over HTTP, with all middlewares and a record of each call on disk.
func auditedCalls(dir string, ends *[]func()) *table {
	t := &table{
		title: "64 callers over HTTP, with everything on and a record on disk", first: "server", loose: true,
		jobs: "a tool that writes | a tool that reads",
		note: "Times as ratios to the bare SDK, in which each of 64 callers makes four calls: 1.1 is 0.9 of its throughput; and allocations of one call. `FileOptions.Sync` says what a call waits for.",
	}
	row := func(name string, mw mcp.Middleware) {
		session := httpServer(mw, ends)
		run := func(tool string) func() {
			params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(rightOrder)}
			return func() {
				var callers sync.WaitGroup
				for range atOnce {
					callers.Go(func() {
						for range each {
							res, err := session.CallTool(context.Background(), params)
							must(err)
							if res.IsError {
								must(errors.New(name + ": a call failed"))
							}
						}
					})
				}
				callers.Wait()
			}
		}
		for _, c := range t.add(name, []func(){run("write"), run("read")}).cells {
			c.calls = atOnce * each
		}
	}
	row("bare SDK", nil)
	for _, a := range []struct {
		name string
		on   bool
		sync audit.Sync
	}{
		{"everything but `audit`", false, 0},
		{"everything, `SyncAll`", true, audit.SyncAll},
		{"everything, `SyncBegins`", true, audit.SyncBegins},
		{"everything, `SyncLater`", true, audit.SyncLater},
	} {
		o := everything(written())
		o.Audit = nil
		if a.on {
			records, err := audit.Open(fmt.Sprintf("%s/%d", dir, a.sync), &audit.FileOptions{Sync: a.sync})
			must(err)
			*ends = append(*ends, func() { _ = records.Close() })
			o.Audit = audit.New(&audit.Options{Log: records, Logger: unwritten()})
		}
		row(a.name, mcpchain.Standard(o))
	}
	return t
}

// largeAnswers compares whole calls whose answer has 5 MB. With budget much less is sent.
func largeAnswers() *table {
	item := `{"id":123,"name":"somebody","tags":["a","b"],"text":"` + strings.Repeat("x", 60) + `"}`
	value := `{"results":[` + strings.Repeat(item+",", 5<<20/len(item)) + item + `]}`
	prose := strings.Repeat("A sentence of some words. ", 5<<20/26)
	t := &table{
		title: "An answer of 5 MB", first: "server", absolute: true, loose: true, jobs: "text | JSON | the layer alone: text | JSON",
		note: "Times as ratios to a whole call of the bare SDK, which sends all of it, with a text. `budget` sends 30 KB, and keeps the rest.",
	}
	server := func(text string, structured bool, mw mcp.Middleware) (whole, alone func()) {
		answer := func() *mcp.CallToolResult {
			res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
			if structured {
				res.StructuredContent = json.RawMessage(text)
			}
			return res
		}
		s := mcp.NewServer(&mcp.Implementation{Name: "bench"}, nil)
		s.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return answer(), nil })
		handler := func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "it", InputSchema: map[string]any{"type": "object"}}}}, nil
			}
			return answer(), nil
		}
		if mw != nil {
			s.AddReceivingMiddleware(mw)
			layer := mw(handler)
			req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}}
			alone = func() { _, _ = layer(context.Background(), middleware.MethodCallTool, req) }
		}
		ctx := context.Background()
		ours, theirs := mcp.NewInMemoryTransports()
		_, err := s.Connect(ctx, theirs, nil)
		must(err)
		session, err := mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(ctx, ours, nil)
		must(err)
		return func() {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "it"})
			must(err)
		}, alone
	}
	for _, r := range []struct {
		name string
		mw   func() mcp.Middleware
	}{
		{"bare SDK", func() mcp.Middleware { return nil }},
		{"`budget`", func() mcp.Middleware { return budget.New(&budget.Options{OwnerBytes: -1}) }},
	} {
		text, textAlone := server(prose, false, r.mw())
		structured, structuredAlone := server(value, true, r.mw())
		t.add(r.name, []func(){text, structured, textAlone, structuredAlone})
	}
	return t
}
