package correlate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/secrets"
	"github.com/mcpchain/mcpchain/internal/sink"
	"github.com/mcpchain/mcpchain/internal/words"
)

// The bounds of what is recorded of a request.
const (
	maxArguments     = 64 << 10 // bytes; of longer ones neither names nor values are read
	maxArgumentNames = 32
	maxAttrs         = 32 // those in groups included, which bounds groups in groups too
	maxAttr          = 1 << 10
)

// NewID makes the ID of a call.
func (r *recorder) NewID(c *call.Call) string {
	return idFrom(c, "a call got a UUID for its ID", r.options.NewID)
}

// idFrom calls a user's source of IDs. The source gets the context from outside of the
// Call, whose ID is not known yet. An ID that does not fit a log and an answer counts as
// "".
func idFrom(c *call.Call, otherwise string, source Source) string {
	if source == nil {
		return ""
	}
	var id string // here, because it costs an allocation
	if !sink.Apart(otherwise, func() { id = source(c.Context, c.Request()) }) || !validID(id) {
		return ""
	}
	return id
}

// Level returns the level of a record.
func (r *recorder) Level(outcome string, took time.Duration, level slog.Level) slog.Level {
	if own := r.options.Level; own != nil {
		var given slog.Level // here, because it costs an allocation
		if sink.Apart("a record has its default level", func() { given = own(Outcome(outcome)) }) {
			level = given
		}
	}
	if r.slow(took) {
		level = max(level, slog.LevelWarn)
	}
	return level
}

func (r *recorder) slow(took time.Duration) bool { return r.options.Slow > 0 && took > r.options.Slow }

// Attrs returns what the options add to a record.
func (r *recorder) Attrs(c *call.Call, took time.Duration) (attrs []slog.Attr) {
	if r.slow(took) {
		attrs = append(attrs, slog.Bool("slow", true))
	}
	if id := idFrom(c, "a record has no ID of the caller's", r.options.Advanced.CallerID); id != "" {
		attrs = append(attrs, slog.String("caller_id", id))
	}
	attrs = r.arguments(attrs, c)
	if r.options.Attrs != nil {
		var own []slog.Attr
		left := maxAttrs
		if sink.Apart("a record has no attributes of the program's own", func() { own = bounded(r.options.Attrs(c, c.Request()), &left) }) {
			attrs = append(attrs, own...)
		}
	}
	return attrs
}

// bounded returns at most *left attributes, those in groups included, and bounds the size
// of each.
func bounded(attrs []slog.Attr, left *int) []slog.Attr {
	out := make([]slog.Attr, 0, min(len(attrs), *left))
	for _, a := range attrs {
		if *left--; *left < 0 {
			break
		}
		a.Key = words.Clip(a.Key, call.MaxName)
		switch v := safe.LogValue(a.Value); v.Kind() {
		case slog.KindString:
			a.Value = slog.StringValue(words.Clip(v.String(), maxAttr))
		case slog.KindGroup:
			a.Value = slog.GroupValue(bounded(v.Group(), left)...)
		case slog.KindAny:
			a.Value = boundedAny(v)
		default:
			a.Value = v
		}
		out = append(out, a)
	}
	return out
}

// boundedAny returns a value of any type as it is if both its text and its JSON are within
// the bound. Otherwise it returns the beginning of its JSON, which leaves out the fields
// that the program does not write. An error, and a value that is not JSON, is cut to the
// beginning of its text.
func boundedAny(v slog.Value) slog.Value {
	text := safe.Value(v.Any())
	if raw, err := safe.JSON(v.Any()); err == nil {
		if len(text) <= maxAttr && len(raw) <= maxAttr {
			return v
		}
		if _, failure := v.Any().(error); !failure { // the JSON of an error says nothing
			text = string(raw)
		}
	}
	return slog.StringValue(words.Clip(text, maxAttr))
}

// arguments adds the names and values of arguments that are recorded, as one JSON text, so
// that no name and no value of the caller can look like an attribute.
func (r *recorder) arguments(attrs []slog.Attr, c *call.Call) []slog.Attr {
	most := r.options.Advanced.ArgumentValues
	raw, values, left := call.ArgumentsOf(c.Request()), most > 0, cmp.Or(most, maxAttr)
	if len(raw) == 0 || !values && !r.options.Advanced.ArgumentNames {
		return attrs
	}
	attrs = append(attrs, slog.Int("arguments_bytes", len(raw)))
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var members map[string]any
	if len(raw) > maxArguments || dec.Decode(&members) != nil || members == nil {
		return attrs
	}
	var schema *secrets.Schema // a prompt has none
	if values && c.Method() == call.MethodCallTool {
		var tool *mcp.Tool
		if r.tool(c, false) != call.Other { // the server is not asked again and again for a name that a caller invents
			tool, _ = c.Server().Tool(nil)
		}
		schema = r.schemas.Of(tool)
		values = !schema.Unsure
	}
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			b.WriteByte(',')
		}
		var value any
		if values && !scrub.SecretName(name) && (schema == nil && !scrub.Misspelt(name) || schema != nil && schema.Declares(name) && !schema.Secret(name)) {
			value = members[name]
			if schema != nil {
				value = schema.Without(value)
			}
			value = scrub.Cleaner{Text: scrub.Credentials, Copy: true}.Value(value)
		}
		member, err := json.Marshal(map[string]any{call.OneLine(scrub.Credentials(name)): value})
		if left -= len(member) - 1; err != nil || i == maxArgumentNames || left < 0 {
			b.WriteString(`"...":null`)
			break
		}
		b.Write(member[1 : len(member)-1]) // without the braces
	}
	return append(attrs, slog.String("arguments", "{"+words.JSON(b.String())+"}"))
}
