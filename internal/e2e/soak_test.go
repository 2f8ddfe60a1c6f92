package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/child"
	"github.com/mcpchain/mcpchain/middleware"
)

var (
	soakTime = flag.Duration("soak", 0, "how long TestSoak runs")
	soakSVG  = flag.String("svg", "", "the file that TestSoak draws")
)

const (
	soakCallers = 8                     // of each server, each of which waits
	soakPause   = 50 * time.Millisecond // between its calls
	soakIdle    = 5 * time.Second       // after which a session that nobody uses ends
)

// TestSoak puts three servers under a mixed load for as long as -soak says: calls that
// succeed, fail, panic, get stuck, are cancelled, lose their connection, and sessions that
// nobody ends. It fails if memory or goroutines grow, and draws what it saw.
//
//	go test ./internal/e2e -run '^TestSoak$' -count 1 -timeout 0 -soak 10m -svg "$PWD/docs/soak.svg"
func TestSoak(t *testing.T) {
	if *soakTime == 0 {
		t.Skip("make soak runs this")
	}
	servers := []*soaked{
		{name: "stdio", shape: shapes[0]},
		{name: "HTTP", shape: shapes[4], cfg: config{Propagate: true}},
		// The breaker refuses what fails here again and again.
		{name: "HTTP with sessions", shape: shapes[3], cfg: config{Breaker: true}},
	}
	for _, s := range servers {
		s.start(t)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), *soakTime)
	defer cancel()
	var wait sync.WaitGroup
	for _, s := range servers {
		for range soakCallers {
			wait.Go(func() { s.callUntil(ctx) })
		}
		if s.shape.transport == "stateful" {
			wait.Go(func() { s.visitUntil(ctx, t) })
		}
	}
	every := max(time.Second, *soakTime/300).Round(time.Second)
	for time.Since(began) < *soakTime {
		time.Sleep(every)
		for _, s := range servers {
			s.sample(t, time.Since(began))
		}
	}
	cancel()
	wait.Wait()
	counts := map[string]int{}
	for _, s := range servers {
		for kind, n := range s.counts {
			counts[kind] += n
		}
		t.Log(s.name, s.counts)
	}
	for _, kind := range []string{
		"succeeded", "failed", "panicked", "lists/parts/deadlines", "cancelled", "disconnected",
		"refused by the breaker", "sessions ended", "sessions left behind",
	} {
		require.NotZero(t, counts[kind], kind)
	}
	if *soakSVG != "" { // what fails is drawn, too
		require.NoError(t, os.WriteFile(*soakSVG, drawSoak(servers, counts), 0o644))
	}
	for _, s := range slices.Backward(servers) { // the last one's session ends if nobody uses it
		s.end(t)
	}
}

// A soaked is a server under load.
type soaked struct {
	*peer
	name   string
	shape  shape
	cfg    config
	before stats // when it had no load yet

	mu      sync.Mutex
	n       int // of the next call
	round   int // of the keys that stuck handlers wait for
	took    []time.Duration
	counts  map[string]int // calls, by how they ended
	wrong   []error
	samples []soakSample
}

// A soakSample is what is known of a server at one time.
type soakSample struct {
	at         time.Duration
	heap, rss  uint64 // in bytes; no rss where the system does not tell
	goroutines int
	p50, p99   time.Duration // of the calls that succeeded since the last one
}

// start starts the server and waits until it has settled after some calls.
func (s *soaked) start(t *testing.T) {
	t.Helper()
	s.cfg.Transport, s.cfg.Chain, s.cfg.JSON, s.cfg.Soak = s.shape.transport, chainAll, s.shape.json, true
	p := &process{cfg: s.cfg}
	p.Process = child.Start(t, func(string) any {
		p.cfg.Log = os.DevNull // a log of ten minutes is large
		return p.cfg
	})
	if s.cfg.Transport != "stdio" {
		p.ReadURL(t)
	}
	s.peer = connect(t, p, s.shape.asks)
	s.counts = map[string]int{}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var wait sync.WaitGroup
	for range soakCallers {
		wait.Go(func() {
			for range 10 * len(mixed()) / soakCallers {
				s.call(ctx)
			}
		})
	}
	wait.Wait()
	s.release(t)
	s.release(t)
	require.Empty(t, s.wrong)
	s.before = s.idle(t, 30)
	s.took, s.counts = nil, map[string]int{}
}

