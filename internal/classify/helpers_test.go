package classify_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/harness"
)

// errSecret is what no caller may see. The scrubber does not know its shape.
var errSecret = errors.New(harness.Canary + " is wrong")

func TestMain(m *testing.M) {
	// What is said of panics on purpose is nobody's to read.
	slog.SetDefault(quiet)
	os.Exit(m.Run())
}

var quiet = slog.New(slog.DiscardHandler)

// told returns what a fault says but for the party and the status, which have tests of
// their own.
func told(e *fault.Error) fault.Data {
	d := e.Data()
	d.Party = ""
	delete(d.Details, "status_code")
	if len(d.Details) == 0 {
		d.Details = nil
	}
	return d
}

// hintOf returns what a finding means for a second try, without rules.
func hintOf(f classify.Finding) fault.Hint {
	return failure.Again(&failure.Known{Finding: f}, failure.Situation{}).Hint
}

// shown returns a finding about an error as it is seen by a reader who may read its words.
func shown(f classify.Finding, err error) failure.View {
	reader := failure.Reader{Mask: func(text string) string { return text }, Trust: failure.Operator}
	return reader.View(&failure.Seen{Found: f, Err: err})
}

// statusError is an error of a client for an HTTP service.
type statusError int

func (e statusError) Error() string   { return fmt.Sprintf("status %d", int(e)) }
func (e statusError) StatusCode() int { return int(e) }
