// Package kept is the engine under replay and task. It keeps in a store that a call runs and how it has
// ended, for callers that come back, perhaps to another server.
//
//	e := k.Entry(name, tool, log)
//	there, err := e.Begin(ctx, kept.Record{Args: hash}, nil)
//	...
//	e.KeepAlive(nil)
//	res, err := next(ctx, method, req)
//	e.Finish(ctx, e.Ended(c, res, err))
//
// Each server with the same store can [Keeper.Read] the record meanwhile and later. Names, the rules for a second
// run, and the words for callers are those of the middleware.
package kept

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/stored"
	"github.com/mcpchain/mcpchain/store"
)

// A Keeper says where and how long records are kept. Make it with [New].
type Keeper struct {
	Store  store.Store
	Keep   time.Duration // how long each record is kept, from its last write
	Limits Limits
	Cipher Cipher // nil: in clear

	Package string // for causes: "replay"
	What    string // names the store in failures: "the store of idempotency keys"

	late chan struct{} // bounds the goroutines that write later
}

// Limits is like replay.Limits, which documents it.
type Limits struct {
	AnswerBytes  int
	KeysPerOwner int
	OwnerBytes   int
}

// A Cipher is like replay.Cipher, which documents it.
type Cipher interface {
	Seal(name string, text []byte) ([]byte, error)
	Open(name string, sealed []byte) ([]byte, error)
}

const (
	// leaseFor is how long a server that died is believed to be running.
	leaseFor = 15 * time.Second

	// lateness is how long after a lost answer its write may still arrive, and how long a write is tried.
	lateness = time.Minute

	// minOwnerBytes is more than one key takes.
	minOwnerBytes = 1024

	// maxLate is how many answers may wait at the same time for the store to come back.
	maxLate = 1000
)

// New returns a copy of k with the defaults of Store, Keep and Limits filled in. It panics in the name of caller
// if Keep or Limits make no sense.
func New(caller string, k Keeper) *Keeper {
	of := call.Options(caller + ": Options")
	call.Positive(of, "Keep", &k.Keep, 24*time.Hour)
	call.Positive(of, "Limits.AnswerBytes", &k.Limits.AnswerBytes, 256<<10)
	k.Limits.KeysPerOwner = cmp.Or(k.Limits.KeysPerOwner, 10_000)
	if k.Limits.OwnerBytes = cmp.Or(k.Limits.OwnerBytes, 8<<20); k.Limits.OwnerBytes > 0 && k.Limits.OwnerBytes < minOwnerBytes {
		panic(fmt.Sprintf("%s: Options.Limits.OwnerBytes is %d; give %d or more, zero for the default, or a negative one for no limit", caller, k.Limits.OwnerBytes, minOwnerBytes))
	}
	if k.Store == nil {
		k.Store = store.NewMemory(nil)
	}
	if k.Cipher != nil {
		k.Cipher = guardedCipher{k.Cipher}
	}
	k.Store = guarded{k.Store}
	k.late = make(chan struct{}, maxLate)
	return &k
}

// A Record is what stands in the store under the name of a call.
type Record struct {
	Holder string `json:"h"` // the attempt that wrote it, so that each record differs from all others
	Args   string `json:"a"` // a hash of the arguments that were sent
	// Ran is a hash of the arguments with which the handler ran, if those that were sent were mended.
	Ran  string `json:"m,omitempty"`
	Done bool   `json:"d"` // false: the handler runs, has ended without an answer, or its end is unknown
	// Again says that the call was answered, and that a second run does no harm.
	Again bool `json:"g,omitempty"`
	// Withdrawn says that nothing was run: the record counts as absent.
	Withdrawn bool `json:"w,omitempty"`
	// List says that the key is used for a list, whose items have records of their own.
	List bool `json:"l,omitempty"`
	// Tool, Began and Said are for readers of a call that runs: its tool, since when, and what its handler said
	// last of its progress.
	Tool  string    `json:"t,omitempty"`
	Began time.Time `json:"b,omitzero"`
	Said  string    `json:"s,omitempty"`
	// Safe says that a second run does no harm.
	Safe bool `json:"y,omitempty"`

	Call   string  `json:"c,omitempty"` // the reference of the first call, if it failed
	Answer *Answer `json:"r,omitempty"` // nil: too large to be kept, and the record takes no more room than one that is not done
}

// Same reports whether arguments with this hash were sent, or ran.
func (r Record) Same(args string) bool { return r.Args == args || r.Ran != "" && r.Ran == args }

