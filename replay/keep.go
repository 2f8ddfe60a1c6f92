package replay

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/internal/safe"
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

// recordOf returns what is written at the end of a call, nil if it is to be forgotten.
func (a *attempt) recordOf(end ending, res mcp.Result, err error) *kept.Record {
	switch end {
	case forgotten:
		return nil
	case final:
		return a.entry.Ended(a.c, res, err)
	default:
		return &kept.Record{Again: a.rerunnable()}
	}
}
