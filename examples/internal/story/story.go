// Package story plays what a client does against the server of a recipe. The server runs
// in a process of its own, as it would in earnest, over stdio or over HTTP.
package story

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Story is what one client does.
type Story struct {
	Args []string                                              // for the server
	Log  bool                                                  // the server's log is shown too, each record before the answer
	Play func(ctx context.Context, session *mcp.ClientSession) // prints what the client gets
}

// Tell plays stories and ends the program if its arguments are -story, or -story http. It
// returns otherwise. It is called before main, which knows nothing of it, so that the file
// of the server can be copied alone.
func Tell(stories ...Story) {
	if len(os.Args) < 2 || os.Args[1] != "-story" {
		return
	}
	overHTTP := len(os.Args) > 2 && os.Args[2] == "http"
	for _, s := range stories {
		if err := s.tell(overHTTP); err != nil {
			log.Fatal(err)
		}
	}
	os.Exit(0)
}

// tell starts this program again, as the server, and plays one story against it.
func (s Story) tell(overHTTP bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], s.Args...)
	if s.Log {
		cmd.Stderr = os.Stdout // the file itself: a record stands before what the client prints after it
	}
	var transport mcp.Transport = &mcp.CommandTransport{Command: cmd}
	if overHTTP {
		cmd.Args = append(cmd.Args, "-http", "127.0.0.1:0")
		address, err := start(cmd)
		if err != nil {
			return err
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
		transport = &mcp.StreamableClientTransport{Endpoint: address}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "recipe", Version: "1.0.0"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	s.Play(ctx, session)
	return session.Close()
}

// start starts a server that prints its address.
func start(cmd *exec.Cmd) (string, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", errors.Join(errors.New("the server does not print its address"), err)
	}
	return strings.TrimSpace(line), nil
}

// Text returns the texts of a result, a line each.
func Text(res *mcp.CallToolResult) string {
	var texts []string
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Must ends the story if a call could not be made.
func Must(err error) {
	if err != nil {
		fmt.Println("the story ends here:", err)
		os.Exit(1)
	}
}
