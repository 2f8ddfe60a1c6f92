package replay

import (
	"context"
	"errors"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/internal/unclear"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// keyHeader is the header that may hold an idempotency key.
const keyHeader = "Idempotency-Key"

// mayHaveKey reports whether a call may have a key. For a call without one this check is the whole cost.
func mayHaveKey(req mcp.Request) bool {
	r, ok := req.(*mcp.CallToolRequest)
	if !ok || r == nil || r.Params == nil {
		return false
	}
	for _, name := range wire.KeyKeys {
		if _, ok := r.Params.Meta[name]; ok {
			return true
		}
	}
	return r.Extra != nil && r.Extra.Header[keyHeader] != nil
}

// keyOf returns the key of a call, "" for none.
func (k *keeper) keyOf(req *mcp.CallToolRequest) (string, error) {
	if k.Tools != nil && !k.Tools(req.Params.Name) {
		return "", nil
	}
	for _, name := range wire.KeyKeys {
		if v, ok := req.Params.Meta[name]; ok {
			return checked("_meta."+name, v)
		}
	}
	if req.Extra != nil && req.Extra.Header[keyHeader] != nil {
		sent := req.Extra.Header[keyHeader]
		if len(sent) == 1 {
			return checked("header "+keyHeader, sent[0])
		}
		return checked("header "+keyHeader, sent) // not a string: of several, another reader takes another one
	}
	return "", nil
}

// marked returns a copy of a list in which the tools for which keys count are marked. The
// server's own tools are not changed. For an unknown caller nothing is marked: its keys
// would be refused.
func (k *keeper) marked(ctx context.Context, req mcp.Request, res mcp.Result) mcp.Result {
	list, ok := res.(*mcp.ListToolsResult)
	if !ok || list == nil || k.owners.Of(ctx, req) == "" {
		return res
	}
	cp := *list
	cp.Tools = make([]*mcp.Tool, len(list.Tools))
	for i, t := range list.Tools {
		if cp.Tools[i] = t; t == nil || k.Tools != nil && !k.Tools(t.Name) {
			continue
		}
		tool := *t
		tool.Meta = make(mcp.Meta, len(t.Meta)+1)
		maps.Copy(tool.Meta, t.Meta)
		tool.Meta[wire.KeyKey] = true
		cp.Tools[i] = &tool
	}
	return &cp
}

// checked returns v as a key, or an error that says what is wrong with it.
func checked(where string, v any) (string, error) {
	const expected = "a string of 1 to 255 printable ASCII characters that is new for each new call, such as a UUID"
	key, ok := v.(string)
	if !ok {
		return "", fault.Invalid(where, v, expected)
	}
	if len(key) == 0 || len(key) > maxKey {
		return "", fault.Invalid(where, key, expected)
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return "", fault.Invalid(where, "another character", expected)
		}
	}
	return key, nil
}

// codeUnknownEnd is the code of a call whose effect is unknown.
const codeUnknownEnd = "KEY_UNKNOWN_END"

// The errors that a caller gets. The handler was not run.
var (
	errNoOwner = fault.New(fault.KindPreconditionFailed, "this server cannot keep the idempotency key, because it does not know who is calling").
			Suggest("Call again without the key, if a second effect of the call does no harm.").
			WithRetry(fault.Retry{Effect: fault.EffectNone}).
			Because(errors.New("replay: over HTTP, authenticate callers so that TokenInfo.UserID is set, or set Options.Owner"))

	errOtherArguments = fault.New(fault.KindConflict, "the idempotency key of this call was used for a call with other arguments").
				WithCode("KEY_REUSED").
				Suggest("Use a new key for a new call. Repeat a call with the arguments that it had.").
				WithRetry(fault.Retry{Effect: fault.EffectNone})

	errNoForm = fault.New(fault.KindValidation, "the arguments of this call cannot be compared with those of another, so it cannot have an idempotency key")

	errRunning = fault.New(fault.KindConflict, "the first call with this idempotency key is still running").
			WithCode("KEY_IN_USE").
			WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 2, Effect: fault.EffectNone, Reason: "With the same key it gets the answer of the first call"})

	errUnknownEnd = fault.New(fault.KindConflict, "it is not known whether an earlier call with this idempotency key has ended, and it was not repeated").
			WithCode(codeUnknownEnd).
			Suggest("Check whether the change was made. If the call still runs, a later repetition with the same key gets its answer, and a new key makes it twice.").
			WithRetry(fault.Retry{Effect: fault.EffectUnknown})

	errTooManyKeys = fault.New(fault.KindRateLimited, "too many idempotency keys were used").
			WithCode("TOO_MANY_KEYS")

	errTooManyBytes = fault.New(fault.KindRateLimited, "the kept answers to earlier calls with idempotency keys take all the room that one caller has").
			WithCode("TOO_MANY_BYTES")

	errNotKept = fault.New(fault.KindConflict, "the call with this idempotency key was made before, and its answer was too large to keep").
			WithCode("KEY_ANSWER_NOT_KEPT").
			Suggest("Read what the call has changed. Do not make it again.").
			WithRetry(fault.Retry{Effect: fault.EffectCommitted})
)

// incomparable returns the answer to a call whose arguments have no canonical form. They are never those that a key
// was used with.
func incomparable(args []byte) error {
	if e := unclear.Refusal(args); e != nil {
		return e
	}
	return errNoForm
}

// replayed returns the kept answer of the first call.
func (a *attempt) replayed(rec kept.Record) (mcp.Result, error) {
	if rec.Answer == nil {
		return nil, errNotKept
	}
	res, err := a.engine.Reply(a.c, rec)
	if err != nil {
		return nil, err
	}
	res.Meta[wire.ReplayedKey] = true
	return res, nil
}
