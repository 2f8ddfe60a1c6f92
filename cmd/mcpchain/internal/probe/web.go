package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/headers"
	"github.com/mcpchain/mcpchain/internal/conduct"
)

// A web is a session over streamable HTTP. It is a wire.
type web struct {
	o       *Options
	version string
	receive func(line []byte)
	ctx     context.Context //nolint:containedctx // it ends what the session has begun, which outlasts the calls that began it
	cancel  context.CancelFunc

	open    atomic.Int64 // requests
	mu      sync.Mutex
	session string
	ended   chan struct{}
	why     string
}

// maxOpen is how many requests wait for their responses at once. The checks need a hundred.
const maxOpen = 1000

func newWeb(o *Options, version string, receive func(line []byte)) *web {
	w := &web{o: o, version: version, receive: receive, ended: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// gone implements [wire].
func (w *web) gone() <-chan struct{} { return w.ended }

// how implements [wire].
func (w *web) how() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.why
}

// kill implements [wire].
func (w *web) kill() { w.end("the checks ended it") }

func (w *web) end(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.why == "" {
		w.why = why
		close(w.ended)
	}
	w.cancel()
}

// send implements [wire].
func (w *web) send(line []byte, refused func(status int, body []byte)) {
	if w.open.Add(1) > maxOpen { // a server that answers none of so many does not get more
		w.open.Add(-1)
		return
	}
	go func() {
		defer w.open.Add(-1)
		err := w.post(line, nil, refused)
		if err != nil && w.ctx.Err() == nil {
			w.end(err.Error())
		}
	}()
}

// request makes a request as a client sends it.
func (w *web) request(ctx context.Context, method string, line []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, w.o.URL, bytes.NewReader(line))
	if err != nil {
		return nil, withoutURL(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	var m conduct.Message
	known := json.Unmarshal(line, &m) == nil
	if m.Method != "initialize" {
		req.Header.Set("Mcp-Protocol-Version", w.version)
	}
	if w.version == conduct.Current && known && m.Method != "" {
		req.Header.Set("Mcp-Method", m.Method)
		if name := m.Params.Name + m.Params.URI; name != "" {
			req.Header.Set("Mcp-Name", headers.Encoded(name))
		}
	}
	w.mu.Lock()
	if w.session != "" {
		req.Header.Set("Mcp-Session-Id", w.session)
	}
	w.mu.Unlock()
	maps.Copy(req.Header, w.o.Header)
	return req, nil
}

// client follows redirects at the same server only: another one gets neither the request nor the headers, which may
// have credentials. What is not followed is the answer.
var client = &http.Client{CheckRedirect: func(req *http.Request, via []*http.Request) error {
	const most = 5
	first := via[0]
	if len(via) > most || req.Method != first.Method || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}}

func do(req *http.Request) (*http.Response, error) {
	res, err := client.Do(req)
	return res, withoutURL(err)
}

// withoutURL returns an error of HTTP without the URL, which may have a password.
func withoutURL(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		return of.Err
	}
	return err
}

// post sends a message and reads what comes back. change may change the request.
func (w *web) post(line []byte, change func(*http.Request), refused func(status int, body []byte)) error {
	req, err := w.request(w.ctx, http.MethodPost, line)
	if err != nil {
		return err
	}
	if change != nil {
		change(req)
	}
	res, err := do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	if id := res.Header.Get("Mcp-Session-Id"); id != "" && change == nil {
		w.mu.Lock()
		w.session = id
		w.mu.Unlock()
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/event-stream" {
		readLines(res.Body, func(line []byte) {
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
				w.receive(data)
			}
		})
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxLine))
	if err != nil && len(body) == 0 {
		return err
	}
	var m conduct.Message
	trimmed := bytes.TrimSpace(body)
	isMessage := json.Unmarshal(trimmed, &m) == nil && m.Version != "" || len(trimmed) > 0 && trimmed[0] == '['
	switch {
	case isMessage:
		w.receive(trimmed)
	case res.StatusCode >= 300:
		refused(res.StatusCode, w.o.hidden(body))
	case len(trimmed) > 0:
		w.receive(trimmed) // which says that it is not a message
	}
	return nil
}

