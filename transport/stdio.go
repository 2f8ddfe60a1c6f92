package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/exchange"
)

// StdioOptions configure [Stdio]. The zero value is the recommended default.
type StdioOptions struct {
	// In is what the client sends. Nil means the standard input.
	In io.ReadCloser

	// Out is what the client reads. Nil means the standard output.
	Out io.WriteCloser

	// Logger gets one record at level Warn for each line that is dropped. Nil means
	// [slog.Default] at the time of the record.
	Logger *slog.Logger
}

// maxLine is mcp.DefaultMaxLineLength, which go-sdk has had since v1.8.
const maxLine = 16 << 20

// Stdio returns a transport for a server over stdio that goes on after a broken line:
//
//	err := server.Run(ctx, transport.Stdio(nil))
//
// opts may be nil. With [mcp.StdioTransport] one line that is not a JSON-RPC message ends the
// server. Here it is answered with a JSON-RPC error (-32700 for a line that is not JSON, else
// -32600), recorded with its length only, and dropped. So is a line above
// 16 MiB, which is the SDK's own bound, and a batch, which the protocol has not had since
// version 2025-06-18. A message has to be one line, as the protocol says.
//
// An error without a code gets one: -32600 before the session has begun, then -32603. The SDK sends 0.
//
// Stdio follows each request until its answer has been written, so that package drain can
// wait for that.
func Stdio(opts *StdioOptions) mcp.Transport {
	t := &lines{max: maxLine}
	if opts != nil {
		t.StdioOptions = *opts
	}
	if t.In == nil {
		t.In = os.Stdin
	}
	if t.Out == nil {
		t.Out = os.Stdout
	}
	return t
}

type lines struct {
	StdioOptions

	max int // bytes of a line
}

// Connect implements [mcp.Transport].
func (t *lines) Connect(ctx context.Context) (mcp.Connection, error) {
	out := &lockedWriter{WriteCloser: t.Out}
	in := &goodLines{ReadCloser: t.In, lines: bufio.NewReader(t.In), out: out, max: t.max, logger: t.Logger}
	c, err := (&mcp.IOTransport{Reader: in, Writer: out}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{Connection: c, unanswered: map[jsonrpc.ID]*exchange.Exchange{}}, nil
}

// A connection makes an Exchange for each request that it reads, and ends it when the answer
// is written.
type connection struct {
	mcp.Connection

	begun      atomic.Bool // an answer was a success
	mu         sync.Mutex
	unanswered map[jsonrpc.ID]*exchange.Exchange
}

// Read implements [mcp.Connection].
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if err != nil {
		c.end() // after the end of its input the SDK writes no answer any more
		return nil, err
	}
	if req, ok := message.(*jsonrpc.Request); ok && req.IsCall() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.unanswered[req.ID] == nil { // else the SDK refuses it, and answers without an ID
			x := exchange.New()
			c.unanswered[req.ID] = x
			req.Extra = x.Extra()
		}
	}
	return message, nil
}

// Write implements [mcp.Connection].
func (c *connection) Write(ctx context.Context, message jsonrpc.Message) error {
	if answer, ok := message.(*jsonrpc.Response); ok {
		message = c.coded(answer)
		c.mu.Lock()
		x := c.unanswered[answer.ID]
		delete(c.unanswered, answer.ID) // once it has read the answer, the client may use the ID again
		c.mu.Unlock()
		if x != nil {
			defer x.End()
		}
	}
	return c.Connection.Write(ctx, message)
}

// coded returns the answer with a code if its error has none: the SDK would send 0, which says nothing.
// Before the session has begun no handler runs, so the request was wrong.
func (c *connection) coded(answer *jsonrpc.Response) *jsonrpc.Response {
	if answer.Error == nil {
		c.begun.Store(true) // initialize or server/discover comes first
		return answer
	}
	var wire *jsonrpc.Error
	if errors.As(answer.Error, &wire) && wire.Code != 0 {
		return answer
	}
	code, with := int64(jsonrpc.CodeInternalError), *answer
	if !c.begun.Load() {
		code = jsonrpc.CodeInvalidRequest
	}
	with.Error = &jsonrpc.Error{Code: code, Message: answer.Error.Error()}
	return &with
}

// Close implements [mcp.Connection].
func (c *connection) Close() error {
	c.end()
	return c.Connection.Close()
}

func (c *connection) end() {
	c.mu.Lock()
	unanswered := c.unanswered
	c.unanswered = map[jsonrpc.ID]*exchange.Exchange{}
	c.mu.Unlock()
	for _, x := range unanswered {
		x.End()
	}
}

// lockedWriter keeps the answers to broken lines apart from those of the server. Each is one call of Write.
type lockedWriter struct {
	io.WriteCloser
	mu sync.Mutex
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}

// goodLines reads the lines that are JSON-RPC messages, and answers the others.
type goodLines struct {
	io.ReadCloser
	lines  *bufio.Reader
	out    io.Writer
	max    int // bytes of a line
	logger *slog.Logger
	rest   []byte // of the line that is being read
}

// Read implements [io.Reader].
func (r *goodLines) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, size, err := r.line()
		if size == 0 && err != nil {
			return 0, err
		}
		var code int64
		var reason string
		id := json.RawMessage("null") // which JSON-RPC prescribes if the ID cannot be read
		if size > len(line) {
			code, reason = jsonrpc.CodeInvalidRequest, "the message is too long"
		} else if line = bytes.TrimSpace(line); len(line) > 0 {
			code, reason = broken(line, "line")
			if code == 0 && line[0] == '[' {
				code, reason = jsonrpc.CodeInvalidRequest, "batches are not supported"
			} else if code == 0 && isNone(line) { // the SDK takes it for an answer, and drops it
				code, reason, id = jsonrpc.CodeInvalidRequest, `the message has neither "method" nor "result" nor "error"`, idOf(line)
			}
		}
		if code == 0 {
			if len(line) > 0 {
				r.rest = slices.Concat(line, []byte{'\n'})
			}
			continue
		}
		reference := newReference()
		call.Warn(context.Background(), r.logger, "a line is no message", slog.String("reference", reference), slog.Int("bytes", size), slog.String("reason", reason))
		if err := r.answer(id, invalid(code, reason), reference); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// line reads one line and returns as much of it as may be kept, and its size.
func (r *goodLines) line() (line []byte, size int, err error) {
	for {
		part, err := r.lines.ReadSlice('\n')
		size += len(part)
		if size <= r.max {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, size, err
		}
	}
}

func (r *goodLines) answer(id json.RawMessage, why unread, reference string) error {
	_, err := r.out.Write(append(encodeError(id, why.error(reference)), '\n'))
	return err
}
