package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/sink"
	"github.com/mcpchain/mcpchain/internal/stored"
	"github.com/mcpchain/mcpchain/store"
)

// An ending says what becomes of a record when its handler has ended.
type ending uint8

const (
	unknown   ending = iota // it ran, and has no answer to be kept: the key runs it again if that does no harm
	final                   // the answer is kept
	forgotten               // nothing was changed: the next call with the key runs the handler
)

// endOf says what becomes of the record of a call that ended with this answer.
func (a *attempt) endOf(res mcp.Result, err error) ending {
	f := a.c.End(res, err)
	if f == nil {
		if call.NeedsInput(res) {
			return forgotten
		}
		return final
	}
	known, seen := f.Again(failure.Situation{}), f.Seen()
	effect := known.Effect
	if f.Panic() != nil && seen == "" {
		effect = fault.EffectUnknown
	}
	switch {
	case effect == fault.EffectNone, known.Retry.ShouldRetry: // what its caller is told to repeat runs again
		return forgotten
	case a.rerunnable(): // a second run does no harm
		if a.c.Safety(a.next) == failure.Reads {
			return forgotten
		}
		return unknown
	case effect == fault.EffectCommitted:
		return final
	case f.Fault().Kind() == fault.KindCancelled, a.c.WasCut(): // its answer, if any, is about the end of its context
		return unknown
	default:
		return final
	}
}

// rerunnable reports whether it does no harm to run the handler again after an attempt
// whose end is unknown. It returns false for a tool that is not found.
func (a *attempt) rerunnable() bool {
	if a.Rerun != nil {
		return safe.Ask(a.Rerun, a.req.Params.Name)
	}
	return a.c.Safety(a.next) > failure.Writes
}

// A record is what stands in the store under the name of a call.
type record struct {
	Holder string `json:"h"` // the attempt that wrote it, so that each record differs from all others
	Args   string `json:"a"` // a hash
	Done   bool   `json:"d"` // false: the handler runs, has ended without an answer, or its end is unknown
	// Again says that the call was answered, and that a second run does no harm.
	Again bool `json:"g,omitempty"`
	// Withdrawn says that nothing was run: the record counts as absent.
	Withdrawn bool `json:"w,omitempty"`
	// List says that the key is used for a list, whose items have records of their own.
	List bool `json:"l,omitempty"`

	Call   string   `json:"c,omitempty"` // the reference of the first call, if it failed
	Answer *answers `json:"r,omitempty"` // nil: too large to be kept, and the record takes no more room than one that is not done
}

// answers is the answer of a call; exactly one field is set.
type answers struct {
	Result json.RawMessage `json:"r,omitempty"`
	Fault  *fault.Error    `json:"f,omitempty"`
	Wire   *jsonrpc.Error  `json:"w,omitempty"`
}

// recordOf returns the record with the answer of a call.
func (a *attempt) recordOf(res mcp.Result, err error) record {
	rec := record{Holder: a.holder, Args: a.args, Done: true}
	tool, _ := res.(*mcp.CallToolResult)
	f := a.c.End(res, err)
	if f != nil {
		rec.Call = a.c.ID()
	}
	switch {
	case f == nil || (err == nil && tool.GetError() == nil):
		raw, err := json.Marshal(tool)
		if err != nil {
			sink.Log(a.c, a.log, slog.LevelWarn, "mcp answer cannot be kept for repetitions", slog.Any("error", err))
			return rec
		}
		rec.Answer = &answers{Result: raw}
	case f.Wire() != nil:
		rec.Answer = &answers{Wire: f.Wire()}
	default:
		rec.Answer = &answers{Fault: f.Fault()}
	}
	return rec
}

