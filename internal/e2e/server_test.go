package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/internal/child"
	"github.com/mcpchain/mcpchain/retry"
)

// config is what a server process is told.
type config struct {
	Transport string // stdio, stateful or stateless
	Chain     string // see the chains
	Log       string // the file that its log is written to
	JSON      bool   // HTTP answers are JSON and not event streams
	Resume    bool   // HTTP streams can be resumed
	Propagate bool   // a request that is given up cancels its handler (stateless)
	Breaker   bool   // a call that fails again and again is refused, as is the default
	MaxStuck  int    // of the handlers of one tool; zero means as many as the load leaves behind
	Restart   bool   // the server is one of TestRollingRestart
	Soak      bool   // the server lives until its input ends, forgets sessions that nobody uses, and has every bound
}

// The chains that a server can have.
const (
	chainNone     = "none"     // no mcpchain around the server
	chainStandard = "standard" // mcpchain.Standard around the server
	chainTwice    = "twice"    // twice
	chainHandlers = "handlers" // mcpchain.Standard around each handler, none around the server
	chainAll      = "all"      // mcpchain.Standard around the server with everything that it can do
)

// serve is the server process. It ends when its standard input ends.
func serve(text string) error {
	var cfg config
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return err
	}
	file, err := os.OpenFile(cfg.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(file, nil))
	slog.SetDefault(logger)
	if cfg.Restart {
		return serveUntilTold(cfg, logger)
	}
	if cfg.Soak {
		child.Immortal()
	}
	server := newServer(cfg, logger)
	if cfg.Transport == "stdio" {
		return server.Run(context.Background(), &mcp.StdioTransport{})
	}

	options := &mcp.StreamableHTTPOptions{
		Stateless:                    cfg.Transport == "stateless",
		JSONResponse:                 cfg.JSON,
		PropagateRequestCancellation: cfg.Propagate,
	}
	if cfg.Soak {
		options.SessionTimeout = soakIdle
	}
	if cfg.Resume {
		options.EventStore = mcp.NewMemoryEventStore(nil)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	failed := make(chan error, 1)
	go func() {
		failed <- http.Serve(listener, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options))
	}()
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		failed <- err
	}()
	return <-failed
}

// build is a server while it is put together.
type build struct {
	server        *mcp.Server
	cfg           config
	standard      mcp.Middleware // mcpchain.Standard
	completions   map[string]func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error)
	subscriptions map[string]func(context.Context, *mcp.SubscribeRequest) error
	templates     map[string]mcp.ResourceHandler
	inner         map[string]mcp.Middleware // of the tool with this name, inside of Standard
}

// wrap returns what wraps each single handler.
func (b *build) wrap() []mcp.Middleware {
	if b.cfg.Chain == chainHandlers {
		return []mcp.Middleware{b.standard}
	}
	return nil
}

// newServer returns a server with everything that the tests call.
func newServer(cfg config, logger *slog.Logger) *mcp.Server {
	b := &build{
		cfg:           cfg,
		completions:   map[string]func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error){},
		subscriptions: map[string]func(context.Context, *mcp.SubscribeRequest) error{},
		templates:     map[string]mcp.ResourceHandler{},
		inner:         map[string]mcp.Middleware{},
	}
	// A user's own middlewares, which fail like anything else.
	inner := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if call, ok := req.(*mcp.CallToolRequest); ok {
				if mw := b.inner[call.Params.Name]; mw != nil {
					return mw(next)(ctx, method, req)
				}
			}
			return next(ctx, method, req)
		}
	}
	options := &mcpchain.Options{Logger: logger}
	if !cfg.Breaker {
		// The same failing calls are made again and again here, which the breaker is there to
		// prevent.
		options.Retry = &retry.Options{Owner: func(context.Context, mcp.Request) string { return "" }}
	}
	var conceal mcp.Middleware
	if cfg.Chain == chainAll {
		everything(options, limitsOf(cfg))
		conceal = concealing
		if cfg.Soak {
			bounds(options)
		}
	}
	b.standard = mcpchain.Standard(options, inner, conceal)
	b.server = mcp.NewServer(&mcp.Implementation{Name: "e2e-server", Version: "1"}, &mcp.ServerOptions{
		Instructions: "Call what you like.",
		Logger:       slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		CompletionHandler: func(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			if complete := b.completions[req.Params.Argument.Name]; complete != nil {
				return complete(ctx, req)
			}
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"a<b", "c&d"}, Total: 2}}, nil
		},
		SubscribeHandler: func(ctx context.Context, req *mcp.SubscribeRequest) error {
			if subscribe := b.subscriptions[strings.TrimPrefix(req.Params.URI, subscribeURI)]; subscribe != nil {
				return subscribe(ctx, req)
			}
			return nil
		},
		UnsubscribeHandler:          func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationServerRequest) { notified(req.Params.Message) },
		RootsListChangedHandler:     func(context.Context, *mcp.RootsListChangedRequest) { notified("panic roots") },
		SetCacheable: func(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
			if _, ok := req.(*mcp.ListPromptsRequest); ok {
				c.TTLMs, c.CacheScope = 60_000, "private"
			}
		},
	})
	b.installBase()
	for _, s := range scenarios() {
		if s.install != nil {
			s.install(b, s.name)
		}
	}
	b.server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: templateURI + "{name}", Name: "by-name"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			name := strings.TrimPrefix(req.Params.URI, templateURI)
			if read := b.templates[name]; read != nil {
				return read(ctx, req)
			}
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		})
	switch cfg.Chain {
	case chainTwice:
		b.server.AddReceivingMiddleware(b.standard)
		b.server.AddReceivingMiddleware(b.standard)
	case chainStandard:
		b.server.AddReceivingMiddleware(b.standard)
	case chainAll:
		b.installMiddlewares()
		b.server.AddSendingMiddleware(deadline.Sending())
		b.server.AddReceivingMiddleware(b.standard)
	}
	return b.server
}

