//go:build unix

package child

import "slices"

// KillGuard ends the guard as somebody else might.
func KillGuard() { _ = guard.cmd.Process.Kill(); _, _ = guard.cmd.Process.Wait() }

// Guarded returns the groups that the guard was told of, none if there is no guard.
func Guarded() []int {
	guard.mu.Lock()
	defer guard.mu.Unlock()
	if guard.cmd == nil {
		return nil
	}
	return slices.Clone(guard.groups)
}