// seal returns the bytes of a record. If the answer is too large, it keeps only that there
// was one.
func (a *attempt) seal(rec record) ([]byte, error) {
	raw, err := json.Marshal(rec)
	if err == nil && len(raw) > a.Limits.AnswerBytes {
		err = fmt.Errorf("replay: the answer has %d bytes", len(raw))
	}
	if err != nil && rec.Answer != nil {
		sink.Log(a.c, a.log, slog.LevelWarn, "mcp answer cannot be kept for repetitions", slog.Any("error", err))
		rec.Answer = nil
		return a.seal(rec)
	}
	if a.Cipher == nil {
		return raw, nil
	}
	sealed, err := a.Cipher.Seal(a.name, raw)
	if err != nil {
		return nil, fmt.Errorf("replay: Options.Cipher: %w", err)
	}
	return sealed, nil
}

// errUnreadable says that a record stands there, so that a call was made with the key.
var errUnreadable = errors.New("replay: a record cannot be read")

func (k *keeper) openNamed(name string, sealed []byte) (rec record, err error) {
	if k.Cipher != nil {
		if sealed, err = k.Cipher.Open(name, sealed); err != nil {
			return rec, fmt.Errorf("%w: Options.Cipher: %w", errUnreadable, err)
		}
	}
	if err := json.Unmarshal(sealed, &rec); err != nil {
		return rec, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return rec, nil
}

func (a *attempt) open(sealed []byte) (record, error) { return a.openNamed(a.name, sealed) }

// keep writes into the store how a call ended, and ends its lease. If the store fails, it
// goes on trying after the caller got the answer, and holds the lease meanwhile.
func (a *attempt) keep(ctx context.Context, beat func(), end ending, res mcp.Result, err error) {
	var last []byte
	if end == final {
		if last, err = a.seal(a.recordOf(res, err)); err != nil {
			sink.Log(ctx, a.log, slog.LevelError, "mcp answer cannot be kept for repetitions", slog.Any("error", err))
			end = unknown
		}
	}
	if end == unknown {
		if last, err = a.seal(record{Holder: a.holder, Args: a.args, Again: a.rerunnable()}); err != nil {
			last = nil // the record stays that says that it runs
		}
	}
	write := func(ctx context.Context) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		err := a.write(ctx, end, last)
		a.over = a.over || err == nil
		return err
	}
	if err := write(ctx); err != nil {
		sink.Log(ctx, a.log, slog.LevelWarn, "mcp answer could not be kept for repetitions yet", slog.String("tool", a.req.Params.Name), slog.Any("error", unavailable(err)))
		a.later(write, beat)
		return
	}
	beat()
}

// write writes how a call ended, and ends the lease. After an error, call it again.
func (a *attempt) write(ctx context.Context, end ending, last []byte) error {
	switch {
	case end == forgotten:
		return a.finish(ctx, store.Op{Key: a.name})
	case last == nil:
		return a.release(ctx)
	}
	err := a.finish(ctx, store.Op{Key: a.name, Value: last, TTL: a.Keep, Bound: a.bound(0)})
	switch {
	case !errors.Is(err, store.ErrManyBytes) && !errors.Is(err, store.ErrFull) && !errors.Is(err, store.ErrTooLarge):
		return err
	case end == final:
		return a.finishWithout(ctx, err)
	default:
		return a.release(ctx)
	}
}

// finish replaces or deletes the record of the running call, and then ends the lease: in one
// step if the store can do that. A process that dies between the two leaves an answer and a
// lease. Repetitions get that answer in spite of the lease. If the answer of the store is lost,
// the same is tried again. If the first try took effect, the record that it replaced is gone,
// and nothing is written twice.
func (a *attempt) finish(ctx context.Context, op store.Op) error {
	op.Old = a.at
	made, err := a.lease.ReleaseAfter(ctx, op)
	for err == nil && !made[0].OK {
		there := made[0].Item
		if op.TTL == 0 { // which says nothing of what stands there
			if there, err = a.Store.Get(ctx, a.name); err != nil || there.Version == 0 {
				return err
			}
		}
		// The store may have lost a record that it had acknowledged, or hold another one of this attempt.
		if !a.runs(there) {
			return nil
		}
		op.Old = there.Version
		made, err = store.Do(ctx, a.Store, op)
	}
	return err
}

