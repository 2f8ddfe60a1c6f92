// Package middleware has the declarations of the library that the checks look for.
package middleware

import "github.com/modelcontextprotocol/go-sdk/mcp"

func AddTool[In, Out any](*mcp.Server, *mcp.Tool, mcp.ToolHandlerFor[In, Out], ...mcp.Middleware) {}

func Tool(h mcp.ToolHandler, _ ...mcp.Middleware) mcp.ToolHandler { return h }
