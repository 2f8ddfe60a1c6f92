//go:build !unix

package probe

import (
	"context"
	"os/exec"
	"strconv"
)

func ownGroup(*exec.Cmd) {}

// killGroup ends a command and all that it has started.
func killGroup(cmd *exec.Cmd) {
	_ = exec.CommandContext(context.Background(), "taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() //nolint:gosec // a number
	_ = cmd.Process.Kill()
}

// terminate reports false: there is no signal that asks a process to end.
func terminate(*exec.Cmd) bool { return false }

// left returns 0: the processes of a command are not known.
func left(*exec.Cmd) int { return 0 }
