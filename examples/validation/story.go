package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() { story.Tell(story.Story{Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	call(ctx, session, "book", map[string]any{"town": "Oslo", "night": "3", "guests": "two"}, map[string]any{"city": "Oslo", "guests": 2})
	call(ctx, session, "resize", map[string]any{"widht": 99999, "format": "jpg"}, nil)

	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "bok"}); err != nil {
		fmt.Println(err)
	}
}

// call calls a tool, again and again with mended arguments; known is what the user said.
func call(ctx context.Context, session *mcp.ClientSession, tool string, args, known map[string]any) {
	for range 5 {
		fmt.Printf("--> %s %v\n", tool, args)
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			log.Fatal(err)
		}
		answer, _ := res.Content[0].(*mcp.TextContent)
		if fmt.Println(answer.Text); !res.IsError {
			return
		}
		mend(args, known, answer.Text)
	}
}

// advice is what the client understands, and what it does then.
var advice = []struct {
	sentence *regexp.Regexp
	follow   func(args, known map[string]any, m []string)
}{
	{regexp.MustCompile(`Argument '(.+?)' is unknown.* Did you mean '(.+?)'`), func(args, _ map[string]any, m []string) {
		args[m[2]] = args[m[1]]
		drop(args, nil, m)
	}},
	{regexp.MustCompile(`Argument '(.+?)' is unknown`), drop},
	{regexp.MustCompile(`Argument '(.+?)' expected .* Send (\d+) without quotes`), set},
	{regexp.MustCompile(`Argument '(.+?)' expected an integer from \d+ to (\d+), but received \d`), set},
	{regexp.MustCompile(`Argument '(.+?)' expected '(.+?)'`), func(args, _ map[string]any, m []string) { args[m[1]] = m[2] }},
	{regexp.MustCompile(`Argument '(.+?)' (expected|is required)`), func(args, known map[string]any, m []string) { args[m[1]] = known[m[1]] }},
}

func set(args, _ map[string]any, m []string)  { args[m[1]] = json.Number(m[2]) }
func drop(args, _ map[string]any, m []string) { delete(args, m[1]) }

// mend reads an answer line by line and does what it says.
func mend(args, known map[string]any, answer string) {
	for line := range strings.Lines(answer) {
		for _, a := range advice {
			if m := a.sentence.FindStringSubmatch(line); m != nil {
				a.follow(args, known, m)
				break
			}
		}
	}
}
