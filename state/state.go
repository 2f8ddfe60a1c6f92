// Package state keeps what a conversation remembers from one call to the next, on
// one server or on many.
//
//	server.AddReceivingMiddleware(state.New(&state.Options{Argument: "cart", NewTool: "new_cart"}))
//
//	// In the tool new_cart: the handle is given to the model, which passes it back.
//	handle, err := state.Create(ctx, Cart{})
//
//	// In the tool add_item, which has an argument "cart":
//	err := state.Update(ctx, func(c *Cart) error { c.Items = append(c.Items, item); return nil })
//
// A value is kept under its owner and its handle. The owner is the authenticated user, unless
// Options.Owner says otherwise. [Create] makes the handle: 128 random bits and the number of one of
// the owner's places. Another owner's handle is answered exactly like one that never existed.
//
// Where a call has no handle, its value is that of the session, which HTTP clients
// before 2026-07-28 have, or over stdio that of the connection. It needs no handle,
// begins as the zero value, and lasts as long as the session or the pipe. A call over
// HTTP since 2026-07-28 has neither, so its tools need the argument.
//
// [From] takes the value for the whole call: the middleware saves what was changed
// when the handler has succeeded. [Update] changes it at once. Use it where calls run at
// the same time: no update is lost.
package state

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/store"
)

// Options configure [New]. The zero value is the recommended default.
type Options struct {
	// Store keeps the values. Nil means a store in the memory of this process, which
	// other servers do not see and which does not survive it.
	Store store.Store

	// Owner returns the caller of a request, "" if it is unknown. It may be called
	// concurrently; for an item of a list with the request of the list. Nil means the
	// authenticated user, or else the session, or else, if the call does not come by HTTP,
	// the connection.
	Owner func(ctx context.Context, req mcp.Request) string

	// Argument is the name of the argument of tools and prompts that holds the handle.
	// Empty means "handle".
	Argument string

	// NewTool is the name of the tool that makes a new handle. The answer to a handle that
	// is missing, unknown or expired names it as the next step. Empty means that no tool is
	// named.
	NewTool string

	// Expiry is how long a value is kept after its last use, at worst a tenth less. Zero
	// means an hour.
	Expiry time.Duration

	// Limits bounds what is kept.
	Limits Limits

	// Codec writes and reads values. Nil means encoding/json. A value that has not
	// changed must be written in the same bytes again.
	Codec Codec
}

// Limits bounds what is kept.
type Limits struct {
	// ValueBytes is the size of the largest value, as it is written. Zero means 64 KiB.
	ValueBytes int

	// PerOwner is how many handles one owner may have. Zero means 100; with a negative
	// one there is no limit. [Create] looks for a free place, with one write to the store
	// for each try: one try for an owner with few handles, PerOwner for an owner that has
	// all.
	PerOwner int

	// OwnerBytes is how many bytes the values of one owner may take, those of sessions and
	// connections included, with [store.Overhead] for each. Zero means 8 MiB, an eighth of
	// the default store; with a negative one there is no limit.
	OwnerBytes int
}

// A Codec writes and reads values. Both methods may be called concurrently.
type Codec interface {
	Marshal(v any) ([]byte, error)
	Unmarshal(data []byte, v any) error
}

type jsonCodec struct{}

func (jsonCodec) Marshal(v any) ([]byte, error)      { return json.Marshal(v) }
func (jsonCodec) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

// A Handle names a value to its owner. It is a secret between them: the log gets its
// first letters only.
type Handle string

// LogValue is for log/slog.
func (h Handle) LogValue() slog.Value {
	if len(h) <= 4 {
		return slog.StringValue("...")
	}
	return slog.StringValue(string(h[:4]) + "...")
}

// New returns a middleware that lets handlers use [From], [Update], [Create] and
// [Delete]. opts may be nil. A call that uses none of them costs nothing but its
// context. New panics when an option makes no sense.
func New(opts *Options) mcp.Middleware {
	k := newKeeper(opts)
	return call.WrapLayer("state.New", call.Func(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		if c.Quiet() || c.Notification() {
			return next(ctx, c.Method(), req)
		}
		s := &session{keeper: k, req: req}
		res, err := next(context.WithValue(ctx, sessionKey{}, s), c.Method(), req)
		if v := s.taken(); v != nil && !failure.Failed(res, err) {
			if err := v.save(context.WithoutCancel(ctx), k); err != nil {
				return nil, err
			}
		}
		return res, err
	}), nil)
}

// From returns the value of the conversation that the call belongs to, to be read and changed until
// the handler returns. When the handler has succeeded, the middleware saves a changed value. If
// another call has changed it meanwhile, the call fails with a conflict and nothing is saved. Every
// From of a call returns the same pointer. It may not be used by several goroutines at the same time.
func From[T any](ctx context.Context) (*T, error) {
	s, err := sessionOf(ctx, "state.From")
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.value != nil {
		value, ok := s.value.pointer.(*T)
		if !ok {
			return nil, fmt.Errorf("state.From: the value was taken as a %T in this call", s.value.pointer)
		}
		return value, nil
	}
	p, err := s.place(ctx)
	if err != nil {
		return nil, err
	}
	value := new(T)
	b, err := s.read(ctx, p, value)
	if err != nil {
		return nil, err
	}
	s.value = &taken{place: p, pointer: value, before: b, read: time.Now()}
	return value, nil
}

// Update changes the value of the conversation that the call belongs to, at once and
// without losing what other calls change at the same time. change is run again, on the
// newer value, when another call was faster, so it must not change anything but the value.
// If it returns an error, nothing is changed and Update returns that error. Update fails in
// a call that has used [From].
func Update[T any](ctx context.Context, change func(*T) error) error {
	s, err := sessionOf(ctx, "state.Update")
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.value != nil {
		return errTaken
	}
	p, err := s.place(ctx)
	if err != nil {
		return err
	}
	return update(ctx, s.keeper, p, change)
}

// Create keeps a new value for the caller and returns its handle, to be given to the
// model.
func Create[T any](ctx context.Context, value T) (Handle, error) {
	s, err := sessionOf(ctx, "state.Create")
	if err != nil {
		return "", err
	}
	owner := s.owners.Of(ctx, s.req)
	if owner == "" {
		return "", errNoOwner
	}
	return s.create(ctx, owner, &value)
}

// Delete removes the value of the conversation that the call belongs to. It is no
// error if there is none.
func Delete(ctx context.Context) error {
	s, err := sessionOf(ctx, "state.Delete")
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.place(ctx)
	if err != nil {
		return err
	}
	s.value = nil
	return s.remove(ctx, p)
}
