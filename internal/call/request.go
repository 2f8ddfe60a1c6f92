package call

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

// Handler handles one call of a method. It is the SDK's own type.
type Handler = mcp.MethodHandler

// Middleware wraps a Handler. It is the SDK's own type.
type Middleware = mcp.Middleware

// The names of the methods that a server answers.
const (
	MethodInitialize            = "initialize"
	MethodDiscover              = "server/discover"
	MethodPing                  = "ping"
	MethodCallTool              = "tools/call"
	MethodListTools             = ask.ListTools
	MethodGetPrompt             = "prompts/get"
	MethodListPrompts           = ask.ListPrompts
	MethodReadResource          = "resources/read"
	MethodListResources         = ask.ListResources
	MethodListResourceTemplates = ask.ListResourceTemplates
	MethodSubscribe             = "resources/subscribe"
	MethodUnsubscribe           = "resources/unsubscribe"
	MethodListen                = "subscriptions/listen"
	MethodComplete              = "completion/complete"
	MethodSetLevel              = "logging/setLevel"
)

// The names of the methods that a client answers.
const (
	MethodElicit        = "elicitation/create"
	MethodCreateMessage = "sampling/createMessage"
	MethodListRoots     = "roots/list"
)

// methods are the methods of the protocol, with the effect of a repetition. For a tool, see
// [Call.Safety].
var methods = map[string]struct {
	safety failure.Safety
	client bool   // a client answers it
	target string // what a call of it is for, see TargetKey
}{
	MethodInitialize:            {safety: failure.Idempotent},
	MethodDiscover:              {safety: failure.Reads},
	MethodPing:                  {safety: failure.Reads},
	MethodCallTool:              {target: "tool"},
	MethodListTools:             {safety: failure.Reads},
	MethodGetPrompt:             {safety: failure.Reads, target: "prompt"},
	MethodListPrompts:           {safety: failure.Reads},
	MethodReadResource:          {safety: failure.Reads, target: "resource"},
	MethodListResources:         {safety: failure.Reads},
	MethodListResourceTemplates: {safety: failure.Reads},
	MethodSubscribe:             {safety: failure.Idempotent, target: "resource"},
	MethodUnsubscribe:           {safety: failure.Idempotent, target: "resource"},
	MethodListen:                {},
	MethodComplete:              {safety: failure.Reads},
	MethodSetLevel:              {safety: failure.Idempotent},
	MethodElicit:                {client: true},
	MethodCreateMessage:         {client: true},
	MethodListRoots:             {client: true},
}

// Other replaces, in a label, every text that a caller could have invented.
const Other = "_other"

// Label returns the method of the Call if it belongs to the protocol or is a custom method that the
// program serves, else [Other].
func (c *Call) Label() string {
	if _, known := methods[c.method]; known || isCustom(c.req) && len(c.method) <= MaxName {
		return c.method
	}
	return Other
}

// TargetKey returns the attribute that names the [Target] of a method in a record: "tool", "prompt"
// or "resource", and "" for none.
func TargetKey(method string) string { return methods[method].target }

// Target returns what the call is for: the name of the tool or prompt, or the URI of the resource.
// It is "" for other methods and for requests without parameters.
func Target(req mcp.Request) string {
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		if r != nil && r.Params != nil {
			return r.Params.Name
		}
	case *mcp.ReadResourceRequest:
		if r != nil && r.Params != nil {
			return r.Params.URI
		}
	case *mcp.GetPromptRequest:
		if r != nil && r.Params != nil {
			return r.Params.Name
		}
	case *mcp.SubscribeRequest:
		if r != nil && r.Params != nil {
			return r.Params.URI
		}
	case *mcp.UnsubscribeRequest:
		if r != nil && r.Params != nil {
			return r.Params.URI
		}
	}
	return ""
}

