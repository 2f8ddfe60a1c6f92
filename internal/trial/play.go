package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A request is what a player does.
type request struct {
	Op     string          `json:"op"` // list, call, wait or done
	Tool   string          `json:"tool,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	Wait   float64         `json:"wait,omitempty"`
	Answer string          `json:"answer,omitempty"`

	reply chan string
}

// An op is a line of the log of a run: what a player did, and what came back.
type op struct {
	Op     string          `json:"op"`
	At     float64         `json:"at"` // virtual seconds since the task began
	Tool   string          `json:"tool,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	Wait   float64         `json:"wait,omitempty"`
	Failed bool            `json:"failed,omitempty"`
	Text   string          `json:"text,omitempty"`
	Truth  map[string]int  `json:"truth,omitempty"`
	Begin  *seat           `json:"begin,omitempty"`
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
	h, err := newHost(s.Arm, t, logger)
	if err != nil {
		return err
	}
	defer func() { _ = h.session.Close() }()
	write := func(o op) error {
		o.At = time.Since(began).Seconds()
		line, err := json.Marshal(o)
		if err == nil {
			_, err = log.Write(append(line, '\n'))
		}
		return err
	}
	if err := write(op{Op: "begin", Begin: &s}); err != nil {
		return err
	}
	for r := range requests {
		o := op{Op: r.Op, Tool: r.Tool, Args: r.Args, Wait: r.Wait}
		switch r.Op {
		case "list":
			o.Text = h.list()
		case "call":
			time.Sleep(thinking)
			if len(r.Args) == 0 {
				r.Args = json.RawMessage("{}")
			}
			o.Text, o.Failed = h.call(r.Tool, r.Args)
		case "wait":
			time.Sleep(time.Duration(r.Wait * float64(time.Second)))
			o.Text = fmt.Sprintf("%g s have passed", r.Wait)
		case "done":
			o.Text, o.Truth = r.Answer, h.world.facts()
		}
		if err := write(o); err != nil {
			return err
		}
		if r.Op == "done" {
			r.reply <- "the task has ended"
			return nil
		}
		r.reply <- o.Text
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

// serve runs the server of one player and task behind a Unix socket, until the task is done or nobody has asked for
// three hours.
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
	records, err := os.OpenFile(base+".slog", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
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
	var asked atomic.Int64
	asked.Store(time.Now().Unix())
	go func() {
		for range time.Tick(time.Minute) {
			if time.Now().Unix()-asked.Load() > 3*3600 {
				_ = os.Remove(socket)
				os.Exit(0)
			}
		}
	}()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			asked.Store(time.Now().Unix())
			if one(c, requests) {
				_ = os.WriteFile(base+".done", nil, 0o600)
				_ = os.Remove(socket)
				os.Exit(0)
			}
		}
	}()
	end := make(chan struct{}) // made outside of the bubble, so that waiting for it is not a deadlock there
	inBubble(func() error {
		err := play(s, requests, log, slog.New(slog.NewTextHandler(records, nil)))
		if err == nil {
			<-end
		}
		return err
	})
	return nil
}

// one passes on one request, and reports whether it was the last.
func one(c net.Conn, requests chan<- request) bool {
	defer func() { _ = c.Close() }()
	var r request
	line, err := bufio.NewReader(c).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &r) != nil {
		return false
	}
	r.reply = make(chan string, 1)
	requests <- r
	_, _ = io.WriteString(c, <-r.reply)
	return r.Op == "done"
}
