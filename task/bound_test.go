package task_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/task"
)

// byMeta names the caller as its request does.
func byMeta(_ context.Context, req mcp.Request) string {
	owner, _ := req.GetParams().GetMeta()["owner"].(string)
	return owner
}

// as calls a tool as a caller.
func (s *server) as(t testing.TB, owner, tool string, args map[string]any) harness.Answer {
	t.Helper()
	res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args, Meta: mcp.Meta{"owner": owner}})
	require.NoError(t, err)
	return harness.Answer{Result: res}
}

// TestRunning: beyond a bound a call waits for its end or for room, and the log says why.
func TestRunning(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.opts.Owner, s.opts.Limits = byMeta, task.Limits{RunningPerOwner: 2, Running: 3}
		s.report(t)
		call := func(owner string, i int) harness.Answer {
			return s.as(t, owner, "report", map[string]any{"word": fmt.Sprint(600+i, "s")})
		}
		first := idOf(t, call("alice", 0))
		idOf(t, call("alice", 1))
		began := time.Now()
		third := idOf(t, call("alice", 20))
		require.Greater(t, time.Since(began), 9*time.Minute, "two of alice run")
		require.Equal(t, 1, strings.Count(s.log.String(), `"mcp call gets no handle yet and its caller waits","error":"task: each caller may hold 2"`))
		time.Sleep(time.Hour)
		require.Equal(t, "fine", s.as(t, "alice", "task_result", map[string]any{"id": third}).Text())
		require.Equal(t, "fine", s.as(t, "alice", "task_result", map[string]any{"id": first}).Text())

		idOf(t, call("alice", 3)) // there is room again
		idOf(t, call("bob", 4))
		idOf(t, call("carol", 5))
		require.Equal(t, "fine", s.as(t, "dave", "report", map[string]any{"word": "60s"}).Text(), "three of all run")
		require.Contains(t, s.log.String(), `"error":"task: all callers together may hold 3"`)
		time.Sleep(time.Hour)
		for i := range 3 {
			idOf(t, call("", 10+i)) // for unknown callers the bound of all holds alone
		}
		require.Equal(t, "fine", s.as(t, "", "report", map[string]any{"word": "60s"}).Text())
		time.Sleep(time.Hour)
	})
}

// TestNoBounds: a negative number is no limit.
func TestNoBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{at: harness.Place{Shape: harness.ServerTyped, Era: harness.Current}}
		s.opts.Limits = task.Limits{RunningPerOwner: -1, Running: -1, OwnerBytes: -1}
		s.report(t)
		var calls sync.WaitGroup
		ids := make([]string, 20)
		for i := range ids {
			calls.Go(func() {
				ids[i], _ = metaOf(s.CallTool(t.Context(), "report", map[string]any{"word": fmt.Sprint(60+i, "s")}))["id"].(string)
			})
		}
		calls.Wait()
		require.NotContains(t, ids, "")
		time.Sleep(time.Hour)
	})
}

// TestAnswerTooLarge: of an answer that is too large only the fact is kept, and no byte of it.
func TestAnswerTooLarge(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.opts.Limits = task.Limits{AnswerBytes: 10_000}
		s.start(t, map[string]harness.Handler{
			"large": harness.Return(func() *mcp.CallToolResult {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 10_000)}}}
			}),
			"small": harness.Return(func() *mcp.CallToolResult {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 9_000)}}}
			}),
		})
		require.Len(t, s.result(t, s.handle(t, "small", "30s")).Text(), 9_000)
		id := s.handle(t, "large", "30s")
		for range 2 {
			got := s.result(t, id)
			require.Equal(t, "TASK_ANSWER_NOT_KEPT", got.Fault().Code())
			require.Equal(t, "Tool error: the call has ended, and its answer could not be kept: it was too large, or there was no room.\n"+
				"Suggestion: Read what the call has changed. If it only reads, ask for less.\nRetry: no, unless you see that it did not take effect.", got.Text())
		}
	})
}

