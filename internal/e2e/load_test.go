package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/child"
	"github.com/mcpchain/mcpchain/middleware"
)

const (
	loadCalls   = 10_000
	loadCallers = 300
)

// soak skips a load test unless somebody asked for it, as "make soak" does: it takes
// longer than all other tests together.
func soak(t *testing.T) {
	t.Helper()
	if os.Getenv("MCPCHAIN_SOAK") == "" {
		t.Skip("make soak runs this")
	}
}

// loadSize is how many calls a load test makes, fewer of those that are made more
// often than once while the race detector is at work.
func loadSize(again bool) int {
	switch {
	case testing.Short():
		return loadCalls / 10
	case racing && again:
		return loadCalls / 5
	default:
		return loadCalls
	}
}

// mixed are the calls of a load test: each second one succeeds.
var mixed = sync.OnceValue(func() []scenario {
	names := []string{
		"error-plain.raw", "error-plain.typed", "error-plain.resource", "error-plain.prompt", "error-plain.completion", "error-plain.custom",
		"error-bearer.addtool", "error-typed-nil.addtool", "error-wrapped.template",
		"panic-string.raw", "panic-string.typed", "panic-nil-pointer.resource", "panic-stringer.prompt", "panic-abort.custom", "panic-nil.completion",
		"panic-string.inner-before", "panic-string.inner-after", "panic-in-a-goroutine.raw",
		"fault-steps.raw", "fault-near-names.typed", "fault-missing-permission.resource", "fault-joined.prompt", "fault-violations.tool",
		"kind-deadline.raw", "kind-not-exist.resource", "kind-refused.typed",
		"wire-bare.raw", "wire-wrapped.typed", "wire-capability.prompt",
		"nil-tool", "nil-completion", "unsendable-structured-nan", "unsendable-typed-panicking", "unsendable-resource-nil",
		"own-secret.raw", "own-plain.typed", "arguments-value.typed", "arguments-decoding.addtool", "slow-failure",
	}
	var all []scenario
	for _, s := range scenarios() {
		if slices.Contains(names, s.name) {
			all = append(all, s)
		}
	}
	if len(all) != len(names) {
		panic(fmt.Sprint("only ", len(all), " of ", len(names), " scenarios"))
	}
	return all
})

// loadCall makes call number n and says what is wrong with its answer, and whether
// it was one that fails.
func (p *peer) loadCall(ctx context.Context, n int) (failed bool, reference string, err error) {
	if n%2 == 0 {
		return false, "", p.succeed(ctx, n/2)
	}
	all := mixed()
	s := &all[n/2%len(all)]
	res, callErr := s.call(ctx, p, s.name)
	if ctx.Err() != nil {
		return true, "", fmt.Errorf("%s: %w", s.name, ctx.Err())
	}
	f, ok := middleware.FaultOf(res, callErr)
	switch {
	case !ok:
		return true, "", fmt.Errorf("%s succeeded", s.name)
	case s.want.wire != nil || s.want.own != nil:
	case f.Kind() != s.want.public.Kind() || !says(f, s.want.public):
		return true, "", fmt.Errorf("%s: %w", s.name, f)
	case f.Reference() == "":
		return true, "", fmt.Errorf("%s has no reference", s.name)
	}
	return true, f.Reference(), nil
}

