package kept

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/sink"
	"github.com/mcpchain/mcpchain/internal/stored"
	"github.com/mcpchain/mcpchain/store"
)

// An Entry is one attempt at a call, under its name in the store. Its methods are called in the order Begin,
// KeepAlive, Update as often as needed, Finish.
type Entry struct {
	*Keeper

	name string
	tool string

	// Others is how many calls of the owner run whose answers need room, too.
	Others int

	log  *slog.Logger
	stop func() // ends KeepAlive

	mu    sync.Mutex    // guards what follows while the handler runs
	mine  Record        // says that the handler runs; the lease has its holder too
	at    store.Version // of mine in the store
	lease *stored.Lease
	over  bool // the record says how the call ended, or belongs to another attempt
}

// notKept is the message of records about answers that are lost for later callers.
const notKept = "mcp answer cannot be kept"

// ErrHeld says that another attempt holds the lease: it is at work.
var ErrHeld = errors.New("the lease is held")

// Begin takes the lease and writes rec, which says that the handler runs, if its answer has room too. If a
// record stands there, Begin asks over whether rec may take its place; nil means never. If not, Begin
// returns the record that stands there, and holds no lease. The handler may run if and only if there
// and err are nil. After [ErrHeld], Begin may be called again.
//
// First the lease is taken, and then the record is written: in one step if the store can do that. What may
// come between, or be lost:
//   - This process dies after the lease and before the record: nothing was run, and no record says
//     otherwise. When the lease is over, the next call runs the handler. In one step this cannot
//     happen.
//   - It dies after both: the record stands without a lease, and the end of the call is unknown. It looks
//     the same while a call runs whose lease is over because the store was away: so no reader may be
//     told that the call has ended.
//   - The answer is lost: both may be there or on their way, and the handler is not run. undo
//     replaces the record by one that says that nothing was run, which a late write does not
//     replace, and ends the lease.
func (e *Entry) Begin(ctx context.Context, rec Record, over func(there Record) bool) (there *Record, err error) {
	rec.Holder = rand.Text()
	e.mine = rec
	op := store.Op{Key: e.name, TTL: e.Keep, Bound: e.bound((1 + e.Others) * e.spare())}
	if op.Value, err = e.seal(ctx, rec); err != nil {
		return nil, err
	}
	lease, begun, err := stored.Acquire(ctx, e.Store, liveName(e.name), []byte(rec.Holder), leaseFor, op)
	e.lease = lease
	if err == nil && lease == nil {
		return nil, ErrHeld
	}
	for err == nil && !begun[0].OK {
		if op.Old = begun[0].Item.Version; op.Old != 0 { // else the record has gone
			there, err := e.open(e.name, begun[0].Item.Value)
			if err == nil && !there.Withdrawn {
				if over == nil || !over(there) {
					e.drop(ctx)
					return &there, nil
				}
				e.mine.Ran = there.other(rec.Args)
				op.Value, err = e.seal(ctx, e.mine)
			}
			if err != nil {
				e.drop(ctx)
				return nil, err
			}
		}
		begun, err = store.Do(ctx, e.Store, op)
	}
	if err != nil {
		e.notBegun(ctx, err)
		return nil, err
	}
	e.at = begun[0].Item.Version
	return nil, nil //nolint:nilnil // the handler may run
}

// notBegun undoes what may have been written although the store returned an error.
func (e *Entry) notBegun(ctx context.Context, err error) {
	if stored.NotStored(err) {
		e.drop(ctx)
	} else {
		e.later(e.undo, func() {})
	}
}

// drop ends the lease, if there is one.
func (e *Entry) drop(ctx context.Context) {
	if e.lease != nil && e.release(context.WithoutCancel(ctx)) != nil {
		e.later(e.release, func() {})
	}
}

// KeepAlive holds the lease until Finish has written the end. beat may be nil. It is called after each renewal of the
// lease, about every five seconds, and may call Update. Its ctx ends after five seconds, or with Finish.
func (e *Entry) KeepAlive(beat func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	e.stop = cancel
	go func() {
		for pause := leaseFor / 3; ; {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			one, cancel := context.WithTimeout(ctx, leaseFor/3)
			if pause = leaseFor / 3; !e.hold(one) {
				pause = time.Second // a reader sees that the call runs as soon as the store is back
			} else if beat != nil {
				beat(one)
			}
			cancel()
		}
	}()
}

