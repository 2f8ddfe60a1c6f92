package call

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type keyedKey struct{}

// WithKey returns a context that says that the call is made under an idempotency key
// that somebody keeps: a repetition with the same key gets the first answer.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyedKey{}, key)
}

// KeyOf returns the idempotency key of the call of ctx, "" for none. A call that has
// one may be repeated with it, whatever its tool does.
func KeyOf(ctx context.Context) string {
	key, _ := ctx.Value(keyedKey{}).(string)
	return key
}

// NeedsInput reports whether a result asks the client for input, so that the call
// goes on.
func NeedsInput(res mcp.Result) bool { return needsInput(res) }
