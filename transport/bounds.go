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
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Bounds keep unknown clients from taking what others need. A request that exceeds a bound is refused
// with a JSON-RPC error that names the bound.
type Bounds struct {
	// BodyBytes is how large the body of a POST may be; a larger one is refused with 413. Zero
	// means 16 MiB, as for a line of [Stdio]; with a negative one there is no bound here. The
	// SDK has one of its own, mcp.StreamableHTTPOptions.MaxRequestBodyBytes, of 4 MiB by default.
	BodyBytes int64

	// BodyTime is how long a client may take to send the body, from when its header has come; then
	// it is refused with 408. It takes the place of [http.Server].ReadTimeout. Zero means 1 min;
	// with a negative one there is no bound here.
	BodyTime time.Duration

	// CallerBytes is how many bytes the bodies of one caller may have together while they are read
	// and answered; what exceeds it is refused with 429. Zero means 64 MiB; with a negative one
	// there is no bound. No body may have more by itself.
	CallerBytes int64

	// AllBytes is the same for all callers together; what exceeds it is refused with 503. Zero
	// means 256 MiB; with a negative one there is no bound. The SDK's handler holds each body once
	// more while it reads it.
	AllBytes int64

	// Streams is how many streams of events one caller may hold open with GET and
	// subscriptions/listen; one more is refused with 429. For calls there is package limit. Zero
	// means 1,000; with a negative one there is no bound.
	Streams int

	// Caller names the caller of a request. It returns "" for an unknown caller, to whom only AllBytes
	// applies. It may be called concurrently. If it panics, the caller is unknown.
	//
	// Nil means the user of its token, if a guard outside of [HTTP] has verified it, or for streams
	// a middleware of this module; else its address (of IPv6 the first 64 bits), as RemoteAddr says.
	// A loopback or private address most often belongs to a proxy, so such a caller is unknown. Behind a
	// proxy, set RemoteAddr from the header that your proxy sets, in a handler outside of [HTTP].
	Caller func(req *http.Request) string
}

func (b Bounds) filled() Bounds {
	b.BodyBytes = cmp.Or(b.BodyBytes, maxLine)
	b.BodyTime = cmp.Or(b.BodyTime, time.Minute)
	b.CallerBytes = cmp.Or(b.CallerBytes, 64<<20)
	b.AllBytes = cmp.Or(b.AllBytes, 256<<20)
	b.Streams = cmp.Or(b.Streams, 1000)
	for _, most := range []int64{b.CallerBytes, b.AllBytes} { // or such a body would be tried again for ever
		if most > 0 && (b.BodyBytes <= 0 || b.BodyBytes > most) {
			b.BodyBytes = most
		}
	}
	return b
}

// limits count what callers hold of one handler, against its bounds.
type limits struct {
	Bounds

	bodies, streams table.Quota
	users           table.Names[string] // by the IDs of the sessions that they began
}

func newLimits(b Bounds) *limits {
	l := &limits{Bounds: b.filled()}
	l.bodies.Each, l.bodies.All = l.CallerBytes, l.AllBytes
	l.streams.Each = int64(l.Streams)
	return l
}

// A refusal is the answer to what exceeds a bound.
type refusal struct {
	unread

	status int
	text   string        // for the log
	after  time.Duration // the value of Retry-After; zero if that is unknown
}

// refuse returns the refusal with a status and a fault; text is for the log.
func refuse(status int, public *fault.Error, text string) *refusal {
	return &refusal{unread{kinds.CodeOf(string(public.Kind()), false, false), public}, status, text, 0}
}

func tooLarge(most int64) *refusal {
	public := fault.New(fault.KindValidation, fmt.Sprintf("the body has more than %d bytes, which is the most that this server reads", most)).
		Suggest("Send less in one call.")
	r := refuse(http.StatusRequestEntityTooLarge, public, fmt.Sprintf("the body has more than %d bytes", most))
	r.code = jsonrpc.CodeInvalidRequest
	return r
}

