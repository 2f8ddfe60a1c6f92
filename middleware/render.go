package middleware

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// RenderOptions say how failures are written on the wire. The zero value means the form that the
// package comment describes.
type RenderOptions struct {
	// JSON makes the text block of a failed tool call the JSON object
	// {"success":false,"error":{...}} instead of lines of text.
	JSON bool

	// Structured adds the same object as structuredContent to a failed tool call, but only
	// if the tool declares no output schema. Some clients check the object against that
	// schema, and drop the tool's own text if it does not match. Each failure causes a
	// look-up of the tool.
	Structured bool

	// LegacyCodes replaces the codes of failed methods other than tools/call by an
	// older table that some clients know: -32000 not found, -32001 permission
	// denied, -32002 rate limited, -32003 external service, -32004 validation
	// failed. Beware: -32002 means "resource not found" to a client of protocol
	// version 2025-11-25 or before. Version 2026-07-28 closes this range to
	// applications. A client of go-sdk v1.8 takes -32003 and -32004 for its own
	// codes of a closed connection.
	LegacyCodes bool
}

// Render returns a middleware that says how the failures of the calls that pass it are
// written on the wire; it may stand anywhere in the chain. With nil, and without any
// Render, failures are written as the package comment says. If several of them stand in a
// chain, the outermost one is used.
func Render(opts *RenderOptions) mcp.Middleware {
	var o RenderOptions
	if opts != nil {
		o = *opts
	}
	return call.Establishing(&call.Settings{Render: (*call.Rendering)(&o)})
}
