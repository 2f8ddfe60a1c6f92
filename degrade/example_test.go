package degrade_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
)

// An answer of three parts, one of which is down and one is a copy.
func Example() {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil))) // the causes go there
	var temperature int
	var forecast []string
	var alerts []string
	status, err := degrade.Run(context.Background(),
		degrade.Required("temperature", &temperature, func(context.Context) (int, error) { return 21, nil }),
		degrade.Optional("forecast", &forecast, func(context.Context) ([]string, error) {
			return nil, fault.Timeout("the forecast service", 2*time.Second)
		}).Stale("cache", 6*time.Hour, func(context.Context) ([]string, time.Time, error) {
			return []string{"sun", "rain"}, time.Now().Add(-2 * time.Hour), nil
		}),
		degrade.Optional("alerts", &alerts, func(context.Context) ([]string, error) {
			return nil, fault.Unavailable("the alert service").Because(errors.New("dial tcp 10.0.0.7:443: connect: connection refused"))
		}).Impact("Check for warnings elsewhere before you go out."))
	if err != nil {
		log.Fatal(err) // only when there is no temperature
	}
	fmt.Println(temperature, forecast, alerts)
	fmt.Println(strings.ReplaceAll(status.Text(), status.Warnings[1].ReferenceID, "0198....alerts")) // another one each time

	// Output:
	// 21 [sun rain] []
	// Partial answer: it has 2 of 3 components.
	// - forecast: STALE. forecast is not fresh: a copy from cache that is 2 h old. Timeout: the forecast service did not finish within 2 s.
	// - alerts: MISSING. Check for warnings elsewhere before you go out. Service unavailable: the alert service is not available now. Reference: 0198....alerts
}

// A typed tool that embeds a Status. The middleware fills it in, and tells the model.
func ExampleNew() {
	type weather struct {
		Temperature int      `json:"temperature"`
		Alerts      []string `json:"alerts,omitempty"`
		degrade.Status
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "weather"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, weather, error) {
		var out weather
		_, err := degrade.Run(ctx,
			degrade.Required("temperature", &out.Temperature, func(context.Context) (int, error) { return 21, nil }),
			degrade.Optional("alerts", &out.Alerts, func(context.Context) ([]string, error) {
				return nil, fault.RateLimited("the alert service", 30*time.Second)
			}).Impact("Check for warnings elsewhere."))
		return nil, out, err
	})
	server.AddReceivingMiddleware(mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)}), degrade.New(nil))

	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), theirs, nil); err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil).Connect(context.Background(), ours, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "weather"})
	if err != nil {
		log.Panic(err)
	}
	out, _ := res.StructuredContent.(map[string]any)
	fmt.Println(out["temperature"], out["degraded"])
	fmt.Println(res.Content[1].(*mcp.TextContent).Text)

	// Output:
	// 21 true
	// Partial answer: it has 1 of 2 components.
	// - alerts: MISSING. Check for warnings elsewhere. Rate limited: the alert service accepts no more calls now. Try again after 30 s.
}
