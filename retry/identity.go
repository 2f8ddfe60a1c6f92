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
	"github.com/mcpchain/mcpchain/internal/canonical"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/store"
)

// identity says which call it is, and whose. The names are hashes, in which nobody's
// can pass for another's.
type identity struct {
	known bool
	owner string
	place string // of the owner and the target
	call  string // of these, the arguments and the answers of a person
	tool  string // the place, where a streak is counted; else empty
	group uint64 // of the target, for memory.groups
	began uint64 // what memory.ticks was when the call began

	shared bool        // the store is asked about it
	last   *store.Item // what stood in the store when it was asked last, nil if that is not known
	asked  bool        // it was asked, and
	read   uint64      // these were its ticks then
}

// names are what failures are counted of. Nothing is known of an empty one.
func (what *identity) names() [2]string { return [...]string{what.call, what.tool} }

// locate says whose call a request is, and of what. Nothing of it is known for requests that are not
// counted: lists, pings and the like, and calls whose caller is unknown. The arguments are not
// looked at, however long they are.
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
		what.place = digest(what.owner, method, call.Target(req))
	}
	return what
}

// identify says which call a request is that was located.
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
	what.known = true
	what.call = digest(what.place, form(arguments), form(answers))
	if tool && c.Parent() == nil { // the items of a batch were chosen at once, and are no calls in a row
		what.tool = what.place
	}
	what.group = g.seen.group(call.Target(req))
	what.shared = g.shared != nil && !call.OfConnection(what.owner) // a connection stays with its server
	return what
}

// ownerOf names who makes a call, "" when nobody knows.
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

// maxArguments is how many bytes of JSON are read to hash them whatever their order
// and layout is. Longer arguments are hashed as they are.
const maxArguments = 64 << 10

// form returns a JSON value in a form that is the same for the same value. Absent is the
// same as null and as an empty object.
func form(raw []byte) string {
	if len(raw) > maxArguments {
		return string(raw)
	}
	same, err := canonical.JSON(raw)
	switch {
	case err != nil:
		return string(raw)
	case string(same) == "null":
		return "{}"
	default:
		return string(same)
	}
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
func declared(req mcp.Request) int {
	if safe.Nil(req) || safe.Nil(req.GetParams()) {
		return 0
	}
	return attempt.Number(req.GetParams().GetMeta()[wire.AttemptKey])
}