// succeed makes one of the calls that succeed.
func (p *peer) succeed(ctx context.Context, n int) error {
	var got any
	var err error
	var want string
	switch n % 6 {
	case 0:
		got, err = p.cs.CallTool(ctx, &mcp.CallToolParams{Name: "ok_echo", Arguments: map[string]any{"n": n}})
		want = fmt.Sprintf(`{"n":%d}`, n)
	case 1:
		got, err = p.cs.CallTool(ctx, &mcp.CallToolParams{Name: "ok_typed_both"})
		want = `"structuredContent":{"ok":true}`
	case 2:
		got, err = p.cs.CallTool(ctx, &mcp.CallToolParams{Name: "ok_structured_map"})
		want = `"b":`
	case 3:
		got, err = p.cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: "ok://text"})
		want = "ok://blob"
	case 4:
		got, err = p.cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "ok", Arguments: map[string]string{"a": fmt.Sprint("prompt ", n)}})
		want = fmt.Sprint("prompt ", n)
	default:
		got, err = p.cs.Complete(ctx, &mcp.CompleteParams{
			Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "ok"}, Argument: mcp.CompleteParamsArgument{Name: "a", Value: "x"},
		})
		want = `"total":2`
	}
	if err != nil {
		return err
	}
	raw, err := json.Marshal(got)
	if err == nil && !strings.Contains(string(raw), want) {
		err = fmt.Errorf("%s is not in %s", want, raw)
	}
	return err
}

// load makes the calls from..to with many callers at once, and returns how many
// failed as they should, with their references.
func load(t *testing.T, from, to int, pick func(n int) *peer) (failed int, references []string) {
	t.Helper()
	return loadOf(t, from, to, func(ctx context.Context, n int) (bool, string, error) { return pick(n).loadCall(ctx, n) })
}

