// Package story plays what clients do against the server of a recipe. The server runs in
// a process of its own, as it would in earnest, over stdio or over HTTP.
package story

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/speak"
)

// A Story is what clients do.
type Story struct {
	Args []string // for the server
	Log  bool     // the server's log is shown too, each record before the answer
	Quit bool     // over HTTP the server ends itself when it is interrupted, and is waited for

	Client  *mcp.ClientOptions // nil for those of the SDK
	Version string             // of the protocol; the newest if it is empty

	// Play prints what one client gets. Instead, Visit makes a session for each client with
	// connect: over stdio a server of its own with the token in $TOKEN, over HTTP the same
	// server with the token in a header. Of several, separated by blanks, the next one is used
	// when the server asks the client to sign in again, which it can over HTTP alone.
	Play  func(ctx context.Context, session *mcp.ClientSession)
	Visit func(ctx context.Context, connect func(token string) (*mcp.ClientSession, error))

	// Stage is played in the place of both: it starts servers by itself, with Command and
	// Start.
	Stage func(ctx context.Context)

	// After is called when the server has ended. The working directory is the one that
	// the server had: a new and empty one.
	After func()
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

// tell plays one story.
func (s Story) tell(overHTTP bool) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "story")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Chdir(os.TempDir()), os.RemoveAll(dir)) }()
	if err := os.Chdir(dir); err != nil {
		return err
	}
	if err := s.play(ctx, overHTTP); err != nil {
		return err
	}
	if s.After != nil {
		s.After()
	}
	return nil
}

// play ends when the server has ended.
func (s Story) play(ctx context.Context, overHTTP bool) (err error) {
	connect := func(token string) (*mcp.ClientSession, error) {
		cmd, err := s.Command(ctx)
		if err != nil {
			return nil, err
		}
		token, _, _ = strings.Cut(token, " ")
		cmd.Env = append(os.Environ(), "TOKEN="+token)
		return s.connect(ctx, &mcp.CommandTransport{Command: cmd})
	}
	if s.Stage != nil {
		s.Stage(ctx)
		return nil
	}
	if overHTTP {
		cmd, failed := s.Command(ctx, "-http", "127.0.0.1:0")
		if failed != nil {
			return failed
		}
		address, failed := Start(cmd)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, s.stop(cmd)) }()
		connect = func(token string) (*mcp.ClientSession, error) {
			return s.connect(ctx, &mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: &bearer{tokens: strings.Fields(token)}}})
		}
	}
	if s.Visit != nil {
		s.Visit(ctx, connect)
		return nil
	}
	session, err := connect("")
	if err != nil {
		return err
	}
	s.Play(ctx, session)
	return session.Close()
}

// Command is this program again, as the server.
func (s Story) Command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append(args, s.Args...)...)
	if s.Log {
		cmd.Stderr = os.Stdout // the file itself: a record stands before what the client prints after it
	}
	return cmd, nil
}

func (s Story) connect(ctx context.Context, transport mcp.Transport) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "recipe", Version: "1.0.0"}, s.Client)
	return client.Connect(ctx, transport, speak.Version(s.Version))
}

// stop ends a server over HTTP. Where there is no interrupt it is killed.
func (s Story) stop(cmd *exec.Cmd) error {
	if s.Quit && cmd.Process.Signal(os.Interrupt) == nil {
		return cmd.Wait()
	}
	err := cmd.Process.Kill()
	_ = cmd.Wait() // it was killed, and says so
	return err
}

// bearer sends its token with each request. If it has more than one and the server asks it to sign in,
// it sends the request again with the next one, as clients with OAuth do.
type bearer struct {
	mu     sync.Mutex
	tokens []string
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	for {
		b.mu.Lock()
		tokens := b.tokens
		b.mu.Unlock()
		again := r.Clone(r.Context())
		again.Body = io.NopCloser(bytes.NewReader(body))
		if len(tokens) > 0 {
			again.Header.Set("Authorization", "Bearer "+tokens[0])
		}
		resp, err := http.DefaultTransport.RoundTrip(again)
		if err != nil || len(tokens) < 2 || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, err
		}
		_ = resp.Body.Close()
		fmt.Printf("(%s, %s: the client signs in and calls again)\n", resp.Status, resp.Header.Get("WWW-Authenticate"))
		b.mu.Lock()
		b.tokens = tokens[1:]
		b.mu.Unlock()
	}
}

// started are the servers over HTTP, which do not end with this program.
var started struct {
	sync.Mutex
	all []*os.Process
}

// Start starts a server that prints its address.
func Start(cmd *exec.Cmd) (address string, err error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	started.Lock()
	started.all = append(started.all, cmd.Process)
	started.Unlock()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", errors.Join(errors.New("the server does not print its address"), err, cmd.Wait())
	}
	return strings.TrimSpace(line), nil
}

// Call calls a tool and prints what a model reads of the answer.
func Call(ctx context.Context, session *mcp.ClientSession, tool string, args any) {
	fmt.Printf("--> %s", tool)
	if args != nil {
		fmt.Printf(" %v", args)
	}
	fmt.Println()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil { // a JSON-RPC error, which hosts show to a model in words of their own
		fmt.Printf("%v\n\n", err)
		return
	}
	fmt.Printf("%s\n\n", Text(res))
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

// Must ends the story, and its servers, if a call could not be made.
func Must(err error) {
	if err != nil {
		fmt.Println("the story ends here:", err)
		started.Lock()
		for _, server := range started.all {
			_ = server.Kill() // most have ended
		}
		os.Exit(1)
	}
}
