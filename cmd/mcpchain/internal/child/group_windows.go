package child

import (
	"os"
	"os/exec"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/spawn"
)

func ownGroup(cmd *exec.Cmd) { spawn.Prepare(cmd) }

func killGroup(cmd *exec.Cmd) { spawn.Kill(cmd) }

func endGroup(cmd *exec.Cmd) { spawn.Kill(cmd) } // there is no gentler way

// guarded needs no guard: Windows ends what is in a job with this process.
func guarded(cmd *exec.Cmd) (release func()) {
	spawn.Begin(cmd)
	return func() {}
}

func status(state *os.ProcessState) int { return state.ExitCode() }
