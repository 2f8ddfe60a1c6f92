package retry

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"log/slog"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/attempt"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/jsons"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// identity says which call it is, and whose. The names are hashes, so that the name of one caller
// cannot pass for that of another.
type identity struct {
	identified bool
	owner      string
	target     string // the name or URI that is called
	place      string // of the owner and the target
	call       string // of these, the arguments and the answers of a person
	streaks    bool   // it is a call of a tool that counts for a streak
	group      uint64 // of the target, for memory.groups
	began      uint64 // what memory.ticks was when the call began
}

// names returns the names under which failures are counted.
func (what *identity) names() [2]string { return [...]string{what.call, what.place} }

// locate returns the owner and the place of a request. Both are empty for requests that are not
// counted: lists, pings and the like, and calls whose caller is unknown. It does not read the
// arguments, which may be long.
func (g *guide) locate(ctx context.Context, req mcp.Request) (what identity) {
	var method string
	switch req.(type) {
	case *mcp.CallToolRequest:
		method = call.MethodCallTool
	case *mcp.ReadResourceRequest:
		method = call.MethodReadResource
	case *mcp.GetPromptRequest:
		method = call.MethodGetPrompt
	default:
		return identity{}
	}
	if safe.Nil(req) || safe.Nil(req.GetParams()) {
		return identity{}
	}
	if what.owner = g.ownerOf(ctx, req); what.owner != "" {
		what.target = call.Target(req)
		what.place = digest(what.owner, method, what.target)
	}
	return what
}

// identify completes the identity of a request that was located. A call whose arguments have no
// canonical form is not counted.
func (g *guide) identify(c *call.Call, req mcp.Request, what identity) identity {
	if what.owner == "" {
		return identity{}
	}
	var (
		arguments []byte
		inputs    mcp.InputResponseMap
	)
	tool := false
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		tool, inputs, arguments = true, r.Params.InputResponses, r.Params.Arguments
	case *mcp.ReadResourceRequest:
		inputs = r.Params.InputResponses
	case *mcp.GetPromptRequest:
		inputs = r.Params.InputResponses
		arguments, _ = json.Marshal(r.Params.Arguments) //nolint:errchkjson // text
	}
	var answers []byte
	if len(inputs) > 0 { // with other answers of a person it is another call
		answers, _ = safe.JSON(inputs)
	}
	own, known := form(arguments)
	given, alike := form(answers)
	if !known || !alike {
		return identity{} // it is the same as no other call
	}
	what.identified = true
	what.call = digest(what.place, own, given)
	what.streaks = tool && c.Parent() == nil // the items of a batch were chosen at once, and do not follow each other
	what.group = g.seen.group(what.target)
	return what
}

// ownerOf returns the name of the caller, "" if it is unknown.
func (g *guide) ownerOf(ctx context.Context, req mcp.Request) string {
	name := g.owners.Of(ctx, req)
	if extra := req.GetExtra(); name == "" && g.Owner == nil && extra != nil && extra.TokenInfo != nil {
		g.owners.Unknown(ctx, slog.LevelWarn, "an authenticated caller has no user ID, so its failed calls are not counted; set auth.TokenInfo.UserID")
	}
	return name
}

// digest returns a hash of texts, none of which can pass for a part of another.
func digest(parts ...string) string {
	all := make([]byte, 0, 256)
	for _, part := range parts {
		all = append(binary.BigEndian.AppendUint64(all, uint64(len(part))), part...)
	}
	sum := sha256.Sum256(all)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// maxArguments is up to how many bytes JSON is brought into one order and layout before it is
// hashed. Longer arguments are hashed as they are.
const maxArguments = 64 << 10

// form returns a JSON value in a form that is the same for the same value. Absent is the
// same as null and as an empty object. It is false if there is no such form: no two calls with
// such a value are taken for the same.
func form(raw []byte) (same string, ok bool) {
	if len(raw) > maxArguments {
		return string(raw), true
	}
	one, err := jsons.Canonical(raw)
	switch {
	case err != nil:
		return "", false
	case string(one) == "null":
		return "{}", true
	default:
		return string(one), true
	}
}

// sign returns a hash of what went wrong: the kind, the code and the words. Digits in the words do
// not count, because a duration or a time of day differs each time.
func sign(e *fault.Error) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(e.Kind()) + "\x00" + e.Code() + "\x00"))
	message := []byte(e.Message())
	_, _ = h.Write(slices.DeleteFunc(message, func(c byte) bool { return c >= '0' && c <= '9' }))
	return h.Sum64()
}

// declared returns the number of this attempt that the caller sent, and 0 if it sent none that
// makes sense. Only mcpchain's own key counts: an "attempt" elsewhere in the _meta may mean
// anything.
func declared(req mcp.Request) int {
	if safe.Nil(req) || safe.Nil(req.GetParams()) {
		return 0
	}
	return attempt.Number(req.GetParams().GetMeta()[wire.AttemptKey])
}
