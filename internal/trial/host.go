package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/retry"
	lasting "github.com/mcpchain/mcpchain/task"
	"github.com/mcpchain/mcpchain/validate"
)

// An arm installs what stands around a server.
type arm struct {
	name    string
	install func(*mcp.Server, *slog.Logger)
}

// arms are what stands around the servers. In all of them the requests, the texts and the failures are the same.
var arms = []arm{
	{"bare", func(*mcp.Server, *slog.Logger) {}},
	{"line", func(server *mcp.Server, logger *slog.Logger) {
		server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
			Logger: logger, Mask: &mask.Options{Reader: mask.Trusted}, Validate: &validate.Options{RawTools: true},
		}))
	}},
	{"whole", func(server *mcp.Server, logger *slog.Logger) {
		server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
			Logger: logger, Validate: &validate.Options{RawTools: true},
			Batch:  batch.New(&batch.Options{Lists: []batch.List{{Tool: "read_sensors", Item: "house", As: "read_sensors_of_houses", Items: "houses"}}}),
			Budget: budget.New(&budget.Options{Size: 8000}),
			Deadline: deadline.New(&deadline.Options{
				Limit: 20 * time.Second, Tools: map[string]time.Duration{"survey_room": 10 * time.Minute, "move_object": 10 * time.Minute}, Logger: logger,
			}),
			Task:  lasting.New(&lasting.Options{Tools: func(tool string) bool { return tool == "survey_room" || tool == "move_object" }}),
			Retry: &retry.Options{Witnessed: func(tool string) bool { return tool == "reserve_seats" || tool == "start_watering" }},
		}))
		server.AddSendingMiddleware(deadline.Sending())
	}},
}

// A host is the program between a model and a server: it holds the session, and shows answers.
type host struct {
	world   *world
	session *mcp.ClientSession
}

// newHost starts the server of a task in an arm.
func newHost(in string, t *task, logger *slog.Logger) (*host, error) {
	w := newWorld()
	s := &site{world: w, task: t.name, whole: in == "whole"}
	server := t.server(s)
	arms[slices.IndexFunc(arms, func(a arm) bool { return a.name == in })].install(server, logger)
	session, err := connect(server)
	return &host{w, session}, err
}

func connect(server *mcp.Server) (*mcp.ClientSession, error) {
	ctx := context.Background()
	ct, st := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, st, nil); err != nil {
		return nil, err
	}
	return mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1.0.0"}, nil).Connect(ctx, ct, nil)
}

// list returns the tools as a model sees them.
func (h *host) list() string {
	var b strings.Builder
	for tool, err := range h.session.Tools(context.Background(), nil) {
		if err != nil {
			return err.Error()
		}
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&b, "%s: %s\n  input: %s\n", tool.Name, tool.Description, schema)
	}
	return b.String()
}

// patience is how long the host waits for an answer, as the SDKs of other languages do.
const patience = 60 * time.Second

// call returns what a host shows its model, and whether it failed.
func (h *host) call(tool string, args json.RawMessage) (text string, failed bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := h.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return "MCP error -32001: Request timed out", true
		}
		if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
			return fmt.Sprintf("MCP error %d: %s", wire.Code, wire.Message), true
		}
		return "MCP error -32000: " + err.Error(), true
	}
	parts := make([]string, 0, len(res.Content))
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
			if res.IsError {
				break // some hosts show the first block of a failure only
			}
		}
	}
	return strings.Join(parts, "\n"), res.IsError
}