// runs reports whether an item allows the call to go on: it is absent, or says that this attempt runs.
func (a *attempt) runs(item store.Item) bool {
	if item.Version == 0 {
		return true
	}
	rec, err := a.open(item.Value)
	return err == nil && rec.Holder == a.holder && !rec.Done && !rec.Again && !rec.Withdrawn
}

// hold renews the lease. A lease may be lost while the store is away; it is taken again. A record that
// the store has lost is written again. Another attempt takes the record only if a second run does no
// harm, and then keeps it.
func (a *attempt) hold(ctx context.Context) (ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return true
	}
	if held, err := a.lease.Renew(ctx, leaseFor); held || err != nil {
		return held
	}
	lease, _, err := stored.Acquire(ctx, a.Store, a.live(), []byte(a.holder), leaseFor)
	if lease == nil { // another attempt looks at the record, or runs
		return err == nil
	}
	item, err := a.Store.Get(ctx, a.name)
	if err != nil {
		return false
	}
	if !a.runs(item) {
		a.over = true
		_, err = lease.Release(ctx)
		return err == nil
	}
	if item.Version == 0 {
		mine, err := a.seal(record{Holder: a.holder, Args: a.args})
		if err != nil {
			return false
		}
		if made, err := store.Do(ctx, a.Store, store.Op{Key: a.name, Value: mine, TTL: a.Keep, Bound: a.bound(0)}); err != nil || !made[0].OK {
			return false
		}
	}
	a.lease = lease
	return true
}

// finishWithout keeps only that there was an answer, if the answer itself finds no room. This
// takes no more room than the record that it replaces.
func (a *attempt) finishWithout(ctx context.Context, why error) error {
	done, err := a.seal(record{Holder: a.holder, Args: a.args, Done: true})
	if err == nil {
		err = a.finish(ctx, store.Op{Key: a.name, Value: done, TTL: a.Keep, Bound: a.bound(0)})
	}
	if err == nil {
		sink.Log(ctx, a.log, slog.LevelWarn, "mcp answer cannot be kept for repetitions", slog.Any("error", why))
	}
	return err
}

// lateness is how long after a lost answer its write may still arrive.
const lateness = time.Minute

// undo withdraws the record of a call that was not run, and ends its lease, even if it is unknown
// whether the lease was taken.
func (a *attempt) undo(ctx context.Context) (err error) {
	if err := a.withdraw(ctx); err != nil {
		return err
	}
	if a.lease == nil {
		if a.lease, _, err = stored.Acquire(ctx, a.Store, a.live(), []byte(a.holder), time.Second); a.lease == nil {
			return err
		}
	}
	return a.release(ctx)
}

// withdraw makes a record harmless that may have been written, or may still arrive: it puts
// one in its place that says that nothing was run.
func (a *attempt) withdraw(ctx context.Context) error {
	item, err := a.Store.Get(ctx, a.name)
	if err != nil {
		return err
	}
	if item.Version != 0 {
		if rec, err := a.open(item.Value); err != nil || rec.Holder != a.holder || rec.Withdrawn {
			return nil //nolint:nilerr // it is another attempt's record
		}
	}
	sealed, err := a.seal(record{Holder: a.holder, Args: a.args, Withdrawn: true})
	if err != nil {
		return nil //nolint:nilerr // it would fail again
	}
	_, ok, err := a.Store.Swap(ctx, a.name, item.Version, sealed, lateness)
	if err == nil && !ok {
		err = errFaster
	}
	return err
}

// errFaster says that another attempt wrote meanwhile, so that withdraw has to read again.
var errFaster = errors.New("replay: the record was written meanwhile")

// release ends the lease. Whether it was still held does not matter: a lease that was lost belongs to another attempt.
func (a *attempt) release(ctx context.Context) error {
	_, err := a.lease.Release(ctx)
	return err
}

// later calls try, again and again, for up to a minute in a goroutine, and done at the end.
// If too many others do so, it calls done at once.
func (k *keeper) later(try func(ctx context.Context) error, done func()) {
	select {
	case k.late <- struct{}{}:
	default:
		done()
		return
	}
	go func() {
		defer func() { done(); <-k.late }()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
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
