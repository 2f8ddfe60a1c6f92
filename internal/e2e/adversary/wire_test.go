package adversary

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

// The protocol eras.
const (
	current = "2026-07-28"
	older   = "2025-11-25"
)

// A shape is one way to talk to a server.
type shape struct{ transport, version string }

func (s shape) String() string { return s.transport + "-" + s.version }

// piped reports whether the server has one connection, its standard input and output.
func (s shape) piped() bool { return s.transport == "stdio" || s.transport == "lines" }

// shapes are all ways. Stateful HTTP servers of the SDK do not speak 2026-07-28.
var shapes = []shape{
	{"stdio", current}, {"stdio", older}, {"lines", current}, {"lines", older},
	{"stateful", older}, {"stateless", current}, {"stateless", older},
}

// A reply is what came back for one message.
type reply struct {
	status  int // of HTTP
	raw     []byte
	answers []answer // the responses in it, whatever their IDs
}

// An answer is one JSON-RPC response.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result *struct {
		IsError           bool
		Content           []struct{ Type, Text string }
		Contents          []struct{ Text string }
		Messages          []struct{ Content struct{ Text string } }
		Meta              map[string]json.RawMessage `json:"_meta"`
		StructuredContent json.RawMessage
	} `json:"result"`
	Error *struct {
		Code    int64
		Message string
		Data    json.RawMessage
	} `json:"error"`
}

// text returns what a model reads of the answer.
func (a *answer) text() string {
	var all []string
	if a.Error != nil {
		all = append(all, a.Error.Message)
	}
	if r := a.Result; r != nil {
		for _, c := range r.Content {
			all = append(all, c.Text)
		}
		for _, c := range r.Contents {
			all = append(all, c.Text)
		}
		for _, m := range r.Messages {
			all = append(all, m.Content.Text)
		}
	}
	return strings.Join(all, "\n")
}

// failed reports whether the answer tells a failure.
func (a *answer) failed() bool { return a.Error != nil || a.Result != nil && a.Result.IsError }

// A wire carries raw messages to a server.
type wire interface {
	// exchange sends a message as it is and returns what comes back. It waits for a
	// response with the id, unless the id is "".
	exchange(ctx context.Context, message []byte, id string) (reply, error)
	close()
}

// A client speaks raw JSON-RPC.
type client struct {
	wire
	version string
	ids     atomic.Int64
	prefix  string // of its IDs and tokens
}

// meta is the _meta that every request of the current era has.
func (c *client) meta() string {
	if c.version < current {
		return `"_meta":{"progressToken":"p"}`
	}
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + c.version + `","io.modelcontextprotocol/clientInfo":{"name":"adversary","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
}

func (c *client) nextID() string { return fmt.Sprintf(`"%s-%d"`, c.prefix, c.ids.Add(1)) }

// initialize opens a session where the era has one.
func (c *client) initialize(ctx context.Context) error {
	if c.version >= current {
		return nil
	}
	id := c.nextID()
	got, err := c.exchange(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"adversary","version":"1"}}}`, id, c.version), id)
	if err != nil {
		return err
	}
	if len(got.answers) != 1 || got.answers[0].Error != nil {
		return fmt.Errorf("initialize: %s", got.raw)
	}
	_, err = c.exchange(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), "")
	return err
}

