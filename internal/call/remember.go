package call

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
	"unsafe"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// What a tool is, is remembered for a second ([table.Brief]): a middleware that has to know it for
// every call would ask for the list each time. A change is seen within that second; no middleware
// learns of it sooner.
//
// What the server told one caller is not for another. A user's filter may answer by the session, by
// the token, by any header and by the _meta of a request, so a look-up is remembered for all of
// these together. Nothing else can tell two callers of one session apart: over stdio there is one,
// and over HTTP the context of a session's calls is that of its first request. A server over HTTP
// without sessions makes one for each request, and then nothing is remembered longer than that.

// seat is what a look-up is remembered for.
type seat struct {
	session weak.Pointer[mcp.ServerSession]
	place   unsafe.Pointer    // the handler that was asked: filters may stand between two that ask
	caller  [sha256.Size]byte // zero for one who is known by the session alone
	tool    string
}

// seat returns what a look-up of this Call is remembered for, and false if it is not certain
// that all its callers are told the same.
func (c *Call) seat(next Handler) (seat, bool) {
	session := c.serverSession()
	if c.by == nil || session == nil {
		return seat{}, false
	}
	if next == nil {
		next = c.by.self
	}
	caller, sure := callerOf(c.req)
	return seat{weak.Make(session), placeOf(next), caller, Target(c.req)}, sure
}

// placeOf returns what no other handler has that there is: the pointer to the closure. It keeps
// that alive.
func placeOf(h Handler) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&h)) //nolint:gosec // functions cannot be compared otherwise
}

// callerOf returns a hash of all by which a filter could tell who makes a request, but the
// session. It is false where something of it cannot be compared.
func callerOf(req mcp.Request) (caller [sha256.Size]byte, sure bool) {
	var space [1024]byte
	b, ok := space[:0], true
	if params := req.GetParams(); !safe.Nil(params) {
		b, ok = appendMeta(b, params.GetMeta())
	}
	if extra := req.GetExtra(); ok && extra != nil {
		b = appendHeader(b, extra.Header)
		b, ok = appendToken(b, extra.TokenInfo)
	}
	if !ok || len(b) == 0 {
		return caller, ok
	}
	return sha256.Sum256(b), true
}

// ofOneRequest are the headers and the members of a _meta that are another one's in each request
// of the same caller, and say nothing of it.
var ofOneRequest = map[string]bool{
	"Content-Length": true, "X-Request-Id": true, "Traceparent": true, "Tracestate": true,
	"progressToken": true, "traceparent": true, "tracestate": true,
}

func appendMeta(b []byte, meta mcp.Meta) ([]byte, bool) {
	if len(meta) == 0 {
		return b, true
	}
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if ofOneRequest[key] || strings.HasPrefix(key, wire.Prefix) {
			continue
		}
		var ok bool
		if b, ok = appendValue(appendText(append(b, 'm'), key), meta[key], maxNested); !ok {
			return b, false
		}
	}
	return b, true
}

func appendHeader(b []byte, header http.Header) []byte {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if !ofOneRequest[name] {
			b = appendTexts(appendText(append(b, 'h'), name), header[name])
		}
	}
	return b
}

func appendToken(b []byte, token *auth.TokenInfo) ([]byte, bool) {
	if token == nil {
		return b, true
	}
	b = appendTexts(appendText(append(b, 't'), token.UserID), token.Scopes)
	b = appendText(b, token.Expiration.UTC().Format(time.RFC3339Nano))
	return appendValue(b, token.Extra, maxNested)
}

// maxNested is how deep a value may be nested that is compared.
const maxNested = 16

// appendValue appends what no other value has, for values as JSON is decoded into. It is false
// for any other one, of which it is not known what a filter sees in it.
func appendValue(b []byte, v any, depth int) (_ []byte, ok bool) {
	if depth == 0 {
		return b, false
	}
	switch v := v.(type) {
	case nil:
		return append(b, 'n'), true
	case bool:
		if v {
			return append(b, 'y'), true
		}
		return append(b, 'f'), true
	case float64:
		return binary.BigEndian.AppendUint64(append(b, 'd'), math.Float64bits(v)), true
	case json.Number:
		return appendText(append(b, 'j'), string(v)), true
	case string:
		return appendText(append(b, 's'), v), true
	case []string:
		return appendTexts(append(b, 'l'), v), true
	case []any:
		b = binary.BigEndian.AppendUint32(append(b, 'a'), uint32(len(v))) //nolint:gosec // no list has more
		for _, item := range v {
			if b, ok = appendValue(b, item, depth-1); !ok {
				return b, false
			}
		}
		return b, true
	case map[string]any:
		b = binary.BigEndian.AppendUint32(append(b, 'o'), uint32(len(v))) //nolint:gosec // no map has more
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if b, ok = appendValue(appendText(b, key), v[key], depth-1); !ok {
				return b, false
			}
		}
		return b, true
	default:
		return b, false
	}
}

func appendTexts(b []byte, texts []string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(texts))) //nolint:gosec // no list has more
	for _, text := range texts {
		b = appendText(b, text)
	}
	return b
}

//go:noinline
func appendText(b []byte, text string) []byte { // in too many places to be inlined
	return append(binary.BigEndian.AppendUint64(b, uint64(len(text))), text...)
}
