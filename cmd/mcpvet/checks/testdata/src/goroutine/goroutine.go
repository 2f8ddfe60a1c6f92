package goroutine

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"
)

func work(string) {}
func guarded(name string) {
	defer func() { _ = recover() }()
	work(name)
}
func bare(name string) { work(name) }
func rescue()          { _ = recover() }

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
