package stored

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/store"
)

// A Lease is a key that has one holder at a time. It ends when it is released, or not
// renewed in time, as when its holder has died. All methods may be called concurrently.
//
// A holder that is too slow loses its lease without knowing, and nothing can stop
// it; but Renew reports it.
type Lease struct {
	store store.Store
	key   string

	mu     sync.Mutex
	holder []byte
	at     store.Version // zero when the lease is over
}

// Acquire takes the lease on key for ttl, unless something stands there, such as another's lease. Then it
// returns a nil Lease. holder is the value that others find under the key meanwhile. It must differ from
// everything that others store there, so put an ID of this holder into it. By that ID, Acquire recognizes
// its own write after a lost answer. If the lease is taken, the operations are made with it, as by
// [store.Do].
//
// After an error it is unknown whether the lease was taken, and whether the operations that are not in
// done were made. If the lease was taken, it ends after ttl, and Acquire with the same holder finds it.
func Acquire(ctx context.Context, s store.Store, key string, holder []byte, ttl time.Duration, ops ...store.Op) (l *Lease, done []store.Done, err error) {
	done, err = store.Do(ctx, s, append([]store.Op{{Key: key, Value: holder, TTL: ttl}}, ops...)...)
	if len(done) == 0 {
		return nil, nil, err
	}
	first, done := done[0], done[1:]
	if !first.OK && !bytes.Equal(first.Item.Value, holder) {
		return nil, nil, err
	}
	l = &Lease{store: s, key: key, holder: bytes.Clone(holder), at: first.Item.Version}
	if !first.OK && err == nil { // it was taken before, and the answer was lost
		done, err = store.Do(ctx, s, ops...)
	}
	return l, done, err
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
// whether it was held.
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

// ReleaseAfter makes operations, as by [store.Do], and then ends the lease, whether they were ok or not. After
// an error the lease may still be held.
func (l *Lease) ReleaseAfter(ctx context.Context, ops ...store.Op) ([]store.Done, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == 0 {
		return store.Do(ctx, l.store, ops...)
	}
	done, err := store.Do(ctx, l.store, append(slices.Clip(ops), store.Op{Key: l.key, Old: l.at, Anyway: true})...)
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
