// Wrapserver puts the recommended chain in front of a whole server: its tools,
// resources and prompts may then fail in any way without ending the process or
// telling a caller what is inside. It prints what the callers of five handlers
// get, each below the line that the log has of it.
//
//	go run ./examples/wrapserver
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/middleware"
)

type place struct {
	City string `json:"city" jsonschema:"the name of a city"`
}

type weather struct {
	Sky string `json:"sky"`
}

func getWeather(_ context.Context, _ *mcp.CallToolRequest, in place) (*mcp.CallToolResult, weather, error) {
	if in.City == "Atlantis" {
		return nil, weather{}, errors.New("dial postgres://app:hunter2@10.0.0.7/weather: no such host")
	}
	return nil, weather{"clear"}, nil
}

func getForecast(_ context.Context, _ *mcp.CallToolRequest, in place) (*mcp.CallToolResult, weather, error) {
	forecasts := map[string][]weather{}
	return nil, forecasts[in.City][0], nil // panics: there is no first one
}

func readStations(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	_, err := os.ReadFile("/srv/weather/stations.csv")
	return nil, err
}

func advise(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return nil, nil // neither a result nor an error
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_weather"}, getWeather)
	mcp.AddTool(server, &mcp.Tool{Name: "get_forecast"}, getForecast)
	server.AddResource(&mcp.Resource{Name: "stations", URI: "weather://stations"}, readStations)
	server.AddPrompt(&mcp.Prompt{Name: "advise"}, advise)

	// The line that wraps the server. Later calls of AddReceivingMiddleware stand
	// outside of it, so make it the last one. Standard(nil) logs to slog.Default().
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger:    newLogger(),
		Correlate: &correlate.Options{NewID: numbered()}, // leave it out to get UUIDs
	}))

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

	for _, call := range []struct{ tool, city string }{
		{"get_weather", "Lisbon"}, {"get_weather", "Atlantis"}, {"get_forecast", "Lisbon"},
	} {
		fmt.Printf("--> %s %s\n", call.tool, call.city)
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: call.tool, Arguments: place{call.city}})
		show(res, err)
	}
	fmt.Println("--> weather://stations")
	contents, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "weather://stations"})
	show(contents, err)
	fmt.Println("--> advise")
	messages, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "advise"})
	show(messages, err)
}

// show prints what the caller of a tool, a resource or a prompt got.
func show(res mcp.Result, err error) {
	if f, failed := middleware.FaultOf(res, err); failed {
		fmt.Printf("%v\n\n", f)
	} else if r, ok := res.(*mcp.CallToolResult); ok {
		fmt.Printf("%v\n\n", r.StructuredContent)
	}
}

// newLogger and numbered leave out what would differ from run to run.
func newLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration_ms" || a.Key == "stack" {
			return slog.Attr{}
		}
		return a
	}}))
}

func numbered() correlate.Source {
	var n atomic.Int64 // it is called from many goroutines
	return func(context.Context, mcp.Request) string { return fmt.Sprintf("call-%d", n.Add(1)) }
}
