package retry

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/maphash"
	"math"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/middleware"
)

// identify says which call a request is, and whose. It is not known for requests
// that are not counted: lists, pings and the like, and those of nobody knows whom.
func (g *guide) identify(ctx context.Context, c *call.Call, req mcp.Request) (what identity) {
	if g.seen == nil || !countable(req) {
		return identity{}
	}
	if what.owner, what.known = g.ownerOf(ctx, req); !what.known {
		return identity{}
	}
	m := g.seen
	var (
		method    string
		arguments uint64
		inputs    mcp.InputResponseMap
	)
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		method, inputs = middleware.MethodCallTool, r.Params.InputResponses
		arguments = m.json(r.Params.Arguments, g.AttemptArgument)
		if c.Parent() == nil { // the items of a batch were chosen at once, and are no calls in a row
			what.tool = m.mix(tagTool, maphash.String(m.seed, r.Params.Name)) | 1 // not zero
		}
	case *mcp.ReadResourceRequest:
		method, inputs = middleware.MethodReadResource, r.Params.InputResponses
	case *mcp.GetPromptRequest:
		method, inputs = middleware.MethodGetPrompt, r.Params.InputResponses
		for name, value := range r.Params.Arguments { // in any order
			if name != g.AttemptArgument {
				arguments += m.mix(maphash.String(m.seed, name), maphash.String(m.seed, value))
			}
		}
	}
	if len(inputs) > 0 { // with other answers of a person it is another call
		if raw, err := json.Marshal(inputs); err == nil {
			arguments = m.mix(arguments, m.json(raw, ""))
		}
	}
	target := call.Target(req)
	what.c = m.mix(m.mix(maphash.String(m.seed, method), maphash.String(m.seed, target)), arguments)
	what.group = m.group(target)
	return what
}

// countable reports whether failures of a request are counted, and there is a
// request.
func countable(req mcp.Request) bool {
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		return r != nil && r.Params != nil
	case *mcp.ReadResourceRequest:
		return r != nil && r.Params != nil
	case *mcp.GetPromptRequest:
		return r != nil && r.Params != nil
	default:
		return false
	}
}

// ownerOf says who makes a call, and false when nobody knows.
func (g *guide) ownerOf(ctx context.Context, req mcp.Request) (owner, bool) {
	m := g.seen
	if g.Owner != nil {
		name := g.Owner(ctx, req)
		return m.named(tagOwner, name), name != ""
	}
	extra := req.GetExtra()
	if extra != nil && extra.TokenInfo != nil && extra.TokenInfo.UserID != "" {
		return m.named(tagUser, extra.TokenInfo.UserID), true
	}
	session, _ := req.GetSession().(*mcp.ServerSession)
	if session == nil {
		return owner{}, false
	}
	if id := session.ID(); id != "" {
		return m.named(tagSession, id), true
	}
	// A session without an ID is a connection of its own only if it does not come by
	// HTTP: a stateless server makes one for each request, and a proxy of the program's
	// own may lead those of many callers through one.
	if extra != nil && (extra.Header != nil || extra.TokenInfo != nil) {
		return owner{}, false
	}
	return owner{connection: weak.Make(session)}, true
}

// Tags keep hashes of different things apart.
const (
	tagOwner uint64 = iota + 1
	tagUser
	tagSession
	tagTool
	tagNull
	tagTrue
	tagFalse
	tagNumber
	tagString
	tagList
	tagObject
	tagRaw
	tagError
)

func (m *memory) named(tag uint64, name string) owner {
	return owner{name: m.mix(tag, maphash.String(m.seed, name))}
}

func (m *memory) mix(a, b uint64) uint64 { return maphash.Comparable(m.seed, [2]uint64{a, b}) }

// maxArguments is how many bytes of JSON are read to hash them whatever their order
// and layout is. Longer arguments are hashed as they are.
const maxArguments = 64 << 10

// json returns a hash of a JSON value that is the same for the same value, in any
// order and layout. Absent is the same as null and as an empty object. A member of an
// object with the given name is left out.
func (m *memory) json(raw json.RawMessage, without string) uint64 {
	if len(raw) == 0 {
		return m.mix(tagObject, 0)
	}
	var v any
	if len(raw) > maxArguments || !decode(raw, &v) {
		return m.mix(tagRaw, maphash.Bytes(m.seed, raw))
	}
	switch v := v.(type) {
	case nil:
		return m.mix(tagObject, 0)
	case map[string]any:
		if without != "" {
			delete(v, without)
		}
	}
	return m.value(v)
}

func decode(raw []byte, v any) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v) == nil
}

// value hashes what a JSON decoder made.
func (m *memory) value(v any) uint64 {
	switch v := v.(type) {
	case bool:
		if v {
			return m.mix(tagTrue, 0)
		}
		return m.mix(tagFalse, 0)
	case json.Number:
		const exact = 1 << 53 // below which a float64 holds every integer
		if f, err := v.Float64(); err == nil && math.Abs(f) < exact {
			return m.mix(tagNumber, math.Float64bits(f+0)) // -0 is 0
		}
		return m.mix(tagNumber, maphash.String(m.seed, string(v)))
	case string:
		return m.mix(tagString, maphash.String(m.seed, v))
	case []any:
		hash := m.mix(tagList, uint64(len(v)))
		for _, item := range v {
			hash = m.mix(hash, m.value(item))
		}
		return hash
	case map[string]any:
		var sum uint64
		for name, value := range v { // in any order
			sum += m.mix(maphash.String(m.seed, name), m.value(value))
		}
		return m.mix(tagObject, sum)
	default:
		return m.mix(tagNull, 0)
	}
}

// sign returns a hash of what went wrong: the kind, the code and the words, in which
// numbers do not count, because a duration or a time of day is another one each time.
func (m *memory) sign(e *fault.Error) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	_, _ = h.WriteString(string(e.Kind()))
	_ = h.WriteByte(0)
	_, _ = h.WriteString(e.Code())
	_ = h.WriteByte(0)
	message := e.Message()
	for i := range len(message) {
		if c := message[i]; c < '0' || c > '9' {
			_ = h.WriteByte(c)
		}
	}
	return m.mix(tagError, h.Sum64())
}

// maxAttempt is the largest number of an attempt that is believed.
const maxAttempt = 1_000_000

// declared returns the number of this attempt as the caller says it, and 0 when it
// says nothing that makes sense.
func (g *guide) declared(req mcp.Request) int {
	if safe.Nil(req) || safe.Nil(req.GetParams()) {
		return 0
	}
	meta := req.GetParams().GetMeta()
	attempt := max(attemptOf(meta[AttemptKey]), attemptOf(meta["attempt"]))
	if g.AttemptArgument == "" {
		return attempt
	}
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		var arguments map[string]any
		if len(r.Params.Arguments) <= maxArguments && decode(r.Params.Arguments, &arguments) {
			attempt = max(attempt, attemptOf(arguments[g.AttemptArgument]))
		}
	case *mcp.GetPromptRequest:
		attempt = max(attempt, attemptOf(r.Params.Arguments[g.AttemptArgument]))
	}
	return attempt
}

// attemptOf returns a whole number from 1 to maxAttempt, and 0 for anything else.
func attemptOf(v any) int {
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case int:
		f = float64(v)
	case json.Number:
		f, _ = v.Float64() // zero or infinite when it is none
	case string:
		return attemptOf(json.Number(v))
	}
	if f >= 1 && f <= maxAttempt && f == math.Trunc(f) {
		return int(f)
	}
	return 0
}
