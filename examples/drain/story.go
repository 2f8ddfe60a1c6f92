package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
	retryclient "github.com/mcpchain/mcpchain/retry/client"
)

const total = 1000

var one = story.Story{Args: []string{"-lag", "500ms", "-http", "127.0.0.1:0"}}

func init() { story.Tell(story.Story{Stage: restart}) }

// slot is where the proxy sends calls to.
type slot struct {
	proxy atomic.Pointer[httputil.ReverseProxy] // nil for nowhere
	ready string                                // what the load balancer asks
	stop  func()                                // tells the process to end, and waits for it
}

// start starts one process.
func (s *slot) start(ctx context.Context) {
	cmd, err := one.Command(ctx)
	story.Must(err)
	address, err := story.Start(cmd)
	story.Must(err)
	to, err := url.Parse(address)
	story.Must(err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // a stream that stands when the process ends is no call
	s.ready = address + "/readyz"
	s.stop = func() {
		story.Must(cmd.Process.Signal(syscall.SIGTERM))
		story.Must(cmd.Wait())
	}
	s.proxy.Store(proxy)
}

// replace takes one process out of the proxy when it says so, and starts another one.
func (s *slot) replace(ctx context.Context) {
	var ended sync.WaitGroup
	ended.Go(s.stop)
	for isReady(s.ready) { // as a load balancer's health check does
		time.Sleep(time.Millisecond)
	}
	s.proxy.Store(nil)
	ended.Wait()
	s.start(ctx)
}

func isReady(url string) bool {
	resp, err := http.Get(url)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func restart(ctx context.Context) {
	var slots [2]slot
	for i := range slots {
		slots[i].start(ctx)
	}
	var turn, made, done, lost atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := turn.Add(1)
		cmp.Or(slots[n%2].proxy.Load(), slots[(n+1)%2].proxy.Load()).ServeHTTP(w, r)
	}))
	client := mcp.NewClient(&mcp.Implementation{Name: "recipe", Version: "1.0.0"}, nil)
	client.AddSendingMiddleware(retryclient.New(nil)) // calls again if it is told to
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: proxy.URL}, nil)
	story.Must(err)

	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			for made.Add(1) <= total {
				if res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "work"}); err != nil || res.IsError {
					lost.Add(1)
				} else {
					done.Add(1)
				}
			}
		})
	}
	for i := range slots {
		for made.Load() < total*int64(i+1)/4 {
			time.Sleep(time.Millisecond)
		}
		slots[i].replace(ctx)
		fmt.Printf("process %d was replaced\n", i+1)
	}
	callers.Wait()
	fmt.Printf("%d calls answered, %d lost\n", done.Load(), lost.Load())
	_ = session.Close()
	var ended sync.WaitGroup
	for i := range slots {
		ended.Go(slots[i].stop)
	}
	ended.Wait()
}
