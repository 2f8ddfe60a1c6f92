package node

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/internal/child"
	"github.com/mcpchain/mcpchain/limit"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/state"
)

// The chains that a server can have.
const (
	chainBare       = "bare"       // no mcpchain
	chainStandard   = "standard"   // mcpchain.Standard
	chainEverything = "everything" // with everything that is off by default
	chainLossy      = "lossy"      // a middleware that does wrong
)

// config is what a server process is told.
type config struct {
	Stdio     bool // instead of HTTP
	Stateless bool // over HTTP, as of 2026-07-28; with sessions otherwise
	Chain     string
	Log       string // the file that its log is written to
}

// serve is the server process. It ends when its standard input ends.
func serve(text string) error {
	var cfg config
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return err
	}
	child.Immortal()
	file, err := os.OpenFile(cfg.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	slog.SetDefault(slog.New(slog.NewJSONHandler(file, nil)))

	server := newServer()
	if cfg.Stdio {
		return server.Run(context.Background(), &mcp.StdioTransport{})
	}
	options := &mcp.StreamableHTTPOptions{Stateless: cfg.Stateless}
	if !cfg.Stateless {
		options.EventStore = mcp.NewMemoryEventStore(nil) // streams are resumed
	}
	var handler http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
	switch cfg.Chain {
	case chainStandard:
		server.AddReceivingMiddleware(mcpchain.Standard(nil))
		handler = mcprecover.HTTP(handler, nil)
	case chainEverything:
		server.AddSendingMiddleware(deadline.Sending())
		server.AddReceivingMiddleware(mcpchain.Standard(everything()))
		handler = mcprecover.HTTP(handler, nil)
	case chainLossy:
		server.AddReceivingMiddleware(lossy)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String() + "/mcp")
	failed := make(chan error, 1)
	go func() {
		web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		failed <- web.Serve(listener)
	}()
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		failed <- err
	}()
	return <-failed
}

// everything returns options with all that is off by default, with nothing in it that
// would refuse the suite.
func everything() *mcpchain.Options {
	const plenty = 1 << 20
	return &mcpchain.Options{
		Audit:       audit.New(&audit.Options{Log: audit.NewLog(func([]audit.Entry) error { return nil }, nil)}),
		Batch:       batch.New(&batch.Options{Lists: []batch.List{{Tool: "test_sampling", Item: "prompt", As: "test_samplings"}}}),
		Budget:      budget.New(nil),
		Deadline:    deadline.New(nil),
		Degrade:     degrade.New(nil),
		Drain:       drain.New(&drain.Options{Drain: &drain.Drain{}}),
		Limit:       limit.New(&limit.Options{Limits: []limit.Limit{{Calls: plenty, Running: plenty}}}),
		Replay:      replay.New(&replay.Options{Owner: oneOwner}),
		RetryServer: retry.Server(nil),
		State:       state.New(&state.Options{Owner: oneOwner}),
	}
}

func oneOwner(context.Context, mcp.Request) string { return "suite" }

// lossy loses what a failing tool says.
func lossy(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if call, ok := res.(*mcp.CallToolResult); ok && call.IsError {
			call.Content = []mcp.Content{}
		}
		return res, err
	}
}
