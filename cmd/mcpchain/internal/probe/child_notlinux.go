//go:build unix && !linux

package probe

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// left returns 1 if processes of the group of a command still run, 0 if not.
func left(cmd *exec.Cmd) int {
	if syscall.Kill(-cmd.Process.Pid, 0) == nil {
		return 1
	}
	return 0
}