func (s *soaked) callUntil(ctx context.Context) {
	for ctx.Err() == nil {
		s.call(ctx)
		time.Sleep(soakPause)
	}
}

// call makes the next call. What a call finds when the time is up does not count.
func (s *soaked) call(ctx context.Context) {
	s.mu.Lock()
	n, round := s.n, s.round
	s.n++
	s.mu.Unlock()
	began := time.Now()
	var kind string
	var err error
	switch r := n % 20; {
	case r < 14:
		kind = "failed"
		if n%2 == 0 {
			kind = "succeeded"
		} else if strings.HasPrefix(mixed()[n/2%len(mixed())].name, "panic") {
			kind = "panicked"
		}
		_, _, err = s.loadCall(ctx, n)
	case r < 17:
		kind = "lists/parts/deadlines"
		_, _, err = s.mixedCall(ctx, n, stuckKey(round))
	case r < 19 || s.URL == "":
		kind, err = "cancelled", s.giveUp(ctx, n)
	default:
		kind, err = "disconnected", s.disconnect(ctx, n)
	}
	took := time.Since(began)
	if errors.Is(err, fault.KindRepeatedFailure) && s.cfg.Breaker {
		kind, err = "refused by the breaker", nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case round < s.round-1: // its handler may not have got stuck
	case err != nil:
		if len(s.wrong) < 10 {
			s.wrong = append(s.wrong, fmt.Errorf("%s, call %d: %w", s.name, n, err))
		}
	default:
		s.counts[kind]++
		if kind == "succeeded" {
			s.took = append(s.took, took)
		}
	}
}

// giveUp cancels a call while its handler waits for that. Over HTTP with sessions a
// cancellation may overtake its call and be lost; the handler has a second, then.
func (s *soaked) giveUp(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(n%20)*time.Millisecond)
	defer cancel()
	tool := untilTools[n/20%len(untilTools)]
	res, err := s.cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"key": "never"}})
	if f, failed := middleware.FaultOf(res, err); err == nil && failed {
		return fmt.Errorf("%s was answered: %w", tool, f)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s was not given up: %w", tool, err)
	}
	return nil
}

// disconnect closes the connection of a call, of which its handler may not know.
func (s *soaked) disconnect(ctx context.Context, n int) error {
	data, err := json.Marshal(s.request(fmt.Sprint("dropped-", n), "tools/call", map[string]any{"name": "slow-failure", "arguments": map[string]any{}}))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	resp, err := s.post(ctx, "tools/call", data)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil // in time, if the machine was slow
}

// visitUntil opens sessions, each for one call. It leaves every second one behind.
func (s *soaked) visitUntil(ctx context.Context, t *testing.T) {
	for n := 0; ctx.Err() == nil; n++ {
		base := &http.Transport{}
		var trip http.RoundTripper = base
		kind := "sessions ended"
		if n%2 == 1 {
			trip, kind = undeleted{base}, "sessions left behind"
		}
		cs, err := newClient(t).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: &http.Client{Transport: trip}},
			&mcp.ClientSessionOptions{ProtocolVersion: s.shape.asks})
		if err == nil {
			err = (&peer{process: s.process, cs: cs, version: s.shape.speaks}).succeed(ctx, n)
			_ = cs.Close()
		}
		base.CloseIdleConnections()
		s.mu.Lock()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			s.wrong = append(s.wrong, fmt.Errorf("%s, visit %d: %w", s.name, n, err))
		default:
			s.counts[kind]++
		}
		s.mu.Unlock()
		time.Sleep(20 * soakPause)
	}
}

// undeleted loses the request that ends a session.
type undeleted struct{ base http.RoundTripper }

func (u undeleted) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodDelete {
		return nil, errors.New("lost")
	}
	return u.base.RoundTrip(req)
}

func stuckKey(round int) string { return fmt.Sprint("stuck ", round) }

// release begins a new round, and lets the handlers of the one before the last go on.
func (s *soaked) release(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	s.round++
	key := stuckKey(s.round - 2)
	s.mu.Unlock()
	_, err := s.cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "release", Arguments: map[string]any{"keys": []string{key, key + " "}}})
	require.NoError(t, err)
}

