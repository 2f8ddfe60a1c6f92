package call

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// A cleaner hides what stands in a result. It copies what it changes, because a handler may
// share its results. Only content may be called on a nil one; it changes nothing then.
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
				v = scrub.Cleaner{Text: mask, Typed: true}.Member(key, v)
			}
			clean[key] = v
		}
		return clean, true
	}}
}

// masked returns a value in which everything is masked that a client would decode. It is
// bounded, and keeps the types of what it hides, which a client may check against a schema.
func masked(v any, mask func(string) string) any {
	if v == nil || mask == nil {
		return v
	}
	cleaner := scrub.Cleaner{Text: mask, Typed: true}
	if raw, ok := v.(json.RawMessage); ok {
		return json.RawMessage(cleaner.JSON(raw))
	}
	return cleaner.Value(v)
}

// OwnText hides the credentials in a text of any length that a tool reports as its own words. They are
// sought as a reader sees the text.
var OwnText = scrub.Visibly(wholeText)

// reported returns the result in which a tool reported a failure in its own words, without what own
// hides in its texts and mask in its values.
func reported(res *mcp.CallToolResult, own, mask func(string) string) *mcp.CallToolResult {
	out, _ := edited(res, func(r *mcp.CallToolResult) bool {
		c := &cleaner{own, masking(mask).meta}
		r.Content = c.content(r.Content)
		c.clean(&r.Meta)
		stepsIn(r, mask)
		if raw, err := safe.JSON(r.StructuredContent); err != nil || len(raw) <= scrub.MaxBytes {
			r.StructuredContent = masked(r.StructuredContent, mask)
		} else if raw, hidden := wholeValue(json.RawMessage(raw)); hidden { // it is too large to be looked at in its own types
			r.StructuredContent = raw
		}
		return true
	})
	return out
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

// edited returns a copy of what p points to if change changes it, and p itself if not.
func edited[T any](p *T, change func(*T) bool) (_ *T, changed bool) {
	if p == nil {
		return p, false
	}
	cp := *p
	if change(&cp) {
		return &cp, true
	}
	return p, false
}

// block returns a block, a copy of it if something in it changes.
func (c *cleaner) block(block mcp.Content) (_ mcp.Content, changed bool) {
	switch b := block.(type) {
	case *mcp.TextContent:
		return edited(b, func(b *mcp.TextContent) bool { return c.clean(&b.Meta, &b.Text) })
	case *mcp.ImageContent:
		return edited(b, func(b *mcp.ImageContent) bool { return c.clean(&b.Meta) })
	case *mcp.AudioContent:
		return edited(b, func(b *mcp.AudioContent) bool { return c.clean(&b.Meta) })
	case *mcp.EmbeddedResource:
		return edited(b, func(b *mcp.EmbeddedResource) (changed bool) {
			b.Resource, changed = c.resource(b.Resource)
			return c.clean(&b.Meta) || changed
		})
	case *mcp.ResourceLink:
		return edited(b, func(b *mcp.ResourceLink) (changed bool) {
			b.Icons, changed = each(b.Icons, c.icon)
			return c.clean(&b.Meta, &b.URI, &b.Name, &b.Title, &b.Description) || changed
		})
	default:
		return c.unknown(block)
	}
}

// unknown returns a block of a type that is not known here: those of sampling, and one of the program's own, which
// embeds a known one and may write more than that. It is searched as it would be sent.
func (c *cleaner) unknown(block mcp.Content) (_ mcp.Content, changed bool) {
	if safe.Nil(block) {
		return block, false
	}
	raw, err := safe.JSON(block)
	if err != nil || !json.Valid(raw) { // left to what looks for that
		return block, false
	}
	clean := scrub.CleanJSON(raw, c.text)
	if bytes.Equal(clean, raw) {
		return block, false
	}
	return written{block, clean}, true
}

// written is a block as it is sent.
type written struct {
	mcp.Content
	raw json.RawMessage
}

// MarshalJSON implements [mcp.Content].
func (w written) MarshalJSON() ([]byte, error) { return w.raw, nil }

// icon returns an icon. The address of one may hold a credential, an image that stands in it does not.
func (c *cleaner) icon(i mcp.Icon) (_ mcp.Icon, changed bool) {
	changed = !strings.HasPrefix(i.Source, "data:") && c.clean(nil, &i.Source)
	return i, changed
}

// resource returns the contents of a resource, a copy of them if something changes.
func (c *cleaner) resource(r *mcp.ResourceContents) (_ *mcp.ResourceContents, changed bool) {
	return edited(r, func(r *mcp.ResourceContents) bool {
		changed := c.clean(&r.Meta, &r.URI, &r.Text)
		if isText(r) {
			if blob := string(r.Blob); c.clean(nil, &blob) {
				r.Blob, changed = []byte(blob), true
			}
		}
		return changed
	})
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
	if meta != nil && len(*meta) > 0 {
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

// wholeText returns a text of any length without credentials. The objects and lists of JSON in it that begin a line, as in a
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
// It leaves alone what cannot be written as JSON: package recover finds that out.
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
	switch r := res.(type) {
	case *mcp.CallToolResult:
		res, _ = edited(r, func(r *mcp.CallToolResult) (changed bool) {
			r.Content, changed = each(r.Content, whole.block)
			changed = whole.clean(&r.Meta) || changed
			if raw, hidden := wholeValue(r.StructuredContent); hidden {
				r.StructuredContent, structured = raw, true
			}
			changed = stepsIn(r, scrub.Whole) || changed
			return changed || structured
		})
	case *mcp.ReadResourceResult:
		res, _ = edited(r, func(r *mcp.ReadResourceResult) (changed bool) {
			r.Contents, changed = each(r.Contents, whole.resource)
			return whole.clean(&r.Meta) || changed
		})
	case *mcp.GetPromptResult:
		res, _ = edited(r, func(r *mcp.GetPromptResult) (changed bool) {
			r.Messages, changed = each(r.Messages, func(m *mcp.PromptMessage) (*mcp.PromptMessage, bool) {
				return edited(m, func(m *mcp.PromptMessage) (changed bool) {
					m.Content, changed = whole.block(m.Content)
					return changed
				})
			})
			return whole.clean(&r.Meta, &r.Description) || changed
		})
	}
	return res, structured
}

// stepsIn applies mask to the next steps of a result, which is a copy, and reports whether there are any.
func stepsIn(r *mcp.CallToolResult, mask func(string) string) bool {
	masked := func(steps []fault.Step) []fault.Step {
		return faults.ScrubbedBy(fault.New(fault.KindInternal, "").WithSteps(steps...), mask).Data().RecoverySteps
	}
	switch v := r.Meta[wire.StepsKey].(type) {
	case PendingSteps:
		r.Meta = withMeta(r.Meta, wire.StepsKey, PendingSteps(masked(v)))
	case []fault.Step:
		r.Meta = withMeta(r.Meta, wire.StepsKey, masked(v))
	default:
		return false
	}
	return true
}
