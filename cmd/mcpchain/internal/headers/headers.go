// Package headers is about the headers of HTTP that repeat what a message says, since version 2026-07-28 of the
// protocol: how a text stands in one, and which arguments of tools do.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
package headers

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

const before, after = "=?base64?", "?="

// Encoded returns a text as it stands in a header: texts that would be changed on the way, and those
// that look as if they were encoded, are encoded.
func Encoded(text string) string {
	plain := strings.Trim(text, " \t") == text && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	if plain && (!strings.HasPrefix(text, before) || !strings.HasSuffix(text, after)) {
		return text
	}
	return before + base64.StdEncoding.EncodeToString([]byte(text)) + after
}

// Decoded returns the text that stands in a header, and false if it is no text that [Encoded] returns.
func Decoded(value string) (text string, ok bool) {
	inner, begins := strings.CutPrefix(value, before)
	inner, ends := strings.CutSuffix(inner, after)
	if !begins || !ends {
		return value, true
	}
	raw, err := base64.StdEncoding.DecodeString(inner)
	return string(raw), err == nil
}

// Param is what the names of the headers of arguments begin with.
const Param = "Mcp-Param-"

// Tools are the arguments of tools that stand in headers, too: those that the schema marks with
// x-mcp-header. The zero value has none. It must not be used concurrently.
type Tools struct {
	bound map[string][]Binding
	left  int
}

// A Binding is an argument, and the name of its header behind [Param].
type Binding struct {
	path   []string
	Header string
}

// maxBindings bounds the arguments that are kept.
const maxBindings = 10_000

type property struct {
	Header     json.RawMessage     `json:"x-mcp-header"`
	Properties map[string]property `json:"properties"`
}

// Learn notes what the result of tools/list says that was asked for behind a cursor, "" for the first page. That
// says all anew.
func (t *Tools) Learn(cursor string, result json.RawMessage) {
	if t.bound == nil || cursor == "" {
		t.bound, t.left = map[string][]Binding{}, maxBindings
	}
	if !bytes.Contains(result, []byte(`-mcp-header"`)) { // which saves the time, and decides nothing
		return
	}
	var list struct {
		Tools []struct {
			Name   string   `json:"name"`
			Schema property `json:"inputSchema"`
		} `json:"tools"`
	}
	if rpc.Unmarshal(result, &list) != nil {
		return
	}
	for _, tool := range list.Tools {
		t.left += len(t.bound[tool.Name])
		delete(t.bound, tool.Name)
		if bound := tool.Schema.bindings(nil, nil); len(bound) > 0 && t.left >= len(bound) {
			t.left -= len(bound)
			t.bound[tool.Name] = bound
		}
	}
}

func (p *property) bindings(path []string, all []Binding) []Binding {
	for name, inner := range p.Properties {
		here := slices.Concat(path, []string{name})
		var header string
		if rpc.Unmarshal(inner.Header, &header) == nil && header != "" && strings.Trim(header, allowedInNames) == "" {
			all = append(all, Binding{here, header})
		}
		all = inner.bindings(here, all)
	}
	return all
}

// allowedInNames are the characters that names of headers consist of.
const allowedInNames = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Of returns the arguments of a tool that stand in headers.
func (t *Tools) Of(tool string) []Binding { return t.bound[tool] }

// Value returns the argument as a text, if the call has it and it can stand in a header.
func (b *Binding) Value(args map[string]json.RawMessage) (string, bool) {
	switch value := b.read(args).(type) {
	case string:
		return value, true
	case bool:
		return strconv.FormatBool(value), true
	case float64:
		if whole(value) {
			return strconv.FormatInt(int64(value), 10), true
		}
	}
	return "", false
}

// Mismatch says how the header differs from the argument, "" if it does not. A call without the argument, or
// with null, has no header.
func (b *Binding) Mismatch(header http.Header, args map[string]json.RawMessage) string {
	name := Param + b.Header
	value, says := header.Get(name), b.read(args)
	text, readable := Decoded(value)
	want, can := b.Value(args)
	switch {
	case says == nil && value == "":
		return ""
	case says == nil:
		return "there is a header " + name + " for an argument that there is not"
	case value == "" && want == "" && can && len(header.Values(name)) > 0: // the empty text
		return ""
	case value == "":
		return "the header " + name + " is missing"
	case !readable:
		return "the header " + name + " is no valid base64"
	case !can:
		return "the argument of the header " + name + " is neither a text, a whole number nor a boolean"
	case text == want:
		return ""
	}
	if number, ok := says.(float64); ok { // such as 1.0
		if read, err := strconv.ParseFloat(text, 64); err == nil && read == number {
			return ""
		}
	}
	return "the header " + name + " is not the argument"
}

const most = 1<<53 - 1 // every whole number up to it is exact

func whole(f float64) bool { return f == math.Trunc(f) && math.Abs(f) <= most }

// read returns the argument, nil if there is none.
func (b *Binding) read(args map[string]json.RawMessage) any {
	raw := args[b.path[0]]
	for _, name := range b.path[1:] {
		var inner map[string]json.RawMessage
		if raw == nil || rpc.Unmarshal(raw, &inner) != nil {
			return nil
		}
		raw = inner[name]
	}
	var value any
	if raw == nil || rpc.Unmarshal(raw, &value) != nil {
		return nil
	}
	return value
}
