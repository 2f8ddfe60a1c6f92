package classify_test

import (
	"errors"
	"log/slog"
	"os"
	"testing"

	"github.com/mcpchain/mcpchain/fault"
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
