package errtext

import (
	"context"
	"errors"
	"fmt"
	"os"

	"errtext/results"

	"github.com/mcpchain/mcpchain/fault"
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
			Content: []mcp.Content{&mcp.TextContent{Text: "no: " + err.Error()}}, // want `the text of this error becomes content`
		}, nil
	}
	if err := open("b"); err != nil {
		return results.Failed(err.Error()), nil // want `the text of this error becomes content`
	}
	if err := open("c"); err != nil {
		return results.Failedf("x", fmt.Sprintf("%v", err)) // want `the text of this error becomes content`
	}
	if err := opened("e"); err != nil {
		return results.Failed(err.Error()), nil // want `the text of this error becomes content`
	}
	if err := opens("f"); err != nil {
		return results.Failed(err.Error()), nil // want `the text of this error becomes content`
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
			Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}, // want `the text of this error becomes content`
			IsError: true,
		}, nil, nil
	}
	return nil, nil, nil
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
