package classify_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/harness"
)

// body counts how often it is closed.
type body struct {
	io.Reader
	closed int
}

func (b *body) Close() error { b.closed++; return nil }

// from returns the error for an answer with the given content, and the body of it.
func from(status int, content io.Reader, header http.Header) (*body, error) {
	b := &body{Reader: content}
	req := httptest.NewRequest(http.MethodPut, "http://shop.invalid/"+harness.Canary+"?key="+harness.Canary, nil)
	return b, classify.FromResponse(&http.Response{StatusCode: status, Header: header, Body: b, Request: req})
}

func TestFromResponse(t *testing.T) {
	b, err := from(http.StatusServiceUnavailable, strings.NewReader(harness.Canary), http.Header{"Retry-After": {"7"}})
	require.EqualError(t, err, "PUT shop.invalid answered 503 Service Unavailable", "no path, query or body")
	require.Equal(t, 1, b.closed)

	e := (*classify.ResponseError)(nil)
	require.ErrorAs(t, fmt.Errorf("outer: %w", err), &e)
	require.Equal(t, 503, e.StatusCode())
	require.Equal(t, 7*time.Second, e.RetryAfter())
	require.Equal(t, harness.Canary, string(e.Body()))
	e.Body()[0] = 'X'
	require.Equal(t, harness.Canary, string(e.Body()), "a copy")

	f := failure.Classify(err)
	require.Equal(t, fault.Generic(fault.KindServiceUnavailable).Data(), told(f))
}

func TestFromResponseOfSuccess(t *testing.T) {
	for _, status := range []int{0, 101, 200, 204, 302, 304, 399} {
		b, err := from(status, strings.NewReader("fine"), nil)
		require.NoError(t, err)
		require.Zero(t, b.closed)
		left, err := io.ReadAll(b)
		require.NoError(t, err)
		require.Equal(t, "fine", string(left), "the body is the caller's")
	}
}

func TestFromResponseOfStrangeAnswers(t *testing.T) {
	require.ErrorContains(t, classify.FromResponse(nil), "resp is nil")
	require.EqualError(t, classify.FromResponse(&http.Response{StatusCode: 599}), "answered 599", "made by hand")
	require.EqualError(t, classify.FromResponse(&http.Response{StatusCode: http.StatusNotFound, Request: &http.Request{Method: http.MethodGet}}), "GET answered 404 Not Found")
	require.Equal(t, unknown, failure.HintOf(classify.FromResponse(&http.Response{StatusCode: 999})))

	e := (*classify.ResponseError)(nil)
	b, err := from(500, io.MultiReader(strings.NewReader("half"), broken{}), nil)
	require.ErrorAs(t, err, &e)
	require.Equal(t, "half", string(e.Body()))
	require.Equal(t, 1, b.closed)

	require.NotPanics(t, func() { b, err = from(500, panicking{}, nil) })
	require.ErrorAs(t, err, &e)
	require.Empty(t, e.Body())
	require.Equal(t, 1, b.closed)

	b, err = from(500, zeros{}, nil)
	require.ErrorAs(t, err, &e)
	require.Len(t, e.Body(), 64<<10, "no more of a body without an end")
	require.Equal(t, 1, b.closed)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New(harness.Canary) }

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic(harness.Canary) }

// TestFromResponseOfStuckBody is about a service that begins an answer and does not
// end it.
func TestFromResponseOfStuckBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		go func() { _, _ = io.WriteString(w, "half") }()
		start := time.Now()
		err := classify.FromResponse(&http.Response{StatusCode: http.StatusBadGateway, Body: r})
		require.Equal(t, 2*time.Second, time.Since(start))
		e := (*classify.ResponseError)(nil)
		require.ErrorAs(t, err, &e)
		require.Equal(t, "half", string(e.Body()))
	})
}

