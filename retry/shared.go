package retry

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/store"
)

// shared is what several servers know of calls that failed: for each owner and target
// one value in a store, so that one question answers everything about a call.
type shared struct {
	store  store.Store
	remote *call.Remote // what guards the store
}

func newShared(s store.Store) *shared {
	return &shared{s, call.NewRemote("the store of failed calls", nil)}
}

const (
	swapTries  = 8          // of one change; who loses all of them met as many other changes
	maxShared  = 128 << 10  // bytes, more than maxCalls take; a longer value is none of ours
	formatting = "retry/2/" // opens each key
)

// ask shows f what is known, and writes what f changes, if it reports that it did, until
// nobody else wrote in between: f may be called more than once. It returns false if the
// store does not answer; then what f found out does not count.
func (s *shared) ask(ctx context.Context, what *identity, f func(k *known) (changed bool)) bool {
	key := formatting + what.place
	for range swapTries {
		item, ok := call.AskRemote(ctx, s.remote, func(ctx context.Context) (store.Item, error) { return s.store.Get(ctx, key) })
		if !ok {
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
		if k.Ticks = k.tick; s.write(ctx, key, k, item.Version) {
			return true
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

// write writes what is known, without what is old, if nobody wrote since it was read.
func (s *shared) write(ctx context.Context, key string, k *known, old store.Version) bool {
	last := k.clean()
	value, err := json.Marshal(k)
	if err != nil {
		return false
	}
	empty, lasts := len(k.Counts) == 0, last-k.now
	written, ok := call.AskRemote(ctx, s.remote, func(ctx context.Context) (bool, error) {
		if empty {
			return s.store.Delete(ctx, key, old)
		}
		_, ok, err := s.store.Swap(ctx, key, old, value, lasts)
		return ok, err
	})
	return written && ok
}
