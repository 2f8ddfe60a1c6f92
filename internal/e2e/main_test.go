// Package e2e tests the library as its users run it: a server in a process of its
// own, real clients of both protocol eras over stdio and streamable HTTP, and
// every byte that leaves the server on record.
//
// The server is this test binary, executed again with its configuration in the
// environment. All traffic stays on 127.0.0.1.
package e2e

import (
	"testing"

	"github.com/mcpchain/mcpchain/internal/child"
)

func TestMain(m *testing.M) { child.Main(m, serve) }

const (
	canaryPrefix = child.CanaryPrefix
	patience     = child.Patience
	lifetime     = child.Lifetime
)

func canary(name string) string { return child.Canary(name) }
