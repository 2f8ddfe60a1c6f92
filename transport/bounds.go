package transport

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Bounds keep clients that nobody knows from taking what others need. What exceeds one is refused
// with a JSON-RPC error that says so.
type Bounds struct {
	// BodyBytes is how large the body of a POST may be; a larger one is refused with 413. Zero
	// means 16 MiB, as for a line of [Stdio]; with a negative one there is no bound here. The
	// SDK has one of its own, mcp.StreamableHTTPOptions.MaxRequestBodyBytes, of 4 MiB by default.
	BodyBytes int64

	// BodyTime is how long a client may take to send the body, from when the server begins to
	// read it; then it is refused with 408. It takes the place of [http.Server].ReadTimeout. Zero
	// means 1 min; with a negative one there is no bound here.
	BodyTime time.Duration

	// Streams is how many streams of events one caller may hold open with GET and
	// subscriptions/listen; one more is refused with 429. For calls there is package limit. Zero
	// means 1,000; with a negative one there is no bound.
	//
	// A caller is the user of its token, if the server has a middleware of this module; else its
	// address (of IPv6 the first 64 bits), as RemoteAddr says. A loopback or private address is
	// that of a proxy most often, so it has no bound: behind a proxy, set RemoteAddr from the
	// header that your proxy sets, in a handler outside of [HTTP].
	Streams int
}

// filled returns the bounds with their defaults.
func (b Bounds) filled() Bounds {
	b.BodyBytes = cmp.Or(b.BodyBytes, maxLine)
	b.BodyTime = cmp.Or(b.BodyTime, time.Minute)
	b.Streams = cmp.Or(b.Streams, 1000)
	return b
}

// A refusal is the answer to what exceeds a bound.
type refusal struct {
	unread

	status int
	text   string // for the log
}

// tooLarge is the refusal of a body with more bytes.
func tooLarge(most int64) *refusal {
	public := fault.New(fault.KindValidation, fmt.Sprintf("the body has more than %d bytes, which is the most that this server reads", most)).
		Suggest("Send less in one call.")
	return &refusal{unread{jsonrpc.CodeInvalidRequest, public}, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", most)}
}

// tooSlow is the refusal of a body that took longer.
func tooSlow(most time.Duration) *refusal {
	public := fault.New(fault.KindTimeout, "the body did not arrive within "+words.Duration(most)).
		WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})
	return &refusal{unread{kinds.CodeOf(string(fault.KindTimeout), false, false), public}, http.StatusRequestTimeout, public.Message()}
}

// tooMany is the refusal of one more stream.
func tooMany(most int, caller string) *refusal {
	public := fault.New(fault.KindRateLimited, fmt.Sprintf("you have %s open, and no more are accepted", words.Plural(most, "stream"))).
		Suggest("Close one first.")
	return &refusal{unread{kinds.CodeOf(string(fault.KindRateLimited), false, false), public}, http.StatusTooManyRequests, "streams of one caller: " + caller}
}

// exceeded returns the refusal of a body that could not be read to its end, nil if no bound is the reason.
func (b *Bounds) exceeded(err error) *refusal {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	case b.BodyTime > 0 && errors.Is(err, os.ErrDeadlineExceeded):
		return tooSlow(b.BodyTime)
	}
	return nil
}

// A turnstile counts the open streams of callers.
type turnstile struct {
	most  int // for one caller; not positive for no bound
	users table.Names[string]

	mu   sync.Mutex
	open map[string]int
}

// enter counts a stream of a caller, unless that is one too many. "" is nobody, who has no bound. Call
// leave when the stream has ended.
func (t *turnstile) enter(caller string) (leave func(), ok bool) {
	if caller == "" || t.most <= 0 {
		return func() {}, true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[caller] >= t.most {
		return nil, false
	}
	if t.open == nil {
		t.open = map[string]int{}
	}
	t.open[caller]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.open[caller]--; t.open[caller] == 0 {
			delete(t.open, caller)
		}
	}, true
}

const sessionHeader = "Mcp-Session-Id"

// caller returns who opens a stream: the user of the token, which a middleware saw with this POST or with that
// which began the session, else the address.
func (t *turnstile) caller(a *answer) string {
	user := ""
	if a.exchange != nil {
		user, _ = a.exchange.Opener()
	}
	if user == "" {
		user, _ = t.users.Get(a.request.Header.Get(sessionHeader)) // the SDK refuses who sends another's
	}
	if info := auth.TokenInfoFromContext(a.request.Context()); user == "" && info != nil { // a guard outside
		user = info.UserID
	}
	if user != "" {
		return "user " + user
	}
	return address(a.request.RemoteAddr)
}

// address returns the part of a client's address that it does not choose itself, "" if the address says nothing of
// who it is.
func address(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	ip, err := netip.ParseAddr(host)
	ip = ip.Unmap()
	if err != nil || !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return ""
	}
	if ip.Is6() {
		network, _ := ip.WithZone("").Prefix(64)
		return network.String()
	}
	return ip.String()
}

// admit counts a stream that is to be opened with this answer, or refuses it.
func (a *answer) admit() {
	if a.exchange != nil && a.Header().Get(sessionHeader) != "" {
		if user, _ := a.exchange.Opener(); user != "" {
			a.turnstile.users.Put(a.Header().Get(sessionHeader), user)
		}
	}
	if a.status != http.StatusOK || !strings.HasPrefix(a.Header().Get("Content-Type"), "text/event-stream") || !a.listens() {
		return
	}
	caller := a.turnstile.caller(a)
	leave, ok := a.turnstile.enter(caller)
	if !ok {
		a.posted.refusal = tooMany(a.turnstile.most, caller)
		a.cancel()
		return
	}
	a.leave = leave
}

// listens reports whether the answer lasts as long as its client wants.
func (a *answer) listens() bool {
	if a.exchange == nil {
		return a.request.Method == http.MethodGet
	}
	_, listens := a.exchange.Opener()
	return listens || a.request.Header.Get("Mcp-Method") == "subscriptions/listen" // the SDK compares it with the body
}
