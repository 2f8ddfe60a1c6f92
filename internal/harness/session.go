package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/middleware"
)

// A Setup says what a server has.
type Setup struct {
	// Handlers are called by their names. Each is added in the shape under test.
	Handlers map[string]Handler
	// Middleware stands where the shape says, the first outermost; nil entries are skipped.
	Middleware []mcp.Middleware
	// Server and Client may be nil. The server's completion handler is the harness's.
	Server *mcp.ServerOptions
	Client *mcp.ClientOptions
	// Tool, if not nil, changes each tool before it is added: its annotations, for example.
	Tool func(*mcp.Tool)
	// More, if not nil, adds to the server before the middlewares stand around it.
	More func(*mcp.Server)
}

// A Session is a server and a client that are connected.
type Session struct {
	Place  Place
	Server *mcp.Server
	Client *mcp.ClientSession
	Caller *mcp.Client // Client is its session

	sent, received recorder
}

// ClientName is the name under which the client introduces itself.
const ClientName = "harness-client"

// garbage is collected less often than in servers: tests start thousands that live for a moment.
var garbage = sync.OnceFunc(func() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
})

// Start starts a server and connects a client, until the end of the test.
func Start(t testing.TB, at Place, s Setup) *Session {
	t.Helper()
	if _, test := t.(*testing.T); test { // a benchmark is measured with what servers have
		garbage()
	}
	s.Middleware = slices.DeleteFunc(slices.Clone(s.Middleware), func(m mcp.Middleware) bool { return m == nil })
	var options mcp.ServerOptions
	if s.Server != nil {
		options = *s.Server
	}
	options.CompletionHandler = func(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
		return resultOf[*mcp.CompleteResult, *mcp.CompleteRequest](s.Handlers[req.Params.Argument.Name])(ctx, req)
	}
	session := &Session{Place: at, Server: mcp.NewServer(&mcp.Implementation{Name: "harness-server"}, &options)}
	for name, h := range s.Handlers {
		add(session.Server, at.Shape, name, h, s)
	}
	if s.More != nil {
		s.More(session.Server)
	}
	switch at.Shape {
	case ServerTyped, ServerRaw, ServerResource, ServerPrompt, ServerCompletion:
		session.Server.AddReceivingMiddleware(s.Middleware...)
	}
	session.connect(t, s.Client)
	return session
}

func (s *Session) connect(t testing.TB, options *mcp.ClientOptions) {
	t.Helper()
	here, there := net.Pipe()
	server, err := s.Server.Connect(t.Context(), &mcp.IOTransport{
		Reader: struct {
			io.Reader
			io.Closer
		}{io.TeeReader(there, &s.received), there},
		Writer: struct {
			io.Writer
			io.Closer
		}{io.MultiWriter(&s.sent, there), there},
	}, nil)
	require.NoError(t, err)
	s.Caller = mcp.NewClient(&mcp.Implementation{Name: ClientName}, options)
	s.Client, err = s.Caller.Connect(t.Context(), &mcp.IOTransport{Reader: here, Writer: here},
		speak.Version(string(s.Place.Era)))
	require.NoError(t, err)
	require.Equal(t, string(s.Place.Era), s.Client.InitializeResult().ProtocolVersion)
	t.Cleanup(func() {
		_ = s.Client.Close()
		_ = server.Wait()
	})
}

// typedIn are the arguments of the typed tools.
type typedIn struct {
	Word string `json:"word,omitempty"`
}

func add(server *mcp.Server, shape Shape, name string, h Handler, s Setup) {
	mw := s.Middleware
	changed := func(tool *mcp.Tool) *mcp.Tool {
		if s.Tool != nil {
			s.Tool(tool)
		}
		return tool
	}
	tool := func() *mcp.Tool { return changed(&mcp.Tool{Name: name}) }
	raw := func() *mcp.Tool {
		return changed(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}})
	}
	resource := &mcp.Resource{Name: name, URI: URI(name), MIMEType: "text/plain"}
	prompt := &mcp.Prompt{Name: name}
	call := resultOf[*mcp.CallToolResult, *mcp.CallToolRequest](h)
	read := resultOf[*mcp.ReadResourceResult, *mcp.ReadResourceRequest](h)
	get := resultOf[*mcp.GetPromptResult, *mcp.GetPromptRequest](h)
	typed := func(ctx context.Context, req *mcp.CallToolRequest, _ typedIn) (*mcp.CallToolResult, any, error) {
		res, err := call(ctx, req)
		return res, nil, err
	}
	switch shape {
	case ServerTyped:
		mcp.AddTool(server, tool(), typed)
	case ServerRaw:
		server.AddTool(raw(), call)
	case ServerResource:
		server.AddResource(resource, read)
	case ServerPrompt:
		server.AddPrompt(prompt, get)
	case ServerCompletion: // the server has only one completion handler, which calls the handlers by name
	case WrapAddTool:
		middleware.AddTool(server, tool(), typed, mw...)
	case WrapTool:
		server.AddTool(raw(), middleware.Tool(call, mw...))
	case WrapResource:
		server.AddResource(resource, middleware.Resource(read, mw...))
	case WrapPrompt:
		server.AddPrompt(prompt, middleware.Prompt(get, mw...))
	default:
		panic("harness: unknown shape " + string(shape))
	}
}

// resultOf makes a handler of the SDK's type. A result of another type is nil.
func resultOf[R mcp.Result, Q mcp.Request](h Handler) func(context.Context, Q) (R, error) {
	return func(ctx context.Context, req Q) (R, error) {
		res, err := h(ctx, req)
		r, _ := res.(R)
		return r, err
	}
}

