package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
)

func init() { story.Tell(story.Story{Log: true, Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	for _, call := range [][2]string{
		{"get_project", "website"}, {"get_project", "websiet"},
		{"create_project", "payroll"}, {"create_project", "Payroll"},
		{"delete_project", "payroll"}, {"create_project", "games"},
	} {
		fmt.Printf("--> %s %s\n", call[0], call[1])
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: call[0], Arguments: args{call[1]}})
		f, failed := middleware.FaultOf(res, err)
		switch {
		case !failed:
			fmt.Println(res.StructuredContent)
		case errors.Is(f, fault.KindNotFound): // a program decides by the kind, never by the text
			fmt.Printf("%s\nfor a program: %q\n", f.Text(), f.Data().SimilarMatches)
		default:
			fmt.Println(f.Text())
		}
		fmt.Println()
	}
}
