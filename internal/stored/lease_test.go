package stored_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/stored"
	"github.com/mcpchain/mcpchain/store"
)

// deaf is a store whose answers to writes are lost while the test wants it.
type deaf struct {
	store.Store

	lost bool
}

var errLost = errors.New("the answer was lost")

func (d *deaf) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	item, ok, err := d.Store.Swap(ctx, key, old, value, ttl)
	if d.lost {
		return store.Item{}, false, errLost
	}
	return item, ok, err
}

// TestALeaseFindsWritesWhoseAnswersWereLost proves that a holder which was not told
// that it has its lease or has renewed it finds out when it asks again.
func TestALeaseFindsWritesWhoseAnswersWereLost(t *testing.T) {
	s := &deaf{Store: store.NewMemory(nil)}
	ctx := t.Context()
	losing := func(do func() error) {
		t.Helper()
		s.lost = true
		require.ErrorIs(t, do(), errLost)
		s.lost = false
	}
	losing(func() error { _, _, err := stored.Acquire(ctx, s, "k", []byte("a"), time.Hour); return err })
	other, _, err := stored.Acquire(ctx, s, "k", []byte("b"), time.Hour)
	require.NoError(t, err)
	require.Nil(t, other)
	lease, _, err := stored.Acquire(ctx, s, "k", []byte("a"), time.Hour)
	require.NoError(t, err)
	require.NotNil(t, lease)

	renew := func() error { _, err := lease.Renew(ctx, time.Hour); return err }
	losing(renew)
	ok, err := lease.Renew(ctx, time.Hour)
	require.NoError(t, err)
	require.True(t, ok)

	losing(renew)
	ok, err = lease.Release(ctx)
	require.NoError(t, err)
	require.True(t, ok)
	item, err := s.Get(ctx, "k")
	require.NoError(t, err)
	require.Zero(t, item.Version)
	ok, err = lease.Renew(ctx, time.Hour)
	require.NoError(t, err)
	require.False(t, ok, "nothing stands there")
}

// suite is a test with its store.
type suite struct {
	*testing.T
	store.Store
}

func (s *suite) get(key string) store.Item {
	s.Helper()
	item, err := s.Get(s.Context(), key)
	require.NoError(s, err)
	return item
}

func (s *suite) del(key string, old store.Version) bool {
	s.Helper()
	return s.must(s.Delete(s.Context(), key, old))
}

func equal[T any](s *suite, what string, want, got T) {
	s.Helper()
	require.Equal(s, want, got, what)
}

const unit = time.Second

func TestLease(t *testing.T) {
	for name, test := range map[string]func(*suite){
		"one holder": (*suite).lease, "operations with it": (*suite).leaseWith, "its end": (*suite).leaseExpiry,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(&suite{t, store.NewMemory(nil)}) })
		})
	}
}

