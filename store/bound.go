package store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A Bound is what the keys of one group may hold in a store at the same time. A zero field
// bounds nothing.
//
// A key of the form GROUP|NAME is in that group, whose name has no braces; one owner's keys are one
// group. A value counts if it was written under a Bound, until it is deleted, expires, or is
// replaced without one.
type Bound struct {
	// Keys is how many keys may be stored.
	Keys int

	// Bytes is how many bytes the keys and values may take, with [Overhead] for each key.
	Bytes int
}

// Overhead is the number of bytes that each key counts in addition to its own bytes and
// those of its value.
const Overhead = 160

type boundKey struct{}

// Within returns a context under which Swap enforces a bound for the group of its key. The
// bound travels in the context so that a store that wraps another one need not handle it.
func Within(ctx context.Context, b Bound) context.Context {
	if b == (Bound{}) && ctx.Value(boundKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, boundKey{}, b)
}

// BoundOf is for implementations of Swap: it returns the group of a key and the bound of the
// context. Without a bound, or without a group, the bound is zero.
func BoundOf(ctx context.Context, key string) (group string, b Bound) {
	if group = GroupOf(key); group != "" {
		b, _ = ctx.Value(boundKey{}).(Bound)
	}
	return group, b
}

// GroupOf returns the group of a key, "" for a key that is in none.
func GroupOf(key string) string {
	group, _, ok := strings.Cut(key, "|")
	if !ok || strings.ContainsAny(group, "{}") { // Redis uses braces to keep keys in one slot
		return ""
	}
	return group
}

// A RoomError says that a value was not stored because there is no room for it, and when
// there will be. [errors.Is] finds its reason.
type RoomError struct {
	// Reason is ErrFull, ErrManyKeys or ErrManyBytes.
	Reason error

	// After is how long it takes until enough has expired, if nothing else is stored
	// meanwhile. Zero means unknown.
	After time.Duration
}

// Error implements error.
func (e *RoomError) Error() string {
	if e.After <= 0 {
		return e.Reason.Error()
	}
	return fmt.Sprintf("%v; there will be room in %v", e.Reason, e.After.Round(time.Millisecond))
}

// Unwrap returns the reason.
func (e *RoomError) Unwrap() error { return e.Reason }
