package kept

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/store"
)

// operationWithin is how long one operation of a store may take.
const operationWithin = leaseFor / 3

// A guarded store is one of the program's own. Its panics are errors, because what keeps a record runs outside of
// every recovery, and its operations end in time.
type guarded struct{ store.Store }

func (g guarded) Get(ctx context.Context, key string) (item store.Item, err error) {
	err = inside(ctx, func(ctx context.Context) error {
		item, err = g.Store.Get(ctx, key)
		return err
	})
	return item, err
}

func (g guarded) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (now store.Item, ok bool, err error) {
	err = inside(ctx, func(ctx context.Context) error {
		now, ok, err = g.Store.Swap(ctx, key, old, value, ttl)
		return err
	})
	return now, ok, err
}

func (g guarded) Delete(ctx context.Context, key string, old store.Version) (ok bool, err error) {
	err = inside(ctx, func(ctx context.Context) error {
		ok, err = g.Store.Delete(ctx, key, old)
		return err
	})
	return ok, err
}

// Do implements [store.Doer], whether the store does or not.
func (g guarded) Do(ctx context.Context, ops ...store.Op) (done []store.Done, err error) {
	err = inside(ctx, func(ctx context.Context) error {
		done, err = store.Do(ctx, g.Store, ops...)
		return err
	})
	return done, err
}

func inside(ctx context.Context, do func(ctx context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, operationWithin)
	defer cancel()
	if p, panicked := safe.Call(func() { err = do(ctx) }, nil); panicked {
		return fmt.Errorf("a panic in the store: %s", safe.Value(p))
	}
	return err
}

// A guardedCipher is one of the program's own. Its panics are errors.
type guardedCipher struct{ Cipher }

func (g guardedCipher) Seal(name string, text []byte) (sealed []byte, err error) {
	if p, panicked := safe.Call(func() { sealed, err = g.Cipher.Seal(name, text) }, nil); panicked {
		return nil, fmt.Errorf("a panic: %s", safe.Value(p))
	}
	return sealed, err
}

func (g guardedCipher) Open(name string, sealed []byte) (text []byte, err error) {
	if p, panicked := safe.Call(func() { text, err = g.Cipher.Open(name, sealed) }, nil); panicked {
		return nil, fmt.Errorf("a panic: %s", safe.Value(p))
	}
	return text, err
}
