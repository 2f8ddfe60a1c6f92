// Wrapserver puts the recommended chain in front of a whole server: its tools,
// resources and prompts may then fail in any way without ending the process or
// telling a caller what is inside. The story calls five handlers that fail.
//
//	go run ./examples/wrapserver -story               # what a client gets from it
//	go run ./examples/wrapserver                      # over stdio
//	go run ./examples/wrapserver -http 127.0.0.1:8080 # over HTTP
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
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/transport"
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
	return nil, nil //nolint:mcpvet // neither a result nor an error
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_weather", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, getWeather)
	mcp.AddTool(server, &mcp.Tool{Name: "get_forecast", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, getForecast)
	server.AddResource(&mcp.Resource{Name: "stations", URI: "weather://stations"}, readStations)
	server.AddPrompt(&mcp.Prompt{Name: "advise"}, advise)

	// The line that wraps the server. Later calls of AddReceivingMiddleware stand
	// outside of it, so make it the last one. Standard(nil) logs to slog.Default().
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}))

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