func TestWait(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	const month = 30 * 24 * time.Hour
	for _, c := range []struct {
		header http.Header
		want   time.Duration
	}{
		{nil, 0},
		{http.Header{"Retry-After": {"0"}}, 0},
		{http.Header{"Retry-After": {" 3 "}}, 3 * time.Second},
		{http.Header{"Retry-After": {"1.5"}}, 1500 * time.Millisecond},
		{http.Header{"Retry-After": {"3", "99"}}, 3 * time.Second},
		{http.Header{"Retry-After": {"1e9"}}, 0},
		{http.Header{"Retry-After": {"NaN"}}, 0},
		{http.Header{"Retry-After": {strings.Repeat("9", 30)}}, month},
		{http.Header{"Retry-After": {strings.Repeat("x", 1<<20)}}, 0},
		// By the clock of this machine where the server does not give its own.
		{http.Header{"Retry-After": {"Sun, 01 Mar 2026 12:00:05 GMT"}}, 5 * time.Second},
		{http.Header{"Retry-After": {"Sun Mar  1 12:00:05 2026"}}, 5 * time.Second},
		{http.Header{"Retry-After": {"Sun, 01 Mar 2026 12:00:05 GMT"}, "Date": {"Sun, 01 Mar 2026 12:00:01 GMT"}}, 4 * time.Second},
		{http.Header{"Retry-After": {"Sun, 01 Mar 2026 12:00:05 GMT"}, "Date": {"yesterday"}}, 5 * time.Second},
		{http.Header{"Retry-After": {"Fri, 31 Dec 9999 23:59:59 GMT"}}, month},
		{http.Header{"Retry-After-Ms": {"20"}, "Retry-After": {"0"}}, 20 * time.Millisecond},
		{http.Header{"X-Ratelimit-Reset": {"1772366410"}}, 10 * time.Second},
		{http.Header{"X-Ratelimit-Reset": {"1772366410.5"}}, 10500 * time.Millisecond},
		{http.Header{"X-Ratelimit-Reset": {"1772366410000"}}, 10 * time.Second},
		{http.Header{"X-Ratelimit-Reset": {"999999999"}}, month},
		{http.Header{"X-Ratelimit-Reset": {"2026-03-01T13:00:10+01:00"}}, 10 * time.Second},
		{http.Header{"X-Ratelimit-Reset": {"Sun, 01 Mar 2026 12:00:05 GMT"}}, 5 * time.Second},
		{http.Header{"Ratelimit": {`"a";r=0;t=5, "b";r=0;t=8, "c";r=5;t=90`}}, 8 * time.Second},
		{http.Header{"Ratelimit": {"limit=100,remaining=0,reset=50"}}, 50 * time.Second},
		{http.Header{"Ratelimit": {`";;;===,,,`}}, 0},
		{http.Header{"Ratelimit": {strings.Repeat("t=1,", 1<<10)}}, 0},
		{http.Header{"Ratelimit": {"reset=9"}, "Retry-After": {"4"}}, 4 * time.Second},
	} {
		require.Equal(t, c.want, classify.WaitOf(c.header, now, true), "%.200v", c.header)
	}
}

func FuzzWait(f *testing.F) {
	for _, text := range []string{"", "5", "-5", "1.5", "9999999999999", "Sun, 01 Mar 2026 12:00:05 GMT", `"a";r=0;t=5, "b";r=1;t=8`, "limit=1, remaining=0, reset=5", "2026-03-01T13:00:10+01:00", "=;,"} {
		f.Add(text, "Sun, 01 Mar 2026 12:00:00 GMT", int64(1772366400))
		f.Add(text, text, int64(-1))
	}
	f.Fuzz(func(t *testing.T, value, date string, now int64) {
		for _, key := range []string{"Retry-After", "Retry-After-Ms", "Ratelimit", "Ratelimit-Reset", "X-Ratelimit-Reset", "X-Ratelimit-Reset-After"} {
			wait := classify.WaitOf(http.Header{key: {value}, "Date": {date}}, time.Unix(now, 0), true)
			require.GreaterOrEqual(t, wait, time.Duration(0))
			require.LessOrEqual(t, wait, 30*24*time.Hour)
		}
	})
}
