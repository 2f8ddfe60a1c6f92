// Package correlate has the declarations of the library that the checks look for.
package correlate

import "github.com/modelcontextprotocol/go-sdk/mcp"

type Options struct{}

func New(*Options) mcp.Middleware { return nil }
