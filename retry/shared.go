package retry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/attempt"
	"github.com/mcpchain/mcpchain/store"
)

// shared is what several servers know of calls that failed: for each owner and target
// one value in a store, so that one question answers everything about a call. Nil
// knows nothing. What its methods return counts only if ok; else the store does not
// know the caller, or is not there.
type shared struct {
	store store.Store

	off  atomic.Int64 // until when the store is not asked, in ns since 1970
	said atomic.Int64 // when it was last said that it fails
}

const (
	storeTime  = 250 * time.Millisecond // for one question to the store
	storeRest  = 5 * time.Second        // for which a store that failed is not asked
	sayEvery   = time.Minute            // how often at most it is said
	swapTries  = 8                      // of one failure; who loses all of them met as many other failures
	maxCalls   = 16                     // of one owner and target; the one that expires first makes room
	maxShared  = 64 << 10               // bytes; a longer value is none of ours
	formatting = "retry/1/"             // opens each key
)

// known is the value under one key.
type known struct {
	Ticks uint64            `json:"t"` // how many failures were counted
	Tool  count             `json:"tool"`
	Calls map[string]*count `json:"calls"` // by label
}

// digest returns a hash of texts, none of which can pass for a part of another.
func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		_, _ = h.Write(size[:])
		_, _ = h.Write([]byte(part))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// place returns the key of what is known of an owner and a target.
func (s *shared) place(owner, method, target string) string {
	return formatting + digest(owner, method, target)
}

// closed returns for how long a call is refused. One for which it returns zero is run.
func (s *shared) closed(ctx context.Context, what *identity) (p pause, ok bool) {
	if s == nil || what.place == "" {
		return pause{}, false
	}
	k, at, now, ok := s.get(ctx, what.place)
	if !ok {
		what.place = "" // what this call began with is not known there
		return pause{}, false
	}
	what.read = k.Ticks
	for _, c := range []*count{k.Calls[what.label], &k.Tool} {
		streak := c == &k.Tool
		if c == nil || c.Closed <= now || streak && what.tool == 0 {
			continue
		}
		p = c.pause(now, streak)
		if c.probe(now) && s.put(ctx, what.place, k, at, now) { // of several servers one probes
			return pause{}, true
		}
		return p, true
	}
	return pause{}, true
}

// failed counts a failure.
func (s *shared) failed(ctx context.Context, what identity, f failing) (h history, ok bool) {
	if s == nil || what.place == "" {
		return history{}, false
	}
	ok = s.change(ctx, what.place, func(k *known, now time.Duration) bool {
		k.Ticks = max(k.Ticks, what.read) + 1 // after an expiry too
		c := k.Calls[what.label]
		if c == nil {
			if len(k.Calls) >= maxCalls {
				delete(k.Calls, slices.MinFunc(slices.Collect(maps.Keys(k.Calls)), func(a, b string) int {
					return cmp.Compare(k.Calls[a].Expires, k.Calls[b].Expires)
				}))
			}
			c = &count{}
			k.Calls[what.label] = c
		}
		c.Expires = max(c.Expires, now+f.keep)
		h = c.failed(what.read, k.Ticks, now, f)
		if f.broken && what.tool != 0 {
			k.Tool.Expires = max(k.Tool.Expires, now+f.keep)
			h.streak = k.Tool.again(what.read, k.Ticks, now, f)
		}
		return true
	})
	return h, ok
}

// forget drops what is known of a call that succeeded, and of its tool.
func (s *shared) forget(ctx context.Context, what identity) {
	if s == nil || what.place == "" || what.read == 0 { // nothing was known when it began
		return
	}
	s.change(ctx, what.place, func(k *known, _ time.Duration) bool {
		if k.Calls[what.label] == nil && (what.tool == 0 || k.Tool.Failures == 0) {
			return false
		}
		delete(k.Calls, what.label)
		if what.tool != 0 {
			k.Tool = count{}
		}
		return true
	})
}

// change reads, changes and writes what stands under a key until nobody else wrote in
// between. It reports whether the change is there, or none was needed.
func (s *shared) change(ctx context.Context, place string, change func(k *known, now time.Duration) bool) bool {
	for range swapTries {
		k, at, now, ok := s.get(ctx, place)
		if !ok {
			return false
		}
		if !change(k, now) || s.put(ctx, place, k, at, now) {
			return true
		}
	}
	return false
}

// get returns what stands under a key, without what is old.
func (s *shared) get(ctx context.Context, place string) (k *known, at store.Version, now time.Duration, ok bool) {
	var item store.Item
	ok = s.ask(ctx, func(ctx context.Context) (err error) {
		item, err = s.store.Get(ctx, place)
		return err
	})
	now = time.Duration(time.Now().UnixNano())
	k = &known{}
	if len(item.Value) > maxShared || json.Unmarshal(item.Value, k) != nil {
		k = &known{} // nothing, or nothing of ours
	}
	maps.DeleteFunc(k.Calls, func(_ string, c *count) bool { return c == nil || c.Expires <= now })
	if k.Calls == nil {
		k.Calls = map[string]*count{}
	}
	if k.Tool.Expires <= now {
		k.Tool = count{}
	}
	return k, item.Version, now, ok
}

// put writes what is known if nobody wrote since it was read.
func (s *shared) put(ctx context.Context, place string, k *known, old store.Version, now time.Duration) (ok bool) {
	if len(k.Calls) == 0 && k.Tool.Failures == 0 {
		return s.ask(ctx, func(ctx context.Context) (err error) {
			ok, err = s.store.Delete(ctx, place, old)
			return err
		}) && ok
	}
	until := k.Tool.Expires
	for _, c := range k.Calls {
		until = max(until, c.Expires)
	}
	value, err := json.Marshal(k)
	return err == nil && s.ask(ctx, func(ctx context.Context) (err error) {
		_, ok, err = s.store.Swap(ctx, place, old, value, until-now)
		return err
	}) && ok
}

var errStoreLeft = errors.New("the store panicked or ended its goroutine")

// ask puts one question to the store, and reports whether it was answered. One that
// fails is left alone for a while. A caller that has gone is not the store's fault.
func (s *shared) ask(ctx context.Context, question func(ctx context.Context) error) bool {
	if time.Now().UnixNano() < s.off.Load() {
		return false
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	err := errStoreLeft
	attempt.Guard(func() { err = question(limited) })
	if err == nil {
		return true
	}
	now := time.Now()
	s.off.Store(now.Add(storeRest).UnixNano())
	if said := s.said.Load(); now.UnixNano()-said >= int64(sayEvery) && s.said.CompareAndSwap(said, now.UnixNano()) {
		attempt.Guard(func() {
			slog.Default().LogAttrs(limited, slog.LevelWarn, "mcpchain: the store of failed calls does not answer; each server counts for itself meanwhile",
				slog.Any("error", err))
		})
	}
	return false
}
