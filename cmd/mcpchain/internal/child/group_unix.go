//go:build unix

package child

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

func endGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// guard is a shell that kills the groups that it was told of when its input ends. This process has the other side of
// that pipe, which closes also if SIGKILL ends it. The signal for the death of a parent, which Linux has, does not
// reach grandchildren such as the server behind npx. One shell guards all servers.
var guard struct {
	mu     sync.Mutex
	groups []int
	cmd    *exec.Cmd // nil if there is none
	in     *os.File
}

const guards = `all=" "
while read -r g; do
	case $g in
	-*) g=${g#-}; all="${all%%" $g "*} ${all#*" $g "}" ;;
	*) all="$all$g " ;;
	esac
done
for g in $all; do kill -9 "-$g"; done`

// guarded has the guard kill the group of cmd, until release is called. Without a shell there is no guard.
func guarded(cmd *exec.Cmd) (release func()) {
	group := cmd.Process.Pid
	guard.mu.Lock()
	defer guard.mu.Unlock()
	guard.groups = append(guard.groups, group)
	if !tell(strconv.Itoa(group)) {
		endGuard()
		startGuard()
	}
	return func() {
		guard.mu.Lock()
		defer guard.mu.Unlock()
		at := slices.Index(guard.groups, group)
		guard.groups = slices.Delete(guard.groups, at, at+1)
		told := tell("-" + strconv.Itoa(group))
		if !told || len(guard.groups) == 0 {
			endGuard()
		}
		if !told && len(guard.groups) > 0 {
			startGuard()
		}
	}
}

// startGuard starts the guard of all groups. The caller holds the lock.
func startGuard() {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", guards)
	cmd.Stdin, cmd.Env = r, []string{}
	ownGroup(cmd)
	err = cmd.Start()
	_ = r.Close()
	if err != nil {
		_ = w.Close()
		return
	}
	guard.cmd, guard.in = cmd, w
	for _, group := range guard.groups {
		tell(strconv.Itoa(group))
	}
}

// tell tells the guard something, and reports false if there is none. The caller holds the lock.
func tell(line string) bool {
	if guard.cmd == nil {
		return false
	}
	_, err := guard.in.WriteString(line + "\n")
	return err == nil
}

// endGuard ends the guard, if there is one. The caller holds the lock.
func endGuard() {
	if guard.cmd == nil {
		return
	}
	_ = guard.cmd.Process.Kill()
	_ = guard.cmd.Wait()
	_ = guard.in.Close()
	guard.cmd, guard.in = nil, nil
}

func status(state *os.ProcessState) int {
	if wait, ok := state.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
		return 128 + int(wait.Signal())
	}
	return state.ExitCode()
}
