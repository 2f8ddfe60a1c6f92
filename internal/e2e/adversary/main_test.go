// Package adversary attacks servers: a client that speaks raw JSON-RPC sends hostile
// requests, over stdio and streamable HTTP and in both protocol eras, to servers in
// processes of their own, and looks after each request whether it did harm.
//
// The requests are the templates in testdata/requests.txt and what mutation makes of
// them. `go test` takes a few seconds: each server gets a share of the requests, and all
// of them together get each several times. With ADVERSARY_TIME=1m each server gets all
// requests and is attacked for a minute. A request that did harm is written to
// testdata/found, where every later run sends it again. ADVERSARY_SEED repeats the
// mutations of a run.
package adversary

import (
	"os"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/child"
)

func TestMain(m *testing.M) { child.Main(m, serve) }

// thorough reports whether there is time for everything.
func thorough() bool { return os.Getenv("ADVERSARY_TIME") != "" }

// attackTime is how long each test attacks.
func attackTime(standard time.Duration) time.Duration {
	if d, err := time.ParseDuration(os.Getenv("ADVERSARY_TIME")); err == nil {
		return d
	}
	return standard
}
