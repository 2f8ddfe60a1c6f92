package main

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var errUsage = errors.New("usage: t LETTER TASK list | call TOOL 'JSON' | wait SECONDS | done 'WORDS'")

// ask does what a player wrote, and returns what the player reads. It starts the server of a task when the player
// first asks for it.
func ask(dir, exe string, args []string) (string, error) {
	if len(args) < 3 {
		return "", errUsage
	}
	if _, err := seatOf(dir, args[0], args[1]); err != nil {
		return "", err
	}
	name := args[0] + "-" + args[1]
	if _, err := os.Stat(filepath.Join(dir, "log", name+".done")); err == nil {
		return "", errors.New("this task has ended")
	}
	r, err := read(args[2], args[3:])
	if err != nil {
		return "", err
	}
	c, err := dial(filepath.Join(dir, "run", name+".sock"), exec.Command(exe, "serve", args[0], args[1]))
	if err != nil {
		return "", errors.New("the server does not start")
	}
	if err := json.NewEncoder(c).Encode(r); err != nil {
		return "", err
	}
	out, err := io.ReadAll(c)
	return string(out), err
}

// read makes an op of what the player wrote.
func read(name string, rest []string) (op, error) {
	r := op{Op: name}
	switch {
	case name == "list" && len(rest) == 0:
	case name == "call" && (len(rest) == 1 || len(rest) == 2):
		r.Tool, r.Args = rest[0], json.RawMessage(append(rest, "{}")[1])
		if !json.Valid(r.Args) {
			return r, errors.New("the arguments are not JSON: nothing was called")
		}
	case name == "wait" && len(rest) == 1:
		s, err := strconv.ParseFloat(strings.TrimSuffix(rest[0], "s"), 64)
		if err != nil || s < 0 || s > 86400 {
			return r, errors.New("wait takes seconds, at most 86400")
		}
		r.Wait = s
	case name == "done" && len(rest) == 1:
		if statusOf(rest[0]) == "" {
			return r, errors.New("the words must begin with DONE, PARTLY, NOT DONE or UNKNOWN")
		}
		r.Text = strings.TrimSpace(rest[0])
	default:
		return r, errUsage
	}
	return r, nil
}

// dial reaches the server of a task, and starts it if it is not there.
func dial(socket string, server *exec.Cmd) (net.Conn, error) {
	c, err := net.Dial("unix", socket)
	if err == nil {
		return c, nil
	}
	server.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := server.Start(); err != nil {
		return nil, err
	}
	for range 200 {
		time.Sleep(50 * time.Millisecond)
		if c, err = net.Dial("unix", socket); err == nil {
			return c, nil
		}
	}
	return nil, err
}