// TestBytesOfAnOwner: one caller's answers do not fill the store for others.
func TestBytesOfAnOwner(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.opts.Owner, s.opts.Limits = byMeta, task.Limits{AnswerBytes: 10_000, OwnerBytes: 40_000}
		s.start(t, map[string]harness.Handler{"report": harness.Return(func() *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 9_000)}}}
		})})
		call := func(owner string) harness.Answer {
			got := s.as(t, owner, "report", map[string]any{"word": "30s"})
			time.Sleep(time.Minute)
			return got
		}
		var ids []string
		for {
			got := call("alice")
			if statusOf(got) == "" {
				require.Len(t, got.Text(), 9_000, "it waits")
				break
			}
			ids = append(ids, idOf(t, got))
		}
		require.Len(t, ids, 4)
		require.Contains(t, s.log.String(), "the group takes too many bytes")
		idOf(t, call("bob"))
		for _, id := range ids {
			require.Len(t, s.as(t, "alice", "task_result", map[string]any{"id": id}).Text(), 9_000)
		}
		require.Empty(t, statusOf(call("alice")), "what was fetched counts until it goes")
		time.Sleep(11 * time.Minute) // what was fetched goes
		idOf(t, call("alice"))
	})
}

// TestKeep: an answer that nobody fetches is kept for Keep, and one that was fetched for ten minutes more.
func TestKeep(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.report(t)
		id := s.handle(t, "report", "1m")
		time.Sleep(24 * time.Hour)
		require.Equal(t, "fine", s.ask(t, "task_result", id).Text(), "from the end of the call")
		time.Sleep(9 * time.Minute)
		require.Equal(t, "fine", s.ask(t, "task_result", id).Text(), "each time is a new beginning")
		time.Sleep(10 * time.Minute)
		require.Equal(t, "TASK_NOT_FOUND", s.ask(t, "task_result", id).Fault().Code())

		id = s.handle(t, "report", "1m")
		time.Sleep(25 * time.Hour)
		require.Equal(t, "TASK_NOT_FOUND", s.ask(t, "task_result", id).Fault().Code())
	})
}

var errDown = errors.New("dial tcp 10.0.0.7:6379: " + harness.Canary)

// A moody store fails, or hangs, when it is told to.
type moody struct {
	store.Store

	fails, hangs atomic.Bool
}

func (m *moody) mood(ctx context.Context) error {
	if m.fails.Load() {
		return errDown
	}
	if m.hangs.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (m *moody) Get(ctx context.Context, key string) (store.Item, error) {
	if err := m.mood(ctx); err != nil {
		return store.Item{}, err
	}
	return m.Store.Get(ctx, key)
}

func (m *moody) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	if err := m.mood(ctx); err != nil {
		return store.Item{}, false, err
	}
	return m.Store.Swap(ctx, key, old, value, ttl)
}

func (m *moody) Delete(ctx context.Context, key string, old store.Version) (bool, error) {
	if err := m.mood(ctx); err != nil {
		return false, err
	}
	return m.Store.Delete(ctx, key, old)
}

// TestStoreIsGoneAtFirst: without the store a call waits for its end. One that hangs costs two seconds at most.
func TestStoreIsGoneAtFirst(t *testing.T) {
	for name, mood := range map[string]func(*moody, bool){
		"fails": func(m *moody, on bool) { m.fails.Store(on) },
		"hangs": func(m *moody, on bool) { m.hangs.Store(on) },
	} {
		t.Run(name, func(t *testing.T) {
			inStandard(t, func(t *testing.T, s *server) {
				shared := &moody{Store: store.NewMemory(nil)}
				s.opts.Store = shared
				s.report(t)
				mood(shared, true)
				began := time.Now()
				require.Equal(t, "fine", s.CallTool(t.Context(), "report", map[string]any{"word": "21s"}).Text())
				if name == "fails" {
					require.Equal(t, 21*time.Second, time.Since(began))
				} else {
					require.Equal(t, 22*time.Second, time.Since(began))
				}
				mood(shared, false)
				require.Contains(t, s.log.String(), "mcp call gets no handle yet and its caller waits")
				time.Sleep(2 * time.Minute)
				require.Equal(t, "fine", s.result(t, s.handle(t, "report", "1m")).Text())
				require.NotContains(t, s.Sent(), harness.Canary)
			})
		})
	}
}

