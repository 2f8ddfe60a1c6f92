package replay

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/kept"
)

type statusIn struct {
	Tool string `json:"tool" jsonschema:"the name of the tool that was called"`
	Key  string `json:"key" jsonschema:"the idempotency key of the call"`
}

type statusOut struct {
	Status string `json:"status" jsonschema:"done, running, unknown_end or not_found"`
	Advice string `json:"advice" jsonschema:"what to do now"`
}

// The statuses.
const (
	done       = "done"
	running    = "running"
	unknownEnd = "unknown_end"
	notFound   = "not_found"
)

// advice says what is known of a call, and what to do now. An absent record proves nothing, so the
// advice never says that nothing was changed.
func advice(status string, rec kept.Record) string {
	switch {
	case status == running:
		return "Wait a little. Then call the tool again with the same arguments and key to get the answer."
	case status == notFound:
		return "Nothing is kept under this key: the call did not arrive, left nothing to keep, or was too long ago. Check whether the change was made before you make it again."
	case status == done && rec.Answer == nil:
		return "The call was made, and its answer was too large to keep. Read what it has changed. Do not make it again."
	case status == done:
		return "The call was answered. Call the tool again with the same arguments and key to get the answer; nothing is done twice."
	case rec.List:
		return "The list was begun, and its items end one by one. Call the tool again with the same arguments and key: the items that were answered get their answers again."
	case rec.Again:
		return "The call was made, and no answer of it was kept. Call the tool again with the same arguments and key: it is made again, which does no harm."
	default:
		return "It is not known whether the call has ended. Check whether the change was made. If the call still runs, calling the tool again with the same arguments and key gets its answer, and a new key makes it twice."
	}
}

// AddStatusTool adds the tool call_status. It returns the status of a call that its caller
// made with a key: "done", "running", "unknown_end" or "not_found". It also says what to do
// now. opts are those of the middleware, and its Store is required. It panics when an option
// makes no sense.
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
		status, rec, err := k.status(ctx, req, in)
		return nil, statusOut{status, advice(status, rec)}, err
	})
}

func (k *keeper) status(ctx context.Context, req *mcp.CallToolRequest, in statusIn) (status string, rec kept.Record, err error) {
	if _, err := checked("key", in.Key); err != nil {
		return "", rec, err
	}
	owner := k.owners.Of(ctx, req)
	if owner == "" {
		return "", rec, errNoOwner
	}
	rec, runs, found, err := k.engine.Read(ctx, nameOf(owner, in.Tool, in.Key))
	switch {
	case err != nil:
		return "", rec, k.engine.Unavailable(err)
	case rec.Done:
		return done, rec, nil
	case runs:
		return running, rec, nil
	case found:
		return unknownEnd, rec, nil
	default:
		return notFound, rec, nil
	}
}
