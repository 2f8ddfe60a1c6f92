package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// An op is what a player does, and a line of the log of a run.
type op struct {
	Op     string          `json:"op"` // list, call, wait or done
	At     float64         `json:"at"` // virtual seconds since the task began
	Tool   string          `json:"tool,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	Wait   float64         `json:"wait,omitempty"`
	Failed bool            `json:"failed,omitempty"`
	Text   string          `json:"text,omitempty"` // what came back, or the last words
	Truth  map[string]int  `json:"truth,omitempty"`
	Begin  *seat           `json:"begin,omitempty"`
}

// A request is an op that waits for what comes back.
type request struct {
	op

	reply chan string
}

// A seat is one player in front of one task in one arm.
type seat struct {
	Player string `json:"player"`
	Arm    string `json:"arm"`
	Task   string `json:"task"`
}

// thinking is how long a model thinks before each call.
const thinking = 3 * time.Second

// play serves the requests of a run in a bubble of synctest. Its clock stands still while it waits for a request,
// because their channel is from outside of the bubble. It jumps ahead while all in the bubble wait for it.
func play(s seat, requests <-chan request, log io.Writer, logger *slog.Logger) error {
	t, ok := taskNamed(s.Task)
	if !ok {
		return errors.New("there is no task " + s.Task)
	}
	time.Sleep(time.Until(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)))
	began := time.Now()
	h, err := newHost(s.Arm, &t, logger)
	if err != nil {
		return err
	}
	defer func() { _ = h.session.Close() }()
	write := func(o op) error {
		o.At = time.Since(began).Seconds()
		return json.NewEncoder(log).Encode(o)
	}
	if err := write(op{Op: "begin", Begin: &s}); err != nil {
		return err
	}
	for r := range requests {
		o, reply := r.op, ""
		switch o.Op {
		case "list":
			reply = h.list()
		case "call":
			time.Sleep(thinking)
			reply, o.Failed = h.call(o.Tool, o.Args)
			o.Text = reply
		case "wait":
			time.Sleep(time.Duration(o.Wait * float64(time.Second)))
			reply = fmt.Sprintf("%g s have passed", o.Wait)
		case "done":
			reply, o.Truth = "the task has ended", h.world.facts()
		}
		if err := write(o); err != nil {
			return err
		}
		r.reply <- reply
		if o.Op == "done" {
			break
		}
	}
	return nil
}

// inBubble runs f in a bubble of synctest, which only tests may have, and ends the process.
func inBubble(f func() error) {
	testing.Init()
	if err := flag.CommandLine.Parse([]string{"-test.timeout=0"}); err != nil {
		fail(err)
	}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "trial", F: func(t *testing.T) {
		synctest.Test(t, func(*testing.T) {
			if err := f(); err != nil {
				fail(err)
			}
			os.Exit(0)
		})
	}}}, nil, nil)
}

// idleFor is how long a server waits for its player.
const idleFor = 3 * time.Hour

// serve runs the server of one player and task behind a Unix socket, until the task is done.
func serve(dir, token, name string) error {
	s, err := seatOf(dir, token, name)
	if err != nil {
		return err
	}
	base := filepath.Join(dir, "log", token+"-"+name)
	log, err := os.OpenFile(base+".jsonl", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	socket := filepath.Join(dir, "run", token+"-"+name+".sock")
	_ = os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	requests := make(chan request)
	leave := func() { _ = os.Remove(socket); os.Exit(0) }
	idle := time.AfterFunc(idleFor, leave)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			idle.Reset(idleFor)
			if pass(c, requests) {
				_ = os.WriteFile(base+".done", nil, 0o600)
				leave()
			}
		}
	}()
	end := make(chan struct{}) // made outside of the bubble, so that waiting for it is not a deadlock there
	inBubble(func() error {
		err := play(s, requests, log, slog.New(slog.DiscardHandler))
		if err == nil {
			<-end
		}
		return err
	})
	return nil
}

// pass passes on one request, and reports whether it was the last.
func pass(c net.Conn, requests chan<- request) bool {
	defer func() { _ = c.Close() }()
	r := request{reply: make(chan string, 1)}
	if json.NewDecoder(c).Decode(&r.op) != nil {
		return false
	}
	requests <- r
	_, _ = io.WriteString(c, <-r.reply)
	return r.Op == "done"
}

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