// TestStoreIsGoneMeanwhile: a caller reads that the store is away, and no more. When it is back, the answer is there.
func TestStoreIsGoneMeanwhile(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		shared := &moody{Store: store.NewMemory(nil)}
		s.opts.Store = shared
		s.report(t)
		id := s.handle(t, "report", "1m")
		shared.fails.Store(true)
		idOf(t, s.ask(t, "task_result", id)) // this server runs it
		time.Sleep(40 * time.Second)         // the call ends without the store
		for _, tool := range []string{"task_result", "task_cancel"} {
			got := s.ask(t, tool, "BTGBDNSAGDJVU5KKPN7M6IGCS5")
			require.Equal(t, fault.KindServiceUnavailable, got.Fault().Kind())
			require.Contains(t, got.Text(), "Retry: yes")
		}
		shared.fails.Store(false)
		time.Sleep(5 * time.Second)
		require.Equal(t, "fine", s.ask(t, "task_result", id).Text())
		require.NotContains(t, s.Sent(), harness.Canary)
		require.NotContains(t, s.Sent(), "10.0.0.7")
	})
}

// TestStoreIsAwayForLong: an answer that could not be kept for a minute is lost, and what its caller reads is true.
func TestStoreIsAwayForLong(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		shared := &moody{Store: store.NewMemory(nil)}
		s.opts.Store = shared
		s.report(t)
		id := s.handle(t, "report", "30s")
		shared.fails.Store(true)
		time.Sleep(3 * time.Minute)
		shared.fails.Store(false)
		require.Equal(t, "TASK_UNKNOWN_END", s.ask(t, "task_result", id).Fault().Code())
		require.Equal(t, "TASK_UNKNOWN_END", s.ask(t, "task_cancel", id).Fault().Code())
	})
}

// TestStoreIsFull: calls wait for their ends until there is room.
func TestStoreIsFull(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		small := store.NewMemory(&store.MemoryOptions{MaxBytes: 20_000})
		s.opts.Store, s.opts.Limits = small, task.Limits{OwnerBytes: -1, AnswerBytes: 1000}
		s.report(t)
		for i := range 100 {
			if _, _, err := small.Swap(t.Context(), fmt.Sprint(i), 0, make([]byte, 1000), time.Hour); err != nil {
				break
			}
		}
		require.Equal(t, "fine", s.CallTool(t.Context(), "report", map[string]any{"word": "30s"}).Text())
		time.Sleep(2 * time.Hour)
		require.Equal(t, "fine", s.result(t, s.handle(t, "report", "30s")).Text())
	})
}

// cipher writes texts backwards and the place in front of them.
type cipher struct{ fails *atomic.Bool }

func (c cipher) turn(text []byte) []byte {
	out := make([]byte, len(text))
	for i, b := range text {
		out[i] = ^b
	}
	return out
}

func (c cipher) Seal(_ string, text []byte) ([]byte, error) {
	if c.fails.Load() {
		return nil, errDown
	}
	return c.turn(text), nil
}

func (c cipher) Open(_ string, sealed []byte) ([]byte, error) {
	if c.fails.Load() {
		return nil, errDown
	}
	return c.turn(sealed), nil
}

// TestCipher: no clear text is in the store, and what cannot be read is a failure of the store for its caller.
func TestCipher(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		seen := &spy{Store: store.NewMemory(nil)}
		c := cipher{new(atomic.Bool)}
		s.opts.Store, s.opts.Cipher = seen, c
		s.report(t)
		id := s.handle(t, "report", "30s")
		require.Equal(t, "fine", s.result(t, id).Text())
		require.NotContains(t, seen.all.String(), "fine")
		require.NotContains(t, seen.all.String(), id)
		c.fails.Store(true)
		require.Equal(t, fault.KindServiceUnavailable, s.ask(t, "task_result", id).Fault().Kind())
		require.Equal(t, "fine", s.CallTool(t.Context(), "report", map[string]any{"word": "30s"}).Text(), "it waits")
		require.NotContains(t, s.Sent(), harness.Canary)
	})
}

// A spy keeps what is written.
type spy struct {
	store.Store

	mu  sync.Mutex
	all strings.Builder
}

func (s *spy) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	s.mu.Lock()
	s.all.WriteString(key + " " + string(value) + "\n")
	s.mu.Unlock()
	return s.Store.Swap(ctx, key, old, value, ttl)
}
