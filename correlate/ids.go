package correlate

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
)

// A Source reads an ID that came with a call, or makes one. It returns "" if it knows
// none. It is called from many goroutines at once, with the context that the call came
// with. An ID that is longer than 128 bytes, or has other characters than letters, digits
// and -_.:/+=@, is ignored.
type Source = func(ctx context.Context, req mcp.Request) string

// maxID is how long an ID from outside may be.
const maxID = 128

// validID reports whether an ID that came from outside may stand in a log and in an
// answer.
func validID(id string) bool {
	return id != "" && len(id) <= maxID && !strings.ContainsFunc(id, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:/+=@", r)
	})
}

// FromRequest returns a [Source] that looks for each name, in order, in the request's _meta
// and then in its HTTP headers, and returns the first ID that it finds. From "traceparent"
// (W3C; SEP-414 has it in _meta) it takes the trace ID.
//
//	correlate.FromRequest("traceparent", "X-Request-ID", "com.example/request")
//
// It panics if there is no name, or one is empty.
func FromRequest(names ...string) Source {
	if len(names) == 0 || slices.Contains(names, "") {
		panic("correlate.FromRequest: a name is missing or empty; give those under which IDs stand, such as \"traceparent\"")
	}
	names = slices.Clone(names)
	return func(_ context.Context, req mcp.Request) string {
		if safe.Nil(req) {
			return ""
		}
		var meta map[string]any
		if params := req.GetParams(); !safe.Nil(params) {
			meta = params.GetMeta()
		}
		var header http.Header
		if extra := req.GetExtra(); extra != nil {
			header = extra.Header
		}
		for _, name := range names {
			text, _ := meta[name].(string)
			for _, id := range []string{text, header.Get(name)} {
				if strings.EqualFold(name, "traceparent") {
					id = traceID(id)
				}
				if validID(id) {
					return id
				}
			}
		}
		return ""
	}
}

// traceID returns the second field of a traceparent: "00-<32 hex>-<16 hex>-<2 hex>". A
// later version than 00 may have more fields.
func traceID(parent string) string {
	if len(parent) > 512 {
		return ""
	}
	fields := strings.SplitN(parent, "-", 5)
	if len(fields) < 4 || len(fields) > 4 && fields[0] == "00" || fields[0] == "ff" {
		return ""
	}
	for i, length := range []int{2, 32, 16, 2} {
		if len(fields[i]) != length || strings.Trim(fields[i], "0123456789abcdef") != "" {
			return ""
		}
	}
	if strings.Trim(fields[1], "0") == "" || strings.Trim(fields[2], "0") == "" {
		return ""
	}
	return fields[1]
}

// Extend returns a [Source] for Options.NewID: an ID that begins with the caller's and ends
// with 12 random digits, so that no caller can choose the reference of another call. If the
// source returns no ID, the ID is a UUID. It panics if the source is nil.
//
//	NewID: correlate.Extend(correlate.FromRequest("traceparent")) // reference=4bf92f3577b34da6a3ce929d0e0e4736-9f86d081884c
func Extend(source Source) Source {
	if source == nil {
		panic("correlate.Extend: source is nil; give one, such as correlate.FromRequest(\"traceparent\")")
	}
	return func(ctx context.Context, req mcp.Request) string {
		id := source(ctx, req)
		if !validID(id) {
			return ""
		}
		var own [6]byte
		_, _ = rand.Read(own[:]) // never fails
		return id[:min(len(id), 100)] + "-" + hex.EncodeToString(own[:])
	}
}
