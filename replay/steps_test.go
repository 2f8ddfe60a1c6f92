package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/store"
)

// hooked is a store that calls functions before what it does. One that returns an error is what the
// store returns.
type hooked struct {
	store.Store

	get, remove func(key string) error
	swap        func(key string, old store.Version, value []byte) error
	blind       atomic.Int32 // so many looks at records find nothing
}

func isLive(key string) bool { return strings.HasSuffix(key, "/live") }

func (h *hooked) Get(ctx context.Context, key string) (store.Item, error) {
	if h.get != nil {
		if err := h.get(key); err != nil {
			return store.Item{}, err
		}
	}
	if !isLive(key) && h.blind.Add(-1) >= 0 {
		return store.Item{}, nil
	}
	return h.Store.Get(ctx, key)
}

func (h *hooked) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	if h.swap != nil {
		if err := h.swap(key, old, value); err != nil {
			return store.Item{}, false, err
		}
	}
	return h.Store.Swap(ctx, key, old, value, ttl)
}

func (h *hooked) Delete(ctx context.Context, key string, old store.Version) (bool, error) {
	if h.remove != nil {
		if err := h.remove(key); err != nil {
			return false, err
		}
	}
	return h.Store.Delete(ctx, key, old)
}

// abandoned leaves a record in a store that says that a handler runs, of a server that died.
func abandoned(t *testing.T, shared store.Store, key, args string) {
	t.Helper()
	dying := &severed{Store: shared}
	dead := bank{answer: func(context.Context) (*mcp.CallToolResult, error) {
		dying.cut.Store(true)
		time.Sleep(3 * time.Hour)
		return nil, nil
	}}
	go func() {
		_, _ = dead.server(owned(replay.Options{Store: dying}))(t.Context(), "tools/call", request(key, args))
	}()
	time.Sleep(time.Minute) // the lease is over
}

// TestARecordBetweenTheLookAndTheLease: what was written after the look decides, and the lease that
// was taken meanwhile stands in nobody's way.
func TestARecordBetweenTheLookAndTheLease(t *testing.T) {
	for name, c := range map[string]struct {
		rerun bool
		args  string // of the second call
		done  bool   // the first one has ended
		code  string
	}{
		"done":                           {args: `{"amount":1}`, done: true},
		"done, with other arguments":     {args: `{"amount":2}`, done: true, code: "KEY_REUSED"},
		"dead":                           {args: `{"amount":1}`, code: "KEY_UNKNOWN_END"},
		"dead, with other arguments":     {args: `{"amount":2}`, code: "KEY_REUSED"},
		"harmless":                       {rerun: true, args: `{"amount":1}`},
		"harmless, with other arguments": {rerun: true, args: `{"amount":2}`, code: "KEY_REUSED"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b bank
				h := &hooked{Store: store.NewMemory(nil)}
				server := b.server(owned(replay.Options{Store: h, Rerun: func(string) bool { return c.rerun }}))
				if c.done {
					require.Equal(t, "payment 1", says(t, server, "k", `{"amount":1}`))
				} else {
					abandoned(t, h.Store, "k", `{"amount":1}`)
				}
				for range 2 {
					h.blind.Store(1)
					began := time.Now()
					if c.code == "" {
						require.Equal(t, "payment 1", says(t, server, "k", c.args))
					} else {
						require.Equal(t, c.code, refused(t, server, request("k", c.args)).Code())
					}
					require.Zero(t, time.Since(began), "nobody waits for a lease")
				}
				require.Equal(t, c.done || c.rerun && c.code == "", b.paid.Load() == 1)
				time.Sleep(4 * time.Hour)
			})
		})
	}
}

