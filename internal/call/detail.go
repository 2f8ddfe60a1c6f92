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

// Arguments says what a record holds of the arguments of a call.
type Arguments uint8

// What a record holds of the arguments.
const (
	// NoArguments records nothing of them.
	NoArguments Arguments = iota
	// ArgumentNames records the names on the top level, and the size of all.
	ArgumentNames
	// ArgumentValues records the values, too. Left out are those whose name says secret or
	// which the tool's schema marks as one (format "password", writeOnly, a title that says
	// so, x-sensitive or x-secret), those that the schema does not declare, and all where
	// no schema can be read. Credentials that are recognised in a value are hidden.
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
	if d.Attrs == nil {
		return nil
	}
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
	members, size := argumentsOf(c.req)
	if size == 0 {
		return attrs
	}
	attrs = append(attrs, slog.Int("arguments_bytes", size))
	if members == nil {
		return attrs
	}
	w := argumentWriter{left: d.MaxArguments}
	may := may{everything: c.method != MethodCallTool}
	if d.Arguments == ArgumentValues && c.method == MethodCallTool {
		if e := d.tools.find(c, true); e != nil && e.read != 0 && !e.schema.Unsure {
			may.schema = e.schema
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var value []byte
		if d.Arguments == ArgumentValues {
			value = may.show(name, members[name])
		}
		if !w.add(name, value) {
			break
		}
	}
	return append(attrs, slog.String("arguments", w.String()))
}

// argumentsOf returns the members of the arguments, nil where they are no object or too
// many to be looked at, and their size.
func argumentsOf(req mcp.Request) (members map[string]json.RawMessage, size int) {
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		if r == nil || r.Params == nil {
			return nil, 0
		}
		raw := r.Params.Arguments
		if len(raw) <= maxArguments && json.Unmarshal(raw, &members) != nil {
			members = nil
		}
		return members, len(raw)
	case *mcp.GetPromptRequest:
		if r == nil || r.Params == nil {
			return nil, 0
		}
		members = make(map[string]json.RawMessage)
		for name, value := range r.Params.Arguments {
			if size += len(name) + len(value); size <= maxArguments {
				members[name] = quoted(value)
			}
		}
		return members, size
	default:
		return nil, 0
	}
}

// may says which values may be recorded.
type may struct {
	schema     *Schema // nil if it is not known
	everything bool    // there is no schema, as of prompts
}

// show returns a value as it may be recorded, nil for not at all.
func (m may) show(name string, raw json.RawMessage) []byte {
	if scrub.SecretName(name) || !m.everything && (m.schema == nil || !m.schema.Declares(name) || m.schema.Secret(name)) {
		return nil
	}
	var value any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return nil
	}
	if m.schema != nil {
		value = m.schema.Without(value)
	}
	clean, err := json.Marshal(scrub.Cleaner{Text: scrub.Credentials, Copy: true}.Value(value))
	if err != nil {
		return nil
	}
	return clean
}

// An argumentWriter writes names, or names and values, as a JSON object of bounded size.
// Where a value is not shown stands null.
type argumentWriter struct {
	strings.Builder
	left  int
	count int
}

// add writes one argument. It reports whether there is room for more.
func (w *argumentWriter) add(name string, value []byte) bool {
	if value == nil {
		value = []byte("null")
	}
	member := append(append(quoted(oneLine(name)), ':'), value...)
	if w.count++; w.count > maxArgumentNames || len(member) > w.left {
		w.left = 0
		w.put(`"...":null`)
		return false
	}
	w.left -= len(member)
	w.put(string(member))
	return true
}

func (w *argumentWriter) put(member string) {
	if w.Len() > 0 {
		w.WriteByte(',')
	}
	w.WriteString(member)
}

// String returns the object.
func (w *argumentWriter) String() string { return "{" + words.JSON(w.Builder.String()) + "}" }

// quoted returns a text as JSON.
func quoted(text string) []byte {
	raw, err := json.Marshal(scrub.Credentials(text))
	if err != nil {
		return []byte(`""`) // cannot be: every text is JSON
	}
	return raw
}

// withReference returns a successful result with the ID of the call in its _meta, where
// that is asked for.
func (c *Call) withReference(res mcp.Result) mcp.Result {
	if d := c.settings().detail(); d == nil || !d.Reference || c.part || c.quiet || c.Notification() {
		return res
	}
	return WithMeta(res, wire.ReferenceKey, c.ID())
}

// WithMeta returns a copy of the result of a tool, a resource, a prompt or a completion
// with one more member in its _meta. What a handler may have shared is not written to.
// Other results are returned as they are.
func WithMeta(res mcp.Result, key string, value any) mcp.Result {
	switch r := res.(type) {
	case *mcp.CallToolResult:
		return marked(r, key, value)
	case *mcp.ReadResourceResult:
		return marked(r, key, value)
	case *mcp.GetPromptResult:
		return marked(r, key, value)
	case *mcp.CompleteResult:
		return marked(r, key, value)
	default:
		return res
	}
}

func marked[T any, R interface {
	*T
	mcp.Result
}](res R, key string, value any) mcp.Result {
	if res == nil {
		return res
	}
	cp := *res
	R(&cp).SetMeta(withMeta(res.GetMeta(), key, value))
	return R(&cp)
}
