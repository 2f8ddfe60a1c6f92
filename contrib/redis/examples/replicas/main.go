// Replicas runs two servers behind a proxy, with a Redis that both know, and a client
// whose connection is cut in the middle of a payment. One server is killed. The
// payment happens once, the state is there, and the answer arrives.
//
//	go run .                                # with a Redis in this process
//	REDIS_ADDR=localhost:6379 go run .      # with one of your own
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	log.SetFlags(0)
	name := flag.String("serve", "", "the name of this server")
	redis := flag.String("redis", os.Getenv("REDIS_ADDR"), "the address of a Redis")
	prefix := flag.String("prefix", fmt.Sprintf("replicas:%d:", time.Now().UnixNano()), "what the keys in Redis begin with")
	flag.Parse()
	if *name != "" {
		log.Fatal(serve(*name, *redis, *prefix))
	}
	if err := story(*redis, *prefix); err != nil {
		log.Fatal(err)
	}
}

// say prints a line of the story.
func say(who, what string, args ...any) {
	_, _ = fmt.Fprintf(os.Stdout, "%-9s %s\n", who, fmt.Sprintf(what, args...))
}

func story(redis, prefix string) error {
	if redis == "" {
		mini, err := miniredis.Run()
		if err != nil {
			return err
		}
		defer mini.Close()
		go func() { // time does not pass in it by itself
			for range time.Tick(time.Second) {
				mini.FastForward(time.Second)
			}
		}()
		redis = mini.Addr()
	}
	one, err := start("server 1", redis, prefix)
	if err != nil {
		return err
	}
	defer one.kill()
	two, err := start("server 2", redis, prefix)
	if err != nil {
		return err
	}
	defer two.kill()
	between, err := newProxy(one.addr, two.addr)
	if err != nil {
		return err
	}
	defer between.close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := &client{endpoint: "http://" + between.addr()}
	account, err := client.call(ctx, "open_account", "", nil)
	if err != nil {
		return err
	}
	say("client", "opened an account and got a handle")

	// The payment takes a while. Its connection is cut when it has begun.
	payment := map[string]any{"account": account, "amount": 30, "to": "the baker"}
	const key = "invoice-17"
	payer := one
	go func() {
		select {
		case <-one.paying:
		case <-two.paying:
			payer = two
		}
		say("proxy", "cuts the connection")
		between.cut()
	}()
	if _, err = client.call(ctx, "pay", key, payment); err == nil {
		return errors.New("the connection was not cut")
	}
	say("client", "got no answer, and sends the call again with the same key")
	answer, err := client.call(ctx, "pay", key, payment)
	if err != nil {
		return err
	}
	<-payer.paid
	say("client", "got %q", answer)

	payer.kill()
	say(payer.name, "is killed")
	if answer, err = client.call(ctx, "pay", key, payment); err != nil {
		return err
	}
	say("client", "sends it once more, and got %q", answer)
	if answer, err = client.call(ctx, "call_status", "", map[string]any{"tool": "pay", "key": key}); err != nil {
		return err
	}
	say("client", "asks what became of it: %s", answer)
	if answer, err = client.call(ctx, "statement", "", map[string]any{"account": account}); err != nil {
		return err
	}
	say("client", "reads the account: %s", answer)
	payment["amount"] = 3000
	if _, err = client.call(ctx, "pay", key, payment); err == nil {
		return errors.New("another payment went out under the same key")
	}
	say("client", "tries another amount with the same key, and is told:\n%s", indented(err.Error()))
	return nil
}

func indented(text string) string {
	return "          " + strings.ReplaceAll(text, "\n", "\n          ")
}

// A process is a server that runs in a process of its own.
type process struct {
	name   string
	cmd    *exec.Cmd
	addr   string
	paying chan struct{} // closed when it says that a payment has begun
	paid   chan struct{} // and that it was made
}

// start starts this program again, as a server. It tells its address in its first line.
func start(name, redis, prefix string) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "-serve", name, "-redis", redis, "-prefix", prefix)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{name: name, cmd: cmd, paying: make(chan struct{}), paid: make(chan struct{})}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		p.kill()
		return nil, fmt.Errorf("%s did not start", name)
	}
	p.addr = lines.Text()
	go func() {
		for lines.Scan() {
			say(name, "%s", lines.Text())
			switch {
			case strings.HasPrefix(lines.Text(), "begins"):
				close(p.paying)
			case strings.HasPrefix(lines.Text(), "has paid"):
				close(p.paid)
			}
		}
	}()
	return p, nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// A client makes each call in a session of its own, which is what is left after a
// connection was cut.
type client struct{ endpoint string }

func (c *client) call(ctx context.Context, tool, key string, args any) (string, error) {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: c.endpoint, MaxRetries: -1, HTTPClient: &http.Client{Transport: signedIn{}},
	}, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = session.Close() }()
	if _, err := session.ListTools(ctx, nil); err != nil { // as an agent does first
		return "", err
	}
	params := &mcp.CallToolParams{Name: tool, Arguments: args}
	if key != "" {
		params.Meta = mcp.Meta{"io.modelcontextprotocol/idempotencyKey": key}
	}
	res, err := session.CallTool(ctx, params)
	if err != nil {
		return "", err
	}
	text, _ := res.Content[0].(*mcp.TextContent)
	if res.IsError {
		return "", errors.New(text.Text)
	}
	return text.Text, nil
}

// signedIn makes each request one of Ada's, on a connection of its own.
type signedIn struct{}

var connections = &http.Transport{DisableKeepAlives: true}

// RoundTrip implements [http.RoundTripper].
func (signedIn) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+adasToken)
	return connections.RoundTrip(req)
}
