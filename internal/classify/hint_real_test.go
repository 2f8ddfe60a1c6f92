package classify_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/harness"
)

const (
	client      = "The service refused the request (HTTP %d)"
	permanent   = "The failure is permanent"
	credentials = "The credentials are this server's: tell the user"
	unsupported = "A service that is needed does not support this request"
	insecure    = "A secure connection to a service that is needed cannot be set up"
	noName      = "The address of a service that is needed cannot be found"
	storage     = "The server has no storage space left"
	state       = "The server is in a state that does not pass by itself"
	cancelled   = "The call was cancelled"

	none   = fault.EffectNone
	unsure = fault.EffectUnknown
	yes    = fault.RetryYes
	no     = fault.RetryNo
)

// unknown is the hint for what nobody knows.
var unknown = fault.Hint{Retry: no}

// A realError is an error and all that is to be known of it.
type realError struct {
	name string
	err  error
	kind fault.Kind
	hint fault.Hint
}

// made are the errors, which two tests look at: some take a second to come.
var made []realError

// realHints returns errors as real things make them.
func realHints(t *testing.T) []realError {
	t.Helper()
	if made != nil {
		return made
	}
	var all []realError
	add := func(name string, err error, kind fault.Kind, hint fault.Hint) {
		t.Helper()
		require.Error(t, err, name)
		all = append(all, realError{name, err, kind, hint})
	}
	httpAnswers(t, add)
	brokenConnections(t, add)
	handshakes(t, add)
	names(t, add)
	timeLimits(t, add)
	theSystem(t, add)
	made = all
	return all
}

type adder func(name string, err error, kind fault.Kind, hint fault.Hint)

// serverTime is what a server with a wrong clock says the time is.
var serverTime = time.Date(2031, time.May, 4, 3, 2, 1, 0, time.UTC)

// httpAnswers are those of a real server, read by FromResponse.
func httpAnswers(t *testing.T, add adder) {
	t.Helper()
	in := func(d time.Duration) string { return serverTime.Add(d).Format(http.TimeFormat) }
	unix := func(d time.Duration) string { return strconv.FormatInt(serverTime.Add(d).Unix(), 10) }
	type header = map[string]string
	for _, c := range []struct {
		status int
		header header
		kind   fault.Kind
		hint   fault.Hint
	}{
		{400, nil, fault.KindClientError, fault.Hint{Retry: no, Reason: client}},
		{401, nil, fault.KindServerError, fault.Hint{Retry: no, Reason: credentials}},
		{403, nil, fault.KindServerError, fault.Hint{Retry: no, Reason: credentials}},
		{403, header{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": unix(time.Minute)}, fault.KindRateLimited, fault.Hint{Retry: yes, After: time.Minute}},
		{403, header{"Retry-After": "61"}, fault.KindRateLimited, fault.Hint{Retry: yes, After: 61 * time.Second}},
		{404, nil, fault.KindNotFound, fault.Hint{Retry: no, Reason: client}},
		{408, nil, fault.KindTimeout, fault.Hint{Retry: yes}},
		{409, nil, fault.KindConflict, fault.Hint{Retry: no, Reason: client}},
		{425, nil, fault.KindServiceUnavailable, fault.Hint{Retry: yes}},
		{429, header{"Retry-After": "30"}, fault.KindRateLimited, fault.Hint{Retry: yes, After: 30 * time.Second}},
		{429, header{"Retry-After": in(90 * time.Second)}, fault.KindRateLimited, fault.Hint{Retry: yes, After: 90 * time.Second}},
		{429, header{"Retry-After": "soon " + harness.Canary}, fault.KindRateLimited, fault.Hint{Retry: yes}},
		{429, header{"Retry-After": "soon", "X-RateLimit-Reset": unix(20 * time.Second)}, fault.KindRateLimited, fault.Hint{Retry: yes, After: 20 * time.Second}},
		{429, header{"RateLimit": `"burst";r=0;t=9, "day";r=120;t=40000`}, fault.KindRateLimited, fault.Hint{Retry: yes, After: 9 * time.Second}},
		{429, header{"X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": unix(time.Hour)}, fault.KindRateLimited, fault.Hint{Retry: yes}},
		{403, header{"X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": unix(time.Hour)}, fault.KindServerError, fault.Hint{Retry: no, Reason: credentials}},
		{500, nil, fault.KindServerError, fault.Hint{Retry: yes}},
		{501, nil, fault.KindServerError, fault.Hint{Retry: no, Reason: unsupported}},
		{503, nil, fault.KindServiceUnavailable, fault.Hint{Retry: yes}},
		{503, header{"Retry-After": "120"}, fault.KindServiceUnavailable, fault.Hint{Retry: yes, After: 2 * time.Minute}},
		{504, nil, fault.KindTimeout, fault.Hint{Retry: yes}},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", serverTime.Format(http.TimeFormat))
			w.Header().Set("Proxy-Authenticate", "Basic")
			for k, v := range c.header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, harness.Canary)
		}))
		t.Cleanup(server.Close)
		resp, err := http.Get(server.URL + "/" + harness.Canary + "?key=" + harness.Canary) //nolint:bodyclose // FromResponse closes it
		require.NoError(t, err)
		c.hint.Status = c.status
		if c.hint.Reason == client {
			c.hint.Reason = fmt.Sprintf(client, c.status)
		}
		add(fmt.Sprintf("http %d %v", c.status, c.header), classify.FromResponse(resp), c.kind, c.hint)
	}
}

