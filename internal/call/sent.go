package call

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

// maxArguments is how much of the arguments of a call is searched for what the caller
// sent.
const maxArguments = 64 << 10

// Sent returns a function that reports whether a text is part of what the caller of this
// call sent: the name or URI, and every string in the arguments. Showing such a text back
// tells the caller nothing new. The function is for one text and one goroutine; it answers
// a bounded number of questions with yes. Nothing is read before it is asked.
func (c *Call) Sent() func(fragment string) bool {
	var sent func(string) bool
	return func(fragment string) bool {
		if sent == nil {
			sent = scrub.Sent(c.texts()...)
		}
		return sent(fragment)
	}
}

// texts returns the strings of the request.
func (c *Call) texts() []string {
	texts := []string{Target(c.req)}
	switch r := c.req.(type) {
	case *mcp.CallToolRequest:
		if r != nil && r.Params != nil {
			texts = append(texts, jsonStrings(r.Params.Arguments)...)
		}
	case *mcp.GetPromptRequest:
		if r != nil && r.Params != nil {
			for _, v := range r.Params.Arguments {
				texts = append(texts, v)
			}
		}
	case *mcp.CompleteRequest:
		if r != nil && r.Params != nil {
			texts = append(texts, r.Params.Argument.Value)
		}
	}
	return texts
}

// jsonStrings returns the strings in a JSON text, as far as it is one.
func jsonStrings(raw []byte) (texts []string) {
	dec := json.NewDecoder(bytes.NewReader(raw[:min(len(raw), maxArguments)]))
	for {
		t, err := dec.Token()
		if err != nil {
			return texts
		}
		if s, ok := t.(string); ok && strings.TrimSpace(s) != "" {
			texts = append(texts, s)
		}
	}
}
