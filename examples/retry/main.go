// Retry shows what a caller is told about trying again, and a client that does as it
// is told: it waits for as long as the service asked, and after a booking of which
// nobody knows whether it was made it looks first instead of booking twice.
//
//	go run ./examples/retry
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry"
)

// hotel limits the rate, restarts, and makes a booking but hangs up before it answers.
func hotel() http.Handler {
	mux, asked, bookings := http.NewServeMux(), 0, 0 // a real one has a mutex
	mux.HandleFunc("GET /rooms", func(w http.ResponseWriter, _ *http.Request) {
		asked++
		if status := map[int]int{1: http.StatusTooManyRequests, 2: http.StatusServiceUnavailable}[asked]; status != 0 {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "slow down, tenant 4711", status)
			return
		}
		fmt.Fprint(w, "12 rooms are free")
	})
	mux.HandleFunc("POST /bookings", func(http.ResponseWriter, *http.Request) {
		bookings++
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("GET /bookings", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "bookings: ", bookings) })
	return mux
}

func post(url string) (*http.Response, error) { return http.Post(url, "", nil) }

// ask returns an error as it comes: the middlewares know it.
func ask(request func(url string) (*http.Response, error), url string) (string, error) {
	resp, err := request(url)
	if err != nil {
		return "", err
	}
	if err := middleware.FromResponse(resp); err != nil { // for every status from 400 on
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

func main() {
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
	add(&mcp.Tool{Name: "list_bookings", Annotations: reads}, http.Get, "/bookings")
	add(&mcp.Tool{Name: "book_room"}, post, "/bookings")
	server.AddReceivingMiddleware( // or mcpchain.Standard(nil)
		correlate.New(&correlate.Options{Logger: slog.New(slog.DiscardHandler), NewID: func(context.Context, mcp.Request) string { return "call-1" }}), mask.New(nil), retry.New(nil))

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
	pursue(ctx, session, "free_rooms")
	pursue(ctx, session, "book_room")
}

// pursue calls a tool and does what the answer says, until it succeeds or the answer
// is no. The middleware retry.Client waits and tries again for every call of a client.
func pursue(ctx context.Context, session *mcp.ClientSession, tool string) {
	for {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
		if err != nil {
			log.Fatal(err)
		}
		text, _ := res.Content[0].(*mcp.TextContent)
		fmt.Printf("--> %s\n%s\n", tool, text.Text) // what a model reads
		failure, _ := middleware.FaultOf(res, nil)
		said, _ := failure.Retry()
		switch steps := failure.Data().RecoverySteps; { // a success has no failure, and nothing of this
		case said.ShouldRetry:
			time.Sleep(time.Duration(said.RetryAfterSeconds * float64(time.Second)))
		case len(steps) > 0:
			tool = steps[0].Tool
		default:
			return
		}
	}
}