// Update changes Ran or Said of the record while the call runs. The store has five seconds for it. After an
// error the change is written with the next Update, and Ran with Finish. After Finish, Update does nothing.
func (e *Entry) Update(ctx context.Context, change func(rec *Record)) error {
	ctx, cancel := context.WithTimeout(ctx, leaseFor/3)
	defer cancel()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return nil
	}
	change(&e.mine)
	sealed, err := e.seal(ctx, e.mine)
	if err != nil {
		return err
	}
	return e.replace(ctx, e.op(sealed), func(ctx context.Context, ops ...store.Op) ([]store.Done, error) {
		return store.Do(ctx, e.Store, ops...)
	})
}

// Finish writes how the call ended, and ends its lease and KeepAlive. A nil end deletes the record. Finish
// sets Holder, Args and Ran of end. If the answer finds no room, only the fact that there was one is kept.
// If the store fails, Finish goes on trying for a minute after its return, and holds the lease meanwhile.
func (e *Entry) Finish(ctx context.Context, end *Record) {
	var last []byte
	if end != nil {
		e.mu.Lock()
		end.Holder, end.Args, end.Ran = e.mine.Holder, e.mine.Args, e.mine.Ran
		e.mu.Unlock()
		var err error
		if last, err = e.seal(ctx, *end); err != nil { // the record stays that says that it runs
			sink.Log(ctx, e.log, slog.LevelError, notKept, slog.String("tool", e.tool), slog.Any("error", err))
		}
	}
	write := func(ctx context.Context) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		err := e.write(ctx, end, last)
		e.over = e.over || err == nil
		return err
	}
	if err := write(ctx); err != nil {
		sink.Log(ctx, e.log, slog.LevelWarn, "mcp answer could not be kept yet", slog.String("tool", e.tool), slog.Any("error", e.Unavailable(err)))
		e.later(write, e.stop)
		return
	}
	e.stop()
}

// write writes how a call ended, and ends the lease. After an error, call it again.
func (e *Entry) write(ctx context.Context, end *Record, last []byte) error {
	switch {
	case end == nil:
		return e.finish(ctx, store.Op{Key: e.name})
	case last == nil:
		return e.release(ctx)
	}
	err := e.finish(ctx, e.op(last))
	switch {
	case !errors.Is(err, store.ErrManyBytes) && !errors.Is(err, store.ErrFull) && !errors.Is(err, store.ErrTooLarge):
		return err
	case end.Done:
		return e.finishWithout(ctx, err)
	default:
		return e.release(ctx)
	}
}

// op returns the operation that writes a record after Begin.
func (e *Entry) op(sealed []byte) store.Op {
	return store.Op{Key: e.name, Value: sealed, TTL: e.Keep, Bound: e.bound(0)}
}

// finish replaces or deletes the record of the running call, and then ends the lease: in one
// step if the store can do that. A process that dies between the two leaves an answer and a
// lease. Readers take that answer in spite of the lease.
func (e *Entry) finish(ctx context.Context, op store.Op) error {
	return e.replace(ctx, op, e.lease.ReleaseAfter)
}

// replace makes an operation on the record of the running call, first by try. If the answer of the store is
// lost, the same is tried again. If the first try took effect, the record that it replaced is gone, and
// nothing is written twice.
func (e *Entry) replace(ctx context.Context, op store.Op, try func(ctx context.Context, ops ...store.Op) ([]store.Done, error)) error {
	op.Old = e.at
	made, err := try(ctx, op)
	for err == nil && !made[0].OK {
		there := made[0].Item
		if op.TTL == 0 { // which says nothing of what stands there
			if there, err = e.Store.Get(ctx, e.name); err != nil || there.Version == 0 {
				return err
			}
		}
		// The store may have lost a record that it had acknowledged, or hold another one of this attempt.
		if !e.runs(there) {
			return nil
		}
		op.Old = there.Version
		made, err = store.Do(ctx, e.Store, op)
	}
	if err == nil {
		e.at = made[0].Item.Version
	}
	return err
}

// runs reports whether an item allows the call to go on: it is absent, or says that this attempt runs.
func (e *Entry) runs(item store.Item) bool {
	if item.Version == 0 {
		return true
	}
	rec, err := e.open(e.name, item.Value)
	return err == nil && rec.Holder == e.mine.Holder && rec.running()
}

// hold renews the lease. A lease may be lost while the store is away; it is taken again. A record that
// the store has lost is written again. Another attempt takes the record only if a second run does no
// harm, and then keeps it.
func (e *Entry) hold(ctx context.Context) (ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return true
	}
	if held, err := e.lease.Renew(ctx, leaseFor); held || err != nil {
		return held
	}
	lease, _, err := stored.Acquire(ctx, e.Store, liveName(e.name), []byte(e.mine.Holder), leaseFor)
	if lease == nil { // another attempt looks at the record, or runs
		return err == nil
	}
	item, err := e.Store.Get(ctx, e.name)
	if err != nil {
		return false
	}
	if !e.runs(item) {
		e.over = true
		_, err = lease.Release(ctx)
		return err == nil
	}
	if item.Version == 0 {
		mine, err := e.seal(ctx, e.mine)
		if err != nil {
			return false
		}
		if made, err := store.Do(ctx, e.Store, e.op(mine)); err != nil || !made[0].OK {
			return false
		}
	}
	e.lease = lease
	return true
}