// URI returns the address of the resource with this name.
func URI(name string) string { return "harness:///" + name }

// Target returns what middlewares and log records call the handler with this name.
func (s Shape) Target(name string) string {
	switch s.Method() {
	case middleware.MethodReadResource:
		return URI(name)
	case middleware.MethodComplete:
		return ""
	default:
		return name
	}
}

// Call calls one handler once, on a server of its own.
func Call(t testing.TB, at Place, h Handler, mw ...mcp.Middleware) Answer {
	t.Helper()
	return Start(t, at, Setup{Handlers: map[string]Handler{"it": h}, Middleware: mw}).Call(t, "it")
}

// Call calls the handler with this name. Calls that run at the same time have no
// Wire.
func (s *Session) Call(t testing.TB, name string) Answer {
	t.Helper()
	return s.CallContext(t.Context(), name)
}

// CallContext is Call with a context, which may be cancelled.
func (s *Session) CallContext(ctx context.Context, name string) Answer {
	from := s.sent.len()
	answer := s.call(ctx, name)
	answer.Wire = s.sent.response(from)
	return answer
}

func (s *Session) call(ctx context.Context, name string) Answer {
	switch s.Place.Shape.Method() {
	case middleware.MethodReadResource:
		return answerOf(s.Client.ReadResource(ctx, &mcp.ReadResourceParams{URI: URI(name)}))
	case middleware.MethodGetPrompt:
		return answerOf(s.Client.GetPrompt(ctx, &mcp.GetPromptParams{Name: name}))
	case middleware.MethodComplete:
		return answerOf(s.Client.Complete(ctx, &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: name},
			Argument: mcp.CompleteParamsArgument{Name: name},
		}))
	default:
		return s.CallTool(ctx, name, nil)
	}
}

// CallTool calls a tool with arguments; the answer has no Wire.
func (s *Session) CallTool(ctx context.Context, name string, args any) Answer {
	return answerOf(s.Client.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args}))
}

// Sent returns every byte that the server has written, a message a line.
func (s *Session) Sent() string { return s.sent.from(0) }

// Received returns every byte that the server has read.
func (s *Session) Received() string { return s.received.from(0) }

// An Answer is what a client got for a call.
type Answer struct {
	Result mcp.Result // as the client's method returned it, nil for an error
	Err    error
	Wire   json.RawMessage // the JSON-RPC message
}

func answerOf[R interface {
	comparable
	mcp.Result
}](res R, err error) Answer {
	var none R
	if res == none {
		return Answer{Err: err}
	}
	return Answer{Result: res, Err: err}
}

// Tool returns the result of a tool, or nil.
func (a Answer) Tool() *mcp.CallToolResult {
	res, _ := a.Result.(*mcp.CallToolResult)
	return res
}

// Protocol returns the protocol error, or nil.
func (a Answer) Protocol() *jsonrpc.Error {
	var e *jsonrpc.Error
	errors.As(a.Err, &e)
	return e
}

// Text returns what a model reads: the text of the first block, or the message of a
// protocol error.
func (a Answer) Text() string {
	if e := a.Protocol(); e != nil {
		return e.Message
	}
	switch res := a.Result.(type) {
	case *mcp.CallToolResult:
		if len(res.Content) > 0 {
			return textOf(res.Content[0])
		}
	case *mcp.ReadResourceResult:
		if len(res.Contents) > 0 {
			return res.Contents[0].Text
		}
	case *mcp.GetPromptResult:
		if len(res.Messages) > 0 {
			return textOf(res.Messages[0].Content)
		}
	case *mcp.CompleteResult:
		if len(res.Completion.Values) > 0 {
			return res.Completion.Values[0]
		}
	}
	return ""
}

func textOf(c mcp.Content) string {
	if t, ok := c.(*mcp.TextContent); ok {
		return t.Text
	}
	return ""
}

// Fault returns what [middleware.FaultOf] reads, nil for a success.
func (a Answer) Fault() *fault.Error {
	e, _ := middleware.FaultOf(a.Result, a.Err)
	return e
}

// Machine returns the machine form as it stands in the message: the object in the
// result's _meta or the error's data, nil when there is none.
func (a Answer) Machine() map[string]any {
	var message struct {
		Result struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
		Error struct{ Data json.RawMessage }
	}
	var machine map[string]any
	if json.Unmarshal(a.Wire, &message) != nil {
		return nil
	}
	raw := message.Result.Meta[middleware.MetaKey]
	if raw == nil {
		raw = message.Error.Data
	}
	if raw == nil || json.Unmarshal(raw, &machine) != nil {
		return nil
	}
	return machine
}

// Reference returns the reference in the machine form, or "".
func (a Answer) Reference() string {
	reference, ok := a.Machine()["reference_id"].(string)
	if tool, isTool := a.Result.(*mcp.CallToolResult); !ok && isTool && tool != nil {
		reference, _ = tool.Meta["io.github.mcpchain/reference"].(string)
	}
	return reference
}

// recorder keeps what is written to it.
type recorder struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(p)
}

func (r *recorder) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Len()
}

func (r *recorder) from(i int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.buf.Bytes()[i:])
}

// response returns the only response after a position, nil when there is none or
// more than one.
func (r *recorder) response(from int) json.RawMessage {
	var found json.RawMessage
	for line := range bytes.Lines([]byte(r.from(from))) {
		var message struct {
			ID     any             `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if json.Unmarshal(line, &message) != nil || message.ID == nil || message.Method != "" {
			continue
		}
		if found != nil {
			return nil
		}
		found = bytes.TrimSpace(line)
	}
	return found
}
