package probe

import (
	"os/exec"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/spawn"
)

func ownGroup(cmd *exec.Cmd) { spawn.Prepare(cmd) }

func begun(cmd *exec.Cmd) { spawn.Begin(cmd) }

// killGroup ends a command and all that it has started.
func killGroup(cmd *exec.Cmd) { spawn.Kill(cmd) }

// terminate reports false: there is no signal that asks a process to end.
func terminate(*exec.Cmd) bool { return false }

// left returns how many processes that a command has started still run.
func left(cmd *exec.Cmd) int { return spawn.Left(cmd) }
