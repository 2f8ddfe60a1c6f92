package transport

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpchain/mcpchain/internal/exchange"
	"github.com/mcpchain/mcpchain/internal/table"
)

// challenges are what the answers of one HTTP handler say in their headers.
type challenges struct {
	metadata string // Options.ResourceMetadata
	statuses bool
	heard    table.Names[string] // resource_metadata of the guard's challenges, by path; "" after two different ones
}

func newChallenges(o *Options) *challenges {
	if u, err := url.Parse(o.ResourceMetadata); o.ResourceMetadata != "" &&
		(err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsFunc(o.ResourceMetadata, unquotable)) {
		panic("transport.HTTP: Options.ResourceMetadata is no absolute URL; give that of the metadata, such as https://example.com/.well-known/oauth-protected-resource/mcp")
	}
	return &challenges{metadata: o.ResourceMetadata, statuses: o.Statuses}
}

// unquotable reports whether a character cannot stand in a quoted string of a header without an escape.
func unquotable(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }

// say puts what the program said of the call into the header, which is to be written.
func (a *answer) say() {
	var says *exchange.Says
	if a.exchange != nil {
		says = a.exchange.Fix()
	}
	switch {
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		a.challenges.complete(a)
	case says == nil || a.status != http.StatusOK:
	case says.Challenge != 0:
		a.turn(says.Challenge)
		a.Header().Set(authenticate, challenge(says.Challenge, says.Scope, a.challenges.metadataOf(a.request)))
	case says.Later != 0 && a.challenges.statuses:
		a.turn(says.Later)
		if says.After > 0 {
			a.Header().Set("Retry-After", strconv.FormatFloat(math.Ceil(says.After.Seconds()), 'f', 0, 64))
		}
	}
	if says != nil && says.Limit != "" {
		a.Header().Set("Ratelimit-Policy", says.Policy)
		a.Header().Set("Ratelimit", says.Limit)
	}
}

// turn changes the status. The body is one JSON message then, because nobody reads a stream of
// events under such a status.
func (a *answer) turn(status int) {
	a.status, a.single = status, true
	a.Header().Set("Content-Type", "application/json")
}

// alone returns the answer in a part of a body, without what makes an event of it; nil if the part
// is something else, such as a notification.
func alone(part []byte) []byte {
	message := bytes.TrimSpace(part)
	if len(message) > 0 && message[0] != '{' { // an event
		message = nil
		for line := range bytes.Lines(part) {
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				message = bytes.TrimSpace(data)
			}
		}
	}
	var about struct {
		Method *string `json:"method"`
	}
	if json.Unmarshal(message, &about) != nil || about.Method != nil {
		return nil
	}
	return message
}

const (
	authenticate      = "Www-Authenticate"
	invalidToken      = `error="invalid_token"`
	insufficientScope = `error="insufficient_scope"`
)

// challenge returns a value of WWW-Authenticate. Its parameters hold no character that needs an
// escape: see unquotable, and failure.IsScope.
func challenge(status int, scope, metadata string) string {
	out := "Bearer " + invalidToken
	if status == http.StatusForbidden {
		out = "Bearer " + insufficientScope
	}
	if scope != "" {
		out += `, scope="` + scope + `"`
	}
	if metadata != "" {
		out += `, resource_metadata="` + metadata + `"`
	}
	return out
}

// complete adds what the challenge of a guard leaves out: the error, if the client sent a token (RFC
// 6750, section 3.1), and where the metadata is. It changes neither a challenge that it cannot read
// nor one of another scheme. A 403 without a challenge that names scopes is about something else.
func (c *challenges) complete(a *answer) {
	header, bearer := a.Header(), exchange.Bearer(a.request.Header.Get("Authorization"))
	lines := slices.Clone(header[authenticate])
	if len(lines) == 0 {
		if a.status == http.StatusForbidden {
			return
		}
		lines = []string{"Bearer"}
	}
	for i, line := range lines {
		one, err := oauthex.ParseWWWAuthenticate([]string{line})
		if err != nil || len(one) != 1 || one[0].Scheme != "bearer" {
			continue
		}
		params := one[0].Params
		var more []string
		switch {
		case !bearer || params["error"] != "":
		case a.status == http.StatusUnauthorized:
			more = append(more, invalidToken)
		case params["scope"] != "":
			more = append(more, insufficientScope)
		}
		if at := params["resource_metadata"]; at != "" {
			c.hear(a.request.URL.Path, at)
		} else if c.metadata != "" {
			more = append(more, `resource_metadata="`+c.metadata+`"`)
		}
		if len(more) == 0 {
			continue
		}
		separator := ", "
		if len(params) == 0 {
			separator = " "
		}
		lines[i] = strings.TrimRight(line, " \t,") + separator + strings.Join(more, ", ")
	}
	header[authenticate] = lines
}

// maxPath bounds the paths and URLs that are remembered.
const maxPath = 512

// hear remembers where the guard of a path says that the metadata is.
func (c *challenges) hear(path, at string) {
	if len(path) > maxPath || len(at) > maxPath || strings.ContainsFunc(at, unquotable) {
		return
	}
	if have, ok := c.heard.Get(path); !ok {
		c.heard.Add(path, at)
	} else if have != at && have != "" {
		c.heard.Put(path, "") // it depends on something that is not known here
	}
}

// metadataOf returns where the metadata of a request's resource is, "" if that is unknown.
func (c *challenges) metadataOf(req *http.Request) string {
	if c.metadata != "" {
		return c.metadata
	}
	at, _ := c.heard.Get(req.URL.Path)
	return at
}

// posted is what a client sends with POST. It notes whether that is a batch.
type posted struct {
	io.ReadCloser

	exchange *exchange.Exchange
	begun    bool
}

// watch makes the answer know whether the request is a batch.
func (a *answer) watch(req *http.Request) {
	if a.exchange != nil && req.Body != nil {
		a.posted = posted{ReadCloser: req.Body, exchange: a.exchange}
		req.Body = &a.posted
	}
}

// Read implements [io.Reader].
func (b *posted) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if !b.begun {
		if start := bytes.TrimLeft(p[:n], " \t\r\n"); len(start) > 0 {
			b.begun = true
			if start[0] == '[' {
				b.exchange.Batch()
			}
		}
	}
	return n, err
}
