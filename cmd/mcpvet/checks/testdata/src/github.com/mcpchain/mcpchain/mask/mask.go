// Package mask has the declarations of the library that the checks look for.
package mask

import "github.com/modelcontextprotocol/go-sdk/mcp"

type Options struct{}

func New(*Options) mcp.Middleware { return nil }
