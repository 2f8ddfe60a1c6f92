// Package jsonrpc has the declarations of the SDK that the checks look for.
package jsonrpc

import "github.com/modelcontextprotocol/go-sdk/internal/jsonrpc2"

type Error = jsonrpc2.WireError

const CodeInvalidParams = -32602
