// Command picture draws docs/readers.svg: one call that fails, and what its three readers
// get. The texts are those of a real call.
//
//	go generate ./examples/internal/picture
package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/retry"
)

//go:generate go run . ../../../docs/readers.svg

const reference = "0198c7f2-9d3e-7c41-9f0a-5b7d6c1e2a34"

// errSecret is what the handler fails with. A refused connection is told by its type.
var errSecret = fmt.Errorf("connect to app:hunter2@10.0.0.7: %w", &net.OpError{
	Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 5432},
	Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
})

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: picture FILE")
	}
	drawn, err := draw(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[1], drawn, 0o644); err != nil {
		log.Fatal(err)
	}
}

// fail makes the call. It returns what the model reads and what stands in the log.
func fail(ctx context.Context) (text, record string, err error) {
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration_ms" {
			return slog.Attr{} // they differ each time
		}
		return a
	}}))
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_weather", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return nil, nil, errSecret
		})
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: logger, Correlate: &correlate.Options{NewID: func(context.Context, mcp.Request) string { return reference }},
		Retry: &retry.Options{InitialInterval: time.Millisecond}, // the same wait each time
	}))
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		return "", "", err
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = session.Close() }()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "get_weather"})
	if err != nil {
		return "", "", err
	}
	content, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return "", "", errors.New("the answer has no text")
	}
	return content.Text, strings.TrimSpace(out.String()), nil
}

// The geometry, in pixels.
const (
	width, margin = 860, 20
	lineHeight    = 18
	columns       = 106 // characters of a line of text
)

// A box is a titled block of lines.
type box struct {
	title, colour string
	lines         []string
}

// draw returns the picture.
func draw(ctx context.Context) ([]byte, error) {
	text, record, err := fail(ctx)
	if err != nil {
		return nil, err
	}
	boxes := []box{
		{"A tool fails", "#8c959f", wrap(errSecret.Error())},
		{"The model reads what failed, whether to call again, and the reference", "#1a7f37", wrap(text)},
		{"The operator finds the whole error under the same reference", "#0969da", wrap(record)},
		{"Everybody else learns nothing: no address, no password, no stack", "#cf222e", nil},
	}
	var body bytes.Buffer
	y := margin
	for i, b := range boxes {
		height := (len(b.lines)+1)*lineHeight + 16
		fmt.Fprintf(&body, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="#f6f8fa" stroke="%s" stroke-width="2"/>`+"\n",
			margin, y, width-2*margin, height, b.colour)
		fmt.Fprintf(&body, `<text x="%d" y="%d" font-weight="bold" fill="%s">%s</text>`+"\n", margin+12, y+lineHeight+2, b.colour, escape(b.title))
		for n, line := range b.lines {
			fmt.Fprintf(&body, `<text x="%d" y="%d" class="code" xml:space="preserve">%s</text>`+"\n", margin+12, y+(n+2)*lineHeight+4, escape(line))
		}
		y += height
		if i == 0 {
			fmt.Fprintf(&body, `<path d="M %d %d v 14 m -6 -6 l 6 6 l 6 -6" fill="none" stroke="#57606a" stroke-width="2"/>`+"\n", width/2, y+3)
		}
		y += lineHeight + 4
	}
	var svg bytes.Buffer
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="14">
<title>One call that fails, and what its readers get</title>
<style>.code { font-family: monospace; font-size: 12.5px; fill: #24292f }</style>
<rect width="100%%" height="100%%" fill="#ffffff"/>
`, width, y)
	body.WriteString("</svg>\n")
	_, err = body.WriteTo(&svg)
	return svg.Bytes(), err
}

// wrap breaks a text into lines that fit into a box.
func wrap(text string) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for word := range strings.SplitSeq(paragraph, " ") {
			if line != "" && len(line)+1+len(word) > columns {
				lines, line = append(lines, line), "   "
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

func escape(s string) string {
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(s)) // a buffer takes everything
	return out.String()
}
