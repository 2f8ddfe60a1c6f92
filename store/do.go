package store

import (
	"context"
	"errors"
	"time"
)

// An Op is one of several operations of [Do]: a Swap, or a Delete if TTL is zero.
type Op struct {
	Key   string
	Old   Version
	Value []byte
	TTL   time.Duration

	// Bound is the bound for a Swap, as if its context came from [Within].
	Bound Bound

	// Anyway makes the operation although one before it was not ok.
	Anyway bool
}

// Done is what an Op returned.
type Done struct {
	Item Item // of a Swap
	OK   bool
}

// A Doer is a [Store] that makes several operations in one round trip, or under one lock. Do is like
// the function of that name. It returns [errors.ErrUnsupported] for what it cannot make together.
//
// If you embed a Doer in a struct to change one of its methods, the struct also gets its Do, which
// does not call your method. Embed the interface Store instead.
type Doer interface {
	Do(ctx context.Context, ops ...Op) ([]Done, error)
}

// Do makes operations in order, in one round trip if the store is a [Doer]. After an operation
// that was not ok, or was left out, it leaves out those without Anyway: their OK is false.
//
// An error ends it. The result has the operations before, as far as they are known. If a
// store answers for all at once and that answer is lost, any of them may have been made.
func Do(ctx context.Context, s Store, ops ...Op) ([]Done, error) {
	if d, ok := s.(Doer); ok {
		if done, err := d.Do(ctx, ops...); !errors.Is(err, errors.ErrUnsupported) {
			return done, err
		}
	}
	return do(ops, func(_ int, op Op) (one Done, err error) {
		if op.TTL == 0 {
			one.OK, err = s.Delete(ctx, op.Key, op.Old)
		} else {
			one.Item, one.OK, err = s.Swap(Within(ctx, op.Bound), op.Key, op.Old, op.Value, op.TTL)
		}
		return one, err
	})
}

// do makes operations one by one, in order.
func do(ops []Op, one func(i int, op Op) (Done, error)) ([]Done, error) {
	all := make([]Done, 0, len(ops))
	for i, op := range ops {
		if i > 0 && !all[i-1].OK && !op.Anyway {
			all = append(all, Done{})
			continue
		}
		done, err := one(i, op)
		if err != nil {
			return all, err
		}
		all = append(all, done)
	}
	return all, nil
}