// other returns the hash that is the same as args in the record, "" for none.
func (r Record) other(args string) string {
	if r.Ran == args {
		return r.Args
	}
	return r.Ran
}

// running reports whether the record may be that of a call that runs.
func (r Record) running() bool { return !r.Done && !r.Again && !r.Withdrawn }

// ErrUnreadable says that a record stands there, so that a call was made with the name. It is not a failure of
// the store.
var ErrUnreadable = errors.New("a record cannot be read")

// Look returns the record under a name. found is false if there is none, or only a withdrawn one.
func (k *Keeper) Look(ctx context.Context, name string) (rec Record, found bool, err error) {
	item, err := k.Store.Get(ctx, name)
	if err != nil || item.Version == 0 {
		return rec, false, err
	}
	rec, err = k.open(name, item.Value)
	return rec, err == nil && !rec.Withdrawn, err
}

// Read is Look, and reports whether a server runs the call, or is about to. The end of the call is unknown if its
// record is found and not done, and it does not run.
func (k *Keeper) Read(ctx context.Context, name string) (rec Record, running, found bool, err error) {
	live, err := k.Store.Get(ctx, liveName(name)) // first: if the call ends meanwhile, it is done and not of unknown end
	if err != nil {
		return rec, false, false, err
	}
	rec, found, err = k.Look(ctx, name)
	return rec, err == nil && !rec.Done && live.Version != 0, found, err
}

// Shorten keeps a record, which nobody writes any more, for as long as keep says from now on. If the store fails, it is kept longer.
func (k *Keeper) Shorten(ctx context.Context, name string, keep time.Duration) {
	if item, err := k.Store.Get(ctx, name); err == nil && item.Version != 0 {
		_, _, _ = k.Store.Swap(store.Within(ctx, k.bound(0)), name, item.Version, item.Value, keep) // it counts until it goes
	}
}

// Unavailable turns an error of the store into what a caller may know of it whose call changed nothing.
func (k *Keeper) Unavailable(err error) error {
	return stored.Failed(err, k.What, fault.EffectNone)
}

// Refused returns the answer for a caller that has used up its share: keys or bytes, with the wait until there
// is room. It returns nil for any other error. All that the caller has now expires within Keep, so no wait is longer.
func (k *Keeper) Refused(err error, keys, bytes *fault.Error) error {
	var f *fault.Error
	switch {
	case errors.Is(err, store.ErrManyKeys):
		f = keys
	case errors.Is(err, store.ErrManyBytes):
		f = bytes
	default:
		return nil
	}
	wait := k.Keep
	if room := (*store.RoomError)(nil); errors.As(err, &room) && room.After > 0 {
		wait = room.After
	}
	return f.Because(err).WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: wait.Seconds(), Effect: fault.EffectNone})
}

// liveName is the name of the lease.
func liveName(name string) string { return name + "/live" }

// bound returns the bound for an owner's records under which spare bytes are left free.
func (k *Keeper) bound(spare int) store.Bound {
	b := store.Bound{Keys: max(0, k.Limits.KeysPerOwner)}
	if k.Limits.OwnerBytes > 0 {
		b.Bytes = max(1, k.Limits.OwnerBytes-spare)
	}
	return b
}

// spare returns the bytes that are left for the answer when a call begins.
func (k *Keeper) spare() int { return min(k.Limits.AnswerBytes, k.Limits.OwnerBytes/8) }

func (k *Keeper) open(name string, sealed []byte) (rec Record, err error) {
	if k.Cipher != nil {
		if sealed, err = k.Cipher.Open(name, sealed); err != nil {
			return rec, fmt.Errorf("%w: Options.Cipher: %w", ErrUnreadable, err)
		}
	}
	if err := json.Unmarshal(sealed, &rec); err != nil {
		return rec, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return rec, nil
}

// later calls try, again and again, for up to a minute in a goroutine, and done at the end.
// If too many others do so, it calls done at once.
func (k *Keeper) later(try func(ctx context.Context) error, done func()) {
	select {
	case k.late <- struct{}{}:
	default:
		done()
		return
	}
	go func() {
		defer func() { done(); <-k.late }()
		ctx, cancel := context.WithTimeout(context.Background(), lateness)
		defer cancel()
		for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			if try(ctx) == nil {
				return
			}
		}
	}()
}

// Entry returns the entry of one name, for one attempt at its call. tool and log are for records.
func (k *Keeper) Entry(name, tool string, log *slog.Logger) *Entry {
	return &Entry{Keeper: k, name: name, tool: tool, log: log}
}
