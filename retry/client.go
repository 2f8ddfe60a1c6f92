package retry

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/retry/client"
)

// AttemptKey is the key of a request's _meta under which a caller says how often it
// has made this call, this time included: a number from 1. [Client] sends it with
// every repetition.
const AttemptKey = wire.AttemptKey

// AttemptsKey is the key of an answer's _meta under which [Server] says how often
// the handler was run for it: a number from 2. When once was enough it is absent.
const AttemptsKey = wire.AttemptsKey

// ClientOptions configure [Client], see [client.Options].
type ClientOptions = client.Options

// Client is [client.New], under the name that stands beside [New] and [Server].
func Client(opts *ClientOptions) mcp.Middleware { return client.New(opts) }
