package call

import (
	"bytes"
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

// Detail says what the records of calls hold besides how they ended, and who else is told
// of the end. Stats is not nil. Make it once, and do not change it.
type Detail struct {
	// CallerID reads the ID that the caller has for its call.
	CallerID Source
	// Attrs makes attributes of the program's own.
	Attrs func(ctx context.Context, req mcp.Request) []slog.Attr
	// Slow is how long a call may take before it is recorded at Warn; zero means for ever.
	Slow time.Duration
	// Arguments says what is recorded of the arguments, and MaxArguments how many bytes.
	Arguments    Arguments
	MaxArguments int
	// Reference puts the ID of a call into the _meta of its success.
	Reference bool
	// Observe is told how calls end.
	Observe func(context.Context, Event)
	// Stats is kept up to date.
	Stats *Stats

	tools, methods catalog
}

// Arguments says what a record holds of the arguments of a call, see package correlate.
type Arguments uint8

// What a record holds of the arguments.
const (
	NoArguments Arguments = iota
	ArgumentNames
	ArgumentValues
)

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
	if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil && extra.TokenInfo.UserID != "" {
		attrs = append(attrs, slog.String("user", oneLine(extra.TokenInfo.UserID)))
	}
	if id := SessionID(req); id != "" {
		sum := sha256.Sum256([]byte(id))
		attrs = append(attrs, slog.String("session", hex.EncodeToString(sum[:6])))
	}
	return attrs
}

// attrs returns what the program's own function adds to a record, bounded.
func (d *Detail) attrs(c *Call) (attrs []slog.Attr) {
	if !apart("a record has no attributes of the program's own", func() {
		left := maxAttrs
		attrs = bounded(d.Attrs(c, c.req), &left, maxAttrDepth)
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
func (d *Detail) arguments(attrs []slog.Attr, c *Call) []slog.Attr {
	if d.Arguments == NoArguments {
		return attrs
	}
	raw := ArgumentsOf(c.req)
	if len(raw) == 0 {
		return attrs
	}
	attrs = append(attrs, slog.Int("arguments_bytes", len(raw)))
	var members map[string]json.RawMessage
	if len(raw) > maxArguments || json.Unmarshal(raw, &members) != nil || members == nil {
		return attrs
	}
	var schema *secrets.Schema // nil if it is not known, and of a prompt, which has none
	if d.Arguments == ArgumentValues && c.method == MethodCallTool {
		if e, _ := d.tools.find(c, true); e.read != 0 && !e.schema.Unsure {
			schema = e.schema
		}
	}
	shown := func(name string) bool {
		return d.Arguments == ArgumentValues && !scrub.SecretName(name) &&
			(c.method != MethodCallTool || schema != nil && schema.Declares(name) && !schema.Secret(name))
	}
	var b strings.Builder
	left := d.MaxArguments
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			b.WriteByte(',')
		}
		value := json.RawMessage("null")
		if shown(name) {
			value = public(members[name], schema)
		}
		member := string(jsonOf(oneLine(scrub.Credentials(name)))) + ":" + string(value)
		if left -= len(member); i == maxArgumentNames || left < 0 {
			b.WriteString(`"...":null`)
			break
		}
		b.WriteString(member)
	}
	return append(attrs, slog.String("arguments", "{"+words.JSON(b.String())+"}"))
}

// public returns the value of an argument as it may be recorded.
func public(raw json.RawMessage, schema *secrets.Schema) json.RawMessage {
	var value any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return json.RawMessage("null") // cannot be: it is a part of what was JSON
	}
	if schema != nil {
		value = schema.Without(value)
	}
	return jsonOf(scrub.Cleaner{Text: scrub.Credentials, Copy: true}.Value(value))
}

// withReference returns a successful result with the ID of the call in its _meta, where
// that is asked for.
func (c *Call) withReference(res mcp.Result) mcp.Result {
	if !c.settings().detail.Reference || c.part || c.quiet || c.Notification() {
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

const (
	// lookEvery is how often names that are not known may have a server asked for its tools.
	lookEvery = time.Second
	// fresh is how long what was read of a schema holds.
	fresh = time.Minute
)

// A catalog knows the tools of the servers whose calls pass one middleware, so that the
// name that a caller sends can be told from one that it invented. It asks the server
// seldom, and what it holds is bounded, whatever callers send.
type catalog struct {
	entries table.Names[entry]
	schemas secrets.Schemas
}

// An entry is what is known of a tool.
type entry struct {
	read   time.Duration // when its schema was read, zero if it was not
	schema *secrets.Schema
}

// add makes a name known, unless there is no room for it.
func (k *catalog) add(name string, e entry) bool {
	if _, have := k.entries.Get(name); have && e.read == 0 {
		return true
	}
	return len(name) <= maxName && k.entries.Add(name, e)
}

// find returns what is known of the tool that is called, and false if it is none of the
// server's. schema asks for its schema, too. A server is asked by one call at a time, at
// most once in lookEvery: until then a new name is not known.
func (k *catalog) find(c *Call, schema bool) (entry, bool) {
	name := Target(c.req)
	now := time.Since(epoch)
	have, known := k.entries.Get(name)
	if known && (!schema || have.read != 0 && now-have.read < fresh) || !c.by.mayLook(now) {
		return have, known
	}
	for tool, err := range c.Tools() {
		if err != nil {
			if _, one := safe.As[*OneHandlerError](err); one && !known { // the SDK found the handler by this name
				k.add(name, entry{})
			}
			break
		}
		e := entry{}
		if schema {
			e = entry{now, k.schemas.Of(tool)}
		}
		k.add(tool.Name, e)
	}
	return k.entries.Get(name)
}

// mayLook reports whether the handlers behind the opener may be asked for their tools now.
func (o *opener) mayLook(now time.Duration) bool {
	if o == nil {
		return false
	}
	last := o.looked.Load()
	return (last == 0 || now-time.Duration(last) >= lookEvery) && o.looked.CompareAndSwap(last, int64(now))
}
