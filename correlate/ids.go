package correlate

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// A Source reads an ID that came with a call, or makes one. It returns "" if it knows
// none. It is called from many goroutines at once, with the context that the call came
// with. An ID that is longer than 128 bytes, or has other characters than letters, digits
// and -_.:/+=@, is ignored.
type Source = func(ctx context.Context, req mcp.Request) string

// TraceParent is a [Source]: the trace ID of a W3C traceparent, which stands in the
// request's _meta (SEP-414) or in its HTTP header.
func TraceParent(_ context.Context, req mcp.Request) string {
	if id := traceID(fromMeta(req, "traceparent")); id != "" {
		return id
	}
	return traceID(fromHeader(req, "Traceparent"))
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

// RequestID is a [Source]: the HTTP header X-Request-ID.
func RequestID(_ context.Context, req mcp.Request) string {
	return valid(fromHeader(req, "X-Request-Id"))
}

// MetaID returns a [Source] that reads a text under a key of the request's _meta. It
// panics if the key is empty.
func MetaID(key string) Source {
	if key == "" {
		panic("correlate.MetaID: key is empty; give the key in _meta that has the ID")
	}
	return func(_ context.Context, req mcp.Request) string { return valid(fromMeta(req, key)) }
}

// FirstOf returns a [Source] that asks several, in order, and returns the first ID. It
// panics if there is none to ask, or if one is nil.
func FirstOf(sources ...Source) Source {
	if len(sources) == 0 {
		panic("correlate.FirstOf: there is no source; give one or more, such as correlate.TraceParent")
	}
	for i, source := range sources {
		if source == nil {
			panic(fmt.Sprintf("correlate.FirstOf: sources[%d] is nil; remove it", i))
		}
	}
	sources = append([]Source(nil), sources...)
	return func(ctx context.Context, req mcp.Request) string {
		for _, source := range sources {
			if id := valid(source(ctx, req)); id != "" {
				return id
			}
		}
		return ""
	}
}

// Extend returns a [Source] for Options.NewID: an ID that begins with the caller's and
// ends with 12 random digits, so that no caller can make the reference of another call
// its own. Without an ID of the caller's it is a UUID, as always. It panics if the source
// is nil.
//
//	NewID: correlate.Extend(correlate.TraceParent) // reference=4bf92f3577b34da6a3ce929d0e0e4736-9f86d081884c
func Extend(source Source) Source {
	if source == nil {
		panic("correlate.Extend: source is nil; give one, such as correlate.TraceParent")
	}
	return func(ctx context.Context, req mcp.Request) string {
		id := valid(source(ctx, req))
		if id == "" {
			return ""
		}
		var own [6]byte
		_, _ = rand.Read(own[:]) // never fails
		return id[:min(len(id), 100)] + "-" + hex.EncodeToString(own[:])
	}
}

func valid(id string) string {
	if !call.ValidID(id) {
		return ""
	}
	return id
}

func fromMeta(req mcp.Request, key string) string {
	if safe.Nil(req) || safe.Nil(req.GetParams()) {
		return ""
	}
	text, _ := req.GetParams().GetMeta()[key].(string)
	return text
}

func fromHeader(req mcp.Request, key string) string {
	if safe.Nil(req) {
		return ""
	}
	if extra := req.GetExtra(); extra != nil {
		return extra.Header.Get(key)
	}
	return ""
}
