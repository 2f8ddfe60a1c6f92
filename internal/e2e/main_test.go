// Package e2e tests the library as its users run it: a server in a process of its
// own, real clients of both protocol eras over stdio and streamable HTTP, and
// every byte that leaves the server on record.
//
// The server is this test binary, executed again with its configuration in the
// environment. All traffic stays on 127.0.0.1.
package e2e

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"testing"
)

const (
	configEnv = "MCPCHAIN_E2E_SERVER" // the configuration of a server process, as JSON
	seedEnv   = "MCPCHAIN_E2E_SEED"   // what the canaries of this run are made from
)

func TestMain(m *testing.M) {
	if config := os.Getenv(configEnv); config != "" {
		if err := serve(config); err != nil {
			fmt.Fprintln(os.Stderr, "server:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(seedEnv) == "" {
		if err := os.Setenv(seedEnv, rand.Text()); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// canary returns the invented secret of one scenario, the same one in the test and
// in the server. It looks like nothing that a scrubber knows.
func canary(name string) string {
	sum := sha256.Sum256([]byte(os.Getenv(seedEnv) + name))
	return canaryPrefix + hex.EncodeToString(sum[:8])
}

// canaryPrefix is what all canaries begin with, so that one search finds any of
// them.
const canaryPrefix = "zqkanarie"
