package state

import "context"

// A Typed keeps values of one type for code outside of handlers: a worker, an HTTP
// endpoint. All methods may be called concurrently.
//
// The owner is "own:" and what Options.Owner returns for the caller; without that function
// it is "user:" and the ID of the authenticated user.
type Typed[T any] struct{ k *keeper }

// For returns the store of values that the middleware with the same options keeps. It
// panics when Options.Store is nil, because then the two do not share one.
func For[T any](opts *Options) *Typed[T] {
	if opts == nil || opts.Store == nil {
		panic("state.For: Options.Store is nil; give the store that the middleware has")
	}
	return &Typed[T]{newKeeper("state.For", opts)}
}

// Create keeps a new value and returns its handle.
func (t *Typed[T]) Create(ctx context.Context, owner string, value T) (Handle, error) {
	return create(ctx, t.k, owner, value)
}

// Get returns a value. If the handle is unknown, or another owner's, the error is a fault
// of the kind [fault.KindNotFound].
func (t *Typed[T]) Get(ctx context.Context, owner string, h Handle) (T, error) {
	var value, none T
	if _, err := t.k.read(ctx, placeOf(owner, h), &value); err != nil {
		return none, err
	}
	return value, nil
}

// Update changes a value as [Update] does, and returns the new one.
func (t *Typed[T]) Update(ctx context.Context, owner string, h Handle, change func(*T) error) (T, error) {
	return update(ctx, t.k, placeOf(owner, h), change)
}

// Delete removes a value. It is no error if there is none.
func (t *Typed[T]) Delete(ctx context.Context, owner string, h Handle) error {
	return t.k.remove(ctx, placeOf(owner, h))
}