func tooSlow(most time.Duration) *refusal {
	public := fault.New(fault.KindTimeout, "the body did not arrive within "+words.Duration(most)).
		WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})
	return refuse(http.StatusRequestTimeout, public, public.Message())
}

// tooMany refuses one more stream.
func tooMany(most int, caller string) *refusal {
	public := fault.New(fault.KindRateLimited, fmt.Sprintf("you have %s open, and no more are accepted", words.Plural(most, "stream"))).
		Suggest("Close one first.")
	return refuse(http.StatusTooManyRequests, public, "streams of one caller: "+caller)
}

// soon is the wait before a body that found no room is sent again.
const soon = time.Second

// tooMuch refuses a body that finds no room beside others.
func tooMuch(exceeded *table.ExceededError, caller string) *refusal {
	kind, status := fault.KindServiceUnavailable, http.StatusServiceUnavailable
	if exceeded.Each {
		kind, status = fault.KindRateLimited, http.StatusTooManyRequests
	}
	public := fault.New(kind, fmt.Sprintf("the bodies of %s may have %d bytes at once, and this one would exceed that", exceeded.Whose(), exceeded.Most)).
		WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: soon.Seconds(), Effect: fault.EffectNone})
	r := refuse(status, public, "bytes of bodies of "+exceeded.Whose()+", of the caller: "+caller)
	r.after = soon
	return r
}

// exceeded returns the refusal of a body that could not be read to its end. It is nil if the reason is not a
// bound.
func (l *limits) exceeded(err error, caller string) *refusal {
	var large *http.MaxBytesError
	var much *table.ExceededError
	switch {
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	case errors.As(err, &much):
		return tooMuch(much, caller)
	case l.BodyTime > 0 && errors.Is(err, os.ErrDeadlineExceeded):
		return tooSlow(l.BodyTime)
	}
	return nil
}

const sessionHeader = "Mcp-Session-Id"

// ofBody returns the caller that sends a body. The session in its header proves nothing.
func (l *limits) ofBody(req *http.Request) string {
	if l.Caller != nil {
		return l.named(req)
	}
	if info := auth.TokenInfoFromContext(req.Context()); info != nil && info.UserID != "" {
		return "user " + info.UserID
	}
	return address(req.RemoteAddr)
}

// ofStream returns the caller that opens a stream. A middleware saw the user of its token with this POST, or
// with the POST that began the session. Without a user it is the caller of ofBody.
func (l *limits) ofStream(a *answer) string {
	user := ""
	if l.Caller != nil {
		return l.named(a.request)
	}
	if a.exchange != nil {
		user, _ = a.exchange.Opener()
	}
	if user == "" {
		user, _ = l.users.Get(a.request.Header.Get(sessionHeader)) // the SDK refuses another user's session
	}
	if user != "" {
		return "user " + user
	}
	return l.ofBody(a.request)
}

func (l *limits) named(req *http.Request) (caller string) {
	safe.Call(func() { caller = l.Caller(req) }, nil)
	return caller
}

// address returns the part of an address that its client cannot choose. It is "" for an address that
// identifies nobody.
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
			a.limits.users.Put(a.Header().Get(sessionHeader), user)
		}
	}
	if a.status != http.StatusOK || !strings.HasPrefix(a.Header().Get("Content-Type"), "text/event-stream") || !a.listens() {
		return
	}
	caller := a.limits.ofStream(a)
	if a.limits.streams.Take(caller, 1) != nil {
		a.posted.refusal = tooMany(a.limits.Streams, caller)
		a.cancel()
		return
	}
	a.leave = func() { a.limits.streams.Give(caller, 1) }
}

// listens reports whether the answer lasts as long as its client wants.
func (a *answer) listens() bool {
	if a.exchange == nil {
		return a.request.Method == http.MethodGet
	}
	_, listens := a.exchange.Opener()
	return listens || a.request.Header.Get("Mcp-Method") == "subscriptions/listen" // the SDK compares it with the body
}
