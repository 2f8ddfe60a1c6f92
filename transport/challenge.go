package transport

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpchain/mcpchain/internal/exchange"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// challenges write the headers of the answers of one HTTP handler.
type challenges struct {
	handler  http.Handler // the guard, or the handler inside
	metadata string       // Options.ResourceMetadata
	statuses bool
}

func newChallenges(handler http.Handler, o *Options) *challenges {
	if u, err := url.Parse(o.ResourceMetadata); o.ResourceMetadata != "" &&
		(err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsFunc(o.ResourceMetadata, unquotable)) {
		panic("transport.HTTP: Options.ResourceMetadata is not an absolute URL; give that of the metadata, such as https://example.com/.well-known/oauth-protected-resource/mcp")
	}
	return &challenges{handler: handler, metadata: o.ResourceMetadata, statuses: o.Statuses}
}

// unquotable reports whether a character cannot stand in a quoted string of a header without an escape.
func unquotable(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }

// say writes into the header what the program said about the call.
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
		a.Header()[authenticate] = []string{challenge(says.Challenge, says.Scope, a.challenges.metadataOf(a.request))}
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

// alone returns the answer in a part of a body, without the lines of an event. It is nil for any other
// part, such as a notification.
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
	invalidToken      = `error="invalid_token"` //nolint:gosec // no credential
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
// 6750, section 3.1), and the URL of the metadata. It changes neither a challenge that it cannot read
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
		if params["resource_metadata"] == "" && c.metadata != "" {
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

// maxMetadata bounds the URL in a guard's challenge.
const maxMetadata = 2048

// metadataOf returns the URL of the metadata of a request's resource, "" if it is unknown. It asks the
// guard as a client without a token would. The answer is not kept: it may depend on the request, and is
// for this client alone.
func (c *challenges) metadataOf(req *http.Request) (at string) {
	if c.metadata != "" {
		return c.metadata
	}
	bare := req.Clone(req.Context())
	bare.Method, bare.Body, bare.ContentLength = http.MethodHead, http.NoBody, 0
	bare.Header = exchange.Without(bare.Header)
	for _, name := range []string{"Authorization", "Cookie", "Mcp-Session-Id", "Content-Type", "Content-Length"} {
		bare.Header.Del(name)
	}
	answer := &unsent{header: http.Header{}}
	safe.Call(func() { c.handler.ServeHTTP(answer, bare) }, nil)
	if answer.status != http.StatusUnauthorized {
		return ""
	}
	all, err := oauthex.ParseWWWAuthenticate(answer.header[authenticate])
	if err != nil {
		return ""
	}
	for _, one := range all {
		at = one.Params["resource_metadata"]
		if one.Scheme == "bearer" && at != "" && len(at) <= maxMetadata && !strings.ContainsFunc(at, unquotable) {
			return at
		}
	}
	return ""
}

// An unsent answer is for the server itself.
type unsent struct {
	header http.Header
	status int
}

func (u *unsent) Header() http.Header { return u.header }

func (u *unsent) WriteHeader(status int) {
	if u.status == 0 {
		u.status = status
	}
}

func (u *unsent) Write(p []byte) (int, error) {
	u.WriteHeader(http.StatusOK)
	return len(p), nil
}
