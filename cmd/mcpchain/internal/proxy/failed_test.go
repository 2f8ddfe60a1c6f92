package proxy

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// The bound of the words of a failure holds for all its blocks together. Other blocks stay in their places.
func TestAFailureOfManyBlocks(t *testing.T) {
	p := &Proxy{Options: Options{Hide: func(text string) string { return text }}}
	text := func() mcp.Content { return &mcp.TextContent{Text: strings.Repeat("word ", maxWords/10)} } // a half of it
	image := &mcp.ImageContent{MIMEType: "image/png"}
	res := p.clippedResult(&mcp.CallToolResult{IsError: true, Content: []mcp.Content{text(), image, text(), text(), image}})
	size, blocks := 0, ""
	for _, block := range res.Content {
		if one, ok := block.(*mcp.TextContent); ok {
			size += len(one.Text)
			blocks += "t"
		} else {
			blocks += "i"
		}
	}
	require.LessOrEqual(t, size, maxWords+100) // a note says how much is left out
	require.Equal(t, "titti", blocks)
}