// Name returns the [Target] of a call as it may be recorded: bounded, in one line, and without the
// credentials in a URI.
func Name(req mcp.Request) string {
	name := Target(req)
	return OneLine(scrub.Credentials(strings.ToValidUTF8(name[:min(len(name), 4*MaxName)], "")))
}

// ArgumentsOf returns the arguments of a call of a tool or a prompt as JSON, nil where there are
// none.
func ArgumentsOf(req mcp.Request) json.RawMessage {
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		if r != nil && r.Params != nil {
			return r.Params.Arguments
		}
	case *mcp.GetPromptRequest:
		if r != nil && r.Params != nil && len(r.Params.Arguments) > 0 {
			raw, err := json.Marshal(r.Params.Arguments)
			if err == nil { // never fails for a map of strings
				return raw
			}
		}
	}
	return nil
}

// maxArguments is how many bytes of the arguments of a call are searched for strings that the
// caller sent.
const maxArguments = 64 << 10

// Sent returns a function that reports whether a text is part of what the caller of this call sent:
// the name or URI, and every string in the arguments. Showing such a text back reveals nothing to
// the caller. Use the function for one text and in one goroutine; it returns true a bounded number
// of times. The request is read when the function is first called.
func (c *Call) Sent() func(fragment string) bool {
	var sent func(string) bool
	return func(fragment string) bool {
		if sent == nil {
			var texts []string
			if strings.HasPrefix(c.method, "resources/") {
				uri := Target(c.req)
				if _, path, ok := strings.Cut(uri, "://"); ok {
					uri = path // config://app does not ask for a file "config"
				}
				texts = append(texts, uri)
			}
			if r, ok := c.req.(*mcp.CompleteRequest); ok && r != nil && r.Params != nil {
				texts = append(texts, r.Params.Argument.Value)
			}
			sent = scrub.Sent(append(texts, jsonStrings(ArgumentsOf(c.req))...)...)
		}
		return sent(fragment)
	}
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

// NeedsInput reports whether a result asks the client for input, so that the call
// goes on.
func NeedsInput(res mcp.Result) bool {
	switch r := res.(type) {
	case *mcp.CallToolResult:
		return r != nil && r.InputRequests != nil
	case *mcp.GetPromptResult:
		return r != nil && r.InputRequests != nil
	case *mcp.ReadResourceResult:
		return r != nil && r.InputRequests != nil
	default:
		return false
	}
}

// clientName returns the name of the client. Since 2026-07-28 it stands in every request. It is
// read without the SDK, which would decode everything about the client each time.
func clientName(req mcp.Request) string {
	if !safe.Nil(req) && !safe.Nil(req.GetParams()) {
		if info, ok := req.GetParams().GetMeta()[mcp.MetaKeyClientInfo].(map[string]any); ok {
			name, _ := info["name"].(string)
			return name
		}
	}
	if r, ok := req.(interface{ ClientInfo() *mcp.Implementation }); ok && !safe.Nil(req) {
		if info := r.ClientInfo(); info != nil {
			return info.Name
		}
	}
	return ""
}

// User returns the authenticated user, "" for none.
func User(req mcp.Request) string {
	if safe.Nil(req) {
		return ""
	}
	if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
		return extra.TokenInfo.UserID
	}
	return ""
}

// SessionID returns the ID of the session of a request. It is "" over stdio, in memory, and over
// HTTP since 2026-07-28.
func SessionID(req mcp.Request) string {
	if session, _ := req.GetSession().(*mcp.ServerSession); session != nil {
		return session.ID()
	}
	return ""
}

// NoteUnchecked notes why a middleware that checks arguments before the handler runs could not check
// those of the Call.
func (c *Call) NoteUnchecked(why error) {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.unchecked = why
}

// Unchecked returns what [Call.NoteUnchecked] noted, nil for nothing. A handler that must not run with
// unchecked arguments refuses the call then.
func (c *Call) Unchecked() error {
	cold := c.lock()
	defer c.mu.Unlock()
	return cold.unchecked
}
