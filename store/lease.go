package store

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"
)

// A Lease is a key that has one holder at a time. It ends when it is released, or not
// renewed in time, as when its holder has died. All methods may be called concurrently.
//
// A holder that is too slow loses its lease without knowing, and nothing can stop
// it; but Renew reports it.
type Lease struct {
	store Store
	key   string

	mu     sync.Mutex
	holder []byte
	at     Version // zero when the lease is over
}

// Acquire takes the lease on key for ttl, unless something stands there, such as
// another's lease. Then it returns a nil Lease and that Item. holder is the value that
// others find under the key meanwhile. It must differ from everything that others store
// there, so put an ID of this holder into it: by that ID, Acquire recognizes its own write
// after a lost answer.
//
// After an error it is not known whether the lease was taken. If it was, it ends
// after ttl, and Acquire with the same holder finds it.
func Acquire(ctx context.Context, s Store, key string, holder []byte, ttl time.Duration) (*Lease, Item, error) {
	lease, item, _, err := AcquireWith(ctx, s, key, holder, ttl)
	return lease, item, err
}

// AcquireWith takes a lease as [Acquire] does and makes operations with it, as by [Do], if the lease
// is taken. After an error it is unknown whether the lease was taken, and whether the operations
// that are not in done were made.
func AcquireWith(ctx context.Context, s Store, key string, holder []byte, ttl time.Duration, ops ...Op) (l *Lease, there Item, done []Done, err error) {
	if len(holder) == 0 {
		panic("store.Acquire: holder is empty; give bytes that only this holder stores")
	}
	if ttl <= 0 {
		return nil, Item{}, nil, ErrTTL
	}
	done, err = Do(ctx, s, append([]Op{{Key: key, Value: holder, TTL: ttl}}, ops...)...)
	if len(done) == 0 {
		return nil, Item{}, nil, err
	}
	first, done := done[0], done[1:]
	if !first.OK && !bytes.Equal(first.Item.Value, holder) {
		return nil, first.Item, nil, err
	}
	l = &Lease{store: s, key: key, holder: bytes.Clone(holder), at: first.Item.Version}
	if !first.OK && err == nil { // it was taken before, and the answer was lost
		done, err = Do(ctx, s, ops...)
	}
	return l, first.Item, done, err
}

// Renew makes the lease last for another ttl from now. It reports whether the
// lease is held: false means that it is lost for good. After an error it is unknown; try
// again.
func (l *Lease) Renew(ctx context.Context, ttl time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.at != 0 {
		now, ok, err := l.store.Swap(ctx, l.key, l.at, l.holder, ttl)
		if err != nil {
			return false, err
		}
		if l.at = now.Version; ok {
			return true, nil
		}
		if !bytes.Equal(now.Value, l.holder) { // if equal, it was our own renewal, whose answer was lost
			l.at = 0
		}
	}
	return false, nil
}

// Release ends the lease and leaves nothing behind, if it is still held. It reports
// whether it was.
func (l *Lease) Release(ctx context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.release(ctx)
}

func (l *Lease) release(ctx context.Context) (bool, error) {
	for l.at != 0 { // never with zero, which to Delete means any version
		ok, err := l.store.Delete(ctx, l.key, l.at)
		if err != nil || ok {
			return ok, err
		}
		now, err := l.store.Get(ctx, l.key)
		if err != nil || now.Version == l.at || !bytes.Equal(now.Value, l.holder) {
			return false, err
		}
		l.at = now.Version // a renewal whose answer was lost
	}
	return false, nil
}

// ReleaseAfter makes operations, as by [Do], and then ends the lease, whether they were ok or not. After
// an error the lease may still be held.
func (l *Lease) ReleaseAfter(ctx context.Context, ops ...Op) ([]Done, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == 0 {
		return Do(ctx, l.store, ops...)
	}
	done, err := Do(ctx, l.store, append(slices.Clip(ops), Op{Key: l.key, Old: l.at, Anyway: true})...)
	if err != nil {
		return done[:min(len(done), len(ops))], err
	}
	if done[len(ops)].OK {
		l.at = 0
		return done[:len(ops)], nil
	}
	_, err = l.release(ctx) // it may have been renewed, and the answer was lost
	return done[:len(ops)], err
}