// The checks of what only HTTP has.
func webChecks() []*Check {
	status := func(what string, allowed func(status int) bool, change func(*http.Request)) func(t *trial) {
		return func(t *trial) {
			t.statusIs(http.MethodPost, "", what, allowed, change)
		}
	}
	refused := func(status int) bool { return status >= 400 && status < 500 }
	fine := func(status int) bool { return status < 500 }
	return []*Check{
		{Name: "http-media-type", Title: "A body that is no JSON by its media type is refused with a status of 4xx.", Why: "Pages of strangers can send such a request from a browser, without asking the server first.", over: overHTTP, run: status("415 or another of 4xx", refused, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") })},
		{Name: "http-accept", Title: "A client that accepts neither JSON nor events gets no status of 5xx.", Why: "Monitoring takes such a status for a server that is broken.", over: overHTTP, run: status("below 500", fine, func(r *http.Request) { r.Header.Set("Accept", "text/html") })},
		{Name: "http-session", Title: "An unknown session is refused with 404, or sessions are not used.", Why: "By this status clients know that they must begin anew: with another one they give up.", over: overHTTP, run: unknownSession},
		{Name: "http-origin", Title: "A server on this machine refuses requests from pages of strangers.", Why: "Any page that is open in a browser can otherwise call its tools.", over: overHTTP, run: func(t *trial) {
			u, err := url.Parse(t.URL)
			if err != nil || u.Hostname() != "localhost" && !strings.HasPrefix(u.Hostname(), "127.") && u.Hostname() != "::1" {
				t.skip("the server does not run on this machine")
				return
			}
			status("403 or another of 4xx", refused, func(r *http.Request) { r.Header.Set("Origin", "https://stranger.example") })(t)
		}},
		{Name: "http-method", Title: "A method that MCP does not use is refused with a status of 4xx.", Why: "Scanners send them, and monitoring takes a status of 5xx for a server that is broken.", over: overHTTP, run: func(t *trial) {
			t.statusIs(http.MethodPut, "PUT", "405 or another of 4xx", refused, func(*http.Request) {})
		}},
	}
}

var errNoAnswer = errors.New("nothing within the limit")

// statusIs notes a finding if a ping in a changed request has no answer, or one with a status that is not allowed.
func (t *trial) statusIs(method, sent, want string, allowed func(status int) bool, change func(*http.Request)) {
	got, err := t.status(method, change)
	t.asked = true
	switch {
	case err != nil:
		t.found("", "It is never answered.", "", err.Error())
	case !allowed(got):
		t.found("", fmt.Sprintf("The status is %d, not %s.", got, want), sent, "")
	}
}

// status sends a ping in a changed request, and returns the status of the response.
func (t *trial) status(method string, change func(*http.Request)) (int, error) {
	c := t.conn()
	w, ok := c.wire.(*web)
	if !ok {
		return 0, errNoAnswer // never: the check is for HTTP
	}
	ctx, cancel := context.WithTimeoutCause(w.ctx, t.Limit, errNoAnswer)
	defer cancel()
	req, err := w.request(ctx, method, c.ping(c.id()))
	if err != nil {
		return 0, err
	}
	change(req)
	res, err := do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

func unknownSession(t *trial) {
	w, ok := t.conn().wire.(*web)
	if !ok {
		return
	}
	w.mu.Lock()
	has := w.session != ""
	w.mu.Unlock()
	if !has {
		t.skip("the server uses no sessions")
		return
	}
	t.statusIs(http.MethodPost, "", "404", func(status int) bool { return status == http.StatusNotFound }, func(r *http.Request) {
		r.Header.Set("Mcp-Session-Id", "mcpchain-no-such-session")
	})
}
