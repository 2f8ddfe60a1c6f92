// Weather shows an answer of three parts when two of them are down: the tool answers
// with what there is, says what is missing or old, and never passes old for fresh.
//
//	go run ./examples/weather -story               # what a client gets from it
//	go run ./examples/weather                      # over stdio
//	go run ./examples/weather -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/transport"
)

type city struct {
	City string `json:"city"`
}

// weather is what the tool returns. Its output schema has the members of the Status.
type weather struct {
	Celsius  int      `json:"celsius"`
	Forecast []string `json:"forecast,omitempty"`
	Alerts   []string `json:"alerts,omitempty"`
	degrade.Status
}

// asked counts the calls. The services behind forecast and alerts are down for the first.
var asked atomic.Int32

func up() bool { return asked.Load() > 1 }

func (c city) current(context.Context) (int, error) {
	if c.City == "Atlantis" {
		return 0, fault.NotFound("city", c.City, "Athens", "Atlanta")
	}
	return 21, nil
}

func (c city) forecast(context.Context) ([]string, error) {
	if up() {
		return []string{"rain", "rain"}, nil
	}
	cause := errors.New("dial tcp 10.20.0.7:443: connect: connection refused") // not for callers
	return nil, fault.Unavailable("the forecast service").Because(cause)
}

// cached returns what was fetched before, and when.
func (c city) cached(context.Context) ([]string, time.Time, error) {
	return []string{"sun", "rain"}, time.Now().Add(-2 * time.Hour), nil
}

func (c city) alerts(context.Context) ([]string, error) {
	if up() {
		return []string{"storm"}, nil
	}
	return nil, errors.New("alerts: user svc_alerts, password hunter2: login failed")
}

func report(ctx context.Context, _ *mcp.CallToolRequest, in city) (*mcp.CallToolResult, weather, error) {
	asked.Add(1)
	var out weather
	_, err := degrade.Run(ctx, // degrade.New, below, puts the status into the answer
		degrade.Required("current", &out.Celsius, in.current),
		degrade.Optional("forecast", &out.Forecast, in.forecast).
			Within(2*time.Second).
			Stale("cache", 6*time.Hour, in.cached),
		degrade.Optional("alerts", &out.Alerts, in.alerts).
			Within(2*time.Second).
			Impact("Check for warnings elsewhere before you go out."))
	return nil, out, err
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}, Description: "The weather of a city"}, report)
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil)) // for the operator
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: logger, Degrade: degrade.New(nil)}))

	if err := serve(server, *address); err != nil {
		log.Fatal(err)
	}
}

// serve speaks over stdio, or over HTTP if there is an address, and prints that.
func serve(server *mcp.Server, address string) error {
	if address == "" {
		return server.Run(context.Background(), transport.Stdio(nil))
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := &http.Server{Handler: transport.HTTP(handler, nil), ReadHeaderTimeout: 10 * time.Second}
	return web.Serve(listener)
}
