//go:build race

package harness

// Racing says that the race detector is on: everything is several times slower, and pools forget at random.
const Racing = true
