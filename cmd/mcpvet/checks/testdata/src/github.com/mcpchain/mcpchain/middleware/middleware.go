// Package middleware has the declarations of the library that the checks look for.
package middleware

import "github.com/modelcontextprotocol/go-sdk/mcp"

func AddTool[In, Out any](*mcp.Server, *mcp.Tool, mcp.ToolHandlerFor[In, Out], ...mcp.Middleware) {}
