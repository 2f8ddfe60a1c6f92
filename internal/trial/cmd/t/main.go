// T is the command of a player. It says nothing of what stands behind it: see trial, whose command ask it runs.
package main

import (
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	exe, err := os.Executable()
	if err != nil {
		os.Exit(1)
	}
	ask := exec.Command(filepath.Join(filepath.Dir(exe), ".priv", "trial"), append([]string{"ask"}, os.Args[1:]...)...)
	ask.Stdout = os.Stdout
	if ask.Run() != nil {
		os.Exit(2)
	}
}