// loadOf does so with calls that return what loadCall does.
func loadOf(t *testing.T, from, to int, call func(ctx context.Context, n int) (failed bool, reference string, err error)) (failed int, references []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*patience)
	defer cancel()
	var next atomic.Int64
	next.Store(int64(from))
	var mu sync.Mutex
	var wrong []error
	var wait sync.WaitGroup
	for range loadCallers {
		wait.Go(func() {
			for n := int(next.Add(1)) - 1; n < to; n = int(next.Add(1)) - 1 {
				fails, reference, err := call(ctx, n)
				mu.Lock()
				if err != nil {
					wrong = append(wrong, err)
				}
				if fails {
					failed++
				}
				if reference != "" {
					references = append(references, reference)
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	require.Empty(t, wrong)
	return failed, references
}

// isRecord reports whether r is the record of a call, or of an item or a part of one.
func isRecord(r child.Record) bool {
	return r.Text("msg") == "mcp call" || r.Text("msg") == "mcp part of a call"
}

// requireRecords requires one record for each failed call, and each reference in
// exactly one of them.
func requireRecords(t *testing.T, records []child.Record, failed int, references []string) {
	t.Helper()
	records = slices.DeleteFunc(records, func(r child.Record) bool { return !isRecord(r) }) // of goroutines
	require.Len(t, records, failed)
	seen := map[string]int{}
	for _, r := range records {
		seen[r.Text("reference")]++
	}
	for reference, n := range seen {
		require.Equal(t, 1, n, reference)
	}
	for _, reference := range references {
		require.Equal(t, 1, seen[reference], reference)
	}
}

// heapBound is how much the heap may be larger after the second half of a load
// than it was after the first, in bytes.
func heapBound(first uint64) uint64 { return first + first/2 + 8<<20 }

// TestLoadOfAProcess makes thousands of mixed calls at once to a real server, and
// requires that it answers each and is afterwards what it was.
func TestLoadOfAProcess(t *testing.T) {
	soak(t)
	for _, shape := range []shape{shapes[0], shapes[3], shapes[4]} {
		t.Run(shape.String(), func(t *testing.T) {
			calls := loadSize(true)
			p := connect(t, start(t, config{Transport: shape.transport, Chain: chainStandard, JSON: shape.json}), shape.asks)
			load(t, 0, calls/10, func(int) *peer { return p }) // warm
			before := p.idle(t, 20)
			size := p.Log.Size(t)
			failed, references := load(t, 0, calls/2, func(int) *peer { return p })
			middle := p.idle(t, before.Goroutines+5)
			failed2, references2 := load(t, calls/2, calls, func(int) *peer { return p })
			after := p.idle(t, before.Goroutines+5)
			require.LessOrEqual(t, after.Heap, heapBound(middle.Heap), "first half %d", middle.Heap)
			requireRecords(t, p.Log.Since(t, size), failed+failed2, append(references, references2...))
			t.Logf("%d calls, %d failures; goroutines %d, %d, %d; heap %d, %d, %d KB", calls, failed+failed2,
				before.Goroutines, middle.Goroutines, after.Goroutines, before.Heap>>10, middle.Heap>>10, after.Heap>>10)
			p.finish(t)
		})
	}
}

// TestLoadWithEverything mixes list forms, handlers that get stuck, answers with a part
// down and wrong arguments with the calls of the other load tests, where everything is
// turned on that Standard can do.
func TestLoadWithEverything(t *testing.T) {
	soak(t)
	for _, shape := range fewer(shapes[0], shapes[4]) {
		t.Run(shape.String(), func(t *testing.T) {
			calls := loadSize(true) / 2
			p := connect(t, start(t, config{Transport: shape.transport, Chain: chainAll, JSON: shape.json}), shape.asks)
			half := func(key string, from, to int) []string {
				_, references := loadOf(t, from, to, func(ctx context.Context, n int) (bool, string, error) {
					if n%3 == 0 {
						return p.mixedCall(ctx, n/3, key)
					}
					return p.loadCall(ctx, n)
				})
				_, err := p.cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "release", Arguments: map[string]any{"keys": []string{key, key + " "}}})
				require.NoError(t, err)
				return references
			}
			half("warm", 0, calls/10)
			before := p.idle(t, 20)
			size := p.Log.Size(t)
			references := half("first", 0, calls/2)
			middle := p.idle(t, before.Goroutines+5)
			references = append(references, half("second", calls/2, calls)...)
			after := p.idle(t, before.Goroutines+5)
			require.LessOrEqual(t, after.Heap, heapBound(middle.Heap), "first half %d", middle.Heap)
			recorded, stuck := map[string]int{}, map[string]int{}
			for _, r := range p.Log.Since(t, size) {
				if isRecord(r) {
					recorded[r.Text("reference")]++
				}
				stuck[r.Text("msg")]++
			}
			for _, reference := range references {
				require.Equal(t, 1, recorded[reference], reference)
			}
			require.NotZero(t, stuck["mcp handler is stuck"])
			require.Equal(t, stuck["mcp handler is stuck"], stuck["mcp handler ended late"])
			t.Logf("%d calls, %d handlers were stuck; goroutines %d, %d, %d; heap %d, %d, %d KB", calls, stuck["mcp handler is stuck"],
				before.Goroutines, middle.Goroutines, after.Goroutines, before.Heap>>10, middle.Heap>>10, after.Heap>>10)
			p.finish(t)
		})
	}
}

// mixedCall makes call number n of those that each middleware has work with. A handler that
// gets stuck waits for the key.
func (p *peer) mixedCall(ctx context.Context, n int, key string) (failed bool, reference string, err error) {
	call := []struct {
		tool  string
		args  map[string]any
		kinds []fault.Kind // of which the failure is one; none for a success
		want  string       // part of the text
	}{
		{"get_users", map[string]any{"user_ids": []any{"a", "nobody", "b", "panic", "exit", 7}}, nil, "2 of 6 items succeeded, 4 failed."},
		{"get_stuck", map[string]any{"key": key}, []fault.Kind{fault.KindTimeout, fault.KindServiceUnavailable}, ""},
		{"weather", map[string]any{"city": "Lisbon"}, nil, `"celsius":21`},
		{"place_order", map[string]any{"custmer": "x"}, []fault.Kind{fault.KindValidation}, "Did you mean 'customer'?"},
		{"get_all_stuck", map[string]any{"keys": []any{key, key + " "}}, []fault.Kind{fault.KindTimeout, fault.KindServiceUnavailable, fault.KindTool}, "none of the 2 items succeeded"},
		{"exit", nil, []fault.Kind{fault.KindInternal}, ""},
		{"read_slow", nil, []fault.Kind{fault.KindTimeout}, ""},
	}[n%7]
	res, err := p.cs.CallTool(ctx, &mcp.CallToolParams{Name: call.tool, Arguments: call.args})
	if err != nil {
		return true, "", fmt.Errorf("%s: %w", call.tool, err)
	}
	f, failed := middleware.FaultOf(res, nil)
	switch {
	case failed && !slices.Contains(call.kinds, f.Kind()):
		return true, "", fmt.Errorf("%s: %w", call.tool, f)
	case failed != (call.kinds != nil) || !strings.Contains(textOf(res), call.want):
		return true, "", fmt.Errorf("%s: %s", call.tool, textOf(res))
	}
	return failed, f.Reference(), nil
}

// idle waits until the server has no more than so many goroutines. Connections that
// nobody uses, each of which is one, are closed.
func (p *peer) idle(t *testing.T, goroutines int) (s stats) {
	t.Helper()
	eventually(t, "the goroutines end", func() bool {
		if p.http != nil {
			p.http.CloseIdleConnections()
		}
		s = p.stats(t, true)
		return s.Goroutines <= goroutines
	})
	return s
}

// memoryLog counts what is logged, in the process.
type memoryLog struct {
	mu      sync.Mutex
	records []child.Record
}

func (l *memoryLog) Write(b []byte) (int, error) {
	var r child.Record
	if err := json.Unmarshal(b, &r); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, child.Record{"reference": r["reference"], "msg": r["msg"]}) // a heap is measured
	return len(b), nil
}

func (l *memoryLog) take() []child.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	records := l.records
	l.records = nil
	return records
}