// finishWithout keeps only that there was an answer, if the answer itself finds no room. This
// takes no more room than the record that it replaces.
func (e *Entry) finishWithout(ctx context.Context, why error) error {
	done, err := e.seal(ctx, Record{Holder: e.mine.Holder, Args: e.mine.Args, Ran: e.mine.Ran, Done: true})
	if err == nil {
		err = e.finish(ctx, e.op(done))
	}
	if err == nil {
		sink.Log(ctx, e.log, slog.LevelWarn, notKept, slog.String("tool", e.tool), slog.Any("error", why))
	}
	return err
}

// undo withdraws the record of a call that was not run, and ends its lease, even if it is unknown
// whether the lease was taken.
func (e *Entry) undo(ctx context.Context) (err error) {
	if err := e.withdraw(ctx); err != nil {
		return err
	}
	if e.lease == nil {
		if e.lease, _, err = stored.Acquire(ctx, e.Store, liveName(e.name), []byte(e.mine.Holder), time.Second); e.lease == nil {
			return err
		}
	}
	return e.release(ctx)
}

// withdraw makes a record harmless that may have been written, or may still arrive: it puts
// one in its place that says that nothing was run.
func (e *Entry) withdraw(ctx context.Context) error {
	item, err := e.Store.Get(ctx, e.name)
	if err != nil {
		return err
	}
	if item.Version != 0 {
		if rec, err := e.open(e.name, item.Value); err != nil || rec.Holder != e.mine.Holder || rec.Withdrawn {
			return nil //nolint:nilerr // it is another attempt's record
		}
	}
	sealed, err := e.seal(ctx, Record{Holder: e.mine.Holder, Args: e.mine.Args, Withdrawn: true})
	if err != nil {
		return nil //nolint:nilerr // it would fail again
	}
	_, ok, err := e.Store.Swap(ctx, e.name, item.Version, sealed, lateness)
	if err == nil && !ok {
		err = errFaster
	}
	return err
}

// errFaster says that another attempt wrote meanwhile, so that withdraw has to read again.
var errFaster = errors.New("the record was written meanwhile")

// release ends the lease. Whether it was still held does not matter: a lease that was lost belongs to another attempt.
func (e *Entry) release(ctx context.Context) error {
	_, err := e.lease.Release(ctx)
	return err
}

// Put writes a record without a lease, under the bounds of Begin. If a record stands there, Put asks over whether
// rec may take its place. It is an alternative to Begin, for what does not run.
func (e *Entry) Put(ctx context.Context, rec Record, over func(there Record) bool) (ok bool, err error) {
	rec.Holder = rand.Text()
	sealed, err := e.seal(ctx, rec)
	if err != nil {
		return false, err
	}
	item, err := e.Store.Get(ctx, e.name)
	for err == nil && !ok {
		if item.Version != 0 {
			there, err := e.open(e.name, item.Value)
			if err != nil || !there.Withdrawn && !over(there) {
				return false, err
			}
		}
		item, ok, err = e.Store.Swap(store.Within(ctx, e.bound(e.spare())), e.name, item.Version, sealed, e.Keep)
	}
	return ok, err
}

// seal returns the bytes of a record. If the answer is too large, it keeps only that there
// was one.
func (e *Entry) seal(ctx context.Context, rec Record) ([]byte, error) {
	raw, err := marshal(rec)
	if err == nil && len(raw) > e.Limits.AnswerBytes {
		err = fmt.Errorf("the answer has %d bytes", len(raw))
	}
	if err != nil && rec.Answer != nil {
		sink.Log(ctx, e.log, slog.LevelWarn, notKept, slog.String("tool", e.tool), slog.Any("error", err))
		rec.Answer = nil
		return e.seal(ctx, rec)
	}
	if e.Cipher == nil {
		return raw, nil
	}
	sealed, err := e.Cipher.Seal(e.name, raw)
	if err != nil {
		return nil, fmt.Errorf("Options.Cipher: %w", err)
	}
	return sealed, nil
}

// marshal returns the JSON of a record, in which the texts of an answer keep their bytes.
func marshal(rec Record) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(rec)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
