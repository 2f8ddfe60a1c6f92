package call

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type keyedKey struct{}

type keyed struct {
	key   string
	again func() bool
}

// WithKey returns a context that says that the call is made under an idempotency key
// that somebody keeps. again reports whether a repetition with the key runs the
// handler again after a failure of which nobody knows whether it took effect; if not,
// it gets the same failure.
func WithKey(ctx context.Context, key string, again func() bool) context.Context {
	return context.WithValue(ctx, keyedKey{}, keyed{key, again})
}

// KeyOf returns the idempotency key of the call of ctx, "" for none.
func KeyOf(ctx context.Context) string {
	k, _ := ctx.Value(keyedKey{}).(keyed)
	return k.key
}

// NeedsInput reports whether a result asks the client for input, so that the call
// goes on.
func NeedsInput(res mcp.Result) bool { return needsInput(res) }
