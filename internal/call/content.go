package call

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// A cleaner hides what stands in a result. It copies what it changes, because a handler may
// share its results. A nil one changes nothing.
type cleaner struct {
	text func(string) string
	meta func(mcp.Meta) (_ mcp.Meta, changed bool)
}

// masking returns what cleans a failure with a mask.
func masking(mask func(string) string) *cleaner {
	if mask == nil {
		return nil
	}
	return &cleaner{mask, func(meta mcp.Meta) (mcp.Meta, bool) {
		clean := make(mcp.Meta, len(meta))
		for key, v := range meta {
			if !strings.HasPrefix(key, wire.Prefix) { // else it is our own
				if v = masked(v, mask); scrub.SecretMember(key, v) {
					v = scrub.Redacted
				}
			}
			clean[key] = v
		}
		return clean, true
	}}
}

// masked returns a value in which everything is masked that a client would decode. It is
// bounded, and what is secret by its name becomes a text.
func masked(v any, mask func(string) string) any {
	if v == nil || mask == nil {
		return v
	}
	cleaner := scrub.Cleaner{Text: mask}
	if raw, ok := v.(json.RawMessage); ok {
		return json.RawMessage(cleaner.JSON(raw))
	}
	return cleaner.Value(v)
}

// each returns the list, a copy of it if clean changes something in it.
// Nothing is compared: an element may be of a type of the program's that cannot be.
func each[T any](list []T, clean func(T) (_ T, changed bool)) (_ []T, changed bool) {
	out := list
	for i, e := range list {
		if c, other := clean(e); other {
			if !changed {
				out, changed = slices.Clone(list), true
			}
			out[i] = c
		}
	}
	return out, changed
}

// content returns content without what is hidden.
func (c *cleaner) content(content []mcp.Content) []mcp.Content {
	if c == nil {
		return content
	}
	content, _ = each(content, c.block)
	return content
}

// block returns a block, a copy of it if something in it changes.
func (c *cleaner) block(block mcp.Content) (_ mcp.Content, changed bool) {
	switch b := block.(type) {
	case *mcp.TextContent:
		if b != nil {
			cp := *b
			if c.clean(&cp.Meta, &cp.Text) {
				return &cp, true
			}
		}
	case *mcp.EmbeddedResource:
		if b != nil {
			cp := *b
			changed = c.clean(&cp.Meta)
			resource, other := c.resource(b.Resource)
			if cp.Resource = resource; other || changed {
				return &cp, true
			}
		}
	case *mcp.ResourceLink:
		if b != nil {
			cp := *b
			cp.Icons, changed = each(b.Icons, c.icon)
			if c.clean(&cp.Meta, &cp.URI, &cp.Name, &cp.Title, &cp.Description) || changed {
				return &cp, true
			}
		}
	case *mcp.ImageContent:
		if b != nil {
			cp := *b
			if c.clean(&cp.Meta) {
				return &cp, true
			}
		}
	case *mcp.AudioContent:
		if b != nil {
			cp := *b
			if c.clean(&cp.Meta) {
				return &cp, true
			}
		}
	}
	return block, false
}

// icon returns an icon. The address of one may hold a credential, an image that stands in it does not.
func (c *cleaner) icon(i mcp.Icon) (_ mcp.Icon, changed bool) {
	if !strings.HasPrefix(i.Source, "data:") {
		source := c.text(i.Source)
		i.Source, changed = source, source != i.Source
	}
	return i, changed
}

// resource returns the contents of a resource, a copy of them if something changes.
func (c *cleaner) resource(r *mcp.ResourceContents) (_ *mcp.ResourceContents, changed bool) {
	if r == nil {
		return nil, false
	}
	cp := *r
	changed = c.clean(&cp.Meta, &cp.URI, &cp.Text)
	if isText(r) {
		if text := c.text(string(r.Blob)); text != string(r.Blob) {
			cp.Blob, changed = []byte(text), true
		}
	}
	if changed {
		return &cp, true
	}
	return r, false
}

// isText reports whether the bytes of a resource are a text, by what it says or by their look.
func isText(r *mcp.ResourceContents) bool {
	if len(r.Blob) == 0 {
		return false
	}
	kind, _, _ := strings.Cut(strings.ToLower(r.MIMEType), ";")
	kind = strings.TrimSpace(kind)
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") || strings.HasSuffix(kind, "xml") || // and no archive of an office
		utf8.Valid(r.Blob) && bytes.IndexByte(r.Blob, 0) < 0
}

// clean cleans a block's _meta and texts, which are of a copy, and reports whether that changed something.
func (c *cleaner) clean(meta *mcp.Meta, texts ...*string) bool {
	changed := false
	if len(*meta) > 0 {
		*meta, changed = c.meta(*meta)
	}
	for _, t := range texts {
		if text := c.text(*t); text != *t {
			*t, changed = text, true
		}
	}
	return changed
}