const (
	templateURI  = "template://"
	subscribeURI = "subscribe://"
	slowURI      = "slow://"
)

// notified is what the handlers of notifications do.
func notified(message string) {
	if strings.HasPrefix(message, "panic") {
		panic("notification: " + message + " " + canary("notification"))
	}
	notifications.Add(1)
}

var notifications atomic.Int64

// gates hold back slow calls until they are released by name.
var gates = struct {
	sync.Mutex
	byKey   map[string]chan struct{}
	waiting atomic.Int64
}{byKey: map[string]chan struct{}{}}

func gate(key string) chan struct{} {
	gates.Lock()
	defer gates.Unlock()
	if gates.byKey[key] == nil {
		gates.byKey[key] = make(chan struct{})
	}
	return gates.byKey[key]
}

// hold waits until the key is released, whatever happens to the caller.
func hold(key string) error {
	gates.waiting.Add(1)
	defer gates.waiting.Add(-1)
	select {
	case <-gate(key):
		return nil
	case <-time.After(lifetime / 2):
		return errors.New("nobody released " + key)
	}
}

func slowAnswer(key string) string { return "slow " + key + " is done" }

// stats is what the server says about itself.
type stats struct {
	PID           int    `json:"pid"`
	Waiting       int64  `json:"waiting"`
	Goroutines    int    `json:"goroutines"`
	Heap          uint64 `json:"heap"`
	Notifications int64  `json:"notifications"`
}

func readStats(gc bool) stats {
	s := stats{PID: os.Getpid(), Waiting: gates.waiting.Load(), Notifications: notifications.Load()}
	if gc {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		s.Heap, s.Goroutines = m.HeapAlloc, runtime.NumGoroutine()
	}
	return s
}

var anyObject = json.RawMessage(`{"type":"object"}`)

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// installBase adds what the tests themselves need, and what succeeds.
func (b *build) installBase() {
	s := b.server
	s.AddTool(&mcp.Tool{Name: "stats", InputSchema: anyObject}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text, err := json.Marshal(readStats(strings.Contains(string(req.Params.Arguments), "gc")))
		return textResult(string(text)), err
	})
	s.AddTool(&mcp.Tool{Name: "release", InputSchema: anyObject}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct{ Keys []string }
		if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
			return nil, err
		}
		for _, key := range args.Keys {
			close(gate(key))
		}
		return textResult("released"), nil
	})
	type keyed struct {
		Key string `json:"key"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(_ context.Context, _ *mcp.CallToolRequest, in keyed) (*mcp.CallToolResult, any, error) {
		return textResult(slowAnswer(in.Key)), nil, hold(in.Key)
	})
	s.AddTool(&mcp.Tool{Name: "slow_raw", InputSchema: anyObject}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in keyed
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		if err := hold(in.Key); err != nil {
			return nil, err
		}
		return textResult(slowAnswer(in.Key)), nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: slowURI + "{key}", Name: "slow"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			key := strings.TrimPrefix(req.Params.URI, slowURI)
			if err := hold(key); err != nil {
				return nil, err
			}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: slowAnswer(key)}}}, nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "slow", Arguments: []*mcp.PromptArgument{{Name: "key", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			key := req.Params.Arguments["key"]
			if err := hold(key); err != nil {
				return nil, err
			}
			return promptResult(slowAnswer(key)), nil
		})
	// The tools that recovery steps name: a caller is sent to no tool that it cannot list.
	for _, name := range []string{"unlock_project", "list_cached", "find_payment"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: anyObject}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return textResult("done"), nil
		})
	}
	b.installSuccesses()
	b.installEndings()
	b.installWireForm()
}

func promptResult(text string) *mcp.GetPromptResult {
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}
}
