// Package mcptest tests how an MCP server fails: what a model reads, what leaves the
// server, and whether the answers are legal. It works with plain [testing.TB].
//
//	func TestPay(t *testing.T) {
//		for _, version := range []string{mcptest.Current, mcptest.Older} {
//			s := mcptest.Start(t, newServer(), &mcptest.Options{Version: version})
//			res, err := s.Call("pay", map[string]any{"amount": "five"})
//			mcptest.Expect{
//				Kind:       fault.KindValidation,
//				Violations: map[string]string{"amount": "type"},
//			}.Check(t, res, err)
//			mcptest.NoLeak(t, s, "postgres://")
//			mcptest.Legal(t, s)
//		}
//	}
//
// [Start] takes a server of this program, [StartHTTP] an HTTP handler with one, and [Run] a
// command. [Inject] makes calls fail, and [Golden] keeps a text.
//
// Assertions that look at a [Session] need no mcpchain on the server. An assertion
// reports with Errorf and lets the test go on, unless its comment says that it ends the
// test. Call such assertions, [Start], [StartHTTP] and [Run] in the goroutine of the test.
package mcptest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/speak"
)

// The protocol versions that a client can speak, for [Options.Version]. Results and
// errors differ between them.
const (
	Current = "2026-07-28"
	Older   = "2025-11-25"
)

// Options say how a client talks to a server.
type Options struct {
	// Version is the protocol version: [Current] or [Older]. "" means Current, and with
	// [StartHTTP] the newest that the handler speaks.
	Version string

	// Client is passed to [mcp.NewClient]. Nil means no options.
	Client *mcp.ClientOptions

	// Patience is how long [Session.Call], and the start and the end of a server, may take.
	// Zero means 30 s.
	Patience time.Duration

	// Header is sent with each request of [StartHTTP], as for a token in Authorization.
	// Nil means none.
	Header http.Header
}

// A Session is a client that is connected to a server until the test ends. It keeps
// every byte that was exchanged. It is safe for concurrent use.
type Session struct {
	*mcp.ClientSession

	t              testing.TB
	version        string
	patience       time.Duration
	sent, received recorder
	http           *exchanges // instead of sent, for StartHTTP
}

// Start connects a client to a server in memory. It ends the test if that fails. A
// handler that still runs [Options.Patience] after the end of the test fails the test.
func Start(t testing.TB, server *mcp.Server, opts *Options) *Session {
	t.Helper()
	watchDrops()
	here, there := net.Pipe()
	serving, err := server.Connect(t.Context(), &mcp.IOTransport{Reader: there, Writer: there}, nil)
	if err != nil {
		t.Fatalf("mcptest.Start: %v", err)
	}
	s := connect(t, "mcptest.Start", opts, piped(here, here))
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = s.Close() // the server may have closed it
		go func() {
			defer close(ended)
			_ = serving.Wait() // its error says that the client has gone
		}()
		select {
		case <-ended:
		case <-time.After(s.patience):
			t.Errorf("mcptest.Start: a handler still runs %v after the end of the test", s.patience)
		}
	})
	return s
}

