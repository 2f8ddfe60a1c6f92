package adversary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/internal/child"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/validate"
)

// config is what a server process is told.
type config struct {
	Transport string // stdio, lines (of mcprecover.Transport), stateful or stateless
	Chain     string // a name in chains; empty for a server for each that stands alone
	Log       string // the file that the log is written to
}

// everything is the name of the chain with all middlewares, and with handlers that do
// whatever a handler can do.
const everything = "everything"

// chains are what can stand around the server, by name.
func chains(logger *slog.Logger) map[string]mcp.Middleware {
	lists := &batch.Options{Lists: []batch.List{{Tool: "echo", Item: "token", As: "echo_all", Items: "tokens", MaxItems: 20}}}
	limits := &deadline.Options{
		Tools:  map[string]time.Duration{"waits": 20 * time.Millisecond, "sleeps": 20 * time.Millisecond},
		Grace:  10 * time.Millisecond,
		Logger: logger,
	}
	records := &audit.Options{Log: audit.NewLog(func(entries []audit.Entry) error {
		for _, e := range entries {
			if !json.Valid(e.Line) || bytes.ContainsAny(e.Line, "\n\r\x00") {
				panic("a record is no line: " + string(e.Line))
			}
		}
		return nil
	}, nil), Logger: logger}
	return map[string]mcp.Middleware{
		everything: mcpchain.Standard(&mcpchain.Options{
			Logger:      logger,
			Audit:       audit.New(records),
			Validate:    &validate.Options{RawTools: true},
			Batch:       batch.New(lists),
			Degrade:     degrade.New(nil),
			Deadline:    deadline.New(limits),
			RetryServer: retry.Server(&retry.ServerOptions{InitialInterval: time.Millisecond}),
		}),
		"recover":   mcprecover.New(&mcprecover.Options{Logger: logger}),
		"correlate": correlate.New(&correlate.Options{Logger: logger}),
		"audit":     audit.New(records),
		"mask":      mask.New(&mask.Options{Logger: logger}),
		"validate":  validate.New(&validate.Options{RawTools: true}),
		"retry":     retry.New(nil),
		"server":    retry.Server(&retry.ServerOptions{InitialInterval: time.Millisecond}),
		"batch":     batch.New(lists),
		"degrade":   degrade.New(nil),
		"deadline":  deadline.New(limits),
	}
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
	logger := slog.New(slog.NewJSONHandler(file, nil))
	slog.SetDefault(logger)
	switch cfg.Transport {
	case "stdio":
		return newServer(cfg.Chain, logger).Run(context.Background(), &mcp.StdioTransport{})
	case "lines":
		return newServer(cfg.Chain, logger).Run(context.Background(), mcprecover.Transport(nil, nil))
	}
	serve := http.NewServeMux()
	if cfg.Chain != "" {
		serve.Handle("/", handler(newServer(cfg.Chain, logger), cfg.Transport, logger))
	} else { // each alone, by the path
		for _, chain := range aloneChains() {
			serve.Handle("/"+url.PathEscape(chain), handler(newServer(chain, logger), cfg.Transport, logger))
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	failed := make(chan error, 1)
	go func() { failed <- http.Serve(listener, serve) }()
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		failed <- err
	}()
	return <-failed
}

// handler serves HTTP. Whoever calls is the user that the bearer token names.
func handler(server *mcp.Server, transport string, logger *slog.Logger) http.Handler {
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: transport == "stateless", SessionTimeout: 10 * time.Second, PropagateRequestCancellation: true,
	})
	return mcprecover.HTTP(auth.RequireBearerToken(verify, nil)(streamable), logger)
}

