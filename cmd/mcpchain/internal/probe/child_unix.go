//go:build unix

package probe

import (
	"os/exec"
	"syscall"
)

func begun(*exec.Cmd) {} // nothing waits for it

// killGroup ends a command and all that it has started.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// terminate sends SIGTERM to a command and reports whether it was sent. It is false on systems without such a signal,
// and for a process that has ended.
func terminate(cmd *exec.Cmd) bool { return cmd.Process.Signal(syscall.SIGTERM) == nil }
