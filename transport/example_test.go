package transport_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/transport"
)

// What the SDK says of a body that it cannot read is not for a client.
func ExampleHTTP() {
	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(transport.HTTP(handler, &transport.Options{Logger: slog.New(slog.DiscardHandler)}))
	defer web.Close()

	req, err := http.NewRequest(http.MethodPost, web.URL, strings.NewReader("{"))
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	var answer struct{ Error struct{ Message string } }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		fmt.Println(err)
	}
	fmt.Println(res.Status)
	what, reference, _ := strings.Cut(answer.Error.Message, "\nReference: ") // under which the log has what was wrong
	fmt.Println(what, len(reference))
	// Output:
	// 400 Bad Request
	// Validation Error: the body is no JSON. 36
}

// A line that is no message is answered, and the server goes on with the next one.
func ExampleStdio() {
	in, requests := io.Pipe()
	answers, out := io.Pipe()
	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	ended := make(chan error)
	go func() {
		ended <- server.Run(context.Background(), transport.Stdio(&transport.StdioOptions{In: in, Out: out, Logger: slog.New(slog.DiscardHandler)}))
	}()
	lines := bufio.NewScanner(answers)
	for _, line := range []string{"no message", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`} {
		fmt.Fprintln(requests, line)
		lines.Scan()
		var answer struct {
			ID    any
			Error struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
			fmt.Println(err)
		}
		fmt.Println(answer.ID, answer.Error.Code)
	}
	requests.Close()
	if err := <-ended; err != nil {
		fmt.Println(err)
	}
	// Output:
	// <nil> -32700
	// 1 0
}
