package call

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/secrets"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Recording says how a middleware records calls: what the records hold besides how the calls
// ended, and who else is told of the end. Stats is not nil. Make it once, and do not change it.
type Recording struct {
	// NewID makes the IDs of the calls; nil, or an empty ID, means a UUIDv7.
	NewID Source
	// CallerID reads the ID that the caller has for its call.
	CallerID Source
	// Level gives the level of a record; nil means [LevelOf].
	Level func(Outcome) slog.Level
	// Attrs makes attributes of the program's own.
	Attrs func(ctx context.Context, req mcp.Request) []slog.Attr
	// Slow is how long a call may take before it is recorded at Warn; zero means for ever.
	Slow time.Duration
	// ArgumentNames asks for the names of arguments, and ArgumentValues for so many bytes of
	// them with their values.
	ArgumentNames  bool
	ArgumentValues int
	// Reference puts the ID of a call into the _meta of its success.
	Reference bool
	// Observe is told how calls end.
	Observe func(context.Context, Event)
	// Stats is kept up to date.
	Stats *Stats

	names   table.Names[struct{}] // of tools and methods that are there, and that callers did not invent
	schemas secrets.Schemas
}

var noRecording = &Recording{Stats: &Stats{}}

// recording returns how the Call is recorded.
func (c *Call) recording() *Recording { return cmp.Or(c.settings().Recording, noRecording) }

// The bounds of what is recorded of a request.
const (
	maxArgumentNames = 32
	maxAttrs         = 32
	maxAttr          = 1 << 10
	maxAttrDepth     = 4 // groups in groups
)

// identity returns who made the call: the authenticated user, and the session by the
// beginning of a hash, because who knows the ID of a session can take it over.
func identity(attrs []slog.Attr, req mcp.Request) []slog.Attr {
	if nilRequest(req) {
		return attrs
	}
	if user := userOf(req); user != "" {
		attrs = append(attrs, slog.String("user", oneLine(user)))
	}
	if id := SessionID(req); id != "" {
		sum := sha256.Sum256([]byte(id))
		attrs = append(attrs, slog.String("session", hex.EncodeToString(sum[:6])))
	}
	return attrs
}

// attrs returns what the program's own function adds to a record, bounded.
func (how *Recording) attrs(c *Call) (attrs []slog.Attr) {
	if !apart("a record has no attributes of the program's own", func() {
		left := maxAttrs
		attrs = bounded(how.Attrs(c, c.req), &left, maxAttrDepth)
	}) {
		return nil
	}
	return attrs
}

// bounded returns attributes, those in groups included, as many as are left, each bounded.
func bounded(attrs []slog.Attr, left *int, depth int) []slog.Attr {
	out := make([]slog.Attr, 0, min(len(attrs), *left))
	for _, a := range attrs {
		if *left--; *left < 0 {
			break
		}
		a.Key = shortened(a.Key, maxName)
		switch v := safe.LogValue(a.Value); v.Kind() {
		case slog.KindString:
			a.Value = slog.StringValue(shortened(v.String(), maxAttr))
		case slog.KindGroup:
			if depth == 0 {
				a.Value = slog.StringValue("...")
			} else {
				a.Value = slog.GroupValue(bounded(v.Group(), left, depth-1)...)
			}
		case slog.KindAny:
			a.Value = boundedAny(v)
		default:
			a.Value = v
		}
		out = append(out, a)
	}
	return out
}

// boundedAny returns a value of any type as it is where no handler makes more than a bound
// of it, and else the beginning of its text: of its JSON, which leaves out the fields that
// the program does not write.
func boundedAny(v slog.Value) slog.Value {
	text := safe.Value(v.Any())
	if raw, err := safe.JSON(v.Any()); err == nil {
		if len(text) <= maxAttr && len(raw) <= maxAttr {
			return v
		}
		if _, failure := v.Any().(error); !failure { // whose JSON says nothing
			text = string(raw)
		}
	}
	return slog.StringValue(shortened(text, maxAttr))
}

// shortened returns a text of at most so many bytes, or its beginning.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// arguments returns what is recorded of the arguments, as one JSON text, so that neither a
// name nor a value of the caller's can look like an attribute.
func (how *Recording) arguments(attrs []slog.Attr, c *Call) []slog.Attr {
	raw, values, left := ArgumentsOf(c.req), how.ArgumentValues > 0, cmp.Or(how.ArgumentValues, maxAttr)
	if len(raw) == 0 || !values && !how.ArgumentNames {
		return attrs
	}
	attrs = append(attrs, slog.Int("arguments_bytes", len(raw)))
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var members map[string]any
	if len(raw) > maxArguments || dec.Decode(&members) != nil || members == nil {
		return attrs
	}
	var schema *secrets.Schema // of a prompt there is none
	if values && c.method == MethodCallTool {
		var tool *mcp.Tool
		if how.tool(c, false) != Other { // the server is not asked again and again for a name that a caller invents
			tool, _ = c.Tool(nil)
		}
		schema = how.schemas.Of(tool)
		values = !schema.Unsure
	}
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			b.WriteByte(',')
		}
		var value any
		if values && !scrub.SecretName(name) && (schema == nil || schema.Declares(name) && !schema.Secret(name)) {
			value = members[name]
			if schema != nil {
				value = schema.Without(value)
			}
			value = scrub.Cleaner{Text: scrub.Credentials, Copy: true}.Value(value)
		}
		member := string(jsonOf(oneLine(scrub.Credentials(name)))) + ":" + string(jsonOf(value))
		if left -= len(member); i == maxArgumentNames || left < 0 {
			b.WriteString(`"...":null`)
			break
		}
		b.WriteString(member)
	}
	return append(attrs, slog.String("arguments", "{"+words.JSON(b.String())+"}"))
}

// withReference returns a successful result with the ID of the call in its _meta, where
// that is asked for.
func (c *Call) withReference(res mcp.Result) mcp.Result {
	if !c.recording().Reference || c.part || c.quiet || c.Notification() {
		return res
	}
	return WithMeta(res, wire.ReferenceKey, c.ID())
}

// WithMeta returns a copy of the result of a tool, a resource, a prompt or a completion
// with one more member in its _meta. What a handler may have shared is not written to.
// Other results are returned as they are.
func WithMeta(res mcp.Result, key string, value any) mcp.Result {
	add := func(meta *mcp.Meta) bool {
		*meta = withMeta(*meta, key, value)
		return true
	}
	switch r := res.(type) {
	case *mcp.CallToolResult:
		res, _ = edited(r, func(r *mcp.CallToolResult) bool { return add(&r.Meta) })
	case *mcp.ReadResourceResult:
		res, _ = edited(r, func(r *mcp.ReadResourceResult) bool { return add(&r.Meta) })
	case *mcp.GetPromptResult:
		res, _ = edited(r, func(r *mcp.GetPromptResult) bool { return add(&r.Meta) })
	case *mcp.CompleteResult:
		res, _ = edited(r, func(r *mcp.CompleteResult) bool { return add(&r.Meta) })
	}
	return res
}