// TestLoadInTheProcess does the same without a process in between, so that the race
// detector sees clients and server together; with the chain once and twice.
func TestLoadInTheProcess(t *testing.T) {
	soak(t)
	for _, chain := range []string{chainStandard, chainTwice} {
		t.Run(chain, func(t *testing.T) {
			calls := loadSize(chain != chainStandard)
			goroutines := runtime.NumGoroutine()
			log := &memoryLog{}
			server := newServer(config{Chain: chain}, slog.New(slog.NewJSONHandler(log, nil)))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var peers []*peer
			for i := range 4 {
				clientSide, serverSide := mcp.NewInMemoryTransports()
				_, err := server.Connect(ctx, serverSide, nil)
				require.NoError(t, err)
				version := []string{version2026, version2025}[i%2]
				client := newClient(t)
				cs, err := client.Connect(ctx, clientSide, &mcp.ClientSessionOptions{ProtocolVersion: version})
				require.NoError(t, err)
				require.Equal(t, version, cs.InitializeResult().ProtocolVersion)
				peers = append(peers, &peer{cs: cs, version: version})
			}
			pick := func(n int) *peer { return peers[n/2%len(peers)] }
			load(t, 0, calls/10, pick) // warm
			log.take()
			before := settled(goroutines + 8*len(peers))
			failed, references := load(t, 0, calls/2, pick)
			requireRecords(t, log.take(), failed, references)
			middle := settled(before.Goroutines)
			failed, references = load(t, calls/2, calls, pick)
			requireRecords(t, log.take(), failed, references)
			after := settled(before.Goroutines)
			require.LessOrEqual(t, after.Goroutines, before.Goroutines+2)
			require.LessOrEqual(t, after.Heap, heapBound(middle.Heap))
			for _, p := range peers {
				require.NoError(t, p.cs.Close())
			}
			end := settled(goroutines)
			require.LessOrEqual(t, end.Goroutines, goroutines+2, "after the sessions have ended")
			t.Logf("%d calls; goroutines %d, %d, %d, %d; heap %d, %d, %d KB", calls, goroutines,
				before.Goroutines, middle.Goroutines, after.Goroutines, before.Heap>>10, middle.Heap>>10, after.Heap>>10)
		})
	}
}

// settled waits a little for goroutines to end, and says how things stand.
func settled(goroutines int) stats {
	s := readStats(true)
	for deadline := time.Now().Add(patience / 3); s.Goroutines > goroutines+2 && time.Now().Before(deadline); s = readStats(true) {
		time.Sleep(10 * time.Millisecond)
	}
	return s
}
