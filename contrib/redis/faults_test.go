package redis_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/store"
)

// A proxy stands between clients and servers, and hurts them.
type proxy struct {
	addr    string
	targets []string // in turn
	next    atomic.Int64

	cutBefore, cutAfter, delay atomic.Int64 // of 1000 pieces of traffic: not sent, sent but not answered, late

	mu    sync.Mutex
	conns map[net.Conn]bool
}

func newProxy(tb testing.TB, targets ...string) *proxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	p := &proxy{addr: listener.Addr().String(), targets: targets, conns: map[net.Conn]bool{}}
	tb.Cleanup(func() { _ = listener.Close(); p.cutAll() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return p
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.targets[int(p.next.Add(1))%len(p.targets)])
	p.mu.Lock()
	if err != nil {
		p.mu.Unlock()
		_ = client.Close()
		return
	}
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	done := func() {
		_, _ = client.Close(), server.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, client)
		delete(p.conns, server)
	}
	chance := func(of *atomic.Int64) bool { return rand.Int64N(1000) < of.Load() }
	pump := func(to io.Writer, from io.Reader, cut *atomic.Int64) {
		defer done()
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if err != nil || chance(cut) {
				return
			}
			if chance(&p.delay) {
				time.Sleep(time.Duration(rand.Int64N(int64(40 * time.Millisecond))))
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	go pump(server, client, &p.cutBefore)
	pump(client, server, &p.cutAfter)
}

// cutAll breaks every connection.
func (p *proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
}

func faultOf(t testing.TB, err error) *fault.Error {
	t.Helper()
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	require.Equal(t, fault.KindServiceUnavailable, f.Kind())
	for _, word := range []string{"redis", "Redis", "127.0.0.1", "OOM", "READONLY", "EOF", "i/o"} {
		require.NotContains(t, f.Error(), word)
	}
	return f
}

// TestErrorsAreMaskedAndSayWhatToDo lets Redis fail in each of its ways.
func TestErrorsAreMaskedAndSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		says  string
		after float64 // negative: do not try again; zero: nobody knows how long
		is    error
	}{
		{"OOM command not allowed when used memory > 'maxmemory'.", 30, store.ErrFull},
		{"READONLY You can't write against a read only replica.", 2, nil},
		{"LOADING Redis is loading the dataset in memory", 5, nil},
		{"CLUSTERDOWN The cluster is down", 2, nil},
		{"MASTERDOWN Link with MASTER is down", 2, nil},
		{"MISCONF Redis is configured to save RDB snapshots", 5, nil},
		{"NOREPLICAS Not enough good replicas to write.", 2, nil},
		{"NOAUTH Authentication required.", -1, nil},
		{"NOPERM this user has no permissions", -1, nil},
		{"ERR something new", 0, nil},
	} {
		t.Run(c.says[:6], func(t *testing.T) {
			p := embedded(t)
			s := mcpredis.New(p.client, &mcpredis.Options{Timeout: 30 * time.Second}) // for the repetitions of go-redis
			_, err := s.Get(t.Context(), "k")                                         // connected
			require.NoError(t, err)
			p.mini.SetError(c.says)
			_, getErr := s.Get(t.Context(), "k")
			_, _, swapErr := s.Swap(t.Context(), "k", 0, nil, time.Hour)
			_, deleteErr := s.Delete(t.Context(), "k", 0)
			_, addErr := s.Add(t.Context(), "k", 1, time.Hour)
			_, _, takeErr := s.Take(t.Context(), bucket("k", 1, 1, time.Second))
			for _, err := range []error{getErr, swapErr, deleteErr, addErr, takeErr} {
				f := faultOf(t, err)
				retry, ok := f.Retry()
				require.True(t, ok)
				require.Equal(t, c.after >= 0, retry.ShouldRetry)
				require.InDelta(t, max(0, c.after), retry.RetryAfterSeconds, 0.01)
				if c.is != nil {
					require.ErrorIs(t, err, c.is)
				}
			}
			p.mini.SetError("")
			_, ok, err := s.Swap(t.Context(), "k", 0, nil, time.Hour)
			require.NoError(t, err)
			require.True(t, ok, "nothing was stored")
		})
	}
}

