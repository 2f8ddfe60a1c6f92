package budget

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
)

const (
	bytesPerToken = 3
	noteBytes     = 150 // left free for each line that says what was left out
	minShown      = 80  // a text keeps at least so many bytes
	rounds        = 20  // see shrinking
)

// shrinking calls try with a bound in bytes, and with smaller ones while the result has too
// many tokens. The number of bytes only approximates the number of tokens.
func shrinking(bound, size int, try func(bound int) (tokens, bytes int)) {
	for range rounds {
		tokens, bytes := try(bound)
		if tokens <= size {
			return
		}
		fair := int(float64(bytes) * float64(size) / float64(tokens) * 0.95)
		bound = max(bound/10, min(bound*9/10, fair))
	}
}

// measure returns how many tokens an answer has, and how many bytes. If it has at most enough
// bytes, it returns these as its tokens, without counting. Clients show the text or the
// structured content, so the larger of the two counts.
func (b *budget) measure(res *mcp.CallToolResult, enough int) (tokens, bytes int) {
	return b.measureParts(res.Content, jsonOf(res.StructuredContent), enough)
}

func (b *budget) measureParts(content []mcp.Content, structured json.RawMessage, enough int) (tokens, bytes int) {
	if bytes = max(blocksBytes(content), len(structured)); bytes <= enough { // a token has a byte or more
		return bytes, bytes
	} else if b.Count == nil {
		return estimate(bytes), bytes
	}
	for _, block := range content {
		text, _ := textOf(block)
		tokens += b.count(text) + blockBytes(block) - len(text)
	}
	return max(tokens, b.count(string(structured))), bytes
}

func estimate(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

// count calls the user's own function, whose panic must not fail the call.
func (b *budget) count(text string) int {
	n := 0
	if b.Count != nil && text != "" {
		if _, panicked := safe.Call(func() { n = b.Count(text) }, nil); !panicked {
			return max(0, n)
		}
	}
	return estimate(len(text))
}

// jsonOf returns structured content as it is sent, or nil if there is none. Content that
// cannot be encoded counts as none; package recover reports it.
func jsonOf(structured any) json.RawMessage {
	switch v := structured.(type) {
	case nil:
		return nil
	case json.RawMessage:
		return v
	}
	raw, err := safe.JSON(structured)
	if err != nil {
		return nil
	}
	return raw
}

func blocksBytes(blocks []mcp.Content) (n int) {
	for _, block := range blocks {
		n += blockBytes(block)
	}
	return n
}

func blockBytes(block mcp.Content) int {
	switch c := block.(type) {
	case *mcp.TextContent:
		if c != nil {
			return len(c.Text)
		}
	case *mcp.ImageContent:
		if c != nil {
			return len(c.Data) * 4 / 3
		}
	case *mcp.AudioContent:
		if c != nil {
			return len(c.Data) * 4 / 3
		}
	case *mcp.EmbeddedResource:
		if c != nil && c.Resource != nil {
			return contentsBytes(c.Resource)
		}
	case *mcp.ResourceLink:
		if c != nil {
			return len(c.URI) + len(c.Description)
		}
	}
	return 0
}

func contentsBytes(c *mcp.ResourceContents) int { return len(c.Text) + len(c.Blob)*4/3 + len(c.URI) }

// textOf returns the text of a block that can be cut, and a function that copies the block
// with a part of that text; nil for other blocks.
func textOf(block mcp.Content) (text string, with func(part string) mcp.Content) {
	switch c := block.(type) {
	case *mcp.TextContent:
		if c != nil {
			return c.Text, func(part string) mcp.Content {
				cp := *c
				cp.Text = part
				return &cp
			}
		}
	case *mcp.EmbeddedResource:
		if c != nil && c.Resource != nil && c.Resource.Text != "" {
			return c.Resource.Text, func(part string) mcp.Content {
				cp, r := *c, *c.Resource
				r.Text, cp.Resource = part, &r
				return &cp
			}
		}
	}
	return "", nil
}

// A run is a sequence of blocks whose first block may lack its beginning. It shares the blocks
// with the answer and copies none.
type run struct {
	blocks []mcp.Content
	off    int // how many bytes the text of the first block lacks
}

func (r run) empty() bool { return len(r.blocks) == 0 }

// at returns a block of the run.
func (r run) at(i int) mcp.Content {
	if i > 0 || r.off == 0 {
		return r.blocks[i]
	}
	text, with := textOf(r.blocks[0])
	return with(text[r.off:])
}

// split returns the blocks that fit into so many bytes, and the rest. A text is cut at
// a sentence. A block that never fits is replaced by a text that says so.
func (r run) split(room int) (head []mcp.Content, rest run) {
	whole := room
	for i := range r.blocks {
		block := r.at(i)
		size := blockBytes(block)
		text, with := textOf(block)
		_, isText := block.(*mcp.TextContent)
		if rest = (run{blocks: r.blocks[i:]}); i == 0 {
			rest.off = r.off
		}
		switch n := sentence(text, room-(size-len(text))); {
		case size <= room:
		case n > 0 && (room >= minShown || len(head) == 0):
			rest.off += n
			return append(head, with(text[:n])), rest
		case !isText && size > whole:
			block = &mcp.TextContent{Text: fmt.Sprintf("[a block of %d bytes is too large to be shown]", size)}
			if size = blockBytes(block); size <= room {
				break
			}
			fallthrough
		default:
			return head, rest
		}
		head, room = append(head, block), room-size
	}
	return head, run{}
}

// sentence returns how many bytes of a text to show, at most most. The shown part ends with
// a paragraph, a sentence, a line or a word, if one ends in its second half.
func sentence(text string, most int) int {
	if most >= len(text) {
		return len(text)
	}
	most = characters(text, max(0, most))
	for _, end := range []string{"\n\n", ". ", ".\n", "\n", " "} {
		if i := strings.LastIndex(text[:most], end); i >= most/2 && i > 0 {
			return i + len(end)
		}
	}
	return most
}

// characters returns where the last whole character in text[:to] ends, or to if there is none.
// It looks no further back than a character is long.
func characters(text string, to int) int {
	if to >= len(text) {
		return len(text)
	}
	for i := to; i > 0 && i > to-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return to
}