func (s *suite) leaseWith() {
	record := func(old store.Version, value string) store.Op {
		return store.Op{Key: "k|record", Old: old, Value: []byte(value), TTL: time.Hour}
	}
	with := func(holder string, ops ...store.Op) (*stored.Lease, []store.Done) {
		s.Helper()
		l, done, err := stored.Acquire(s.Context(), s.Store, "k|lease", []byte(holder), time.Hour, ops...)
		if err != nil {
			s.Fatal(err)
		}
		return l, done
	}
	after := func(l *stored.Lease, ops ...store.Op) []store.Done {
		s.Helper()
		done, err := l.ReleaseAfter(s.Context(), ops...)
		if err != nil || len(done) != len(ops) {
			s.Fatalf("ReleaseAfter returned %d results: %v", len(done), err)
		}
		return done
	}
	a, done := with("a", record(0, "begun"))
	equal(s, "the record", true, done[0].OK)
	begun := done[0].Item.Version
	b, done := with("b", record(0, "begun by b"))
	equal(s, "a second holder", nil, b)
	equal(s, "what it made", 0, len(done))
	again, done := with("a", record(begun, "begun again"))
	if again == nil {
		s.Fatal("a holder whose answer was lost does not find its lease")
	}
	equal(s, "the record", true, done[0].OK)
	begun = done[0].Item.Version

	equal(s, "renew", true, s.must(a.Renew(s.Context(), time.Hour)))
	done = after(again, record(begun, "done")) // its version of the lease is an old one
	equal(s, "the record", true, done[0].OK)
	equal(s, "the lease", 0, s.get("k|lease").Version)
	equal(s, "of a lease that is over", false, after(a, record(7, "x"))[0].OK)

	b, _ = with("b")
	equal(s, "not ok", false, after(b, record(7, "x"))[0].OK)
	equal(s, "the lease ends anyway", 0, s.get("k|lease").Version)

	b, _ = with("b")
	c, _ := with("c")
	equal(s, "another holder", nil, c)
	equal(s, "delete", true, s.del("k|lease", 0))
	c, _ = with("c")
	equal(s, "renew what another has", false, s.must(b.Renew(s.Context(), time.Hour)))
	equal(s, "its record", true, after(b, record(done[0].Item.Version, "late"))[0].OK)
	equal(s, "whose it is", "c", string(s.get("k|lease").Value))
	equal(s, "renew", true, s.must(c.Renew(s.Context(), time.Hour)))

	equal(s, "delete", true, s.del("k|lease", 0))
	d, _ := with("d")
	after(c) // it does not know yet that it has lost the lease
	equal(s, "whose it is", "d", string(s.get("k|lease").Value))
	equal(s, "renew", true, s.must(d.Renew(s.Context(), time.Hour)))
}

func (s *suite) acquire(holder string, ttl time.Duration) *stored.Lease {
	s.Helper()
	lease, _, err := stored.Acquire(s.Context(), s.Store, "k", []byte(holder), ttl)
	if err != nil {
		s.Fatalf("Acquire: %v", err)
	}
	return lease
}

func (s *suite) must(ok bool, err error) bool {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	return ok
}

func (s *suite) lease() {
	a := s.acquire("a", time.Hour)
	b := s.acquire("b", time.Hour)
	equal(s, "a second holder", nil, b)
	equal(s, "the holder", "a", string(s.get("k").Value))
	again := s.acquire("a", time.Hour)
	if again == nil {
		s.Fatal("a holder whose answer was lost does not find its lease")
	}
	equal(s, "renew", true, s.must(a.Renew(s.Context(), time.Hour)))
	equal(s, "renew, of the same holder", true, s.must(again.Renew(s.Context(), time.Hour)))
	equal(s, "release", true, s.must(again.Release(s.Context())))
	equal(s, "renew after the release", false, s.must(a.Renew(s.Context(), time.Hour)))

	b = s.acquire("b", time.Hour)
	equal(s, "renew what another has", false, s.must(a.Renew(s.Context(), time.Hour)))
	equal(s, "release what another has", false, s.must(a.Release(s.Context())))
	equal(s, "release, of its holder", true, s.must(b.Release(s.Context())))
	equal(s, "release after the end", false, s.must(b.Release(s.Context())))
	equal(s, "what it leaves", 0, s.get("k").Version)
}

func (s *suite) leaseExpiry() {
	a := s.acquire("a", 3*unit)
	time.Sleep(2 * unit)
	b := s.acquire("b", time.Hour)
	equal(s, "while it lasts", nil, b)
	equal(s, "renew", true, s.must(a.Renew(s.Context(), 3*unit)))
	time.Sleep(2 * unit)
	b = s.acquire("b", time.Hour)
	equal(s, "while it lasts since the renewal", nil, b)
	time.Sleep(2 * unit)
	equal(s, "renew when it is over", false, s.must(a.Renew(s.Context(), time.Hour)))
	b = s.acquire("b", time.Hour)
	if b == nil {
		s.Fatal("the lease did not end")
	}
	equal(s, "release when another has it", false, s.must(a.Release(s.Context())))
	equal(s, "whose it is", "b", string(s.get("k").Value))
}
