package middleware

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// ForTools returns a Middleware that applies mw to calls of the named tools only.
// What mw builds is built once. ForTools panics when no tool is named. A name that is
// missing when the server's tools are listed for the first time is reported to the log
// once, as a warning.
func ForTools(mw Middleware, names ...string) Middleware {
	return call.ForTools("middleware.ForTools", "names", mw, names...)
}

// ForMethods returns a Middleware that applies mw to the named methods only, such
// as [MethodReadResource]. ForMethods panics when no method is named.
func ForMethods(mw Middleware, methods ...string) Middleware {
	only := call.NameSet("middleware.ForMethods", "methods", methods)
	return call.When(mw, func(method string, _ mcp.Request) bool {
		_, ok := only[method]
		return ok
	})
}

// When returns a Middleware that applies mw to the calls that match reports true
// for. match is called once a call, from many goroutines at once. When panics
// when match is nil.
func When(mw Middleware, match func(method string, req mcp.Request) bool) Middleware {
	if match == nil {
		panic("middleware.When: match is nil; give a function that selects calls")
	}
	return call.When(mw, match)
}
