package adversary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

const crossingClients = 64

// A crowd is many clients of one server, in this process so that the race detector sees
// both sides.
type crowd struct {
	t      *testing.T
	server *mcp.Server
	urls   map[string]string // by transport

	mu         sync.Mutex
	references map[string]string // by reference, the token of the request that it answered
	calls      map[string]int    // by what was done
}

// TestNoAnswerIsLostDoubledOrCrossed has many clients call at once, rightly and wrongly,
// give up and disconnect. Every answer holds the token of its own request and no other.
func TestNoAnswerIsLostDoubledOrCrossed(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("crowd", func(t *testing.T) {
		c := &crowd{
			t: t, server: newServer(everything, slog.New(slog.DiscardHandler)),
			urls: map[string]string{}, references: map[string]string{}, calls: map[string]int{},
		}
		for _, transport := range []string{"stateful", "stateless"} {
			s := httptest.NewServer(handler(c.server, transport, slog.New(slog.DiscardHandler)))
			t.Cleanup(s.Close)
			c.urls[transport] = s.URL
		}
		end := time.Now().Add(attackTime(time.Second / 2))
		var clients sync.WaitGroup
		for i := range crossingClients {
			clients.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), 1))
				for session := 0; time.Now().Before(end); session++ {
					if err := c.visit(r, shapes[i%len(shapes)], fmt.Sprintf("t%dv%d", i, session), end); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		clients.Wait()
		t.Logf("%v", c.calls)
		for _, what := range []string{"good", "wrong", "missing", "list", "panics", "late", "given up"} {
			require.NotZero(t, c.calls[what], what)
		}
	})
	deadline := time.Now().Add(answerTime)
	for runtime.NumGoroutine() > before+5 {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			require.FailNow(t, "goroutines are left", "%d, and before %d\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// visit is one session of a client: some calls at once, and then it disconnects.
func (c *crowd) visit(r *rand.Rand, s shape, prefix string, end time.Time) error {
	by := &client{version: s.version, prefix: prefix}
	leave := c.connect(by, s)
	defer leave()
	ctx := context.Background()
	if err := by.initialize(ctx); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	for range 1 + r.IntN(20) {
		if time.Now().After(end) {
			break
		}
		failed := make(chan error, 3)
		for range cap(failed) { // at once on one connection
			what, token := r.IntN(8), fmt.Sprintf("%sn%dx", prefix, by.ids.Add(1))
			go func() { failed <- c.act(ctx, by, what, token) }()
		}
		for range cap(failed) {
			if err := <-failed; err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
	}
	if p, ok := by.wire.(*pipe); ok {
		for _, line := range p.strays() {
			if !strings.Contains(string(line), `given up`) {
				return fmt.Errorf("an answer that nobody waits for: %s", line)
			}
		}
	}
	return nil
}

// connect connects the client and returns what disconnects it.
func (c *crowd) connect(by *client, s shape) (leave func()) {
	if !s.piped() {
		by.wire = newPost(c.urls[s.transport], by.prefix, s.version)
		return by.close
	}
	clientReads, serverWrites := io.Pipe()
	serverReads, clientWrites := io.Pipe()
	var transport mcp.Transport = &mcp.IOTransport{Reader: serverReads, Writer: serverWrites}
	if s.transport == "lines" {
		transport = mcprecover.Transport(serverReads, serverWrites)
	}
	session, err := c.server.Connect(context.Background(), transport, nil)
	if err != nil {
		panic(err)
	}
	by.wire = newPipe(clientReads, clientWrites)
	return func() {
		by.close()
		_ = session.Wait()
		_ = serverWrites.Close()
	}
}

var tokenForm = regexp.MustCompile(`t\d+v\d+n\d+x`)

// act makes one call and checks its answer.
func (c *crowd) act(ctx context.Context, by *client, what int, token string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var name string
	var got answer
	var err error
	switch what {
	case 0, 1:
		name = "good"
		got, err = by.call(ctx, "echo", fmt.Sprintf(`{"token":%q}`, token))
		if err == nil && (got.failed() || string(got.Result.StructuredContent) != fmt.Sprintf(`{"token":%q}`, token)) {
			err = errors.New("it is not the echo")
		}
	case 2:
		name = "wrong"
		got, err = by.call(ctx, "echo_raw", fmt.Sprintf(`{"token":"ok","color":%q}`, token))
		if err == nil && !got.failed() {
			err = errors.New("wrong arguments are accepted")
		}
	case 3:
		name = "missing"
		got, err = by.request(ctx, "resources/read", fmt.Sprintf(`"uri":"note://missing-%s"`, token))
		if err == nil && !got.failed() {
			err = errors.New("there is no such resource")
		}
	case 4:
		name = "list"
		got, err = by.call(ctx, "echo_all", fmt.Sprintf(`{"tokens":[%q,"%s b"]}`, token, token))
		if err == nil && !strings.Contains(got.text(), token+" b") {
			err = errors.New("an item is not there")
		}
	case 5:
		name = "panics"
		got, err = by.call(ctx, "panics", fmt.Sprintf(`{"token":%q}`, token))
		if err == nil {
			err = c.refer(&got, token)
		}
	case 6:
		name = "late"
		got, err = by.call(ctx, "waits", fmt.Sprintf(`{"token":%q}`, token))
		if err == nil && got.text() != token { // a busy machine sees the end of the wait first
			err = c.refer(&got, token)
		}
	default:
		name = "given up"
		err = c.giveUp(ctx, by, token)
	}
	raw, _ := json.Marshal(got)
	for _, other := range tokenForm.FindAllString(string(raw), -1) {
		if other != token {
			err = errors.Join(err, fmt.Errorf("it has the token %s", other))
		}
	}
	if (name == "wrong" || name == "missing") && !bytes.Contains(raw, []byte(token)) {
		err = errors.Join(err, errors.New("it does not have the token"))
	}
	c.mu.Lock()
	c.calls[name]++
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s, %s: %w: %s", name, token, err, raw)
	}
	return nil
}

// refer requires that the answer tells a failure under a reference that no other has.
func (c *crowd) refer(a *answer, token string) error {
	if a.Result == nil || !a.Result.IsError {
		return errors.New("it is no failure")
	}
	var machine struct {
		Reference string `json:"reference_id"`
	}
	if err := json.Unmarshal(a.Result.Meta[middleware.MetaKey], &machine); err != nil || machine.Reference == "" {
		return fmt.Errorf("it has no reference: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.references[machine.Reference]; other != "" {
		return fmt.Errorf("%s has the same reference", other)
	}
	c.references[machine.Reference] = token
	return nil
}

// giveUp makes a call and does not wait for its answer: over HTTP the connection is cut,
// on a pipe the call is cancelled.
func (c *crowd) giveUp(ctx context.Context, by *client, token string) error {
	id := fmt.Sprintf("%q", "given up "+token)
	message := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{%s,"name":"waits","arguments":{"token":%q}}}`, id, by.meta(), token)
	if _, ok := by.wire.(*pipe); ok {
		if _, err := by.exchange(ctx, message, ""); err != nil {
			return err
		}
		_, err := by.exchange(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,%s}}`, id, by.meta()), "")
		return err
	}
	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	_, err := by.exchange(short, message, id)
	if err != nil && short.Err() == nil {
		return err
	}
	return nil
}