// request makes one well-formed request.
func (c *client) request(ctx context.Context, method, params string) (answer, error) {
	id := c.nextID()
	got, err := c.exchange(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s,%s}}`, id, method, params, c.meta()), id)
	if err != nil {
		return answer{}, err
	}
	if len(got.answers) != 1 {
		return answer{}, fmt.Errorf("%d answers to %s: %s", len(got.answers), id, got.raw)
	}
	if string(got.answers[0].ID) != id {
		return answer{}, fmt.Errorf("the answer to %s is that to %s", id, got.answers[0].ID)
	}
	return got.answers[0], nil
}

// call calls a tool.
func (c *client) call(ctx context.Context, tool, arguments string) (answer, error) {
	return c.request(ctx, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments))
}

// A pipe is a wire of lines. Several may wait for their answers at a time.
type pipe struct {
	w       io.WriteCloser
	writing sync.Mutex

	mu      sync.Mutex
	waiting map[string]chan answerLine
	stray   [][]byte // what nobody waited for
	ended   chan struct{}
}

type answerLine struct {
	answer
	line []byte
}

var errEnded = errors.New("the connection has ended")

func newPipe(r io.Reader, w io.WriteCloser) *pipe {
	p := &pipe{w: w, waiting: map[string]chan answerLine{}, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var a answer
			_ = json.Unmarshal(line, &a)
			p.mu.Lock()
			id := canonical(string(a.ID))
			if wait := p.waiting[id]; wait != nil && a.Method == "" {
				delete(p.waiting, id) // a second one is stray
				wait <- answerLine{a, line}
			} else if a.Method == "" {
				p.stray = append(p.stray, line)
			}
			p.mu.Unlock()
		}
	}()
	return p
}

func (p *pipe) exchange(ctx context.Context, message []byte, id string) (reply, error) {
	wait := make(chan answerLine, 1)
	if id != "" {
		p.mu.Lock()
		p.waiting[canonical(id)] = wait
		p.mu.Unlock()
	}
	p.writing.Lock()
	_, err := p.w.Write(append(message, '\n'))
	p.writing.Unlock()
	if err != nil || id == "" {
		return reply{}, err
	}
	select {
	case a := <-wait:
		return reply{raw: a.line, answers: []answer{a.answer}}, nil
	case <-ctx.Done():
		return reply{}, ctx.Err()
	case <-p.ended:
		return reply{}, errEnded
	}
}

// canonical returns an ID as this program writes it: "<" may stand escaped.
func canonical(id string) string {
	var text string
	if json.Unmarshal([]byte(id), &text) != nil {
		return id // a number
	}
	return strconv.Quote(text)
}

// strays returns what came that nobody waited for, and forgets it.
func (p *pipe) strays() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.stray
	p.stray = nil
	return all
}

func (p *pipe) close() { _ = p.w.Close() }

// A post is a wire of HTTP requests.
type post struct {
	url, user, version string
	http               *http.Client
	session            atomic.Value // string
}

// exchangeHeader leads a call to its POST, inside the server.
const exchangeHeader = "Mcpchain-Exchange"

func newPost(url, user, version string) *post {
	return &post{url: url, user: user, version: version, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
}

func (p *post) exchange(ctx context.Context, message []byte, _ string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(message))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Authorization", "Bearer "+p.user)
	req.Header.Set(exchangeHeader, "guessed") // the name of another one's POST
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session, _ := p.session.Load().(string); session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	req.Header.Set("Mcp-Protocol-Version", p.version)
	if p.version >= current {
		var m struct {
			Method string
			Params struct{ Name, URI string }
		}
		_ = json.Unmarshal(message, &m) // a part is better than nothing
		req.Header.Set("Mcp-Method", headerText(m.Method))
		if name := m.Params.Name + m.Params.URI; name != "" {
			req.Header.Set("Mcp-Name", headerText(name))
		}
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	var raw bytes.Buffer
	_ = resp.Header.Write(&raw)
	if _, err = raw.ReadFrom(resp.Body); err != nil {
		return reply{}, err
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		p.session.Store(id)
	}
	if bytes.Contains(bytes.ToLower(raw.Bytes()), []byte(strings.ToLower(exchangeHeader))) {
		return reply{}, fmt.Errorf("a header of the server's own has left: %s", raw.Bytes())
	}
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode == http.StatusBadRequest && kind != "application/json" {
		return reply{}, fmt.Errorf("a body is refused in another language than JSON-RPC: %s", raw.Bytes())
	}
	got := reply{status: resp.StatusCode, raw: raw.Bytes()}
	for line := range bytes.Lines(got.raw) {
		line = bytes.TrimPrefix(line, []byte("data: "))
		var a answer
		if len(line) > 0 && line[0] == '{' {
			_ = json.Unmarshal(line, &a) // what there is of it
		}
		if len(a.ID) > 0 && a.Method == "" {
			got.answers = append(got.answers, a)
		}
	}
	return got, nil
}

// close ends the session where there is one.
func (p *post) close() {
	if session, _ := p.session.Load().(string); session != "" {
		req, err := http.NewRequest(http.MethodDelete, p.url, nil)
		if err != nil {
			panic(err)
		}
		req.Header.Set("Authorization", "Bearer "+p.user)
		req.Header.Set("Mcp-Session-Id", session)
		if resp, err := p.http.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}
	p.http.CloseIdleConnections()
}

// headerText encodes what is no plain text as clients do.
func headerText(text string) string {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
		}
	}
	return text
}

// legal returns the ID of a request that a server can read and has to answer, and
// whether the message at least leaves the connection open: one line that is no JSON-RPC
// message ends a stdio server of the SDK.
func legal(message []byte) (id string, open bool) {
	if bytes.ContainsAny(message, "\r\n") {
		return "", false
	}
	m, err := jsonrpc.DecodeMessage(message)
	if err != nil {
		return "", false
	}
	req, ok := m.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return "", true
	}
	raw, err := json.Marshal(req.ID.Raw())
	if err != nil || req.Method == "subscriptions/listen" { // which lasts
		return "", true
	}
	return string(raw), true
}

func TestLegal(t *testing.T) {
	id, open := legal([]byte(`{"jsonrpc":"2.0","id":"a","method":"ping"}`))
	require.Equal(t, `"a"`, id)
	require.True(t, open)
	id, open = legal([]byte(`{"jsonrpc":"2.0","method":"ping"}`))
	require.Empty(t, id)
	require.True(t, open)
	for _, broken := range []string{`{`, `[]`, `1`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`} {
		_, open = legal([]byte(broken))
		require.False(t, open, broken)
	}
}