// echoIn is what most tools take.
type echoIn struct {
	Token  string            `json:"token"`
	Count  int               `json:"count,omitempty"`
	Color  string            `json:"color,omitempty"`
	Tags   []string          `json:"tags,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Item   *echoIn2          `json:"item,omitempty"`
}

type echoIn2 struct {
	SKU string  `json:"sku"`
	Qty float64 `json:"qty"`
}

type echoOut struct {
	Token string `json:"token"`
}

const rawSchema = `{"type":"object","required":["token"],"properties":{
	"token":{"type":"string","maxLength":100},"color":{"enum":["red","green","blue"]},
	"when":{"type":"string","format":"date-time"},"many":{"type":"array","maxItems":50,"items":{"anyOf":[
		{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}},
		{"type":"object","required":["b"],"properties":{"b":{"type":"string","pattern":"^[a-z]+$"}}},{"type":"null"}]}}}}`

const treeSchema = `{"type":"object","required":["token","tree"],"properties":{"token":{"type":"string"},"tree":{"$ref":"#/$defs/node"}},
	"$defs":{"node":{"oneOf":[{"type":"integer"},
		{"type":"object","required":["left"],"additionalProperties":false,"properties":{"left":{"$ref":"#/$defs/node"},"right":{"$ref":"#/$defs/node"}}},
		{"type":"object","required":["right"],"additionalProperties":false,"properties":{"left":{"$ref":"#/$defs/node"},"right":{"$ref":"#/$defs/node"}}},
		{"type":"array","items":{"$ref":"#/$defs/node"}}]}}}`

// newServer returns a server with the chain around it, or around each handler where
// the chain's name says so: "tool recover" is middleware.Tool with package recover.
func newServer(chain string, logger *slog.Logger) *mcp.Server {
	where, name, single := strings.Cut(chain, " ")
	if !single {
		name = chain
	}
	around, known := chains(logger)[name]
	if !known {
		panic("no such chain: " + chain)
	}
	only := func(place string) mcp.Middleware { // what stands around one kind of handler
		if single && where == place {
			return around
		}
		return nil
	}
	secret := errors.New("dial postgres://shop:" + child.Canary("error") + "@10.0.0.7/shop: refused")
	hides := (!single || where == "tool") && (name == everything || name == "mask")
	recovers := (!single || where == "tool") && (name == everything || name == "recover")
	s := mcp.NewServer(&mcp.Implementation{Name: "target", Version: "1"}, &mcp.ServerOptions{
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1})),
		CompletionHandler: func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			if req.Params.Argument.Name == "fail" && hides && !single {
				return nil, secret
			}
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"a", "b"}}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	echo := func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, echoOut, error) {
		return nil, echoOut{in.Token}, nil
	}
	raw := func(name, schema string, h func(ctx context.Context, args map[string]any) (string, error)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}, middleware.Tool(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args map[string]any
			_ = json.Unmarshal(req.Params.Arguments, &args)
			text, err := h(ctx, args)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, err
		}, only("tool")))
	}
	answer := func(_ context.Context, args map[string]any) (string, error) {
		text, _ := args["token"].(string)
		return text, nil
	}
	for _, name := range []string{"echo", "witness"} { // no hostile request calls the witness
		middleware.AddTool(s, &mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, echo, only("addtool"))
	}
	raw("echo_raw", rawSchema, answer)
	raw("tree", treeSchema, answer)
	cause := errors.New("it failed") // of what nobody hides
	if hides {
		cause = secret
	}
	raw("fails", `{"type":"object"}`, func(_ context.Context, args map[string]any) (string, error) {
		return "", fmt.Errorf("of %v: %w", args["token"], cause)
	})
	if recovers {
		raw("panics", `{"type":"object"}`, func(_ context.Context, args map[string]any) (string, error) {
			panic(fmt.Sprint(child.Canary("panic"), args["token"]))
		})
	}
	if recovers && !single { // the SDK's own checks come after those around one handler
		for name, res := range map[string]*mcp.CallToolResult{"nothing": nil, "unsendable": {StructuredContent: map[string]any{"n": math.NaN()}}} {
			s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return res, nil })
		}
	}
	raw("parts", `{"type":"object"}`, parts(cause))
	raw("waits", `{"type":"object"}`, func(ctx context.Context, args map[string]any) (string, error) {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
			return answer(ctx, args)
		}
	})
	raw("sleeps", `{"type":"object"}`, func(ctx context.Context, args map[string]any) (string, error) {
		time.Sleep(50 * time.Millisecond)
		return answer(ctx, args)
	})
	raw("stats", `{"type":"object"}`, func(_ context.Context, args map[string]any) (string, error) {
		if args["stacks"] == true {
			stacks := make([]byte, 1<<20)
			return string(stacks[:runtime.Stack(stacks, true)]), nil
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		text, err := json.Marshal(stats{Goroutines: runtime.NumGoroutine(), Heap: m.HeapAlloc})
		return string(text), err
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note://{id}", Name: "note"}, middleware.Resource(
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimPrefix(req.Params.URI, "note://")
			if strings.HasPrefix(id, "missing") {
				return nil, mcp.ResourceNotFoundError(req.Params.URI)
			}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: id}}}, nil
		}, only("resource")))
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "token", Required: true}}}, middleware.Prompt(
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: req.Params.Arguments["token"]}}}}, nil
		}, only("prompt")))
	if !single {
		s.AddSendingMiddleware(deadline.Sending())
		s.AddReceivingMiddleware(around)
	}
	return s
}

// parts is a tool whose answer has parts that fail.
func parts(cause error) func(context.Context, map[string]any) (string, error) {
	return func(ctx context.Context, args map[string]any) (string, error) {
		text, _ := args["token"].(string)
		var got string
		_, err := degrade.Run(ctx,
			degrade.Required("token", &got, func(context.Context) (string, error) { return text, nil }),
			degrade.Optional("more", new(string), func(context.Context) (string, error) { return "", cause }),
			degrade.Optional("skipped", new(string), func(context.Context) (string, error) { return "", degrade.Skip(text) }),
			degrade.Optional("bug", new(string), func(context.Context) (string, error) { panic(child.Canary("part")) }))
		return got, err
	}
}

// stats is what the server says about itself.
type stats struct {
	Goroutines int    `json:"goroutines"`
	Heap       uint64 `json:"heap"`
}
