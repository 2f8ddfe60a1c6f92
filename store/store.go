// Package store has the small interface through which mcpchain's packages keep a
// conversation's state, the first answer of a call, and counts. These outlive a connection,
// or are shared by several servers. [Memory] is the embedded default for one machine;
// contrib/redis is for many. Package storetest tests any other.
//
//	s := store.NewMemory(nil)
//	item, ok, err := s.Swap(ctx, "greeting", 0, []byte("hello"), time.Hour) // 0: only if nothing is there
//	item, err = s.Get(ctx, "greeting")
//	item, ok, err = s.Swap(ctx, "greeting", item.Version, []byte("hi"), time.Hour)
//	n, err := s.Add(ctx, "failures", 1, time.Minute)
//
// A [Bound] prevents one owner from filling the store for all others.
package store

import (
	"context"
	"errors"
	"time"
)

// A Version names one write of one key. Zero means that nothing stands under the
// key. A store never gives two writes of a key the same version, not even after
// the key was deleted or has expired.
type Version uint64

// An Item is what stands under a key. The zero Item stands for nothing.
type Item struct {
	// Value is the stored bytes. They must not be changed.
	Value []byte

	// Version is the version of the write that stored them.
	Version Version
}

// A Store keeps bytes under keys, each for a limited time. Each method acts on one
// key, atomically: all calls for one key, by all servers, take effect one after
// another, each between its beginning and its end.
//
// A ttl says how long the value is kept; it must be positive, or [KeepTTL]. After it the key is
// absent. A store never drops a value earlier, unless it documents an option for that.
//
// On an error the other results are zero, and whether a write took effect is not
// known, unless the error wraps one of those below. The text of an error is for logs only,
// unless it is a *fault.Error.
//
// All methods may be called concurrently.
type Store interface {
	// Get returns what stands under key: the zero Item if nothing does.
	Get(ctx context.Context, key string) (Item, error)

	// Swap stores value under key for ttl if the version that stands there is old,
	// zero for an absent key. It returns what stands under key afterwards: the new
	// Item if ok, else the one that was there already. The caller may reuse value after the
	// return.
	//
	// If ctx comes from [Within], the value counts towards the bound of the key's group,
	// in the same atomic step: Swap fails with a [RoomError] if the group would exceed its
	// bound and the key would take more than it did.
	Swap(ctx context.Context, key string, old Version, value []byte, ttl time.Duration) (now Item, ok bool, err error)

	// Delete removes key if the version that stands there is old; zero stands for
	// any. ok says whether something was removed.
	Delete(ctx context.Context, key string, old Version) (ok bool, err error)

	// Add adds delta to the number that stands under key and returns the sum. An
	// absent key and an empty value count as zero. A new key is kept for ttl; later additions leave its expiry
	// as it is. The value of a counter is its number in decimal. Add fails with
	// ErrRange if delta or the sum is beyond [MaxCount], and with ErrNotCounter on a
	// value that is not a number.
	Add(ctx context.Context, key string, delta int64, ttl time.Duration) (sum int64, err error)
}

// Errors that every [Store] may return, perhaps wrapped. Nothing was stored.
var (
	// ErrFull says that there is no room for another value. Room appears when values
	// expire.
	ErrFull = errors.New("store: full")

	// ErrManyKeys says that a group has as many keys as its [Bound] allows.
	ErrManyKeys = errors.New("store: the group has too many keys")

	// ErrManyBytes says that a group would take more bytes than its [Bound] allows.
	ErrManyBytes = errors.New("store: the group takes too many bytes")

	// ErrRefused says that the store refused a write, or was not reached.
	ErrRefused = errors.New("store: refused")

	// ErrTooLarge says that the key or the value exceeds what the store takes.
	ErrTooLarge = errors.New("store: the key or the value is too large")

	// ErrNotCounter says that Add met a value that is not a number.
	ErrNotCounter = errors.New("store: the value is not a counter")

	// ErrRange says that a number is beyond the range that is counted exactly, see
	// [MaxCount].
	ErrRange = errors.New("store: the counter is out of range")

	// ErrTTL says that a ttl is not positive, or is KeepTTL where no value can stand, which is a mistake
	// of the program.
	ErrTTL = errors.New("store: the ttl is not positive")
)

// MaxCount is the largest number that a counter holds, and -MaxCount the smallest.
const MaxCount = 1 << 53

// KeepTTL is a ttl for a Swap over a value that is there: the new value ends when that one would have.
// So no server needs to know what the time is on another one.
const KeepTTL time.Duration = -1

// MaxKey is the length, in bytes, of the longest key that every store takes.
const MaxKey = 512
