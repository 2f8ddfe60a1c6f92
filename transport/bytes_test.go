package transport_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/transport"
)

// A holder is a server whose calls hold their bodies until they may go on.
type holder struct {
	*httptest.Server

	log   *harness.Log
	holds chan struct{} // one for each body that was read
	goOn  chan struct{} // one for each that may go on
}

func newHolder(t *testing.T, bounds transport.Bounds) *holder {
	h := &holder{log: &harness.Log{}, holds: make(chan struct{}), goOn: make(chan struct{})}
	bounds.Caller = func(req *http.Request) string { return req.Header.Get("X-From") }
	h.Server = httptest.NewServer(transport.HTTP(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, err := req.Body.(interface{ Bytes() ([]byte, error) }).Bytes(); err != nil {
			http.Error(w, "the body cannot be read", http.StatusBadRequest)
			return
		}
		h.holds <- struct{}{}
		<-h.goOn
	}), &transport.Options{Logger: h.log.Logger(), Bounds: bounds}))
	t.Cleanup(h.Close)
	return h
}

// An arrived answer was read. Its status is zero if there was none.
type arrived struct {
	status int
	header http.Header
	body   string
}

// send sends a body, and returns its answer later.
func (h *holder) send(t *testing.T, from string, size int, known bool) <-chan arrived {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL, strings.NewReader(strings.Repeat("x", size)))
	require.NoError(t, err)
	req.Header.Set("X-From", from)
	if !known {
		req.ContentLength = -1
	}
	answers := make(chan arrived, 1)
	go func() {
		defer close(answers)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		raw, _ := io.ReadAll(resp.Body)
		answers <- arrived{resp.StatusCode, resp.Header, string(raw)}
	}()
	return answers
}

// answerOf requires the status of an answer, and returns what it says.
func answerOf(t *testing.T, status int, answers <-chan arrived) (header http.Header, body string) {
	t.Helper()
	select {
	case a := <-answers:
		require.Equal(t, status, a.status, a.body)
		return a.header, a.body
	case <-time.After(time.Minute):
		require.Fail(t, "no answer")
		return nil, ""
	}
}

// TestBytesOfBodies: nobody holds more bytes than its bound, nor do all together; who exceeds one reads which, and what
// was given back can be had again.
func TestBytesOfBodies(t *testing.T) {
	for _, known := range []bool{true, false} {
		h := newHolder(t, transport.Bounds{CallerBytes: 300_000, AllBytes: 450_000})
		first := h.send(t, "a", 140_000, known)
		<-h.holds
		header, body := answerOf(t, http.StatusTooManyRequests, h.send(t, "a", 200_000, known))
		require.Equal(t, "1", header.Get("Retry-After"))
		refusedAs(t, h.log, header, body, 429, "the bodies of each caller may have 300000 bytes at once, and this one would exceed that")

		second := h.send(t, "b", 140_000, known)
		<-h.holds
		header, body = answerOf(t, http.StatusServiceUnavailable, h.send(t, "c", 200_000, known))
		require.Equal(t, "1", header.Get("Retry-After"))
		refusedAs(t, h.log, header, body, 503, "the bodies of all callers together may have 450000 bytes at once, and this one would exceed that")
		header, body = answerOf(t, http.StatusServiceUnavailable, h.send(t, "", 200_000, known))
		refusedAs(t, h.log, header, body, 503, "the bodies of all callers together may have 450000 bytes at once, and this one would exceed that")

		for _, one := range []<-chan arrived{first, second} {
			h.goOn <- struct{}{}
			answerOf(t, http.StatusOK, one)
		}
		third := h.send(t, "a", 140_000, known)
		<-h.holds
		h.goOn <- struct{}{}
		answerOf(t, http.StatusOK, third)
		header, body = answerOf(t, http.StatusRequestEntityTooLarge, h.send(t, "a", 300_001, known))
		require.Empty(t, header.Get("Retry-After"), "it will never fit")
		refusedAs(t, h.log, header, body, -32600, "the body has more than 300000 bytes, which is the most that this server reads")
	}
}

// TestStrangersHoldNoMemory: forty bodies of 9 MB at the same time are no more bytes than all callers may have.
func TestStrangersHoldNoMemory(t *testing.T) {
	h := newHolder(t, transport.Bounds{CallerBytes: -1, AllBytes: 64 << 20})
	var all []<-chan arrived
	for i := range 40 {
		all = append(all, h.send(t, fmt.Sprint(i), 9<<20, true))
	}
	statuses := map[int]int{}
	held := 0
	answers := make(chan int)
	for _, one := range all {
		go func() { answers <- (<-one).status }()
	}
	for held+statuses[503]+statuses[0] < 40 {
		select {
		case <-h.holds:
			held++
		case status := <-answers:
			statuses[status]++
		}
	}
	require.LessOrEqual(t, held*9<<20, 64<<20)
	require.Positive(t, held)
	for range held {
		h.goOn <- struct{}{}
		statuses[<-answers]++
	}
	require.Equal(t, held, statuses[200], "%v", statuses)
}

// TestBodiesThatNobodyReads: the time of a body holds for a request that is refused before its body is read, too.
func TestBodiesThatNobodyReads(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		web := httptest.NewServer(transport.HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusForbidden)
		}), &transport.Options{Logger: (&harness.Log{}).Logger(), Bounds: transport.Bounds{BodyTime: 100 * time.Millisecond}}))
		conn, err := net.Dial("tcp", strings.TrimPrefix(web.URL, "http://"))
		require.NoError(t, err)
		_, err = io.WriteString(conn, method+" / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusForbidden, resp.StatusCode)
		require.NoError(t, resp.Body.Close())
		_, err = conn.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, "the connection ends")
		require.NoError(t, conn.Close())
		web.Close()
	}
}