// sample notes how the server does, and that nothing has leaked out of it.
func (s *soaked) sample(t *testing.T, at time.Duration) {
	t.Helper()
	s.Alive(t)
	s.release(t)
	now := s.stats(t, true)
	require.Empty(t, child.Leak(s.rec.take()))
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.wrong)
	slices.Sort(s.took)
	next := soakSample{at: at, heap: now.Heap, rss: resident(now.PID), goroutines: now.Goroutines}
	if n := len(s.took); n > 0 {
		next.p50, next.p99 = s.took[n/2], s.took[n*99/100]
	}
	s.took = s.took[:0]
	s.samples = append(s.samples, next)
}

// resident returns the memory that a process has, 0 where the system does not tell.
func resident(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(fields[1], 10, 64)
	return pages * uint64(os.Getpagesize())
}

// end requires that the server is what it was, and that it has not grown under load.
func (s *soaked) end(t *testing.T) {
	t.Helper()
	require.Empty(t, s.wrong)
	s.release(t)
	s.release(t)
	after := s.idle(t, s.before.Goroutines+5)
	require.LessOrEqual(t, after.Heap, heapBound(s.before.Heap), "%s: the heap has grown", s.name)
	if n := len(s.samples) / 5; n >= 5 {
		heap := func(x soakSample) uint64 { return x.heap }
		goroutines := func(x soakSample) uint64 { return uint64(x.goroutines) }
		early, late := s.samples[n:2*n], s.samples[len(s.samples)-n:]
		require.LessOrEqual(t, median(late, heap), median(early, heap)*5/4+4<<20, "%s: the heap grows", s.name)
		require.LessOrEqual(t, median(late, goroutines), median(early, goroutines)*5/4+10, "%s: goroutines grow", s.name)
	}
	t.Logf("%s: goroutines %d, %d; heap %d, %d KB", s.name, s.before.Goroutines, after.Goroutines, s.before.Heap>>10, after.Heap>>10)
	s.finish(t)
}

func median(samples []soakSample, of func(soakSample) uint64) uint64 {
	var all []uint64
	for _, s := range samples {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// drawSoak draws three panels over time: memory, goroutines and latency.
func drawSoak(servers []*soaked, counts map[string]int) []byte {
	memory := panel{title: "Memory in MB: live heap; dashed: resident"}
	goroutines := panel{title: "Goroutines"}
	latency := panel{title: "Latency in ms of calls that succeed: median; dashed: 99th percentile", log: true}
	for i, s := range servers {
		colour := colours[i%len(colours)]
		add := func(p *panel, name string, dashed bool, value func(soakSample) float64) {
			l := line{name: name, colour: colour, dashed: dashed}
			for _, x := range s.samples {
				if v := value(x); v > 0 {
					l.points = append(l.points, point{x.at.Minutes(), v})
				}
			}
			p.lines = append(p.lines, l)
		}
		const mb = 1 << 20
		add(&memory, s.name, false, func(x soakSample) float64 { return float64(x.heap) / mb })
		add(&memory, "", true, func(x soakSample) float64 { return float64(x.rss) / mb })
		add(&goroutines, s.name, false, func(x soakSample) float64 { return float64(x.goroutines) })
		add(&latency, s.name, false, func(x soakSample) float64 { return x.p50.Seconds() * 1000 })
		add(&latency, "", true, func(x soakSample) float64 { return x.p99.Seconds() * 1000 })
	}
	all := 0
	for _, n := range counts {
		all += n
	}
	heading := []string{fmt.Sprintf("%.3g minutes, %d calls and sessions of three servers with everything but replay and state (%s, %s/%s, %d cores):",
		soakTime.Minutes(), all, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())}
	for kinds := range slices.Chunk(slices.Sorted(maps.Keys(counts)), 5) {
		var parts []string
		for _, kind := range kinds {
			parts = append(parts, fmt.Sprint(counts[kind], " ", kind))
		}
		heading = append(heading, strings.Join(parts, ", "))
	}
	var out bytes.Buffer
	draw(&out, "A soak", heading, "minutes", []panel{memory, goroutines, latency})
	return out.Bytes()
}
