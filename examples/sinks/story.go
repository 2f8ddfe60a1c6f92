package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() { story.Tell(story.Story{Play: play, After: after}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	for _, tool := range []string{"order", "order", "order", "stock"} {
		_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
		story.Must(err)
	}
}

func after() {
	fmt.Printf("The file has all %d:\n%s", strings.Count(read("file.log"), "\n"), read("file.log"))
	fmt.Printf("\nThe service is down, and its spool has them, scrubbed:\n%s", read("spool.log"))
	fmt.Printf("\nThe pager has the panic:\n%s", read("pager.log"))
}

// keep is what is shown of a record: the rest makes lines long.
var keep = regexp.MustCompile(`(?:level|tool|outcome|error)=(?:"(?:\\.|[^"\\])*"|\S+)`)

// read returns the records of calls in a file.
func read(name string) string {
	text, err := os.ReadFile(name)
	story.Must(err)
	var records strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "mask.Options.Reader") {
			continue // what a server says over stdio alone
		}
		records.WriteString(strings.Join(keep.FindAllString(line, -1), " ") + "\n")
	}
	return records.String()
}
