// Package call is what mcpchain's middlewares share: the Call, in which those that
// a call passes find what belongs to it, the failure that it ends with, its record
// in the log, and the one renderer of answers.
//
// The first mcpchain middleware that a call meets opens a [Call], which is itself
// the context of the call. On the way out each of them adds what it knows about a
// failure and returns the result and the error as they came, so that a user's
// middleware that stands between two of ours sees the SDK's own values. The one that
// opened the Call renders the answer, once. So every middleware works alone, in any
// combination, and twice.
package call

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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
	MethodListTools             = "tools/list"
	MethodGetPrompt             = "prompts/get"
	MethodListPrompts           = "prompts/list"
	MethodReadResource          = "resources/read"
	MethodListResources         = "resources/list"
	MethodListResourceTemplates = "resources/templates/list"
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

// ofClient reports whether a method is answered by a client.
func ofClient(method string) bool {
	return method == MethodElicit || method == MethodCreateMessage || method == MethodListRoots
}

// Target returns what the call is about: the name of the tool or prompt, or the
// URI of the resource; "" for other methods and for requests without parameters.
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

// KnownMethod reports whether the protocol has a method of this name, or whether the name
// is none of the protocol's at all, such as "acme/search". It is false for one that only
// looks like the protocol's, such as "tool/call".
func KnownMethod(method string) bool {
	if isOfProtocol(method) {
		return true
	}
	prefix, name, qualified := strings.Cut(method, "/")
	if !qualified || name == "" {
		return false
	}
	switch prefix {
	case "tool", "tools", "prompt", "prompts", "resource", "resources", "completion", "completions", "logging", "server",
		"subscription", "subscriptions", "elicitation", "sampling", "roots":
		return false
	}
	return true
}

// isOfProtocol reports whether the protocol has a method of this name.
func isOfProtocol(method string) bool {
	switch method {
	case MethodInitialize, MethodDiscover, MethodPing, MethodCallTool, MethodListTools, MethodGetPrompt, MethodListPrompts,
		MethodReadResource, MethodListResources, MethodListResourceTemplates, MethodSubscribe, MethodUnsubscribe, MethodListen,
		MethodComplete, MethodSetLevel, MethodElicit, MethodCreateMessage, MethodListRoots:
		return true
	}
	return false
}
