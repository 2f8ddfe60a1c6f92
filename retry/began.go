package retry

import (
	"context"
	"errors"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// ErrUnchanged says, to the function that [Began] returns, that nothing was changed. An
// error that wraps it says the same.
var ErrUnchanged = errors.New("retry: nothing was changed")

// Began notes in the call of ctx that the handler is about to do something that may change something, such as
// a statement or the write of a file. It returns the function that says how that ended, so that the caller of a
// call that fails learns whether a part of it took effect:
//
//	done := retry.Began(ctx)
//	_, err := db.ExecContext(ctx, "INSERT INTO orders ...")
//	done(err)
//
// Nil says that it took effect. [ErrUnchanged], or an error that states [fault.EffectNone] itself,
// says that it did not. After any other error, and until done is called, the effect is unknown: an
// error proves what it is, never what became of the step. The last call of done counts.
//
// Call Began for each thing that can take effect by itself. In a transaction that is the Commit:
// nothing has changed before it, and a rollback needs no Began. If a database answers one single
// statement that was sent once with an error, that statement has changed nothing; say so with
// ErrUnchanged. A [database/sql.DB] may send it again, a [database/sql.Conn] does not.
//
//	done := retry.Began(ctx)
//	err := tx.Commit()
//	done(err)
//
// [Transport] does the same by itself for requests over HTTP. Outside of a call Began and done do
// nothing. done may be called concurrently, and after the call was answered; then it does not
// change the answer.
func Began(ctx context.Context) (done func(err error)) {
	ledger := call.LedgerOf(ctx)
	if ledger == nil {
		return func(error) {}
	}
	step := &call.Change{}
	step.Begin(ledger)
	return func(err error) { step.End(became(err)) }
}

// became returns what the error of a step says about its effect.
func became(err error) fault.Effect {
	switch {
	case err == nil:
		return fault.EffectCommitted
	case safe.Is(err, ErrUnchanged):
		return fault.EffectNone
	default:
		return failure.HintOf(err).Effect
	}
}
