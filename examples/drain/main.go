// Drain shows a rolling restart that loses no call: two server processes behind a proxy,
// many callers, and both processes replaced under load. The program starts the processes
// itself, as copies of its own.
//
//	go run ./examples/drain
package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/retry"
)

// serve is one server process. It ends when its input does, as others do on SIGTERM.
func serve() {
	server := mcp.NewServer(&mcp.Implementation{Name: "clock", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "work"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		time.Sleep(5 * time.Millisecond)
		return nil, nil, nil
	})
	d := &drain.Drain{Lag: 200 * time.Millisecond} // longer than the proxy takes to see readiness fall
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Drain: &drain.Options{Drain: d}}))
	mux := http.NewServeMux()
	mux.Handle("/readyz", d.Ready())
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	web := httptest.NewServer(mux) // a listener on loopback; http.Server elsewhere
	fmt.Println(web.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = d.Shutdown(context.Background()) // with a limit of its own, it names the calls that did not end
	web.Close()
}

func main() {
	const total = 1000
	if len(os.Args) > 1 {
		serve()
		return
	}
	var slots [2]atomic.Pointer[httputil.ReverseProxy] // where the proxy sends calls to; nil for nowhere
	var addresses [2]string
	var stops [2]func()
	start := func(i int) { // one process
		cmd := exec.Command(os.Args[0], "serve")
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		_ = cmd.Start()
		line, _, _ := bufio.NewReader(out).ReadLine()
		at, _ := url.Parse(string(line))
		to := httputil.NewSingleHostReverseProxy(at)
		to.ErrorLog = log.New(io.Discard, "", 0) // a stream that stands when the process ends is no call
		slots[i].Store(to)
		addresses[i], stops[i] = at.String(), func() { in.Close(); _ = cmd.Wait() }
	}
	start(0)
	start(1)
	var turn, made, done, lost atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := turn.Add(1)
		cmp.Or(slots[n%2].Load(), slots[(n+1)%2].Load()).ServeHTTP(w, r)
	}))
	client := mcp.NewClient(&mcp.Implementation{Name: "recipe", Version: "1.0.0"}, nil)
	client.AddSendingMiddleware(retry.Client(nil)) // calls again if it is told to
	session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: proxy.URL + "/mcp"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			for made.Add(1) <= total {
				if res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "work"}); err != nil || res.IsError {
					lost.Add(1)
				} else {
					done.Add(1)
				}
			}
		})
	}
	for i := range slots { // the rolling restart
		for made.Load() < total*int64(i+1)/4 {
			time.Sleep(time.Millisecond)
		}
		var ended sync.WaitGroup
		ended.Go(stops[i])
		for status := http.StatusOK; status == http.StatusOK; { // as a proxy's health check does
			if resp, err := http.Get(addresses[i] + "/readyz"); err == nil {
				status = resp.StatusCode
				resp.Body.Close()
			}
		}
		slots[i].Store(nil)
		ended.Wait()
		start(i)
		fmt.Printf("process %d was replaced\n", i+1)
	}
	callers.Wait()
	fmt.Printf("%d calls answered, %d lost\n", done.Load(), lost.Load())
	_ = session.Close()
	stops[0]()
	stops[1]()
}
