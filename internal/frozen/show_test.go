package frozen_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wide is how long a line becomes before a member of an object or of a list begins another.
const wide = 140

// show breaks JSON into lines without changing a byte of it but line breaks and blanks outside
// of its strings: a text with line breaks of its own is continued on the next line. What is no
// JSON, or has such blanks already, is returned as it is, behind a mark.
func show(text string) string {
	prefix, body := "", text
	if i := strings.IndexByte(text, '{'); i > 0 && !strings.ContainsAny(text[:i], `"[`) {
		prefix, body = text[:i], text[i:]
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(body)) != nil || compact.String() != body {
		return "as it is: " + text
	}
	p := printer{text: body}
	p.out.WriteString(prefix)
	p.value("")
	return p.out.String()
}

// printer writes valid, compact JSON.
type printer struct {
	text string // the rest
	out  strings.Builder
	line int // where the line begins
}

func (p *printer) value(indent string) {
	c := p.text[0]
	if c != '{' && c != '[' {
		p.scalar(indent)
		return
	}
	inner := indent + " "
	p.take(1)
	for p.text[0] != '}' && p.text[0] != ']' {
		size := closing(p.text)
		if c == '{' {
			size += 1 + closing(p.text[size+1:])
		}
		if p.out.Len()-p.line+size > wide || strings.Contains(p.text[:size], `\n`) {
			p.out.WriteString("\n")
			p.line = p.out.Len()
			p.out.WriteString(inner)
		}
		if c == '{' {
			p.scalar(inner)
			p.take(1) // the colon
		}
		p.value(inner)
		if p.text[0] == ',' {
			p.take(1)
		}
	}
	p.take(1)
}

func (p *printer) take(n int) {
	p.out.WriteString(p.text[:n])
	p.text = p.text[n:]
}

// scalar writes a text, a number or a word.
func (p *printer) scalar(indent string) {
	if p.text[0] != '"' {
		end := strings.IndexAny(p.text, ",]}")
		if end < 0 {
			end = len(p.text)
		}
		p.take(end)
		return
	}
	end := closing(p.text)
	if text := inLines(clipped(p.text[:end]), indent); strings.Contains(text, "\n") {
		p.line = p.out.Len() + strings.LastIndexByte(text, '\n') + 1
		p.out.WriteString(text)
	} else {
		p.out.WriteString(text)
	}
	p.text = p.text[end:]
}

// inLines breaks a text behind the two characters of each line break, which stay.
func inLines(literal, indent string) string {
	var out strings.Builder
	for i := 0; i < len(literal); i++ {
		out.WriteByte(literal[i])
		if literal[i] != '\\' || i+1 == len(literal) {
			continue
		}
		i++
		out.WriteByte(literal[i])
		if literal[i] == 'n' && i+2 < len(literal) {
			out.WriteString("\n" + indent + "  ")
		}
	}
	return out.String()
}

// clipped shortens a long text to its ends and a hash of it.
func clipped(literal string) string {
	const long, kept = 1500, 200
	if len(literal) <= long {
		return literal
	}
	return fmt.Sprintf("%s<%d bytes, of hash %x>%s", literal[:kept], len(literal), sha256.Sum256([]byte(literal)), literal[len(literal)-kept:])
}

// closing returns where the value ends with which the text begins.
func closing(text string) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case (c == '}' || c == ']' || c == ',') && depth == 0:
			return i // a number or a word before it
		case c == '}' || c == ']':
			depth--
		default:
			continue
		}
		if depth == 0 && !quoted {
			return i + 1
		}
	}
	return len(text)
}

func TestShow(t *testing.T) {
	long := strings.Repeat("x", wide)
	for text, want := range map[string]string{
		`{"a":1,"b":[true,"x"]}`:             `{"a":1,"b":[true,"x"]}`,
		`{"a":"` + long + `","b":[1,{}]}`:    "{\n \"a\":\"" + long + "\",\n \"b\":[1,{}]}",
		`["` + long + `",-1.5,null]`:         "[\n \"" + long + "\",\n -1.5,null]",
		`{"a":"one\ntwo\\n\"three\"","b":2}`: "{\n \"a\":\"one\\n\n   two\\\\n\\\"three\\\"\",\"b\":2}",
		`{"c":3,"a":["one\n"]}`:              "{\"c\":3,\n \"a\":[\n  \"one\\n\"]}",
		`default {"a":1}`:                    `default {"a":1}`,
		`{"a": 1}`:                           `as it is: {"a": 1}`,
		`no json`:                            `as it is: no json`,
		`{"` + long + `":{"c":"}]","d":2}}`:  "{\n \"" + long + "\":{\n  \"c\":\"}]\",\"d\":2}}",
	} {
		require.Equal(t, want, show(text))
	}
}

func TestStack(t *testing.T) {
	require.Equal(t, "in the corpus, the library, mcp, runtime", stack("github.com/mcpchain/mcpchain/internal/frozen_test.x.func1(...)\n\t/a/b.go:7\n"+
		"github.com/mcpchain/mcpchain/internal/harness.resultOf[...].func2(...)\n\t/a/c.go:7\ngithub.com/mcpchain/mcpchain/recover.f(...)\n\t/x.go:1\n"+
		"github.com/mcpchain/mcpchain/recover.(*r).g(...)\n\t/x.go:1\ngithub.com/x/go-sdk/mcp.(*Server).call(...)\n\t/x.go:1\nruntime.x(...)\n\t/y.go:3 +0x1a\n"))
}

func TestClipped(t *testing.T) {
	long := strings.Repeat("x", 1500)
	require.Equal(t, long, clipped(long))
	require.NotEqual(t, clipped(long+"1"+long), clipped(long+"2"+long))
	require.Less(t, len(clipped(long+long)), 600)
}
