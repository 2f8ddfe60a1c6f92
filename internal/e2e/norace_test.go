//go:build !race

package e2e

// racing says that the race detector makes everything several times slower.
const racing = false
