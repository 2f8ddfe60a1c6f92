package goroutine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"
)

var job func(string)

func work(name string) { job(name) }
func guarded(name string) {
	defer func() { _ = recover() }()
	work(name)
}
func bare(name string) { work(name) }
func rescue()          { _ = recover() }

type failure struct{ text string }

func (f failure) Error() string { return f.text }

var failures []func() error

func wrapped(err error) error { return fmt.Errorf("it failed: %w", err) }
func deeper() error           { return deepest() }
func deepest() error          { work("deep"); return nil }
func again(n int) error {
	if n == 0 {
		return nil
	}
	return again(n - 1)
}
func generic[T any](err error) error { return err }

func tool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	go func() { work("a") }() // want `a panic in this goroutine ends the process`
	go bare("b")              // want `a panic in this goroutine ends the process`
	var wg sync.WaitGroup
	wg.Go(func() { work("c") }) // want `a panic in this goroutine ends the process`
	var g errgroup.Group
	g.Go(func() error { work("d"); return nil }) // want `a panic in this goroutine ends the process`
	names := []string{}
	func() {
		wg.Add(1)
		go func() { // want `a panic in this goroutine ends the process`
			defer wg.Done()
			_ = names[1]
		}()
	}()

	done := make(chan struct{})
	_, cancel := context.WithCancel(ctx)
	go func() {
		defer close(done)
		wg.Wait()
		time.Sleep(time.Second)
		select {
		case <-ctx.Done():
			cancel()
		case done <- struct{}{}:
		}
	}()
	failed := make(chan error, 1)
	totals := map[string]float64{}
	var at [2]error
	go func() { failed <- errors.New("x") }()
	go func() { failed <- fmt.Errorf("item %d: %w", 1, ctx.Err()) }()
	go func() { failed <- errors.Join(at[0], at[1]) }()
	go func() { failed <- wrapped(context.Cause(ctx)) }()
	go func() { failed <- failure{text: fmt.Sprint("x", 1)} }()
	go func() {
		var last *failure
		_ = last
		_ = totals["a"] / 2
		func() { close(failed) }()
	}()
	go func() { failed <- again(3) }()
	go func() { failed <- generic[int](nil) }()
	go func() { failed <- deeper() }()                            // want `a panic in this goroutine ends the process`
	go func() { failed <- failures[len(names)]() }()              // want `a panic in this goroutine ends the process`
	go func() { totals["a"] = 1 }()                               // want `a panic in this goroutine ends the process`
	go func() { totals["a"]++ }()                                 // want `a panic in this goroutine ends the process`
	go func() { _ = 100 / len(names) }()                          // want `a panic in this goroutine ends the process`
	go func(f *failure) { failed <- *f }(nil)                     // want `a panic in this goroutine ends the process`
	go func(err error) { failed <- errors.New(err.Error()) }(nil) // want `a panic in this goroutine ends the process`
	go guarded("e")
	go func() {
		defer rescue()
		work("f")
	}()
	go func() {
		defer func() {
			if r := recover(); r != nil {
				cancel()
			}
		}()
		work("g")
	}()
	return &mcp.CallToolResult{}, nil
}

func start(s *mcp.Server) {
	s.AddTool(nil, tool)
	go func() { work("at start") }()
}
