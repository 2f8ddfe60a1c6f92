package retry

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/store"
)

// shared is what several servers know of calls that failed: for each owner and target
// one value in a store, so that one question answers everything about a call.
type shared struct {
	store store.Store

	off  atomic.Int64 // until when the store is not asked, in ns since 1970
	said atomic.Int64 // when it was last said that it fails
}

const (
	storeTime  = 250 * time.Millisecond // for one question to the store
	storeRest  = 5 * time.Second        // for which a store that failed is not asked
	sayEvery   = time.Minute            // how often at most it is said
	swapTries  = 8                      // of one change; who loses all of them met as many other changes
	maxShared  = 128 << 10              // bytes, more than maxCalls take; a longer value is none of ours
	formatting = "retry/2/"             // opens each key
)

// perOwner bounds what is kept of one caller, who may invent targets. What has no room is counted by
// each server for itself.
var perOwner = store.Bound{Bytes: 1 << 20}

// ask shows f what is known, and writes what f changes, if it reports that it did, until
// nobody else wrote in between: f may be called more than once. It returns false if the
// store does not answer; then what f found out does not count.
func (s *shared) ask(ctx context.Context, what *identity, f func(k *known) (changed bool)) bool {
	key := call.OwnedName(formatting, what.owner, what.place)
	for range swapTries {
		var item store.Item
		if !s.guard(ctx, func(ctx context.Context) (err error) {
			item, err = s.store.Get(ctx, key)
			return err
		}) {
			return false
		}
		k := read(item.Value)
		if !what.asked {
			what.asked, what.read = true, k.Ticks
		}
		k.moment = moment{time.Duration(time.Now().UnixNano()), what.read, max(k.Ticks, what.read) + 1} // after an expiry too
		if !f(k) {
			return true
		}
		k.Ticks = k.tick
		if ok, full := s.write(ctx, key, k, item.Version); ok || full {
			return ok
		}
	}
	return false
}

// read returns what a value says, nothing for one that is none of ours.
func read(value []byte) *known {
	k := &known{most: maxCalls}
	if len(value) > maxShared || json.Unmarshal(value, k) != nil {
		k = &known{most: maxCalls}
	}
	maps.DeleteFunc(k.Counts, func(_ string, c *count) bool { return c == nil })
	return k
}

// write writes what is known, without what is old, if nobody wrote since it was read. full says that
// there is no room for it.
func (s *shared) write(ctx context.Context, key string, k *known, old store.Version) (ok, full bool) {
	last := k.clean()
	value, err := json.Marshal(k)
	if err != nil {
		return false, false
	}
	answered := s.guard(ctx, func(ctx context.Context) (err error) {
		if len(k.Counts) == 0 {
			ok, err = s.store.Delete(ctx, key, old)
			return err
		}
		_, ok, err = s.store.Swap(store.Within(ctx, perOwner), key, old, value, last-k.now)
		if full = errors.As(err, new(*store.RoomError)); full {
			return nil
		}
		return err
	})
	return answered && ok, full
}

var errStoreLeft = errors.New("the store panicked or ended its goroutine")

// guard puts one question to the store, and reports whether it was answered. One that
// fails is left alone for a while. A caller that has gone is not the store's fault.
func (s *shared) guard(ctx context.Context, question func(ctx context.Context) error) bool {
	if time.Now().UnixNano() < s.off.Load() {
		return false
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	err := errStoreLeft
	safe.Call(func() { err = question(limited) }, nil)
	if err == nil {
		return true
	}
	now := time.Now()
	s.off.Store(now.Add(storeRest).UnixNano())
	if said := s.said.Load(); now.UnixNano()-said >= int64(sayEvery) && s.said.CompareAndSwap(said, now.UnixNano()) {
		call.Warn(limited, nil, "the store of failed calls does not answer; each server counts for itself meanwhile", slog.Any("error", err))
	}
	return false
}
