package kept

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
)

// An Outside stands for a server in another process, whose results the middlewares see in part. It is the value of
// [OutsideKey] in the context of a call. All methods may be called concurrently.
type Outside interface {
	// Asks reports whether the server waits for an answer of its client, which it has asked during the call.
	Asks() bool

	// Handed is called before the client gets a handle. The server goes on with the call until work ends. It returns
	// false if the client has cancelled the call, which gets no handle then.
	Handed(work context.Context) bool

	// Write returns the JSON of a result of the call: what the server wrote, with the changes of middlewares. It is nil if
	// there is none.
	Write(res *mcp.CallToolResult) json.RawMessage

	// Read returns the result that stands for what Write has returned, as the answer of this call. It may be changed.
	Read(raw json.RawMessage) *mcp.CallToolResult
}

// OutsideKey is the key of the [Outside] in a context.
type OutsideKey struct{}

// OutsideOf returns the Outside of a call, nil if its server is in this process.
func OutsideOf(ctx context.Context) Outside {
	o, _ := ctx.Value(OutsideKey{}).(Outside)
	return o
}

// JSON returns what is kept of a result of a call.
func JSON(ctx context.Context, res *mcp.CallToolResult) (json.RawMessage, error) {
	if o := OutsideOf(ctx); o != nil {
		if raw := o.Write(res); raw != nil {
			return raw, nil
		}
		return nil, errors.New("the answer cannot be written")
	}
	return safe.JSON(res)
}