// TestARedisThatHangs proves that a call ends in time when nobody answers.
func TestARedisThatHangs(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	client := goredis.NewClient(&goredis.Options{Addr: silent.Addr().String(), ContextTimeoutEnabled: true})
	defer func() { _ = client.Close() }()
	s := mcpredis.New(client, &mcpredis.Options{Timeout: 100 * time.Millisecond})
	for name, do := range map[string]func() error{
		"get":    func() error { _, err := s.Get(t.Context(), "k"); return err },
		"swap":   func() error { _, _, err := s.Swap(t.Context(), "k", 0, nil, time.Hour); return err },
		"delete": func() error { _, err := s.Delete(t.Context(), "k", 0); return err },
		"add":    func() error { _, err := s.Add(t.Context(), "k", 1, time.Hour); return err },
	} {
		began := time.Now()
		_ = faultOf(t, do())
		require.Less(t, time.Since(began), 30*time.Second, name)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gaveUp := errors.New("gave up")
	cancel(gaveUp)
	_, err = s.Get(ctx, "k")
	require.ErrorIs(t, err, gaveUp, "the caller's own end stays what it is")
}

// losing is a hook that lets commands take effect and loses their answers.
type losing struct {
	goredis.Hook

	left atomic.Int32
}

func (l *losing) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (l *losing) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (l *losing) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if err == nil && l.left.Add(-1) >= 0 {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return err
	}
}

// TestALostAnswerIsFound loses answers after a swap has taken effect: Swap returns what
// really happened.
func TestALostAnswerIsFound(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		hook := &losing{}
		p.client.AddHook(hook)
		s := mcpredis.New(p.client, &mcpredis.Options{Prefix: prefix(), Timeout: 5 * time.Second})
		item, ok, err := s.Swap(t.Context(), "k", 0, []byte("0"), time.Hour)
		require.NoError(t, err)
		require.True(t, ok)
		for _, lost := range []int32{1, 2} {
			hook.left.Store(lost)
			item, ok, err = s.Swap(t.Context(), "k", item.Version, fmt.Append(nil, lost), time.Hour)
			require.NoError(t, err)
			require.True(t, ok)
			now, err := s.Get(t.Context(), "k")
			require.NoError(t, err)
			require.Equal(t, item, now)
		}
		hook.left.Store(100)
		_, ok, err = s.Swap(t.Context(), "k", item.Version, []byte("x"), time.Hour)
		hook.left.Store(0)
		_ = faultOf(t, err)
		require.False(t, ok)
		for _, once := range []func() error{
			func() error { _, err := s.Add(t.Context(), "n", 1, time.Hour); return err },
			func() error { _, err := s.Delete(t.Context(), "k", 0); return err },
		} {
			hook.left.Store(1)
			_ = faultOf(t, once())
			require.Zero(t, hook.left.Load(), "it was sent once")
		}
		sum, err := s.Add(t.Context(), "n", 0, time.Hour)
		require.NoError(t, err)
		require.EqualValues(t, 1, sum)
	})
}

// TestALostAnswerOfSeveralIsFound: those that only store are asked for again; what removes is sent once.
func TestALostAnswerOfSeveralIsFound(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		hook := &losing{}
		p.client.AddHook(hook)
		s := mcpredis.New(p.client, &mcpredis.Options{Prefix: prefix(), Timeout: 5 * time.Second})
		swap := func(key string, old store.Version, value string) store.Op {
			return store.Op{Key: key, Old: old, Value: []byte(value), TTL: time.Hour, Bound: store.Bound{Keys: 2}}
		}
		_, err := s.Do(t.Context(), swap("g|a", 0, "0")) // Redis knows the script
		require.NoError(t, err)
		a, err := s.Get(t.Context(), "g|a")
		require.NoError(t, err)
		for _, lost := range []int32{1, 2} {
			hook.left.Store(lost)
			key := fmt.Sprint("free", lost)
			done, err := s.Do(t.Context(), swap("g|a", a.Version, "1"), store.Op{Key: "g|" + key, Value: []byte("2"), TTL: time.Hour})
			require.NoError(t, err)
			require.True(t, done[0].OK)
			require.True(t, done[1].OK)
			now, err := s.Get(t.Context(), "g|a")
			require.NoError(t, err)
			require.Equal(t, done[0].Item, now)
			a = now
		}
		hook.left.Store(1)
		_, err = s.Do(t.Context(), swap("g|a", 7, "x"), store.Op{Key: "g|free1", Value: []byte("x"), TTL: time.Hour})
		_ = faultOf(t, err) // another one may have been faster, or the first try

		hook.left.Store(1)
		_, err = s.Do(t.Context(), swap("g|a", a.Version, "3"), store.Op{Key: "g|free2", Old: 7, Anyway: true})
		_ = faultOf(t, err)
		require.Zero(t, hook.left.Load(), "it was sent once")
		now, err := s.Get(t.Context(), "g|a")
		require.NoError(t, err)
		require.Equal(t, "3", string(now.Value))
		_, err = s.Do(t.Context(), swap("g|a", now.Version, "4"), store.Op{Key: "other|b", Old: 7})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		done, err := store.Do(t.Context(), s, swap("g|a", now.Version, "4"), store.Op{Key: "other|b", Old: 7})
		require.NoError(t, err)
		require.True(t, done[0].OK)
	})
}

