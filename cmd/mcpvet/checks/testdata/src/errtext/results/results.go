// Package results makes results of texts, for other packages.
package results

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func Failed(text string) *mcp.CallToolResult { // want Failed:`shows`
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "failed: " + text}}}
}

func Failedf(kind, text string) (*mcp.CallToolResult, error) { // want Failedf:`shows` Failedf:`worded`
	return Failed(fmt.Sprintf("%s: %s", kind, text)), nil
}

func FromErr(err error) *mcp.CallToolResult { // want FromErr:`shows`
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
}

func Require(m map[string]string, name string) (string, error) { // want Require:`worded`
	if m[name] == "" {
		return "", fmt.Errorf("missing %s", name)
	}
	if len(m) > 10 {
		return "", errors.New("too many")
	}
	return m[name], nil
}

func Size(text string) (n int, err error) { // want Size:`worded`
	if text == "" {
		return
	}
	n, err = strconv.Atoi(text)
	if err != nil {
		err = fmt.Errorf("size: %w", err)
		return
	}
	return n, nil
}
