// Package stored serves the middlewares that keep something in a store. It names entries and words
// failures (name.go), and has a lease (lease.go).
package stored

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/store"
)

// Name returns a name for an entry of a store: a hash of texts. Each text is hashed with
// its length, so that no caller can construct the name of another one's entry, and the name
// reveals none of the texts.
func Name(prefix string, parts ...string) string {
	sum := hashed(parts...)
	return prefix + base64.RawURLEncoding.EncodeToString(sum[:])
}

// OwnedName is [Name] for an entry that has an owner; each owner's entries form a group, see
// [store.Bound].
func OwnedName(prefix, owner string, parts ...string) string {
	group, sum := hashed(owner), hashed(append([]string{owner}, parts...)...)
	return prefix + base64.RawURLEncoding.EncodeToString(group[:16]) + "|" + base64.RawURLEncoding.EncodeToString(sum[:])
}

func hashed(parts ...string) [sha256.Size]byte {
	var b []byte
	for _, part := range parts {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(part))), part...)
	}
	return sha256.Sum256(b)
}

// A storeError names in the log the store that an error comes from.
type storeError struct {
	what string
	err  error
}

// Error implements error.
func (e *storeError) Error() string { return e.what + ": " + e.err.Error() }

// Unwrap returns the store's error.
func (e *storeError) Unwrap() error { return e.err }

// fullWait is the wait for a full store that does not say for how long.
const fullWait = 30 * time.Second

// Failed turns the error of a store into the fault that the caller may read: the store's own,
// or one that says it is not available. effect says what the call may have changed. The cause
// names the store by what it keeps.
func Failed(err error, what string, effect fault.Effect) error {
	var f *fault.Error
	var room *store.RoomError
	switch {
	case safe.Find(err, func(err error) bool { e, ok := err.(*fault.Error); f = e; return ok && e != nil }):
		if cause := f.Unwrap(); cause != nil {
			f = fault.FromData(f.Data()).Because(&storeError{what, cause})
		}
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return &storeError{what, err}
	case errors.Is(err, store.ErrFull):
		wait := fullWait
		if errors.As(err, &room) && room.After > 0 {
			wait = room.After
		}
		f = fault.New(fault.KindServiceUnavailable, what+" is full").After(wait).Because(&storeError{what, err})
	default:
		f = fault.Unavailable(what).After(0).Because(&storeError{what, err})
	}
	retry, _ := f.Retry()
	retry.Effect = effect
	return f.WithRetry(retry)
}

// NotStored reports whether an error of a store says that nothing was stored.
func NotStored(err error) bool {
	for _, sure := range [...]error{store.ErrFull, store.ErrManyKeys, store.ErrManyBytes, store.ErrTooLarge, store.ErrNotCounter, store.ErrRange, store.ErrTTL, store.ErrRefused} {
		if errors.Is(err, sure) {
			return true
		}
	}
	return false
}
