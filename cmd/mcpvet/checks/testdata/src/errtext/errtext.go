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

// invalid is only called with worded errors, failed is not.
func invalid(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "invalid: " + err.Error()}}}
}

func failed(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "failed: " + err.Error()}}} // want `the text of this error becomes content`
}

func uncalled(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "failed: " + err.Error()}}} // want `the text of this error becomes content`
}

// Exported may be called from elsewhere.
func Exported(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "failed: " + err.Error()}}} // want `the text of this error becomes content`
}

func again(err error, n int) *mcp.CallToolResult {
	if n > 0 {
		return again(err, n-1)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "invalid: " + err.Error()}}}
}

// kept is a handler of something else, so that nobody knows what it is called with.
func kept(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "failed: " + err.Error()}}} // want `the text of this error becomes content`
}

var onError = kept

func changes(change func(map[string]string) (int, error)) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if _, err := change(nil); err != nil {
			return results.Failed(err.Error()), nil
		}
		return &mcp.CallToolResult{}, nil
	}
}

func opening(change func(map[string]string) (int, error)) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if _, err := change(nil); err != nil {
			return results.Failed(err.Error()), nil // want `the text of this error becomes content`
		}
		return &mcp.CallToolResult{}, nil
	}
}

func size(m map[string]string) (int, error) { // want size:`worded`
	if len(m) == 0 {
		return 0, errors.New("nothing to change")
	}
	return len(m), nil
}

func handed(m map[string]string) (*mcp.CallToolResult, mcp.ToolHandler) {
	if err := check(m); err != nil {
		return invalid(err), nil
	}
	if err := open("a"); err != nil {
		return failed(err), nil
	}
	if m == nil {
		return invalid(fmt.Errorf("arguments of %d names", len(m))), changes(size)
	}
	if len(m) > 3 {
		return failed(errBusy), opening(size)
	}
	onError(open("b"))
	_ = kept(errBusy)
	_ = again(errBusy, 3)
	_ = opening(func(map[string]string) (int, error) { return 0, open("c") })
	return nil, changes(func(m map[string]string) (int, error) {
		if len(m) > 2 {
			return 0, errors.New("too many")
		}
		return size(m)
	})
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
