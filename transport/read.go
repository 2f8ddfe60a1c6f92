package transport

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
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/words"
)

// maxPart is how many bytes of an answer are checked.
const maxPart = 64 << 10

// replaceText replaces the text of an error that was kept back, unless it is a text of the
// SDK that repeats nothing of the request.
func (a *answer) replaceText() {
	line := strings.TrimSpace(a.body.String())
	if slices.ContainsFunc(constantTexts, func(prefix string) bool { return strings.HasPrefix(line, prefix) }) {
		return
	}
	reference := a.record(a.status, a.body.String())
	a.body.Reset()
	a.body.WriteString(http.StatusText(a.status) + "\nReference: " + reference + "\n")
}

// constantTexts are the beginnings of the SDK's texts that repeat nothing of the request.
var constantTexts = []string{
	"Method Not Allowed", "session not found", "session user mismatch", "session is closing", "no server available", "no bearer token",
	"POST requires a non-empty body", "request body exceeds ", "Content-Type must be 'application/json'", "Accept must contain ",
	"Bad Request: Unsupported protocol version (supported versions: ", "Bad Request: GET requires ", "Bad Request: DELETE requires ",
}

// decoding matches the error texts of decoders, and those of the SDK that repeat them.
var decoding = regexp.MustCompile(`unmarshal|json: |Go (value|struct)|invalid character|unexpected end of JSON|invalid ID type|\*?\bmcp\.[A-Z]`)

// masked returns the message, or its replacement if it is the error of a decoder.
func (a *answer) masked(p []byte) []byte {
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
	unread := fault.New(fault.KindValidation, "the message could not be read: its parameters are not what the method takes")
	referenced := faults.WithReference(unread, a.record(http.StatusOK, failed.Message))
	message["error"] = encode(&jsonrpc.Error{Code: code, Message: referenced.Error(), Data: encode(referenced)})
	return slices.Concat(p[:start], encode(message), p[end+1:])
}

// encode returns a value as JSON. It is for values that always encode.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

// record logs the original text of an answer, and returns the reference of the record.
func (a *answer) record(status int, text string) (reference string) {
	reference = uuid.Must(uuid.NewV7()).String()
	call.Notice(a.request.Context(), a.logger, slog.LevelInfo, "a request was not read", slog.Int("status", status),
		slog.String("reference", reference), slog.String("error", words.Clip(words.Line(text), 4<<10)))
	return reference
}
