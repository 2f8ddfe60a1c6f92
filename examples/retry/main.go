// Retry shows what a caller is told about trying again, and a client that does as it
// is told. It waits for as long as the service asked, and longer each time if the service
// did not say. It gives up what stays broken. After a booking of which nobody knows whether
// it was made it looks first instead of booking twice.
//
//	go run ./examples/retry -story               # what a client gets from it
//	go run ./examples/retry                      # over stdio
//	go run ./examples/retry -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/transport"
)

// hotel limits the rate and restarts, has lost its prices, and makes a booking but hangs up before it answers.
func hotel() http.Handler {
	mux := http.NewServeMux()
	var asked, bookings atomic.Int32
	mux.HandleFunc("GET /rooms", func(w http.ResponseWriter, _ *http.Request) {
		if status := map[int32]int{1: http.StatusTooManyRequests, 2: http.StatusServiceUnavailable}[asked.Add(1)]; status != 0 {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "slow down, tenant 4711", status)
			return
		}
		fmt.Fprint(w, "12 rooms are free")
	})
	mux.HandleFunc("GET /prices", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the database of prices is away", http.StatusServiceUnavailable)
	})
	mux.HandleFunc("POST /bookings", func(http.ResponseWriter, *http.Request) {
		bookings.Add(1)
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("GET /bookings", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "bookings: ", bookings.Load()) })
	return mux
}

func post(url string) (*http.Response, error) { return http.Post(url, "", nil) }

// plan fails for a reason that no middleware knows.
func plan(string) (*http.Response, error) { return nil, errors.New("floor 3 has no rooms") }

// ask returns an error as it comes: the middlewares know it.
func ask(request func(url string) (*http.Response, error), url string) (string, error) {
	resp, err := request(url)
	if err != nil {
		return "", err
	}
	if err := retry.FromResponse(resp); err != nil { // for every status from 400 on
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	service := httptest.NewServer(hotel())
	defer service.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "hotel", Version: "1.0.0"}, nil)
	add := func(tool *mcp.Tool, request func(string) (*http.Response, error), path string) {
		mcp.AddTool(server, tool, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			text, err := ask(request, service.URL+path)
			if err != nil && tool.Name == "book_room" { // name the tool that tells whether it took effect
				err = fault.New(fault.KindConnectionFailed, "the hotel hung up").Because(err).
					Step("See whether the room is booked", "list_bookings", nil)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, err
		})
	}
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true} // a tool that does not say so is taken for one that writes
	add(&mcp.Tool{Name: "free_rooms", Annotations: reads}, http.Get, "/rooms")
	add(&mcp.Tool{Name: "prices", Annotations: reads}, http.Get, "/prices")
	add(&mcp.Tool{Name: "plan", Annotations: reads}, plan, "/plan")
	add(&mcp.Tool{Name: "list_bookings", Annotations: reads}, http.Get, "/bookings")
	add(&mcp.Tool{Name: "book_room"}, post, "/bookings")
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Retry: &retry.Options{InitialInterval: 800 * time.Millisecond, GiveUpAfter: 3 * time.Second}, // usually 5 s and 5 min: leave it out
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
