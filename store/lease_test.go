package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	losing(func() error { _, _, err := store.Acquire(ctx, s, "k", []byte("a"), time.Hour); return err })
	other, _, err := store.Acquire(ctx, s, "k", []byte("b"), time.Hour)
	require.NoError(t, err)
	require.Nil(t, other)
	lease, _, err := store.Acquire(ctx, s, "k", []byte("a"), time.Hour)
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
