package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/middleware"
)

// An ending says what became of a call.
type ending string

const (
	died     ending = "died"       // the server process
	silent   ending = "no answer"  // the call was never answered
	leaked   ending = "leaked"     // the answer holds what is private
	pretends ending = "no failure" // the answer looks like a success
	told     ending = "answered"   // the answer tells the failure, and nothing private
)

// An answer is what a caller got.
type answer struct {
	ending    ending
	text      string // what the caller reads
	reference string
}

// withoutChain provokes each failure in a server process of its own, because many of them end the process.
func withoutChain(ctx context.Context) ([]answer, error) {
	answers, failed := make([]answer, len(failures)), make([]error, len(failures))
	var wg sync.WaitGroup
	for i, f := range failures {
		wg.Go(func() {
			p, err := start(ctx, "bare")
			if failed[i] = err; err != nil {
				return
			}
			var alive bool
			answers[i], alive = p.provoke(ctx, f.call, time.Second)
			if how, _ := p.stop(); !alive {
				answers[i] = answer{ending: died, text: "the server process died: " + how}
			}
		})
	}
	wg.Wait()
	return answers, errors.Join(failed...)
}

// withChain provokes all failures in one server process, and returns its log too.
func withChain(ctx context.Context) (answers []answer, log string, err error) {
	p, err := start(ctx, "wrapped")
	if err != nil {
		return nil, "", err
	}
	for _, f := range failures {
		got, alive := p.provoke(ctx, f.call, 10*time.Second) // it will come, also on a busy machine
		if !alive {
			got.ending = died
		}
		answers = append(answers, got)
	}
	how, log := p.stop()
	if how != "exit status 0" {
		err = errors.New("the server process ended with " + how)
	}
	return answers, log, err
}

// A process is a server process and a session with it.
type process struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	log     bytes.Buffer // standard error, complete after stop
	session *mcp.ClientSession
}

// start starts this program again as a server and connects to it.
func start(ctx context.Context, how string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, self, "-serve", how)}
	p.cmd.Stderr = &p.log
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.stdin = stdin
	client := mcp.NewClient(&mcp.Implementation{Name: "quickstart", Version: "1.0.0"}, nil)
	if p.session, err = client.Connect(ctx, &mcp.IOTransport{Reader: stdout, Writer: stdin}, nil); err != nil {
		_, log := p.stop()
		return nil, fmt.Errorf("connect: %w: %s", err, log)
	}
	return p, nil
}

// stop ends the process and returns how it ended and what it logged.
func (p *process) stop() (how, log string) {
	_ = p.stdin.Close() // a server ends when its standard input does
	kill := time.AfterFunc(2*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	_ = p.cmd.Wait() // the state says how it ended
	if p.session != nil {
		_ = p.session.Close() // the connection is gone, and it may say so
	}
	return p.cmd.ProcessState.String(), p.log.String()
}

// provoke makes one call that fails, and reports whether the server lives.
func (p *process) provoke(ctx context.Context, c call, patience time.Duration) (got answer, alive bool) {
	answered := make(chan answer, 1)
	go func() { answered <- judge(c.do(ctx, p.session)) }()
	got = answer{ending: silent, text: fmt.Sprintf("no answer within %.0f s", patience.Seconds())}
	select {
	case got = <-answered:
	case <-time.After(patience):
	}
	_, err := p.session.ListTools(ctx, nil)
	select {
	case got = <-answered: // it was only slow: another call was answered after it
	default:
	}
	return got, err == nil
}

// judge says what an answer is worth.
func judge(res mcp.Result, err error) answer {
	a := answer{ending: told}
	all := toJSON(res) // all that the caller got, to be searched
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire):
		a.text = fmt.Sprintf("JSON-RPC error %d: %s", wire.Code, wire.Message)
		all = a.text + string(wire.Data)
	case err != nil:
		a.text = err.Error()
		all = a.text
	default:
		a.text = all
		if r, ok := res.(*mcp.CallToolResult); ok && r.IsError {
			a.text = text(r)
		}
	}
	if f, failed := middleware.FaultOf(res, err); failed {
		a.reference = f.Reference()
	} else {
		a.ending = pretends
	}
	for _, p := range private {
		if strings.Contains(all, p) {
			a.ending = leaked
		}
	}
	return a
}

func toJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func text(r *mcp.CallToolResult) string {
	var texts []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}
