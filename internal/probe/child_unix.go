//go:build unix

package probe

import (
	"os/exec"
	"syscall"
)

// killGroup ends a command and all that it has started.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// terminate asks a command to end. It reports whether the system has a way to ask.
func terminate(cmd *exec.Cmd) bool { return cmd.Process.Signal(syscall.SIGTERM) == nil }
