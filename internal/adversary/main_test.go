// Package adversary attacks servers: a client that speaks raw JSON-RPC sends hostile
// requests, over stdio and streamable HTTP and in both protocol eras, to servers in
// processes of their own, and looks after each request whether it did harm.
//
// The requests are the templates in testdata/requests.jsonl and what mutation makes of
// them. `go test` takes a few seconds. ADVERSARY_TIME=1m attacks for longer. A request
// that did harm is written to testdata/found, where every later run sends it again.
// ADVERSARY_PENDING=1 sends those marked with "!" too, which are known to do harm.
package adversary

import (
	"os"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/child"
)

func TestMain(m *testing.M) { child.Main(m, serve) }

// attackTime is how long each test attacks.
func attackTime(standard time.Duration) time.Duration {
	if d, err := time.ParseDuration(os.Getenv("ADVERSARY_TIME")); err == nil {
		return d
	}
	return standard
}
