package main

import (
	"bufio"
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

// A call is one call of a server.
type call struct {
	target string // "tool list_orders"
	do     func(context.Context, *mcp.ClientSession) (mcp.Result, error)
}

func tool(name string, arguments map[string]any) call {
	return call{"tool " + name, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		return session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	}}
}

func resource(uri string) call {
	return call{"resource " + uri, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		return session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	}}
}

func prompt(name string) call {
	return call{"prompt " + name, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		return session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name})
	}}
}

// times makes a call n times, as a model does that reads no answer, and keeps the
// last answer.
func times(n int, c call) call {
	return call{fmt.Sprintf("%s, call %d", c.target, n), func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		for range n - 1 {
			_, _ = c.do(ctx, session) // only the last one is looked at
		}
		return c.do(ctx, session)
	}}
}

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
	machine   string // what a program reads
	where     string // where that stands: in a tool result's _meta, in an error's data
	reference string
	log       string // the line of the server's log with that reference
}

// A comparison is what became of all the failures, over one transport.
type comparison struct {
	transport     string
	without, with []answer
	problems      []string // what mcpchain promises and did not do, and what could not be tried
}

// patience is how long a caller waits for an answer.
const patience = time.Second

// compare provokes all the failures: without mcpchain, each in a server process of
// its own, because many of them end the process; with it, all in one process.
func compare(ctx context.Context, transport string) *comparison {
	c := &comparison{transport: transport, without: make([]answer, len(failures))}
	failed := make([]error, len(failures))
	var wg sync.WaitGroup
	free := make(chan struct{}, 4) // a few processes at a time
	for i, f := range failures {
		wg.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			c.without[i], failed[i] = provokeAlone(ctx, transport, f)
		})
	}
	c.with, c.problems = provokeAll(ctx, transport)
	wg.Wait()
	for i, err := range failed {
		if err != nil {
			c.problems = append(c.problems, fmt.Sprintf("%s: %s, without mcpchain: %v", transport, failures[i].what, err))
		}
	}
	return c
}

// provokeAlone provokes one failure in a server process without mcpchain.
func provokeAlone(ctx context.Context, transport string, f failure) (answer, error) {
	p, err := start(ctx, transport, false)
	if err != nil {
		return answer{}, err
	}
	got, alive := p.provoke(ctx, f, patience)
	how, _ := p.stop()
	if !alive {
		return answer{ending: died, text: "the server process died: " + how}, nil
	}
	return got, nil
}

// provokeAll provokes all failures in one server process with mcpchain, and checks
// what mcpchain promises.
func provokeAll(ctx context.Context, transport string) (answers []answer, problems []string) {
	complain := func(format string, args ...any) {
		problems = append(problems, transport+": "+fmt.Sprintf(format, args...))
	}
	p, err := start(ctx, transport, true)
	if err != nil {
		complain("%v", err)
		return make([]answer, len(failures)), problems
	}
	for _, f := range failures {
		got, alive := p.provoke(ctx, f, 10*time.Second) // it will come, also on a busy machine
		answers = append(answers, got)
		switch {
		case !alive:
			complain("%s: the server process died", f.what)
		case got.ending != told:
			complain("%s: %s: %s", f.what, got.ending, got.text)
		}
	}
	how, log := p.stop()
	if how != "exit status 0" {
		complain("the server process ended with %s", how)
	}
	for i := range answers {
		if answers[i].log = lineWith(log, answers[i].reference); answers[i].log == "" {
			complain("%s: the log has no record for reference %q", failures[i].what, answers[i].reference)
		}
	}
	return answers, problems
}

func lineWith(log, reference string) string {
	for line := range strings.Lines(log) {
		if reference != "" && strings.Contains(line, "reference="+reference) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// A process is a server process and a session with it.
type process struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	log     bytes.Buffer // standard error, complete after stop
	session *mcp.ClientSession
}

// start starts this program again as a server and connects to it.
func start(ctx context.Context, transport string, wrap bool) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, self, "-serve", transport, fmt.Sprintf("-wrap=%t", wrap))}
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

	var connection mcp.Transport = &mcp.IOTransport{Reader: stdout, Writer: stdin}
	if transport == "http" {
		address, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil {
			_, log := p.stop()
			return nil, fmt.Errorf("the server gave no address: %w: %s", err, log)
		}
		connection = &mcp.StreamableClientTransport{Endpoint: strings.TrimSpace(address)}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "quickstart", Version: "1.0.0"}, nil)
	if p.session, err = client.Connect(ctx, connection, nil); err != nil {
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
func (p *process) provoke(ctx context.Context, f failure, patience time.Duration) (got answer, alive bool) {
	answered := make(chan answer, 1)
	go func() {
		res, err := f.call.do(ctx, p.session)
		answered <- judge(res, err)
	}()
	select {
	case got = <-answered:
		return got, p.alive(ctx)
	case <-time.After(patience):
	}
	// Is it only slow? A server that meanwhile answers another call has had the time.
	alive = p.alive(ctx)
	select {
	case got = <-answered:
	case <-time.After(patience / 10):
		got = answer{ending: silent, text: fmt.Sprintf("no answer within %.0f s", patience.Seconds())}
	}
	return got, alive
}

func (p *process) alive(ctx context.Context) bool {
	_, err := p.session.ListTools(ctx, nil)
	return err == nil
}

// judge says what an answer is worth.
func judge(res mcp.Result, err error) answer {
	a := answer{ending: told}
	all := toJSON(res) // all that the caller got, to be searched
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire):
		a.text = fmt.Sprintf("JSON-RPC error %d: %s", wire.Code, wire.Message)
		a.machine, a.where = string(wire.Data), "data"
		all = []byte(a.text + a.machine)
	case err != nil:
		a.text = err.Error()
		all = []byte(a.text)
	default:
		a.text = string(all)
		if r, ok := res.(*mcp.CallToolResult); ok && r.IsError {
			a.text = text(r)
			a.machine, a.where = string(toJSON(r.Meta[middleware.MetaKey])), "_meta"
		}
	}
	if f, failed := middleware.FaultOf(res, err); failed {
		a.reference = f.Reference()
	} else {
		a.ending = pretends
	}
	for _, p := range private {
		if bytes.Contains(all, []byte(p)) {
			a.ending = leaked
		}
	}
	return a
}

func toJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error())
	}
	return raw
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
