// Package remote is the client of a server over streamable HTTP. It passes messages on as they are:
// lines go in, lines come out, as with a server over stdio. It speaks the versions with sessions, up
// to 2025-11-25, and those without, from 2026-07-28 on. Which one is meant, each request says itself,
// or initialize has agreed on it.
package remote

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options configure a Client. All fields are required but Header.
type Options struct {
	URL       string      // of the server, with http or https
	Header    http.Header // goes with each request
	MaxAnswer int         // bytes of a message
	Logger    *slog.Logger
}

// A Client makes sessions with one server. It may be used concurrently.
type Client struct {
	Options

	first time.Duration // see firstPause
	http  *http.Client
}

// The times that a server may take, but for the answer to a request: that may take as long as it
// likes, as long as its connection lives.
const (
	dialTime   = 10 * time.Second
	headerTime = 15 * time.Second // until it takes a notification, or opens a stream
	idleTime   = 4 * time.Second  // less than the 5 s after which servers of Node and Python close: a request must not meet that
	aliveTime  = 30 * time.Second // between two signs that a connection lives, while it is silent
)

const (
	maxHeaders  = 64 << 10 // bytes of the headers of an answer
	maxRequests = 512      // that are on their way at once
)

// New returns a Client. The URL must be one that [Check] takes. A POST reaches the server at most once, unless no byte
// of the first one was written. So it speaks HTTP/1.1, as most clients of MCP do.
func New(opts Options) (*Client, error) {
	if _, err := Check(opts.URL); err != nil {
		return nil, err
	}
	opts.Header = sentOnce(opts.Header)
	dialer := &net.Dialer{Timeout: dialTime, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: aliveTime, Interval: aliveTime / 6, Count: 3}}
	var protocols http.Protocols
	protocols.SetHTTP1(true) // over HTTP/2 a POST is sent again after a RST_STREAM with PROTOCOL_ERROR
	return &Client{Options: opts, first: firstPause, http: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // see do
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, Protocols: &protocols,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: dialTime,
			IdleConnTimeout: idleTime, MaxIdleConnsPerHost: 64, MaxResponseHeaderBytes: maxHeaders,
			DisableCompression: true, // a small answer must not become a large one
		},
	}}, nil
}

// Check reads the URL of a server. Its error does not repeat the URL, which may hold a password.
func Check(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme == "" || u.Opaque != "" || u.Hostname() == "":
		return nil, errURL("it is no URL of a server, such as https://example.com/mcp")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errURL("its scheme is neither http nor https")
	case u.Fragment != "":
		return nil, errURL("it has a fragment (#), which no server gets")
	}
	return u, nil
}

type errURL string //nolint:errname // a text that is an error

func (e errURL) Error() string { return string(e) }

// sentOnce returns headers whose requests the client of HTTP does not repeat by itself. It repeats a POST that has
// one of two headers, if their names are in its spelling. In small letters the names are the same to the server. See
// [http.Transport].
func sentOnce(header http.Header) http.Header {
	once := make(http.Header, len(header))
	for name, values := range header {
		switch name = http.CanonicalHeaderKey(name); name {
		case "Idempotency-Key", "X-Idempotency-Key":
			name = strings.ToLower(name)
		}
		once[name] = append(once[name], values...)
	}
	return once
}

// Start begins a session. Nothing is sent until a message is written. If accepted is nil, each request has the
// headers of Options. Else a request that a message causes has the Authorization of that message, if there is one.
// accepted is called with it when the server has answered a POST with 2xx, before the answer is passed on. Several
// goroutines call it.
func (c *Client) Start(accepted func(authorization string)) *Session {
	s := &Session{
		client: c, accepted: accepted, events: make(chan event), ended: make(chan struct{}), places: make(chan struct{}, maxRequests),
		calls: map[string]*call{}, how: "it was ended",
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// readAll reads a body of at most so many bytes, in the given time at most, and closes it. It returns
// what came until then, and whether that is all.
func readAll(body io.ReadCloser, most int, within time.Duration) (read []byte, whole bool, err error) {
	if within > 0 {
		defer time.AfterFunc(within, func() { _ = body.Close() }).Stop()
	}
	defer body.Close() //nolint:errcheck // it was read
	read, err = io.ReadAll(io.LimitReader(body, int64(most)+1))
	if len(read) > most {
		return read[:most], false, nil
	}
	return read, err == nil, err
}
