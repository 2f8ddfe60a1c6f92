package retry

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/mcpchain/mcpchain/internal/stored"
	"github.com/mcpchain/mcpchain/store"
)

// shared holds the counts of several servers: for each owner and target one value in a store, so
// that one read is enough for a call.
type shared struct {
	store  store.Store
	remote *stored.Remote // what guards the store
}

func newShared(s store.Store) *shared {
	return &shared{s, stored.NewRemote("the store of failed calls", nil)}
}

const (
	swapTries  = 8          // of one change; each that fails met a change by another server
	maxShared  = 128 << 10  // bytes, more than maxCalls take; a longer value is none of ours
	formatting = "retry/2/" // opens each key
)

// perOwner bounds what is kept of one caller, who may invent targets. If there is no room, each
// server counts for itself.
var perOwner = store.Bound{Bytes: 1 << 20}

// update passes f what the store holds. If f reports a change, it writes that, and starts again if
// another server wrote in between: f may be called more than once. It returns false if the store
// does not answer; then what f found out does not count.
//
// A value that was read for the same call before, or that made a write fail, need not be read again
// for a change: the write fails if the store holds another one now. If f changes nothing, the store
// is read.
func (s *shared) update(ctx context.Context, what *identity, f func(k *tally) (changed bool)) bool {
	key := stored.OwnedName(formatting, what.owner, what.place)
	for tries := 0; tries < swapTries; {
		old := what.last
		if what.last = nil; old == nil {
			item, ok := stored.Ask(ctx, s.remote, func(ctx context.Context) (store.Item, error) { return s.store.Get(ctx, key) })
			if !ok {
				return false
			}
			old = &item
			what.last = old
		}
		k := read(old.Value)
		if !what.loaded {
			what.loaded, what.read = true, k.Ticks
		}
		k.moment = moment{time.Duration(time.Now().UnixNano()), what.read, max(k.Ticks, what.read) + 1} // after an expiry too
		if !f(k) {
			if what.last != nil {
				return true
			}
			continue // with what the store holds now
		}
		tries++
		k.Ticks = k.tick
		became := s.write(ctx, key, k, old.Version)
		if what.last = became.now; became.ok || became.full {
			return became.ok
		}
	}
	return false
}

// changes is the place under which the last change of an owner is kept, while this server refuses calls
// of that owner: in the count of that name.
const changes = "changes"

// changed notes a change that an owner has made.
func (s *shared) changed(ctx context.Context, owner string) {
	what := identity{owner: owner, place: changes}
	s.update(ctx, &what, func(k *tally) bool {
		c := k.add(changes, &what)
		c.Probed, c.Expires = max(k.now, c.Probed+1), k.now+refuseFor
		return true
	})
}

// lastChange returns when an owner made its last change, zero if it made none.
func (s *shared) lastChange(ctx context.Context, owner string) (last time.Duration) {
	what := identity{owner: owner, place: changes}
	s.update(ctx, &what, func(k *tally) bool {
		if c := k.get(changes); c != nil {
			last = c.Probed
		}
		return false
	})
	return last
}

// read decodes a value. It returns no counts for one that this package did not write.
func read(value []byte) *tally {
	k := &tally{most: maxCalls}
	if len(value) > maxShared || json.Unmarshal(value, k) != nil {
		k = &tally{most: maxCalls}
	}
	maps.DeleteFunc(k.Counts, func(_ string, c *count) bool { return c == nil })
	return k
}

// A written is the outcome of one write.
type written struct {
	ok   bool        // nobody else wrote since it was read
	full bool        // there is no room for it
	now  *store.Item // what the store holds afterwards, nil if that is not known
}

// write writes the counts that have not expired.
func (s *shared) write(ctx context.Context, key string, k *tally, old store.Version) written {
	last := k.dropOld()
	value, err := json.Marshal(k)
	if err != nil {
		return written{}
	}
	empty, lasts := len(k.Counts) == 0, last-k.now
	became, answered := stored.Ask(ctx, s.remote, func(ctx context.Context) (written, error) {
		if empty {
			ok, err := s.store.Delete(ctx, key, old)
			return written{ok: ok}, err
		}
		now, ok, err := s.store.Swap(store.Within(ctx, perOwner), key, old, value, lasts)
		if errors.As(err, new(*store.RoomError)) {
			return written{full: true}, nil
		}
		return written{ok: ok, now: &now}, err
	})
	if !answered {
		return written{}
	}
	return became
}
