package recover

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

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// Transport returns a transport for a stdio server that goes on after a broken line. A
// nil in is the standard input, and a nil out the standard output:
//
//	err := server.Run(ctx, mcprecover.Transport(nil, nil))
//
// With [mcp.StdioTransport] one line that is no JSON-RPC message ends the server. Here it
// is answered with a JSON-RPC error (-32700 for what is no JSON, else -32600), recorded in
// [slog.Default] at level Warn with its length only, and dropped. So is a line above
// [mcp.DefaultMaxLineLength], and a batch, which the protocol has not had since version
// 2025-06-18. A message has to stand on one line, as the protocol says.
func Transport(in io.ReadCloser, out io.WriteCloser) mcp.Transport {
	if in == nil {
		in = os.Stdin
	}
	if out == nil {
		out = os.Stdout
	}
	return &lines{in: in, out: out, max: mcp.DefaultMaxLineLength}
}

type lines struct {
	in  io.ReadCloser
	out io.WriteCloser
	max int // bytes of a line
}

// Connect implements [mcp.Transport].
func (t *lines) Connect(ctx context.Context) (mcp.Connection, error) {
	out := &lockedWriter{WriteCloser: t.out}
	in := &goodLines{ReadCloser: t.in, lines: bufio.NewReader(t.in), out: out, max: t.max}
	return (&mcp.IOTransport{Reader: in, Writer: out}).Connect(ctx)
}

// lockedWriter keeps the answers to broken lines and those of the server apart. Each is
// one call of Write.
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
	lines *bufio.Reader
	out   io.Writer
	max   int
	rest  []byte // of the line that is being read
}

// Read implements [io.Reader].
func (r *goodLines) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, size, err := r.line()
		if size == 0 && err != nil {
			return 0, err
		}
		code, reason := 0, ""
		if size > len(line) {
			code, reason = jsonrpc.CodeInvalidRequest, "the message is too long"
		} else if line = bytes.TrimSpace(line); len(line) > 0 {
			code, reason = broken(line)
		}
		if code == 0 {
			if len(line) > 0 {
				r.rest = slices.Concat(line, []byte{'\n'})
			}
			continue
		}
		call.Warn(context.Background(), nil, "a line is no message", slog.Int("bytes", size), slog.String("reason", reason))
		if err := r.answer(code, reason); err != nil {
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

// broken says what is wrong with a line, with a code that is 0 when nothing is.
func broken(line []byte) (code int, reason string) {
	switch {
	case !json.Valid(line):
		return jsonrpc.CodeParseError, "the line is no JSON"
	case line[0] == '[':
		return jsonrpc.CodeInvalidRequest, "batches are not supported"
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return jsonrpc.CodeInvalidRequest, "the line is no JSON-RPC message"
	}
	return 0, ""
}

// answer tells the client, with the ID that JSON-RPC has where none could be read.
func (r *goodLines) answer(code int, reason string) error {
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": "Invalid message: " + reason + "."},
	})
	if err != nil {
		return err
	}
	_, err = r.out.Write(append(line, '\n'))
	return err
}
