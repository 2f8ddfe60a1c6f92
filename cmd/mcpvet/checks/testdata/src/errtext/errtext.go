package errtext

import (
	"context"
	"errors"
	"fmt"
	"os"

	"errtext/results"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var errBusy = errors.New("busy")

func open(name string) error {
	if _, err := os.Open(name); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	return nil
}

func check(m map[string]string) error { // want check:`worded`
	if _, err := results.Require(m, "a"); err != nil {
		return err
	}
	return nil
}

func raw(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if err := open("a"); err != nil {
		return &mcp.CallToolResult{
			IsError: true,
			Content: []mcp.Content{&mcp.TextContent{Text: "no: " + err.Error()}}, // want `which no middleware can mask; use CallToolResult.SetError: where no mask stands, an error that a raw`
		}, nil
	}
	if err := open("b"); err != nil {
		return results.Failed(err.Error()), nil // want `the texts of this error and of 2 more become content by Failed, which`
	}
	if err := open("c"); err != nil {
		return results.Failedf("x", fmt.Sprintf("%v", err)) // want `the text of this error becomes content by Failedf`
	}
	if err := opened("e"); err != nil {
		return results.Failed(err.Error()), nil
	}
	if err := opens("f"); err != nil {
		return results.Failed(err.Error()), nil
	}
	if err := wrapped(open("g")); err != nil {
		return results.FromErr(err), nil // want `the text of this error becomes content by FromErr`
	}
	return nil, open("d")
}

type limitError struct{ limit int }

func (e *limitError) Error() string { return fmt.Sprintf("limit of %d", e.limit) }

type nameError struct {
	name string
	err  error
}

func (e nameError) Error() string { return fmt.Sprintf("%s: %v", e.name, e.err) }

func taken(name string) error { // want taken:`worded`
	if name == "" {
		return &nameError{name: name, err: errors.New("empty")}
	}
	return nameError{name: "taken: " + name}
}

func wrapped(err error) error { return fmt.Errorf("wrapped: %w", err) }

func opened(name string) error {
	return nameError{name, open(name)}
}

func opens(name string) error {
	return &nameError{name: fmt.Sprint(name, open(name))}
}

type in struct{}

func typed(ctx context.Context, req *mcp.CallToolRequest, _ in) (*mcp.CallToolResult, any, error) { // want typed:`worded`
	err := open("a")
	if err != nil {
		return &mcp.CallToolResult{
			Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}, // want `which no middleware can mask; return the error`
			IsError: true,
		}, nil, nil
	}
	return nil, nil, nil
}

// invalid and failed are reported where they show an error that nobody worded.
func invalid(err error) *mcp.CallToolResult { // want invalid:`shows`
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "invalid: " + err.Error()}}}
}

func failed(err error) *mcp.CallToolResult { // want failed:`shows`
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("failed: %v", err)}}}
}

func again(err error, n int) *mcp.CallToolResult { // want again:`shows`
	if n > 0 {
		return again(err, n-1)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "invalid: " + err.Error()}}}
}

// reads makes the result of an error of its own.
func reads() *mcp.CallToolResult {
	err := open("h")
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}} // want `which no middleware can mask; use CallToolResult.SetError$`
}

// changes does not know what it calls.
func changes(change func(map[string]string) (int, error)) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if _, err := change(nil); err != nil {
			return results.Failed(err.Error()), nil
		}
		return &mcp.CallToolResult{}, nil
	}
}

func handed(m map[string]string) *mcp.CallToolResult {
	if err := check(m); err != nil {
		return invalid(err)
	}
	if err := open("a"); err != nil {
		return failed(err) // want `the text of this error becomes content by failed, which no middleware can mask; let failed take the error`
	}
	if m == nil {
		return invalid(fmt.Errorf("arguments of %d names", len(m)))
	}
	if len(m) > 3 {
		return failed(errBusy)
	}
	return again(errBusy, 3)
}

// Nothing here is wrong: the words are the server's own, or nothing becomes content.
func quiet(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) { // want quiet:`worded`
	if _, err := results.Require(nil, "a"); err != nil {
		return results.Failed(err.Error()), nil
	}
	if err := check(nil); err != nil {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil
	}
	if _, err := results.Size("a"); err != nil {
		return results.Failed(err.Error()), nil
	}
	if own, ok := open("a").(*limitError); ok {
		return results.Failed(own.Error()), nil
	}
	if err := taken("a"); err != nil {
		return results.Failed(err.Error()), nil
	}
	missing := fault.NotFound("x")
	if missing != nil {
		return results.Failed(missing.Error()), nil
	}
	if len(os.Args) > 3 {
		return results.Failed(errBusy.Error()), nil
	}
	err := open("a")
	fmt.Fprintln(os.Stderr, err.Error())
	_ = &mcp.TextContent{Text: err.Error()}
	var res mcp.CallToolResult
	res.SetError(err)
	return &res, nil
}

func register(s *mcp.Server) {
	s.AddTool(nil, raw)
	s.AddTool(nil, quiet)
	mcp.AddTool(s, nil, typed)
}

var guard = mask.New(nil)
