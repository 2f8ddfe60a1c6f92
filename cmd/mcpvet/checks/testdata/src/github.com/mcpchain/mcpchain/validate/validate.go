// Package validate has the declarations of the library's that the checks look for.
package validate

import "github.com/modelcontextprotocol/go-sdk/mcp"

type Options struct{ StrictPrompts bool }

func New(*Options) mcp.Middleware { return nil }
