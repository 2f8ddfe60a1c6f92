package recover

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/words"
)

// HTTP returns a handler that hides what the SDK's own HTTP handler says of requests that
// it cannot read. No middleware sees those, and the answer repeats raw parameters and
// names Go types:
//
//	http.Handle("/mcp", mcprecover.HTTP(mcp.NewStreamableHTTPHandler(get, nil), nil))
//
// Put it outermost, outside of auth.RequireBearerToken too: that sends the text of the
// error that its verifier returns.
//
// Two kinds of answers are replaced. A plain text with a status of 400 or above becomes
// the text of the status, unless it is a text of the SDK that has nothing of the request
// in it. A JSON-RPC error that tells how decoding failed, in a body of JSON or in an
// event, becomes an "Invalid message". Each gets a reference, under which the log has the
// original. A JSON-RPC error above 64 KiB passes as it is, and so does one that is written
// in several parts. The SDK writes each message at once.
//
// The logger gets one record at level Info for each answer that is replaced. Nil means
// [slog.Default] at the time of the record. HTTP panics when next is nil.
func HTTP(next http.Handler, logger *slog.Logger) http.Handler {
	if next == nil {
		panic("mcprecover.HTTP: next is nil; give the handler that serves MCP")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		m := &maskedWriter{ResponseWriter: w, logger: logger, req: req}
		next.ServeHTTP(m, req)
		m.end()
	})
}

// maxPart is how much of an answer is looked at.
const maxPart = 64 << 10

// maskedWriter replaces what a client should not read.
type maskedWriter struct {
	http.ResponseWriter
	logger *slog.Logger
	req    *http.Request
	status int          // of a plain text that is kept back; else 0
	text   bytes.Buffer // the text
}

// Unwrap is for [http.ResponseController].
func (w *maskedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements [http.Flusher].
func (w *maskedWriter) Flush() {
	if w.status == 0 {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}

// WriteHeader keeps a plain text back until it is complete.
func (w *maskedWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the answer, or what stands for it.
func (w *maskedWriter) Write(p []byte) (int, error) {
	if w.status != 0 {
		w.text.Write(p[:min(len(p), max(0, maxPart-w.text.Len()))])
		return len(p), nil
	}
	part := p
	if len(p) <= maxPart && bytes.Contains(p, []byte(`"error"`)) {
		part = w.masked(p)
	}
	if n, err := w.ResponseWriter.Write(part); err != nil {
		return min(n, len(p)), err
	}
	return len(p), nil
}

// end writes what was kept back.
func (w *maskedWriter) end() {
	if w.status == 0 {
		return
	}
	w.Header().Del("Content-Length")
	text := w.text.String()
	if line := strings.TrimSpace(text); !slices.ContainsFunc(constantTexts, func(known string) bool { return strings.HasPrefix(line, known) }) {
		text = http.StatusText(w.status) + "\nReference: " + w.record(w.status, text) + "\n"
	}
	w.ResponseWriter.WriteHeader(w.status)
	_, _ = w.ResponseWriter.Write([]byte(text))
}

// constantTexts are how the SDK's texts begin that have nothing of the request in them.
var constantTexts = []string{
	"Method Not Allowed", "session not found", "session user mismatch", "session is closing", "no server available", "no bearer token",
	"POST requires a non-empty body", "request body exceeds ", "Content-Type must be 'application/json'", "Accept must contain ",
	"Bad Request: Unsupported protocol version (supported versions: ", "Bad Request: GET requires ", "Bad Request: DELETE requires ",
}

// decoding is how texts of decoders and of the SDK about them look.
var decoding = regexp.MustCompile(`unmarshal|json: |Go (value|struct)|invalid character|unexpected end of JSON|invalid ID type|\*?\bmcp\.[A-Z]`)

// masked returns the message, or what is sent in its place if it is an error of a decoder.
func (w *maskedWriter) masked(p []byte) []byte {
	start, end := bytes.IndexByte(p, '{'), bytes.LastIndexByte(p, '}')
	if start < 0 || end < start {
		return p
	}
	var message map[string]json.RawMessage
	var failed struct {
		Code    int64
		Message string
		Data    struct {
			Reference string `json:"reference_id"`
		}
	}
	if json.Unmarshal(p[start:end+1], &message) != nil || len(message["error"]) == 0 {
		return p
	}
	_ = json.Unmarshal(message["error"], &failed) //nolint:musttag // its data may be anything
	if failed.Data.Reference != "" || !decoding.MatchString(failed.Message) {
		return p
	}
	code := failed.Code
	if code != jsonrpc.CodeParseError && code != jsonrpc.CodeInvalidRequest {
		code = jsonrpc.CodeInvalidParams
	}
	told := fault.New(fault.KindValidation, "the message could not be read: its parameters are not what the method takes").
		WithReference(w.record(http.StatusOK, failed.Message))
	message["error"] = encode(&jsonrpc.Error{Code: code, Message: told.Error(), Data: encode(told)})
	return slices.Concat(p[:start], encode(message), p[end+1:])
}

// encode returns what cannot fail to be JSON as JSON.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

// record writes what stood in the answer, and returns the reference to it.
func (w *maskedWriter) record(status int, text string) (reference string) {
	reference = uuid.Must(uuid.NewV7()).String()
	call.Notice(w.req.Context(), w.logger, slog.LevelInfo, "a request was not read", slog.Int("status", status),
		slog.String("reference", reference), slog.String("error", words.Clip(words.Line(text), 4<<10)))
	return reference
}
