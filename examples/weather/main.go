// Weather shows an answer of three parts when two of them are down: the tool answers
// with what there is, says what is missing or old, and never passes old for fresh.
//
//	go run ./examples/weather
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
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

// up tells whether the services behind forecast and alerts are.
var up bool

func (c city) current(context.Context) (int, error) {
	if c.City == "Atlantis" {
		return 0, fault.NotFound("city", c.City, "Athens", "Atlanta")
	}
	return 21, nil
}

func (c city) forecast(context.Context) ([]string, error) {
	if up {
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
	if up {
		return []string{"storm"}, nil
	}
	return nil, errors.New("alerts: user svc_alerts, password hunter2: login failed")
}

func report(ctx context.Context, _ *mcp.CallToolRequest, in city) (*mcp.CallToolResult, weather, error) {
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
	// The log is for the operator. Times are left out so that it is the same each time.
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if slices.Contains([]string{slog.TimeKey, "duration_ms", "method", "client", "error_types", "fault"}, a.Key) {
				return slog.Attr{}
			}
			return a
		},
	}))
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather", Description: "The weather of a city"}, report)
	reference := &correlate.Options{NewID: func(context.Context, mcp.Request) string { return "call" }}
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: logger, Correlate: reference}, degrade.New(nil)))

	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "recipe", Version: "1.0.0"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	for i, name := range []string{"Lisbon", "Lisbon", "Atlantis"} {
		up = i > 0
		fmt.Printf("\n--> weather of %s, everything up: %t\n", name, up)
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "weather", Arguments: city{name}})
		if err != nil {
			log.Fatal(err)
		}
		out, _ := res.StructuredContent.(map[string]any) // nil for a failure
		fmt.Println("celsius:", out["celsius"], "forecast:", out["forecast"], "alerts:", out["alerts"], "degraded:", out["degraded"])
		if note, ok := res.Content[len(res.Content)-1].(*mcp.TextContent); ok && (len(res.Content) > 1 || res.IsError) {
			fmt.Println(note.Text)
		}
	}
}
