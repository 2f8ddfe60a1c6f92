package mcptest

import "testing"

// SetUpdate sets the flag -mcptest.update until the test ends.
func SetUpdate(t testing.TB, on bool) {
	t.Helper()
	before := *update
	*update = on
	t.Cleanup(func() { *update = before })
}
