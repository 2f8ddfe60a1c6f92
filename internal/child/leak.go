package child

import (
	"crypto/sha256"
	"encoding/hex"
	"os"

	"github.com/mcpchain/mcpchain/internal/conduct"
)

// CanaryPrefix is what all canaries begin with, so that one search finds any of them.
const CanaryPrefix = "zqkanarie"

// Canary returns the invented secret of one scenario, the same one in the test and in
// its servers. No scrubber recognizes it by its shape.
func Canary(name string) string {
	sum := sha256.Sum256([]byte(os.Getenv(seedEnv) + name))
	return CanaryPrefix + hex.EncodeToString(sum[:8])
}

// Leak returns what stands around a canary in b, the bytes that left a server, in whatever form the
// canary stands there, or "".
func Leak(b []byte) string {
	_, around := conduct.Find(string(b), CanaryPrefix)
	return around
}