// Run starts a command, a server that speaks over its standard input and output, and
// connects a client. It ends the test if that fails. A server that ends before the test
// does, or goes on when its standard input is closed, fails the test; its standard error
// is shown then, unless cmd.Stderr is set. Name the program itself: "go run" does not kill
// the program when it is killed itself.
func Run(t testing.TB, cmd *exec.Cmd, opts *Options) *Session {
	t.Helper()
	var log recorder
	if cmd.Stderr == nil {
		cmd.Stderr = &log
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatalf("mcptest.Run: %v", err)
	}
	out, write, err := os.Pipe() // not StdoutPipe, which Wait closes before all is read
	if err != nil {
		t.Fatalf("mcptest.Run: %v", err)
	}
	cmd.Stdout = write
	err = cmd.Start()
	_ = write.Close() // the command has its own copy
	if err != nil {
		_ = out.Close()
		t.Fatalf("mcptest.Run: %v", err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // ProcessState says it
	}()
	// A command with the context of the test is killed when that context ends, which is not
	// too early.
	reader := &watched{ReadCloser: out, atEnd: func() bool { return t.Context().Err() == nil }}
	t.Cleanup(func() {
		wrong := ""
		_ = in.Close()
		select {
		case <-exited:
			if reader.early.Load() {
				wrong = "the server ended before the test did: " + cmd.ProcessState.String()
			}
		case <-time.After(patience(opts)):
			wrong = fmt.Sprintf("the server still runs %v after its standard input was closed", patience(opts))
			_ = cmd.Process.Kill()
			<-exited
		}
		_ = out.Close()
		if wrong != "" {
			t.Errorf("mcptest.Run: %s; its standard error:\n%s", wrong, indent(string(log.bytes())))
		}
	})
	return connect(t, "mcptest.Run", opts, piped(reader, in))
}

// A watched reader notes whether its end came too early.
type watched struct {
	io.ReadCloser
	atEnd func() bool
	early atomic.Bool
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && w.atEnd() {
		w.early.Store(true)
	}
	return n, err
}

func patience(opts *Options) time.Duration {
	if opts == nil || opts.Patience <= 0 {
		return 30 * time.Second
	}
	return opts.Patience
}

// piped makes a transport that reads from r and writes to w, and records both.
func piped(r io.ReadCloser, w io.WriteCloser) func(*Session) mcp.Transport {
	return func(s *Session) mcp.Transport {
		return &mcp.IOTransport{
			Reader: struct {
				io.Reader
				io.Closer
			}{io.TeeReader(r, &s.sent), r},
			Writer: struct {
				io.Writer
				io.Closer
			}{io.MultiWriter(&s.received, w), w},
		}
	}
}

// connect connects a client. name is the exported function, for messages.
func connect(t testing.TB, name string, opts *Options, transport func(*Session) mcp.Transport) *Session {
	t.Helper()
	var o Options
	if opts != nil {
		o = *opts
	}
	s := &Session{t: t, version: cmp.Or(o.Version, Current), patience: patience(opts)}
	ctx, cancel := context.WithTimeout(t.Context(), s.patience)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "mcptest"}, o.Client)
	var err error
	s.ClientSession, err = client.Connect(ctx, transport(s), speak.Version(s.version))
	if err != nil {
		t.Fatalf("%s: the server did not accept the client: %v", name, err)
	}
	switch got := s.InitializeResult().ProtocolVersion; {
	case s.http != nil && o.Version == "":
		s.version = got
	case got != s.version:
		_ = s.Close()
		hint := ""
		if s.http != nil && s.version == Current {
			hint = "; set StreamableHTTPOptions.Stateless, without which the SDK serves no " + Current
		}
		t.Fatalf("%s: the server speaks %s, want %s%s", name, got, s.version, hint)
	}
	return s
}

// Call calls a tool and waits for the answer, [Options.Patience] at most. Arguments are
// anything that JSON can hold; nil means none.
func (s *Session) Call(tool string, arguments any) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), s.patience)
	defer cancel()
	return s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
}

// Sent returns every byte that the server has sent and the client has read: one JSON-RPC
// message a line, or, over HTTP, each response with its status and its header.
func (s *Session) Sent() []byte {
	if s.http != nil {
		return s.http.bytes()
	}
	return s.sent.bytes()
}

// messages returns the JSON-RPC messages that the server has sent.
func (s *Session) messages() iter.Seq[[]byte] {
	if s.http != nil {
		return s.http.messages()
	}
	return bytes.Lines(s.sent.bytes())
}

// Received returns every byte that the server was sent, one JSON-RPC message a line. Over
// HTTP these are the bodies of requests.
func (s *Session) Received() []byte { return s.received.bytes() }

// tools returns what the server lists, by name.
func (s *Session) tools() (map[string]*mcp.Tool, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), s.patience)
	defer cancel()
	tools := map[string]*mcp.Tool{}
	for tool, err := range s.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("the server does not list its tools: %w", err)
		}
		tools[tool.Name] = tool
	}
	return tools, nil
}

// A recorder keeps what is written to it.
type recorder struct {
	mu  sync.Mutex
	buf []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = append(r.buf, p...)
	return len(p), nil
}

func (r *recorder) bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.buf)
}
