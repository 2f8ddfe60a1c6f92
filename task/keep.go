package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/internal/stored"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/internal/words"
)

func newKeeper(o *Options) *kept.Keeper {
	k := kept.Keeper{
		Store: o.Store, Keep: o.Keep, Package: "task", What: "the store of tasks",
		Limits: kept.Limits{AnswerBytes: o.Limits.AnswerBytes, KeysPerOwner: -1, OwnerBytes: o.Limits.OwnerBytes},
	}
	if o.Cipher != nil {
		k.Cipher = o.Cipher
	}
	return kept.New("task.New", k)
}

// nameOf returns the name of a record, which no other caller can name.
func nameOf(owner, id string) string { return stored.OwnedName("mcpchain/task/", owner, id) }

// cancelName is where the wish stands to cancel a run of another server.
func cancelName(name string) string { return name + "/cancel" }

// keyOf returns the idempotency key of a call, "" for none.
func keyOf(req *mcp.CallToolRequest) string {
	for _, name := range wire.KeyKeys {
		if key, ok := req.Params.Meta[name].(string); ok {
			return key
		}
	}
	if req.Extra != nil {
		return req.Extra.Header.Get("Idempotency-Key")
	}
	return ""
}

// beat tells other servers of the progress, and asks whether one of them was told to cancel the call.
func (r *run) beat(ctx context.Context) {
	r.mu.Lock()
	said, fresh := r.progress.text, !r.progress.told
	r.progress.told = true
	r.mu.Unlock()
	if fresh && said != "" {
		_ = r.entry.Update(ctx, func(rec *kept.Record) { rec.Said = said }) // else with the next one
	}
	if item, err := r.t.keeper.Store.Get(ctx, cancelName(r.name)); err == nil && item.Version != 0 {
		r.stop()
	}
}

// answered returns the record of how the run has ended. The chain has rendered what has failed.
func (r *run) answered(res mcp.Result, err error) *kept.Record {
	rec := &kept.Record{Done: true, Call: r.c.ID(), Tool: r.req.Params.Name, Began: r.began.UTC()}
	var failed *jsonrpc.Error
	switch tool, ok := res.(*mcp.CallToolResult); {
	case errors.As(err, &failed):
		rec.Answer = &kept.Answer{Wire: failed}
	case err != nil || !ok || tool == nil:
		rec.Answer = &kept.Answer{Fault: fault.Generic(fault.KindInternal)}
	case tool.InputRequests != nil:
		r.t.asking.Put(rec.Tool, true) // else it would ask again and again
		rec.Answer = &kept.Answer{Fault: errAsks}
	default:
		raw, err := kept.JSON(r, tool)
		if err != nil {
			r.log(slog.LevelWarn, "mcp answer behind a handle cannot be kept", slog.Any("error", err))
			break
		}
		rec.Answer = &kept.Answer{Result: raw}
	}
	return rec
}

var (
	errUnknown = fault.New(fault.KindNotFound, "no call of yours runs or has ended under this ID").
			WithCode("TASK_NOT_FOUND").
			Suggest("Take the ID from the answer that said that the call is still running. Answers are kept for a limited time.").
			WithRetry(fault.Retry{Effect: fault.EffectNone})

	errAsks = fault.New(fault.KindPreconditionFailed, "the call needs input of its caller, who was no longer waiting").
		WithCode("TASK_NEEDS_INPUT").
		Suggest("Call the tool again. It asks for the input again, and is answered when it ends.")

	errLost = fault.New(fault.KindConflict, "it is not known whether the call has ended: the server that ran it is gone or cut off").
		WithCode("TASK_UNKNOWN_END").
		Suggest("Check whether the change was made before you make the call again.").
		WithRetry(fault.Retry{Effect: fault.EffectUnknown})

	errLostSafe = fault.New(fault.KindServiceUnavailable, "the call was lost: the server that ran it is gone or cut off").
			WithCode("TASK_LOST").
			Suggest("Make the call again. It does no harm if it runs twice.")

	errNotKept = fault.New(fault.KindTool, "the call has ended, and its answer could not be kept: it was too large, or there was no room").
			WithCode("TASK_ANSWER_NOT_KEPT").
			Suggest("Read what the call has changed. If it only reads, ask for less.").
			WithRetry(fault.Retry{Effect: fault.EffectUnknown})
)

// wishFor is how long the server that runs a call may take to hear that it is to stop.
const wishFor = 10 * time.Minute

// wish asks the server that runs a call to cancel it.
func (t *tasks) wish(ctx context.Context, name string) error {
	_, _, err := t.keeper.Store.Swap(ctx, cancelName(name), 0, []byte("1"), wishFor)
	return err
}

// read returns the record of a call. One that runs on this server is known without the store.
func (t *tasks) read(ctx context.Context, r *request) (rec kept.Record, running, found bool, err error) {
	r.here = t.runOf(r.name) // before the record, so that an end between the two is not waited for
	rec, running, found, err = t.keeper.Read(ctx, r.name)
	if r.here != nil && (!found || err != nil) {
		return kept.Record{Tool: r.here.req.Params.Name, Began: r.here.began.UTC()}, true, true, nil //nolint:nilerr // it runs here
	}
	return rec, running, found, err
}

// afterFetch is how long a fetched answer is kept, in case its client has not received it.
const afterFetch = 10 * time.Minute

// ended gives the answer of a record that is done to the caller.
func (t *tasks) ended(ctx context.Context, r *request, rec kept.Record) (mcp.Result, error) {
	if rec.Answer == nil {
		return nil, errNotKept
	}
	res, err := t.keeper.Reply(r.c, rec)
	if res != nil {
		res.Meta[wire.TaskKey] = map[string]any{"id": r.id, "tool": rec.Tool, "status": "completed"}
		if first, ok := first(res).(*mcp.TextContent); ok && res.IsError {
			first.Text = words.Quote(rec.Tool, maxSaid) + " has ended. This is its failure:\n" + first.Text
		}
	}
	t.keeper.Shorten(ctx, r.name, min(t.Keep, afterFetch))
	f, ok := ctx.Value(call.IdleKey{}).(*fetched)
	if !ok || rec.Answer.Fault != nil { // a failure of this package, which no middleware has seen
		return res, err
	}
	f.res, f.err = res, err
	return call.NewResult(r.CallToolRequest), nil
}

func first(res *mcp.CallToolResult) mcp.Content {
	if len(res.Content) == 0 {
		return nil
	}
	return res.Content[0]
}

// unavailable says that the store failed.
func (t *tasks) unavailable(err error) error {
	return t.keeper.Unavailable(fmt.Errorf("task: %w", err))
}
