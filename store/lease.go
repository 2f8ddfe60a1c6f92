package store

import (
	"bytes"
	"context"
	"sync"
	"time"
)

// A Lease is a key that one holder at a time stands behind. It ends when it is
// released or not renewed in time, as when its holder died. All methods may be called
// concurrently.
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
// another's lease. Then it returns a nil Lease and that Item. holder is what others find
// meanwhile. It must differ from everything that anybody else stores under the key, so it
// holds an ID of this holder: by it a write is known whose answer was lost.
//
// After an error it is not known whether the lease was taken. If it was, it ends
// after ttl, and Acquire with the same holder finds it.
func Acquire(ctx context.Context, s Store, key string, holder []byte, ttl time.Duration) (*Lease, Item, error) {
	if len(holder) == 0 {
		panic("store.Acquire: holder is empty; give bytes that only this holder stores")
	}
	item, ok, err := s.Swap(ctx, key, 0, holder, ttl)
	if err != nil || (!ok && !bytes.Equal(item.Value, holder)) {
		return nil, item, err
	}
	return &Lease{store: s, key: key, holder: bytes.Clone(holder), at: item.Version}, item, nil
}

// Renew makes the lease last for another ttl from now. It reports whether the
// lease is held: false means that it is lost for good. After an error it is not
// known; try again.
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
		if !bytes.Equal(now.Value, l.holder) { // else it was a renewal whose answer was lost
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
	for l.at != 0 { // to Delete, zero is any version
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