// fetch returns the error of a request, or of the body of its answer.
func fetch(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := classify.FromResponse(resp); err != nil {
		return err
	}
	_, err = io.ReadAll(resp.Body)
	return err
}

// listen returns the address of a server that does one thing with each connection.
func listen(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go handle(conn)
		}
	}()
	return l.Addr().String()
}

// hear reads what comes first and reports whether something came.
func hear(conn net.Conn) { _, _ = conn.Read(make([]byte, 4096)) }

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func brokenConnections(t *testing.T, add adder) {
	t.Helper()
	ctx, fresh := t.Context(), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reset := func(conn net.Conn) {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
	refused := fault.Hint{Retry: yes}
	broken := fault.Hint{Retry: yes}
	failed := fault.KindConnectionFailed
	add("dial to a closed port", second(net.Dial("tcp", closedPort(t))), failed, refused)
	add("http to a closed port", fetch(ctx, fresh, "http://"+closedPort(t)), failed, refused)
	add("dial to a socket that is not there", second(net.Dial("unix", filepath.Join(t.TempDir(), "socket"))), failed, refused)
	add("dial to an address that is none", second(net.Dial("tcp", "127.0.0.1:99999")), failed, refused)
	add("reset after the request", fetch(ctx, fresh, "http://"+listen(t, func(c net.Conn) { hear(c); reset(c) })), failed, broken)
	add("closed after the request", fetch(ctx, fresh, "http://"+listen(t, func(c net.Conn) { hear(c); _ = c.Close() })), failed, broken)
	add("half a header", fetch(ctx, fresh, "http://"+listen(t, func(c net.Conn) {
		hear(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n")
		_ = c.Close()
	})), failed, broken)
	add("something else than HTTP", fetch(ctx, fresh, "http://"+listen(t, func(c net.Conn) {
		hear(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nno header\r\n\r\n")
		_ = c.Close()
	})), fault.KindServerError, broken)
	// A body that ends too soon cannot be told from a text that does, and is the likelier of the two.
	add("half a body", fetch(ctx, fresh, "http://"+listen(t, func(c net.Conn) {
		hear(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		_ = c.Close()
	})), failed, broken)
	add("reset in the body", fetch(ctx, fresh, "http://"+listen(t, func(c net.Conn) {
		hear(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		reset(c)
	})), failed, broken)
	add("half of a JSON text", json.NewDecoder(strings.NewReader(`{"a":`)).Decode(new(any)), failed, broken)
	add("proxy at a closed port", fetch(ctx, &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(must(t)(http.NewRequest(http.MethodGet, "http://"+closedPort(t), nil)).URL)}},
		"http://service.invalid"), failed, refused)
	add("write to a closed connection", func() error {
		c, err := net.Dial("tcp", listen(t, func(c net.Conn) { hear(c) }))
		require.NoError(t, err)
		require.NoError(t, c.Close())
		return second(c.Write([]byte("x")))
	}(), failed, broken)
	add("listen on a taken port", func() error {
		return second(net.Listen("tcp", listen(t, func(net.Conn) {})))
	}(), failed, refused)
	add("an idle connection that the server closed", errors.New("http: server closed idle connection"), failed, broken) // net/http's is not exported
}

func must(t *testing.T) func(*http.Request, error) *http.Request {
	return func(r *http.Request, err error) *http.Request {
		t.Helper()
		require.NoError(t, err)
		return r
	}
}

func handshakes(t *testing.T, add adder) {
	t.Helper()
	ctx := t.Context()
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	start := func(config *tls.Config) *httptest.Server {
		s := httptest.NewUnstartedServer(ok)
		s.TLS = config
		s.Config.ErrorLog = quietLog()
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	secure, plain := start(nil), httptest.NewServer(ok)
	t.Cleanup(plain.Close)
	trusting := func(config *tls.Config) *http.Client {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AddCert(secure.Certificate())
		return &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	}
	refused := fault.Hint{Retry: no, Reason: insecure}
	failed := fault.KindConnectionFailed
	add("certificate of an unknown authority", fetch(ctx, &http.Client{}, secure.URL), failed, refused)
	add("certificate of another name", fetch(ctx, trusting(&tls.Config{ServerName: "other.invalid"}), secure.URL), failed, refused)
	add("expired certificate", fetch(ctx, trusting(&tls.Config{Time: func() time.Time { return time.Now().AddDate(200, 0, 0) }}), secure.URL), failed, refused)
	add("TLS to a plain server", fetch(ctx, trusting(&tls.Config{}), "https://"+plain.Listener.Addr().String()), failed, refused)
	add("something else than TLS", func() error {
		c, err := net.Dial("tcp", listen(t, func(c net.Conn) { hear(c); _, _ = io.WriteString(c, "220 mail ready\r\n") }))
		require.NoError(t, err)
		defer c.Close()
		return tls.Client(c, &tls.Config{ServerName: "x"}).Handshake()
	}(), failed, refused)
	add("plain HTTP to a TLS server", fetch(ctx, &http.Client{}, "http://"+secure.Listener.Addr().String()),
		fault.KindClientError, fault.Hint{Retry: no, Status: 400, Reason: fmt.Sprintf(client, 400)})
	add("client too old", fetch(ctx, trusting(&tls.Config{MaxVersion: tls.VersionTLS12}), start(&tls.Config{MinVersion: tls.VersionTLS13}).URL), failed, refused)
	add("server too old", fetch(ctx, trusting(&tls.Config{MinVersion: tls.VersionTLS13}), start(&tls.Config{MaxVersion: tls.VersionTLS12}).URL), failed, refused)
	add("connection that is spoiled in the middle", spoiled(t, secure), failed, fault.Hint{Retry: yes})
	add("no certificate of the client's", fetch(ctx, trusting(&tls.Config{MaxVersion: tls.VersionTLS12}), start(&tls.Config{ClientAuth: tls.RequireAnyClientCert}).URL), failed, refused)
	add("handshake that takes too long", fetch(ctx, &http.Client{Transport: &http.Transport{TLSHandshakeTimeout: time.Millisecond}}, "https://"+listen(t, func(c net.Conn) { hear(c); hear(c) })),
		fault.KindTimeout, fault.Hint{Retry: yes})
}

// spoiled is the error of a TLS connection of which a byte is changed after the
// handshake.
func spoiled(t *testing.T, secure *httptest.Server) error {
	t.Helper()
	raw, err := net.Dial("tcp", secure.Listener.Addr().String())
	require.NoError(t, err)
	wire := &spoiling{Conn: raw}
	conn := tls.Client(wire, &tls.Config{InsecureSkipVerify: true})
	defer conn.Close()
	require.NoError(t, conn.Handshake())
	wire.on.Store(true)
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	_, err = io.ReadAll(conn)
	return err
}

type spoiling struct {
	net.Conn
	on atomic.Bool
}

func (s *spoiling) Write(p []byte) (int, error) {
	if s.on.Load() {
		p = append([]byte{}, p...)
		p[len(p)-1] ^= 1
	}
	return s.Conn.Write(p)
}

// names are the errors of a resolver whose server answers with one code.
func names(t *testing.T, add adder) {
	t.Helper()
	lookup := func(ctx context.Context, code byte) error {
		conn, err := net.ListenPacket("udp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		go func() {
			for query := make([]byte, 1024); ; {
				n, from, err := conn.ReadFrom(query)
				if err != nil {
					return
				}
				if code == 0 {
					continue // never an answer
				}
				answer := append([]byte{}, query[:n]...)
				answer[2], answer[3] = 0x81, 0x80|code // a response, and how it went
				answer[10], answer[11] = 0, 0          // no additional records: they stand last and are cut off
				end := 12
				for answer[end] != 0 {
					end += int(answer[end]) + 1
				}
				_, _ = conn.WriteTo(answer[:end+5], from)
			}
		}()
		resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
		}}
		return second((&net.Dialer{Resolver: resolver}).DialContext(ctx, "tcp", "service.invalid.:80"))
	}
	add("name that does not exist", lookup(t.Context(), 3), fault.KindConnectionFailed, fault.Hint{Retry: no, Reason: noName})
	add("name server that fails", lookup(t.Context(), 2), fault.KindConnectionFailed, fault.Hint{Retry: yes})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	add("name server that does not answer", lookup(ctx, 0), fault.KindTimeout, fault.Hint{Retry: yes})
}

// limitError is an error of a time limit that knows what had been done.
type limitError struct{ effect fault.Effect }

func (limitError) Error() string          { return harness.Canary }
func (limitError) Timeout() bool          { return true }
func (e limitError) Effect() fault.Effect { return e.effect }

func timeLimits(t *testing.T, add adder) {
	t.Helper()
	done := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
		}
		<-done
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(done) })
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond) // enough to connect
		t.Cleanup(cancel)
		return ctx
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	t.Cleanup(cancel)
	caused, cancel := context.WithTimeoutCause(t.Context(), 0, limitError{none})
	t.Cleanup(cancel)
	sent := fault.Hint{Retry: yes}
	stopped := fault.Hint{Retry: no, Reason: cancelled}
	add("deadline of the context", late.Err(), fault.KindTimeout, sent)
	add("deadline with a cause that knows the effect", context.Cause(caused), fault.KindTimeout, fault.Hint{Retry: yes, Effect: none})
	add("limit whose effect is known", limitError{fault.EffectCommitted}, fault.KindTimeout, fault.Hint{Retry: yes, Effect: fault.EffectCommitted})
	add("limit whose effect makes no sense", limitError{harness.Canary}, fault.KindTimeout, sent)
	add("http with a deadline", fetch(soon(), &http.Client{}, slow.URL), fault.KindTimeout, sent)
	add("http with a timeout of the client", fetch(t.Context(), &http.Client{Timeout: 250 * time.Millisecond}, slow.URL), fault.KindTimeout, sent)
	add("http with a timeout in the body", fetch(soon(), &http.Client{}, slow.URL+"/body"), fault.KindTimeout, sent)
	add("http with a timeout of the header", fetch(t.Context(), &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: time.Millisecond}}, slow.URL), fault.KindTimeout, sent)
	add("http, cancelled", fetch(gone, &http.Client{}, slow.URL), fault.KindCancelled, stopped)
	add("cancelled", gone.Err(), fault.KindCancelled, stopped)
	add("dial without time", second((&net.Dialer{}).DialContext(late, "tcp", slow.Listener.Addr().String())), fault.KindTimeout, sent)
	add("dial, cancelled", second((&net.Dialer{}).DialContext(gone, "tcp", slow.Listener.Addr().String())), fault.KindCancelled,
		fault.Hint{Retry: no, Reason: cancelled})
	add("deadline of a connection", func() error {
		c, err := net.Dial("tcp", slow.Listener.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetDeadline(time.Unix(1, 0)))
		return second(c.Read(make([]byte, 1)))
	}(), fault.KindTimeout, sent)
	add("deadline of a pipe", func() error {
		a, b := net.Pipe()
		defer func() { _, _ = a.Close(), b.Close() }()
		require.NoError(t, a.SetDeadline(time.Unix(1, 0)))
		return second(a.Read(make([]byte, 1)))
	}(), fault.KindTimeout, sent)
	add("program that was stopped", exec.CommandContext(soon(), "sleep", "5").Run(), fault.KindInternal, unknown)
}