// TestARecordThatGoesMeanwhile: a record of a dead server that expires while another one takes its
// place is no record.
func TestARecordThatGoesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bank
		h := &hooked{Store: store.NewMemory(nil)}
		abandoned(t, h.Store, "k", `{}`)
		var gone atomic.Bool
		h.swap = func(key string, old store.Version, _ []byte) error {
			if !isLive(key) && old != 0 && !gone.Swap(true) {
				_, err := h.Store.Delete(t.Context(), key, old)
				return err
			}
			return nil
		}
		server := b.server(owned(replay.Options{Store: h, Rerun: func(string) bool { return true }}))
		require.Equal(t, "payment 1", says(t, server, "k", `{}`))
		require.True(t, gone.Load())
		require.Equal(t, "payment 1", says(t, server, "k", `{}`))
		time.Sleep(4 * time.Hour)
	})
}

// TestALeaseThatCouldNotBeEnded is ended as soon as the store answers, long before it would be over.
func TestALeaseThatCouldNotBeEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bank
		var failing atomic.Int32
		failing.Store(2)
		h := &hooked{Store: store.NewMemory(nil)}
		h.remove = func(key string) error {
			if isLive(key) && failing.Add(-1) >= 0 {
				return errSevered
			}
			return nil
		}
		h.swap = func(key string, _ store.Version, _ []byte) error {
			if !isLive(key) && failing.Load() > 0 {
				return fmt.Errorf("not sent: %w", store.ErrRefused)
			}
			return nil
		}
		server := b.server(owned(replay.Options{Store: h}))
		require.Equal(t, fault.KindServiceUnavailable, refused(t, server, request("k", `{}`)).Kind())
		began := time.Now()
		require.Equal(t, "payment 1", says(t, server, "k", `{}`))
		require.Less(t, time.Since(began), time.Second)
		time.Sleep(time.Minute)
	})
}

// TestTheLeaseIsHeldUntilTheRecordIsWithdrawn: a record that may not have been written is not
// mistaken for that of a server that died.
func TestTheLeaseIsHeldUntilTheRecordIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bank
		shared := store.NewMemory(nil)
		h := &hooked{Store: shared}
		var once, away atomic.Bool
		h.swap = func(key string, old store.Version, value []byte) error {
			if isLive(key) || once.Swap(true) {
				return nil
			}
			away.Store(true)
			_, _, err := shared.Swap(t.Context(), key, old, value, time.Hour)
			require.NoError(t, err)
			return errSevered // its answer is lost
		}
		h.get = func(key string) error {
			if !isLive(key) && away.Load() {
				return errSevered
			}
			return nil
		}
		require.Equal(t, fault.KindServiceUnavailable, refused(t, b.server(owned(replay.Options{Store: h})), request("k", `{}`)).Kind())
		time.AfterFunc(5*time.Second, func() { away.Store(false) })
		time.Sleep(2 * time.Second)
		require.Equal(t, "payment 1", says(t, b.server(owned(replay.Options{Store: shared})), "k", `{}`))
		time.Sleep(2 * time.Minute)
	})
}

// TestAWriteThatComesWhileItIsWithdrawn is withdrawn too.
func TestAWriteThatComesWhileItIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bank
		shared := store.NewMemory(nil)
		h := &hooked{Store: shared}
		var late func()
		h.swap = func(key string, old store.Version, value []byte) error {
			switch {
			case isLive(key):
			case late == nil: // the record is under way
				value = bytes.Clone(value)
				late = func() { _, _, _ = shared.Swap(context.Background(), key, old, value, time.Hour) }
				return errSevered
			case bytes.Contains(value, []byte(`"w":true`)):
				late()
				late = func() {}
			}
			return nil
		}
		server := b.server(owned(replay.Options{Store: h}))
		require.Equal(t, fault.KindServiceUnavailable, refused(t, server, request("k", `{}`)).Kind())
		time.Sleep(5 * time.Second)
		require.Equal(t, "payment 1", says(t, server, "k", `{}`))
		require.Equal(t, "payment 1", says(t, server, "k", `{}`))
		time.Sleep(2 * time.Minute)
	})
}
