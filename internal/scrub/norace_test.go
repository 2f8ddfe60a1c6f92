//go:build !race

package scrub

// racing says that the race detector makes everything several times slower.
const racing = false
