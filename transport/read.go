package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/words"
)

// maxPart is how many bytes of an answer are checked.
const maxPart = 64 << 10

// replaceText replaces the text of an error that was kept back, unless it is a text of the
// SDK that repeats nothing of the request. An error about the body becomes a JSON-RPC error.
func (a *answer) replaceText() {
	line := strings.TrimSpace(a.body.String())
	r := a.posted.refusal
	if r == nil && a.posted.begun && a.status == http.StatusRequestEntityTooLarge { // the SDK's own bound
		var most int64
		if _, err := fmt.Sscanf(line, "request body exceeds %d bytes", &most); err == nil {
			r = tooLarge(most)
		}
	}
	switch {
	case r != nil:
		a.status = r.status
		if a.posted.begun && a.request.ProtoMajor == 1 {
			a.exchange.Leave() // the rest of the body is not read
		}
		if r.after > 0 {
			a.Header().Set("Retry-After", strconv.Itoa(int(r.after/time.Second)))
		}
		a.refuse(r.unread, json.RawMessage("null"), r.text)
		return
	case a.posted.begun && a.status == http.StatusBadRequest:
		body := a.posted.kept
		a.refuse(refused(body, a.request.Header.Get("Mcp-Protocol-Version"), line), idOf(body), line)
		return
	}
	if slices.ContainsFunc(constantTexts, func(prefix string) bool { return strings.HasPrefix(line, prefix) }) {
		return
	}
	reference := a.record(a.status, a.body.String())
	a.body.Reset()
	a.body.WriteString(http.StatusText(a.status) + "\nReference: " + reference + "\n")
}

// refuse answers that a message was not read. The text says why, for the log.
func (a *answer) refuse(why unread, id json.RawMessage, text string) {
	reference := a.record(a.status, text)
	a.body.Reset()
	a.body.Write(encodeError(id, why.error(reference)))
	a.Header().Set("Content-Type", "application/json")
}

// constantTexts are the beginnings of the SDK's texts that repeat nothing of the request.
var constantTexts = []string{
	"Method Not Allowed", "session not found", "session user mismatch", "session is closing", "no server available", "no bearer token",
	"Content-Type must be 'application/json'", "Accept must contain ",
	"Bad Request: Unsupported protocol version (supported versions: ", "Bad Request: GET requires ", "Bad Request: DELETE requires ",
}

// decoding matches the error texts of decoders, and those of the SDK that repeat them.
var decoding = regexp.MustCompile(`unmarshal|json: |Go (value|struct)|invalid character|unexpected end of JSON|invalid ID type|\*?\bmcp\.[A-Z]`)

// invalidRequest matches the SDK's texts about a message that is not a request that it takes.
var invalidRequest = regexp.MustCompile(`^(?:handling '[^']*': )?invalid request\b|^duplicate in-flight request ID |^request ID .* already in use`)

// masked returns the message, or its replacement if it is the error of a decoder, of a message that is not
// a request, or of an unknown method.
func (a *answer) masked(p []byte) []byte {
	start, end := bytes.IndexByte(p, '{'), bytes.LastIndexByte(p, '}')
	if start < 0 || end < start || len(p) > maxPart || !bytes.Contains(p, []byte(`"error"`)) {
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
	if failed.Data.Reference != "" {
		return p
	}
	why, ok := unknown(failed.Message)
	switch {
	case ok && failed.Code == jsonrpc.CodeMethodNotFound:
	case failed.Code == jsonrpc.CodeInvalidRequest && invalidRequest.MatchString(failed.Message):
		why = refused(a.posted.kept, "", failed.Message)
	case decoding.MatchString(failed.Message):
		why = invalid(jsonrpc.CodeInvalidParams, "the message could not be read: its parameters are not what the method takes")
		if failed.Code == jsonrpc.CodeParseError || failed.Code == jsonrpc.CodeInvalidRequest {
			why.code = failed.Code
		}
	default:
		return p
	}
	message["error"] = words.Encode(why.error(a.record(a.status, failed.Message)))
	return slices.Concat(p[:start], words.Encode(message), p[end+1:])
}

// record logs the original text of an answer, and returns the reference of the record.
func (a *answer) record(status int, text string) (reference string) {
	reference = newReference()
	call.Notice(a.request.Context(), a.logger, slog.LevelInfo, "a request was not taken", slog.Int("status", status),
		slog.String("reference", reference), slog.String("error", words.Clip(words.Line(text), 4<<10)))
	return reference
}

// newReference returns the ID of a record: a UUIDv7, as calls have.
func newReference() string { return uuid.Must(uuid.NewV7()).String() }
