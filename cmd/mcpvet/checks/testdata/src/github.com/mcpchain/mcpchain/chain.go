// Package mcpchain has the declarations of the library that the checks look for.
package mcpchain

import "github.com/modelcontextprotocol/go-sdk/mcp"

type Options struct{}

func Standard(*Options, ...mcp.Middleware) mcp.Middleware { return nil }
func Chain(...mcp.Middleware) mcp.Middleware              { return nil }
