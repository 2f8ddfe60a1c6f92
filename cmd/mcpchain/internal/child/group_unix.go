//go:build unix

package child

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

func endGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// guarded starts a shell that waits for the end of a pipe, and then kills the group of cmd. This process has the
// other side of the pipe, which closes also if SIGKILL ends it. The signal for the death of a parent, which Linux
// has, does not reach grandchildren such as the server behind npx. Without a shell there is no guard.
func guarded(cmd *exec.Cmd) (guard *exec.Cmd, hold io.Closer) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil
	}
	group := strconv.Itoa(cmd.Process.Pid)
	guard = exec.CommandContext(context.Background(), "/bin/sh", "-c", `read -r _; kill -9 "-$0"`, group) //nolint:gosec // a number
	guard.Stdin, guard.Env = r, []string{}
	ownGroup(guard)
	err = guard.Start()
	_ = r.Close()
	if err != nil {
		_ = w.Close()
		return nil, nil
	}
	return guard, w
}

func status(state *os.ProcessState) int {
	if wait, ok := state.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
		return 128 + int(wait.Signal())
	}
	return state.ExitCode()
}