// whole cleans successes: whatever their size nothing is cut off, and every value keeps its type.
var whole = &cleaner{wholeText, func(meta mcp.Meta) (mcp.Meta, bool) {
	clean, theirs := mcp.Meta{}, mcp.Meta{}
	for key, v := range meta {
		if strings.HasPrefix(key, wire.Prefix) {
			clean[key] = v
		} else {
			theirs[key] = v
		}
	}
	raw, changed := wholeValue(theirs)
	if !changed {
		return meta, false
	}
	members := map[string]json.RawMessage{}
	_ = json.Unmarshal(raw, &members) // it is an object
	for key, v := range members {
		clean[key] = v
	}
	return clean, true
}}

// wholeText cleans a text. The objects and lists of JSON in it that begin a line, as in a
// fence of Markdown, or that follow another one, are cleaned as structured content is, but
// for a block of YAML.
func wholeText(text string) string {
	if raw := []byte(text); composite(strings.TrimLeft(text, " \t\r\n")) && json.Valid(raw) {
		return string(scrub.WholeJSON(raw))
	}
	var out strings.Builder
	done, left := 0, 4*len(text)+mostWasted
	for at := 0; left > 0; {
		line := strings.TrimLeft(text[at:], " \t\r\n")
		at = len(text) - len(line)
		if composite(line) && !inBlock(text[:at]) {
			rest := strings.NewReader(line)
			var raw json.RawMessage
			for values := json.NewDecoder(rest); values.Decode(&raw) == nil && composite(raw); {
				end := len(text) - len(line) + int(values.InputOffset())
				out.WriteString(scrub.Whole(text[done : end-len(raw)]))
				out.Write(scrub.WholeJSON(raw))
				at, done = end, end
			}
			left -= len(line) - rest.Len()
		}
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	if done == 0 {
		return scrub.Whole(text)
	}
	out.WriteString(scrub.Whole(text[done:]))
	return out.String()
}

// inBlock reports whether what stands behind text begins a block of YAML, whose name may say
// that all of it is secret.
func inBlock(text string) bool {
	text = strings.TrimRight(strings.TrimRight(text, " \t\r\n"), "+-")
	return strings.HasSuffix(text, ": |") || strings.HasSuffix(text, ": >")
}

// mostWasted is how much may be read of what begins as JSON and is none, besides a multiple of the text's length.
const mostWasted = 64 << 10

func composite[T string | json.RawMessage](value T) bool {
	return len(value) > 0 && (value[0] == '{' || value[0] == '[')
}

// wholeValue returns the JSON of a value without what is hidden, and false if nothing is.
// What cannot be written as JSON is left to who finds that out.
func wholeValue(v any) (clean json.RawMessage, changed bool) {
	raw, ok := v.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = safe.JSON(v); err != nil {
			return nil, false
		}
	}
	if !json.Valid(raw) {
		return nil, false
	}
	clean = scrub.WholeJSON(raw)
	return clean, !bytes.Equal(clean, raw)
}

// Scrubbed returns a successful result without credentials, and res itself if there are
// none. It reports whether structured content was changed.
func Scrubbed(res mcp.Result) (_ mcp.Result, structured bool) {
	if safe.Nil(res) {
		return res, false
	}
	var changed, more bool
	switch r := res.(type) {
	case *mcp.CallToolResult:
		out := *r
		changed = whole.clean(&out.Meta)
		out.Content, more = each(r.Content, whole.block)
		if raw, hidden := wholeValue(r.StructuredContent); hidden {
			out.StructuredContent, structured = raw, true
		}
		var steps []fault.Step
		switch v := out.Meta[wire.StepsKey].(type) {
		case PendingSteps:
			steps = wholeSteps(v)
			out.Meta = withMeta(out.Meta, wire.StepsKey, PendingSteps(steps))
		case []fault.Step:
			steps = wholeSteps(v)
			out.Meta = withMeta(out.Meta, wire.StepsKey, steps)
		}
		if changed || more || structured || steps != nil {
			return &out, structured
		}
	case *mcp.ReadResourceResult:
		out := *r
		changed = whole.clean(&out.Meta)
		if out.Contents, more = each(r.Contents, whole.resource); changed || more {
			return &out, false
		}
	case *mcp.GetPromptResult:
		out := *r
		changed = whole.clean(&out.Meta, &out.Description)
		out.Messages, more = each(r.Messages, func(m *mcp.PromptMessage) (*mcp.PromptMessage, bool) {
			if m == nil || m.Content == nil {
				return m, false
			}
			if block, other := whole.block(m.Content); other {
				return &mcp.PromptMessage{Role: m.Role, Content: block}, true
			}
			return m, false
		})
		if changed || more {
			return &out, false
		}
	}
	return res, false
}

func wholeSteps(steps []fault.Step) []fault.Step {
	return fault.New(fault.KindInternal, "").WithSteps(steps...).ScrubbedBy(scrub.Whole).Data().RecoverySteps
}