// unsent is a hook that breaks connections before a command is sent, which the client cannot
// distinguish.
type unsent struct{ losing }

func (u *unsent) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if u.left.Add(-1) >= 0 {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return next(ctx, cmd)
	}
}

// TestWhatIsKnownAfterAnError: what Redis refused, or was never sent, was not stored. After a lost
// answer it is unknown, whatever Redis answers to the next try.
func TestWhatIsKnownAfterAnError(t *testing.T) {
	p := embedded(t)
	hook := new(unsent)
	p.client.AddHook(hook)
	s := mcpredis.New(p.client, &mcpredis.Options{Timeout: 5 * time.Second})
	item, ok, err := s.Swap(t.Context(), "g|a", 0, nil, time.Hour)
	require.NoError(t, err)
	require.True(t, ok)

	full := store.Within(t.Context(), store.Bound{Bytes: store.Overhead + 100})
	_, ok, err = s.Swap(full, "g|b", 0, nil, time.Hour)
	require.NoError(t, err)
	require.True(t, ok)
	_, _, err = s.Swap(full, "g|a", item.Version, nil, time.Hour)
	require.ErrorIs(t, err, store.ErrManyBytes)
	require.True(t, notStored(err))
	hook.left.Store(1)
	_, _, err = s.Swap(full, "g|a", item.Version, nil, time.Hour)
	_ = faultOf(t, err)
	require.False(t, notStored(err), "the first try may still come")
	hook.left.Store(3)
	_, _, err = s.Swap(t.Context(), "g|a", item.Version, nil, time.Hour)
	_ = faultOf(t, err)
	require.False(t, notStored(err))

	p.mini.SetError("READONLY You can't write against a read only replica.")
	_, _, err = s.Swap(t.Context(), "g|a", item.Version, nil, time.Hour)
	_ = faultOf(t, err)
	require.ErrorIs(t, err, store.ErrRefused)
	p.mini.SetError("")
	hook.left.Store(1)
	_, err = s.Add(t.Context(), "n", 1, time.Hour)
	require.False(t, notStored(err))

	gone := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: true, DialerRetries: 1, MaxRetries: -1})
	defer func() { _ = gone.Close() }()
	_, _, err = mcpredis.New(gone, &mcpredis.Options{Timeout: 5 * time.Second}).Swap(t.Context(), "g|a", item.Version, nil, time.Hour)
	_ = faultOf(t, err)
	require.ErrorIs(t, err, store.ErrRefused)
	require.True(t, notStored(err))
}

// TestAKeyedCallWhoseAnswersAreLost loses one answer of Redis, or several, from each of the steps of a
// call on: its handler runs once.
func TestAKeyedCallWhoseAnswersAreLost(t *testing.T) {
	p := embedded(t)
	hook := &losingFrom{}
	p.client.AddHook(hook)
	s := mcpredis.New(p.client, &mcpredis.Options{Timeout: 5 * time.Second})
	runs := map[string]int{}
	server := replay.New(&replay.Options{Store: s, Owner: ownerOf, Logger: slog.New(slog.DiscardHandler)})(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		runs[replay.Key(ctx)]++
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "paid"}}}, nil
	})
	require.Nil(t, failureOf(t, server, keyed("ann", "first")))
	for step := range 4 {
		for _, lost := range []int32{1, 2, 3} {
			key := fmt.Sprint("lost ", lost, " from ", step)
			hook.from.Store(int32(step))
			hook.left.Store(lost)
			refused := failureOf(t, server, keyed("ann", key))
			hook.left.Store(0)
			if refused != nil {
				require.Zero(t, runs[key], "a call that is refused has not run")
			}
			require.Eventually(t, func() bool { return failureOf(t, server, keyed("ann", key)) == nil }, 20*time.Second, 10*time.Millisecond)
			require.Equal(t, 1, runs[key], key)
		}
	}
}

// losingFrom is losing that begins after so many commands.
type losingFrom struct {
	losing

	from atomic.Int32
}

func (l *losingFrom) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	lossy := l.losing.ProcessHook(next)
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if l.from.Add(-1) >= 0 {
			return next(ctx, cmd)
		}
		return lossy(ctx, cmd)
	}
}

// ops of the models.
type op struct {
	kind     string // get, swap, delete; acquire, renew, release
	old, new string
}

type result struct {
	ok      bool
	there   string // what was found
	unknown bool   // the answer was lost: it may have happened, at any time since
}

