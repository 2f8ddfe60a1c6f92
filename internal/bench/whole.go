package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/retry"
)

// wholeCalls compares calls between a client and a server of the SDK in one process, the
// cheapest there are. The server has 20 tools. Here each failure also looks up what its
// tool may do, and is counted for its caller.
func wholeCalls() *table {
	t := &table{
		title: "A whole call between a client and a server in one process", first: "server", absolute: true, loose: true,
		jobs: "success | wrong arguments | failure with its record | panic with its record",
		note: "Times as ratios to a success of the bare SDK, some 150 to 300 µs, on one processor. Allocations are rounded.",
	}
	patient := &retry.Options{RefuseAfter: -1} // or the loop breaker would refuse the calls
	all := everything(written())
	all.Retry = patient
	for _, s := range []struct {
		name string
		mw   mcp.Middleware
	}{
		{"bare SDK", nil},
		{"by hand", handWritten(written())},
		{"by hand, with the answers of `Standard`", answering(handWritten(written()), answersOf(mcpchain.Standard(&mcpchain.Options{Logger: written(), Retry: patient})))},
		{"`Standard`", mcpchain.Standard(&mcpchain.Options{Logger: written(), Retry: patient})},
		{"`Standard`, all but `replay` and `state`", mcpchain.Standard(all)},
	} {
		call := connectTo(s.mw)
		runs := []func(){call("good", rightOrder), call("good", wrongOrder), call("fails", rightOrder), call("panics", rightOrder)}
		if s.mw == nil {
			runs[3] = nil
		}
		r := t.add(s.name, runs)
		if s.mw == nil {
			r.cells[3].said = "ends the process"
		}
	}
	return t
}

// answersOf returns what a server with this middleware answers to a wrong call, and to those
// of tools that fail.
func answersOf(mw mcp.Middleware) map[string]*mcp.CallToolResult {
	session := session(mw)
	answers := map[string]*mcp.CallToolResult{}
	for tool, arguments := range map[string]string{"good": wrongOrder, "fails": rightOrder, "panics": rightOrder} {
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
		must(err)
		answers[tool] = res
	}
	return answers
}

// answering is mw, but a failed call has one of these answers. It shows what of the cost is
// that of the longer message.
func answering(mw mcp.Middleware, answers map[string]*mcp.CallToolResult) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		masked := mw(next)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := masked(ctx, method, req)
			failed, ok := res.(*mcp.CallToolResult)
			if params, isCall := req.GetParams().(*mcp.CallToolParamsRaw); ok && isCall && failed.IsError {
				answer := *answers[params.Name]
				return &answer, nil
			}
			return res, err
		}
	}
}

// connectTo returns what makes a call of a tool of a server with this middleware.
func connectTo(mw mcp.Middleware) func(tool, arguments string) func() {
	session := session(mw)
	ctx := context.Background()
	return func(tool, arguments string) func() {
		params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}
		return func() {
			_, err := session.CallTool(ctx, params)
			must(err)
		}
	}
}

// session returns one with a server with this middleware and 20 tools.
func session(mw mcp.Middleware) *mcp.ClientSession {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench"}, nil)
	for i := range 17 {
		addTool(server, fmt.Sprint("other", i), success)
	}
	addTool(server, "good", success)
	addTool(server, "fails", failure)
	addTool(server, "panics", panicked)
	if mw != nil {
		server.AddReceivingMiddleware(mw)
	}
	return connectOne(server)
}

func addTool(server *mcp.Server, name string, job int) {
	end := ending[*mcp.CallToolRequest](job, done)
	mcp.AddTool(server, &mcp.Tool{Name: name, InputSchema: json.RawMessage(orderSchema)},
		func(ctx context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
			res, err := end(ctx, req)
			return res, nil, err
		})
}
