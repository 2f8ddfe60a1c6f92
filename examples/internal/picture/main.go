// Command picture draws docs/readers.svg: one call that fails, and what the model and the log get, without mcpchain
// and with it. The texts are those of a real call.
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
	"regexp"
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

// errPrivate is what the handler fails with. A refused connection is told by its type.
var errPrivate = fmt.Errorf("orders: %w", &net.OpError{
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
	mcp.AddTool(server, &mcp.Tool{Name: "get_order", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return nil, nil, errPrivate
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
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "get_order"})
	if err != nil {
		return "", "", err
	}
	content, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return "", "", errors.New("the answer has no text")
	}
	return content.Text, strings.TrimSpace(out.String()), nil
}

// The geometry, in pixels. On a phone, 375 wide, the text is ten pixels high.
const (
	width, margin = 640, 16
	column        = (width - 3*margin) / 2
	lineHeight    = 23
	columns       = 26 // characters of a line of text in a column
	whole         = 54 // and in a box over both
)

// style has the colours for light and for dark pages. The reference has one of its own.
const style = `text { font: 18px monospace; fill: #1f2328 } .head { font: bold 19px sans-serif } .note { font: italic 17px sans-serif; fill: #57606a } .ref { fill: #8250df; font-weight: bold }
rect { fill: #f6f8fa; stroke: #8c959f; stroke-width: 1.5 } .page { fill: #ffffff; stroke: none } path { fill: none; stroke: #57606a; stroke-width: 2 } .join { stroke: #8250df; stroke-width: 3 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .note { fill: #9ea7b3 } .ref { fill: #d2a8ff } rect { fill: #161b22; stroke: #6e7681 } .page { fill: #0d1117 } path { stroke: #9ea7b3 } .join { stroke: #d2a8ff } }`

// A box is a titled block of lines.
type box struct {
	x, y, width int
	title       string
	lines       []string
}

func (b box) height() int { return (len(b.lines)+1)*lineHeight + 18 }

func (b box) draw(w *bytes.Buffer) {
	fmt.Fprintf(w, `<rect x="%d" y="%d" width="%d" height="%d" rx="6"/>`+"\n", b.x, b.y, b.width, b.height())
	fmt.Fprintf(w, `<text x="%d" y="%d" class="head">%s</text>`+"\n", b.x+12, b.y+lineHeight+2, escape(b.title))
	for n, line := range b.lines {
		text := strings.ReplaceAll(escape(line), reference[:shown]+"…", `<tspan class="ref">`+reference[:shown]+`…</tspan>`)
		fmt.Fprintf(w, `<text x="%d" y="%d" xml:space="preserve">%s</text>`+"\n", b.x+12, b.y+(n+2)*lineHeight+4, text)
	}
}

// shown is how much of the reference fits beside its name.
const shown = 8

// draw returns the picture: on the left what a caller and an operator get without mcpchain, on the right with it.
func draw(ctx context.Context) ([]byte, error) {
	text, record, err := fail(ctx)
	if err != nil {
		return nil, err
	}
	short := func(s string) string { return strings.ReplaceAll(s, reference, reference[:shown]+"…") }
	left, right, middle := margin, 2*margin+column, 172
	failure := box{margin, margin, width - 2*margin, "A tool fails", wrap(errPrivate.Error(), whole)}
	raw, said := wrap(errPrivate.Error(), columns), wrap(short(text), columns)
	under := middle + 40 + box{lines: said}.height() + margin
	boxes := []box{
		{left, middle + 40, column, "The model reads", raw},
		{right, middle + 40, column, "The model reads", said},
		{left, under, column, "The log", []string{"nothing"}},
		{right, under, column, "The log", wrap(short(attributes(record)), columns)},
	}
	bottom := boxes[3].y + boxes[3].height() + margin

	var svg bytes.Buffer
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">
<title>One failure, without mcpchain and with it</title>
<style>%s</style>
<rect class="page" width="100%%" height="100%%"/>
`, width, bottom, style)
	failure.draw(&svg)
	for _, c := range []struct {
		x    int
		name string
	}{{left, "without mcpchain"}, {right, "with mcpchain"}} {
		center := c.x + column/2
		fmt.Fprintf(&svg, `<path d="M %d %d V %d m -6 -7 l 6 7 l 6 -7"/>`+"\n", center, failure.y+failure.height(), middle-18)
		fmt.Fprintf(&svg, `<text x="%d" y="%d" text-anchor="middle" class="note">%s</text>`+"\n", center, middle+16, c.name)
	}
	for _, b := range boxes {
		b.draw(&svg)
	}
	edge, last := right+column-60, len(boxes[1].lines)
	fmt.Fprintf(&svg, `<path class="join" d="M %d %d H %d V %d H %[1]d"/>`+"\n", edge, boxes[1].y+(last+1)*lineHeight-2, width-margin/2, boxes[3].y+(len(boxes[3].lines)+1)*lineHeight-2)
	svg.WriteString("</svg>\n")
	return svg.Bytes(), nil
}

// attributes returns those of a record that tell what failed.
func attributes(record string) string {
	var told []string
	for _, name := range []string{"level", "tool", "kind", "error", "reference"} {
		if found := regexp.MustCompile(`\b` + name + `=("[^"]*"|\S+)`).FindString(record); found != "" {
			told = append(told, found)
		}
	}
	return strings.Join(told, "\n")
}

// wrap breaks a text into lines that fit into a box.
func wrap(text string, columns int) []string {
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