func theSystem(t *testing.T, add adder) {
	t.Helper()
	dir := t.TempDir()
	add("no such file", second(os.Open(filepath.Join(dir, "nothing"))), fault.KindInternal, fault.Hint{Retry: no, Reason: state})
	add("file that is there", os.Mkdir(dir, 0o700), fault.KindInternal, fault.Hint{Retry: no, Reason: state})
	add("file of somebody else", &fs.PathError{Op: "open", Path: harness.Canary, Err: syscall.EACCES}, fault.KindInternal, fault.Hint{Retry: no, Reason: state})
	full := fault.Hint{Retry: no, Reason: storage}
	if runtime.GOOS == "linux" {
		add("full disk", os.WriteFile("/dev/full", []byte(harness.Canary), 0), fault.KindInternal, full)
	}
	add("quota", &fs.PathError{Op: "write", Path: harness.Canary, Err: syscall.EDQUOT}, fault.KindInternal, full)
	add("disk for reading only", &fs.PathError{Op: "open", Path: harness.Canary, Err: syscall.EROFS}, fault.KindInternal, fault.Hint{Retry: no, Reason: state})
	scarce := fault.Hint{Retry: yes}
	add("too many files", &fs.PathError{Op: "open", Path: harness.Canary, Err: syscall.EMFILE}, fault.KindServiceUnavailable, scarce)
	add("too many files of all", os.NewSyscallError("pipe", syscall.ENFILE), fault.KindServiceUnavailable, scarce)
	add("no memory", os.NewSyscallError("mmap", syscall.ENOMEM), fault.KindServiceUnavailable, scarce)
	add("no buffers", &net.OpError{Op: "write", Err: os.NewSyscallError("sendto", syscall.ENOBUFS)}, fault.KindConnectionFailed, fault.Hint{Retry: yes})
	add("not now", syscall.EAGAIN, fault.KindTimeout, fault.Hint{Retry: yes})
	add("interrupted", syscall.EINTR, fault.KindInternal, unknown)
	add("no such program", exec.Command("no-such-program-"+harness.Canary).Run(), fault.KindInternal, unknown)
	add("program that fails", exec.Command("false").Run(), fault.KindInternal, unknown)
	add("bad number", second(strconv.Atoi(harness.Canary)), fault.KindInternal, unknown)
	add("nothing known", errors.New(harness.Canary), fault.KindInternal, unknown)
}
