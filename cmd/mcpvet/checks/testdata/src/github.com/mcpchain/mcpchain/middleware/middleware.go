// Package middleware has the declarations of the library that the checks look for.
package middleware

import "github.com/modelcontextprotocol/go-sdk/mcp"

func AddTool[In, Out any](*mcp.Server, *mcp.Tool, mcp.ToolHandlerFor[In, Out], ...mcp.Middleware) {}

func Tool(h mcp.ToolHandler, _ ...mcp.Middleware) mcp.ToolHandler { return h }

func Chain(...mcp.Middleware) mcp.Middleware { return nil }

func ForTools(mw mcp.Middleware, _ ...string) mcp.Middleware { return mw }

func ForMethods(mw mcp.Middleware, _ ...string) mcp.Middleware { return mw }

func When(mw mcp.Middleware, _ func(string, mcp.Request) bool) mcp.Middleware { return mw }
