package retry

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/fnv"
	"hash/maphash"
	"math"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/attempt"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// identify says which call a request is, and whose. It is not known for requests
// that are not counted: lists, pings and the like, and those of nobody knows whom.
func (g *guide) identify(ctx context.Context, c *call.Call, req mcp.Request) (what identity) {
	if g.seen == nil || !countable(req) {
		return identity{}
	}
	name := g.ownerOf(ctx, c, req)
	if what.known = name != ""; !what.known {
		return identity{}
	}
	m := g.seen
	target := call.Target(req)
	var (
		method    string
		arguments []byte
		inputs    mcp.InputResponseMap
	)
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		method, inputs = call.MethodCallTool, r.Params.InputResponses
		arguments = canonical(r.Params.Arguments, g.AttemptArgument)
		if c.Parent() == nil { // the items of a batch were chosen at once, and are no calls in a row
			what.tool = m.mix(tagTool, maphash.String(m.seed, target)) | 1 // not zero
		}
	case *mcp.ReadResourceRequest:
		method, inputs = call.MethodReadResource, r.Params.InputResponses
	case *mcp.GetPromptRequest:
		method, inputs = call.MethodGetPrompt, r.Params.InputResponses
		if raw, err := json.Marshal(r.Params.Arguments); err == nil {
			arguments = canonical(raw, g.AttemptArgument)
		}
	}
	var answers []byte
	if len(inputs) > 0 { // with other answers of a person it is another call
		if raw, err := json.Marshal(inputs); err == nil {
			answers = canonical(raw, "")
		}
	}
	what.owner = m.mix(tagOwner, maphash.String(m.seed, name))
	what.c = m.mix(m.mix(maphash.String(m.seed, method), maphash.String(m.seed, target)),
		m.mix(maphash.Bytes(m.seed, arguments), maphash.Bytes(m.seed, answers)))
	what.group = m.group(target)
	if g.shared != nil && !call.OfConnection(name) { // a connection stays with its server
		what.place = g.shared.place(name, method, target)
		what.label = digest(what.place, string(arguments), string(answers))
	}
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

// ownerOf names who makes a call, "" when nobody knows.
func (g *guide) ownerOf(ctx context.Context, c *call.Call, req mcp.Request) string {
	name := call.Owners{Func: g.Owner}.Of(ctx, req)
	if extra := req.GetExtra(); name == "" && g.Owner == nil && extra != nil && extra.TokenInfo != nil {
		g.nobody.Do(func() {
			attempt.Guard(func() {
				c.Logger().WarnContext(ctx, "mcpchain: an authenticated caller has no user ID, so its failed calls are not counted; "+
					"set auth.TokenInfo.UserID or retry.Options.Owner")
			})
		})
	}
	return name
}

// Tags keep hashes of different things apart.
const (
	tagOwner uint64 = iota + 1
	tagTool
)

func (m *memory) mix(a, b uint64) uint64 { return maphash.Comparable(m.seed, [2]uint64{a, b}) }

// maxArguments is how many bytes of JSON are read to hash them whatever their order
// and layout is. Longer arguments are hashed as they are.
const maxArguments = 64 << 10

// canonical returns a JSON value in a form that is the same for the same value, in any
// order and layout. Absent is the same as null and as an empty object. A member of an
// object with the given name is left out.
func canonical(raw json.RawMessage, without string) []byte {
	var v any
	if len(raw) > maxArguments || len(raw) > 0 && !decode(raw, &v) {
		return raw
	}
	if v == nil {
		v = map[string]any{}
	}
	if object, ok := v.(map[string]any); ok && without != "" {
		delete(object, without)
	}
	form, err := json.Marshal(plain(v)) // with sorted members
	if err != nil {
		return raw // cannot be: it was decoded from JSON
	}
	return form
}

func decode(raw []byte, v any) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v) == nil
}

// plain returns what a JSON decoder made with each number written in one way.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		const exact = 1 << 53 // below which a float64 holds every integer
		if f, err := v.Float64(); err == nil && math.Abs(f) < exact {
			return f + 0 // -0 is 0
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plain(v[name])
		}
	}
	return v
}

// sign returns a hash of what went wrong: the kind, the code and the words, in which
// numbers do not count, because a duration or a time of day is another one each time.
// It is the same in every process.
func sign(e *fault.Error) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(e.Kind()) + "\x00" + e.Code() + "\x00"))
	message := []byte(e.Message())
	_, _ = h.Write(slices.DeleteFunc(message, func(c byte) bool { return c >= '0' && c <= '9' }))
	return h.Sum64()
}

// declared returns the number of this attempt as the caller says it, and 0 when it
// says nothing that makes sense. An "attempt" in the _meta that is not under our own
// key is somebody else's.
func (g *guide) declared(req mcp.Request) int {
	if safe.Nil(req) || safe.Nil(req.GetParams()) {
		return 0
	}
	n := attempt.Number(req.GetParams().GetMeta()[wire.AttemptKey])
	if g.AttemptArgument == "" {
		return n
	}
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		var arguments map[string]any
		if len(r.Params.Arguments) <= maxArguments && decode(r.Params.Arguments, &arguments) {
			n = max(n, attempt.Number(arguments[g.AttemptArgument]))
		}
	case *mcp.GetPromptRequest:
		n = max(n, attempt.Number(r.Params.Arguments[g.AttemptArgument]))
	}
	return n
}