// registerModel is a key with compare and swap. Values stand for their versions, since
// each write has its own.
var registerModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		have, in, out := state.(string), input.(op), output.(result)
		switch in.kind {
		case "get":
			return out.unknown || out.there == have, have
		case "swap":
			switch {
			case out.unknown && have == in.old:
				return true, in.new
			case out.unknown:
				return true, have
			case out.ok:
				return have == in.old, in.new
			default:
				return have == out.there && have != in.old, have
			}
		default:
			switch {
			case out.unknown && have == in.old, out.ok && have == in.old:
				return true, ""
			case out.unknown:
				return true, have
			default:
				return !out.ok && have != in.old, have
			}
		}
	},
}

// history collects the operations on one key.
type history struct {
	mu    sync.Mutex
	begun time.Time
	ops   []porcupine.Operation
}

func (h *history) run(client int, in op, do func() result) result {
	from := time.Since(h.begun)
	out := do()
	to := time.Since(h.begun)
	if out.unknown {
		to = time.Hour
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: int64(from), Return: int64(to)})
	return out
}

func (h *history) check(t *testing.T, model porcupine.Model) {
	t.Helper()
	unknown := 0
	for _, o := range h.ops {
		if o.Output.(result).unknown {
			unknown++
		}
	}
	t.Logf("%d operations, %d of unknown end", len(h.ops), unknown)
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(model, h.ops, 30*time.Second))
}

// hurt returns stores on a Redis of each kind behind a proxy that cuts and delays.
func hurt(t *testing.T, test func(t *testing.T, newStore func() *mcpredis.Store)) {
	t.Helper()
	everywhere(t, func(t *testing.T, p place) {
		single, ok := p.client.(*goredis.Client)
		if !ok {
			t.Skip("a client of a cluster goes to the addresses that the nodes tell")
		}
		bad := newProxy(t, single.Options().Addr)
		bad.cutBefore.Store(15)
		bad.cutAfter.Store(30)
		bad.delay.Store(50)
		pre := prefix()
		test(t, func() *mcpredis.Store {
			client := goredis.NewClient(&goredis.Options{Addr: bad.addr, ContextTimeoutEnabled: true, MaxRetries: -1, DialTimeout: time.Second})
			t.Cleanup(func() { _ = client.Close() })
			return mcpredis.New(client, &mcpredis.Options{Prefix: pre, Timeout: 300 * time.Millisecond})
		})
	})
}

func TestSwapIsLinearizable(t *testing.T) {
	hurt(t, func(t *testing.T, newStore func() *mcpredis.Store) {
		const clients, keys, each = 5, 4, 120
		histories := make([]history, keys)
		for i := range histories {
			histories[i].begun = time.Now()
		}
		var values sync.Map // of versions
		var writes atomic.Int64
		var work sync.WaitGroup
		for c := range clients {
			s := newStore()
			work.Go(func() {
				seen := make([]store.Item, keys)
				for range each {
					k := rand.IntN(keys)
					key, h, have := fmt.Sprint("k", k), &histories[k], &seen[k]
					note := func(item store.Item) result {
						if v, ok := values.LoadOrStore(item.Version, string(item.Value)); item.Version != 0 && ok && v != string(item.Value) {
							t.Errorf("version %d stands for two values", item.Version)
						}
						*have = item
						return result{there: string(item.Value)}
					}
					in := op{old: string(have.Value)}
					switch rand.IntN(10) {
					case 0, 1, 2:
						in.kind = "get"
						h.run(c, in, func() result {
							item, err := s.Get(t.Context(), key)
							if err != nil {
								return result{unknown: true}
							}
							return note(item)
						})
					case 3:
						if have.Version == 0 {
							continue
						}
						in.kind = "delete"
						out := h.run(c, in, func() result {
							ok, err := s.Delete(t.Context(), key, have.Version)
							return result{ok: ok, unknown: err != nil}
						})
						if out.ok {
							*have = store.Item{}
						}
					default:
						in.kind, in.new = "swap", fmt.Sprint("v", writes.Add(1))
						h.run(c, in, func() result {
							item, ok, err := s.Swap(t.Context(), key, have.Version, []byte(in.new), time.Hour)
							if err != nil {
								return result{unknown: true}
							}
							out := note(item)
							out.ok = ok
							return out
						})
					}
				}
			})
		}
		work.Wait()
		for i := range histories {
			histories[i].check(t, registerModel)
		}
	})
}

// notStored reports whether an error says that nothing was stored.
func notStored(err error) bool {
	return errors.Is(err, store.ErrRefused) || errors.Is(err, store.ErrManyBytes) || errors.Is(err, store.ErrFull)
}
