package classify

import (
	"time"

	"github.com/mcpchain/mcpchain/fault"
)

// A Source names where a statement about a second try or about an effect comes from. The weakest
// sources come first.
type Source uint8

// The sources. The first four are guesses about a second try, and never about an effect: see
// [Source.Derived].
const (
	Nobody   Source = iota
	ByKind          // the row of a kind that our tables derived from an error
	ByStatus        // what an HTTP status of a service means
	ByTable         // what a type, a number or a text of an error means
	ByChoice        // the row of a kind that a handler or a rule chose
	ByError         // a method of the error, or a fault below it
	ByRule          // a rule of the program
	ByFault         // the fault itself: its handler said so

	Annotated // the annotations of the tool
	Proven    // the call was refused before its handler ran
	Witnessed // it was seen how the steps of the call ended
	Cut       // the call began and was cut: by a limit of ours, or by its caller
	Counted   // the same call failed several times
)

// Derived reports whether our tables derived the statement from an error.
func (s Source) Derived() bool { return s < ByChoice }

// Says is what an error says about itself and about a second try, beside its text.
type Says struct {
	Kind   fault.Kind
	Party  fault.Party
	Status int // the HTTP status of a service that is needed, from 400 to 599, or zero

	Retry  fault.Retryable
	By     Source // of Retry
	Reason string // of Retry: a sentence of ours without a full stop

	After  time.Duration
	Effect fault.Effect // a statement: a method Effect of the error, or a fault below it
	Proof  Source       // of Effect
}
