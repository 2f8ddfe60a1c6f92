package retry

import "github.com/mcpchain/mcpchain/internal/wire"

// AttemptKey is the key of a request's _meta under which a caller says how often it
// has made this call, this time included: a number from 1. The client of package
// retry/client sends it with every repetition.
const AttemptKey = wire.AttemptKey

// AttemptsKey is the key of an answer's _meta under which [Server] says how often
// the handler was run for it: a number from 2. When once was enough it is absent.
const AttemptsKey = wire.AttemptsKey
