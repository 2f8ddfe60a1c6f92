package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/retry"
)

// servers are the contenders of whole calls that fail.
var servers = []struct {
	name string
	mw   func() mcp.Middleware // nil for none
}{
	{"bare SDK", nil},
	{"by hand", func() mcp.Middleware { return handWritten(written()) }},
	{"`Standard`", func() mcp.Middleware {
		return mcpchain.Standard(&mcpchain.Options{Logger: written(), Retry: &retry.Options{RefuseAfter: -1}}) // or the loop breaker would refuse the calls
	}},
}

// manyTools compares calls that fail on servers of few tools and of many.
func manyTools() *table {
	t := &table{
		title: "A whole call that fails, on 10, 1,000 and 10,000 tools", first: "server", loose: true,
		jobs: "an error, 10 | 1,000 | 10,000 | wrong arguments, 10 | 1,000 | 10,000 | unknown tool, 10 | 1,000 | 10,000",
		note: "Times as ratios to the same call of the bare SDK, on one processor, with the record of the failure. The SDK and the server by hand say neither what is wrong with the arguments but for one of them, nor which tool was meant. " +
			"Goroutines run beside, so that allocations are rounded.",
	}
	for _, s := range servers {
		sizes := []int{10, 1000, 10_000}
		failures, wrong, unknown := make([]func(), 0, len(sizes)), make([]func(), 0, len(sizes)), make([]func(), 0, len(sizes))
		for _, n := range sizes {
			call := connectToMany(s.mw, n)
			failures = append(failures, call(toolName(n-1), rightOrder))
			wrong = append(wrong, call(toolName(n-1), wrongOrder))
			unknown = append(unknown, call("tool_0000x", rightOrder))
		}
		t.add(s.name, slices.Concat(failures, wrong, unknown))
	}
	return t
}

// connectToMany returns what makes a call of a server with so many tools, the last of which fails.
func connectToMany(mw func() mcp.Middleware, tools int) func(tool, arguments string) func() {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench"}, nil)
	for i := range tools - 1 {
		server.AddTool(&mcp.Tool{Name: toolName(i), InputSchema: json.RawMessage(orderSchema)}, nothing)
	}
	addTool(server, toolName(tools-1), failure)
	if mw != nil {
		server.AddReceivingMiddleware(mw())
	}
	session := connectOne(server)
	return func(tool, arguments string) func() {
		params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}
		return func() { _, _ = session.CallTool(context.Background(), params) } // an unknown tool is an error
	}
}

func connectOne(server *mcp.Server) *mcp.ClientSession {
	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	_, err := server.Connect(ctx, theirs, nil)
	must(err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(ctx, ours, nil)
	must(err)
	return session
}

func toolName(i int) string { return fmt.Sprintf("tool_%05d", i) }

// The outage that is measured.
const (
	outageClients = 128
	outageTools   = 1000
	outageSlices  = 10
	outageSlice   = time.Second // what is remembered for a second is asked for once in each
)

// outages compares servers of which every call of every tool fails, for many clients at once.
func outages() *table {
	t := &table{
		title: "An outage", first: "server",
		jobs: "calls a second | CPU of a call | the slowest of a hundred | lists asked, by each client in a second | waiting for locks, seconds in each second",
		note: fmt.Sprintf("%d clients call all tools of a server of %d without a pause, and every call fails. The first three as ratios to the bare SDK, on all processors.", outageClients, outageTools),
	}
	for _, s := range servers {
		r := t.add(s.name, nil, "", "", "", "", "")
		for _, c := range r.cells {
			c.apart = true
		}
	}
	t.measure = func() {
		all := make([]*outage, 0, len(servers))
		for _, s := range servers {
			all = append(all, newOutage(s.mw, outageClients, outageTools))
		}
		rotate(all, outageSlices, outageSlice)
		for i, o := range all {
			for j, said := range o.against(all[0]) {
				t.rows[i].cells[j].said = said
			}
		}
	}
	return t
}

// rotate lets each have its slices, in turns. The first one is no part of the measurement.
func rotate(all []*outage, slices int, span time.Duration) {
	for _, o := range all {
		o.slice(span)
		o.took, o.spent, o.cpu, o.wait = nil, 0, 0, 0
		o.lists.Store(0)
	}
	runtime.GC()
	for range slices {
		for _, o := range all {
			o.slice(span)
		}
	}
}

// An outage is a server of which every call fails, with its clients.
type outage struct {
	sessions []*mcp.ClientSession
	tools    int
	next     []int // the tool that a client calls next

	lists      atomic.Int64 // how often the server was asked for a page of its tools
	took       []time.Duration
	spent, cpu time.Duration
	wait       float64 // seconds that goroutines waited for locks
}

func newOutage(mw func() mcp.Middleware, clients, tools int) *outage {
	o := &outage{tools: tools, next: make([]int, clients)}
	server := mcp.NewServer(&mcp.Implementation{Name: "bench"}, nil)
	for i := range tools {
		addTool(server, toolName(i), failure)
	}
	server.AddReceivingMiddleware(o.counted)
	if mw != nil {
		server.AddReceivingMiddleware(mw())
	}
	for i := range clients {
		o.sessions = append(o.sessions, connectOne(server))
		o.next[i] = i * 7919 // each calls another one
	}
	return o
}

// counted counts the lists that the server is asked for.
func (o *outage) counted(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			o.lists.Add(1)
		}
		return next(ctx, method, req)
	}
}

// slice lets all clients call for a while.
func (o *outage) slice(span time.Duration) {
	var (
		mu  sync.Mutex
		all sync.WaitGroup
	)
	waited, worked, began := measured("/sync/mutex/wait/total:seconds"), processTime(), time.Now()
	for i, session := range o.sessions {
		all.Go(func() {
			var took []time.Duration
			for last := began; last.Sub(began) < span; {
				_, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: toolName(o.next[i] % o.tools), Arguments: json.RawMessage(rightOrder)})
				must(err)
				o.next[i]++
				now := time.Now()
				took, last = append(took, now.Sub(last)), now
			}
			mu.Lock()
			defer mu.Unlock()
			o.took = append(o.took, took...)
		})
	}
	all.Wait()
	o.spent += time.Since(began)
	o.cpu += processTime() - worked
	o.wait += measured("/sync/mutex/wait/total:seconds") - waited
}

func measured(name string) float64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Float64()
}

// throughput is how many calls there were in a second.
func (o *outage) throughput() float64 { return float64(len(o.took)) / o.spent.Seconds() }

// work is the CPU time of a call, in seconds.
func (o *outage) work() float64 { return o.cpu.Seconds() / float64(len(o.took)) }

// slow is how long the slowest call of a hundred took, in seconds.
func (o *outage) slow() float64 {
	slices.Sort(o.took)
	return o.took[len(o.took)*99/100].Seconds()
}

// against is what the row of o says.
func (o *outage) against(reference *outage) []string {
	return []string{
		ratio(o.throughput() / reference.throughput()), ratio(o.work() / reference.work()), ratio(o.slow() / reference.slow()),
		ratio(float64(o.lists.Load()) / float64(len(o.sessions)) / o.spent.Seconds()),
		strconv.FormatFloat(o.wait/o.spent.Seconds(), 'f', 1, 64),
	}
}
