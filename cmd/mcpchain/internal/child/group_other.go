//go:build !unix

package child

import (
	"context"
	"os"
	"os/exec"
	"strconv"
)

func ownGroup(*exec.Cmd) {}

// killGroup ends the process with all that it has started, as taskkill finds it.
func killGroup(cmd *exec.Cmd) {
	tree := exec.CommandContext(context.Background(), "taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)) //nolint:gosec // a number
	if tree.Run() != nil {
		_ = cmd.Process.Kill()
	}
}

func endGroup(cmd *exec.Cmd) { killGroup(cmd) } // there is no gentler way

func guarded(*exec.Cmd) (release func()) { return func() {} }

func status(state *os.ProcessState) int { return state.ExitCode() }
