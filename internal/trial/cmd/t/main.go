// T is the command of a player: see trial. It starts the server of a task when the player first asks for it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var errUsage = errors.New("usage: t LETTER TASK list | call TOOL 'JSON' | wait SECONDS | done 'WORDS'")

func main() {
	out, err := ask(os.Args[1:])
	if err != nil {
		out = err.Error()
	}
	_, _ = fmt.Fprintln(os.Stdout, strings.TrimRight(out, "\n")) // a player reads one stream
	if err != nil {
		os.Exit(2)
	}
}

func ask(args []string) (string, error) {
	if len(args) < 3 {
		return "", errUsage
	}
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	private := filepath.Join(filepath.Dir(exe), ".priv")
	trial, name := filepath.Join(private, "trial"), args[0]+"-"+args[1]
	if exec.Command(trial, "known", args[0], args[1]).Run() != nil {
		return "", errors.New("there is no such task for this letter: look at your list")
	}
	if _, err := os.Stat(filepath.Join(private, "log", name+".done")); err == nil {
		return "", errors.New("this task has ended")
	}
	request, err := read(args[2], args[3:])
	if err != nil {
		return "", err
	}
	c, err := dial(filepath.Join(private, "run", name+".sock"), exec.Command(trial, "serve", args[0], args[1]))
	if err != nil {
		return "", errors.New("the server does not start")
	}
	if err := json.NewEncoder(c).Encode(request); err != nil {
		return "", err
	}
	out, err := io.ReadAll(c)
	return string(out), err
}

// read makes a request of what the player wrote.
func read(op string, rest []string) (map[string]any, error) {
	r := map[string]any{"op": op}
	switch {
	case op == "list" && len(rest) == 0:
	case op == "call" && (len(rest) == 1 || len(rest) == 2):
		r["tool"] = rest[0]
		if len(rest) == 2 {
			if !json.Valid([]byte(rest[1])) {
				return nil, errors.New("the arguments are not JSON: nothing was called")
			}
			r["args"] = json.RawMessage(rest[1])
		}
	case op == "wait" && len(rest) == 1:
		s, err := strconv.ParseFloat(strings.TrimSuffix(rest[0], "s"), 64)
		if err != nil || s < 0 || s > 86400 {
			return nil, errors.New("wait takes seconds, at most 86400")
		}
		r["wait"] = s
	case op == "done" && len(rest) == 1:
		words := strings.TrimSpace(rest[0])
		if !slices.ContainsFunc([]string{"DONE", "PARTLY", "NOT DONE", "UNKNOWN"}, func(s string) bool { return strings.HasPrefix(words, s) }) {
			return nil, errors.New("the words must begin with DONE, PARTLY, NOT DONE or UNKNOWN")
		}
		r["answer"] = words
	default:
		return nil, errUsage
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
