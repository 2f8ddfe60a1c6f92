package replay

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/store"
)

type statusIn struct {
	Tool string `json:"tool" jsonschema:"the name of the tool that was called"`
	Key  string `json:"key" jsonschema:"the idempotency key of the call"`
}

type statusOut struct {
	Status string `json:"status" jsonschema:"done, running, unknown_end or not_found"`
	Advice string `json:"advice" jsonschema:"what to do now"`
}

var advice = map[string]string{
	"done":        "The call was answered. Call the tool again with the same arguments and key to get the answer; nothing is done twice.",
	"running":     "Wait a little. Then call the tool again with the same arguments and key to get the answer.",
	"unknown_end": "The call ended without an answer. Check whether the change was made; if it was not, call again with a new key.",
	"not_found":   "Nothing is kept under this key: the call did not arrive, changed nothing, or was too long ago.",
}

// AddStatusTool adds the tool call_status, which returns what became of a call that its caller
// made with a key: "done", "running", "unknown_end" or "not_found", and what to do now. opts
// are those of the middleware, and its Store is required. It panics when an option makes no
// sense.
func AddStatusTool(server *mcp.Server, opts *Options) {
	if opts == nil || opts.Store == nil {
		panic("replay.AddStatusTool: Options.Store is nil; give the store that the middleware has")
	}
	k := newKeeper("replay.AddStatusTool", opts)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "call_status",
		Description: "Tells what became of an earlier call that was made with an idempotency key.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(ctx context.Context, req *mcp.CallToolRequest, in statusIn) (*mcp.CallToolResult, statusOut, error) {
		status, err := k.status(ctx, req, in)
		return nil, statusOut{status, advice[status]}, err
	})
}

func (k *keeper) status(ctx context.Context, req *mcp.CallToolRequest, in statusIn) (string, error) {
	if _, err := checked("key", in.Key); err != nil {
		return "", err
	}
	owner := k.owners.Of(ctx, req)
	if owner == "" {
		return "", errNoOwner
	}
	name := nameOf(owner, in.Tool, in.Key)
	live, err := k.Store.Get(ctx, name+"/live") // first: if the call ends meanwhile, it is done and not unknown_end
	var item store.Item
	if err == nil {
		item, err = k.Store.Get(ctx, name)
	}
	if err != nil {
		return "", unavailable(err)
	}
	if item.Version != 0 {
		rec, err := k.openNamed(name, item.Value)
		switch {
		case err != nil:
			return "", unavailable(err)
		case rec.Done:
			return "done", nil
		case live.Version == 0 && rec.Withdrawn:
			return "not_found", nil
		case live.Version == 0:
			return "unknown_end", nil
		}
	}
	if live.Version != 0 {
		return "running", nil
	}
	return "not_found", nil
}
