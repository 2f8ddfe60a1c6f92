package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

// patience is how long the client waits for an answer. A report takes longer.
const patience = 5 * time.Second

var several = story.Story{Args: []string{"-http", "127.0.0.1:0", "-takes", "7s", "-after", "1s", "-wait", "2s"}}

func init() { story.Tell(story.Story{Stage: play}) }

// A server is one of several, in a process of its own.
type server struct {
	name, address string
	cmd           *exec.Cmd
}

func start(ctx context.Context, name, redis string) *server {
	cmd, err := several.Command(ctx)
	story.Must(err)
	cmd.Env = append(os.Environ(), "REDIS_ADDR="+redis)
	address, err := story.Start(cmd)
	story.Must(err)
	return &server{name, address, cmd}
}

// call makes a call in a session of its own, and ends it as soon as it has an answer.
func (s *server) call(ctx context.Context, tool string, args map[string]any) (res *mcp.CallToolResult, status string) {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: s.address}, nil)
	story.Must(err)
	defer session.Close()
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	res, err = session.CallTool(limited, &mcp.CallToolParams{Name: tool, Arguments: args})
	story.Must(err)
	handle, _ := res.Meta["io.github.mcpchain/task"].(map[string]any)
	status, _ = handle["status"].(string)
	return res, status
}

// begin asks for a report, and returns what to fetch it with.
func (s *server) begin(ctx context.Context, topic string) map[string]any {
	res, status := s.call(ctx, "report", map[string]any{"topic": topic})
	s.show("report", res)
	if status != "running" {
		story.Must(fmt.Errorf("the report about %s is %q", topic, status))
	}
	handle, _ := res.Meta["io.github.mcpchain/task"].(map[string]any)
	return map[string]any{"id": handle["id"]}
}

// differs is what each run has alone, and what stands in its place.
var differs = []struct {
	of      *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`[A-Z2-7]{26}`), "ID"}, {regexp.MustCompile(`(after|about) \d+ s`), "$1 N s"}, {regexp.MustCompile(`\d of 4`), "N of 4"},
}

func (s *server) show(tool string, res *mcp.CallToolResult) {
	said, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		story.Must(fmt.Errorf("%s answers without a text", tool))
	}
	text := strings.ReplaceAll(said.Text, "\n", "\n    ")
	for _, d := range differs {
		text = d.of.ReplaceAllString(text, d.instead)
	}
	fmt.Printf("--> %s, of %s\n    %s\n", tool, s.name, text)
}

func play(ctx context.Context) {
	redis, err := miniredis.Run()
	story.Must(err)
	defer redis.Close()
	one, two, three := start(ctx, "server 1", redis.Addr()), start(ctx, "server 2", redis.Addr()), start(ctx, "server 3", redis.Addr())

	fmt.Println("A report takes longer than its client waits. Server 1 is told to end meanwhile.")
	id := one.begin(ctx, "rain")
	story.Must(one.cmd.Process.Signal(syscall.SIGTERM))
	for {
		if res, status := two.call(ctx, "task_result", id); status != "running" {
			two.show("task_result", res)
			break
		}
	}
	story.Must(one.cmd.Wait()) // it ends when the report is kept
	fmt.Println("Server 1 has ended.")

	fmt.Println("\nServer 2 is killed while it writes a report.")
	id = two.begin(ctx, "snow")
	_ = two.cmd.Process.Kill()
	_ = two.cmd.Wait()
	redis.FastForward(15 * time.Second) // after which it is no longer believed to run
	res, _ := three.call(ctx, "task_result", id)
	three.show("task_result", res)
	story.Must(three.cmd.Process.Signal(syscall.SIGTERM))
	story.Must(three.cmd.Wait())
}
