package kept_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/store"
)

const name = "group|name"

func over(kept.Record) bool { return true }

// begun returns a Keeper with a store, and an entry that has begun.
func begun(t *testing.T, k kept.Keeper) (*kept.Keeper, *kept.Entry) {
	t.Helper()
	keeper := kept.New("test", k)
	e := keeper.Entry(name, "report", slog.New(slog.DiscardHandler))
	there, err := e.Begin(t.Context(), kept.Record{Args: "args"}, nil)
	require.NoError(t, err)
	require.Nil(t, there)
	return keeper, e
}

func answer(text string) *kept.Record {
	return &kept.Record{Done: true, Answer: &kept.Answer{Result: json.RawMessage(`"` + text + `"`)}}
}

// TestAReaderSeesHowFarACallIs: before it, while it runs with what it says, and after its end.
func TestAReaderSeesHowFarACallIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := store.NewMemory(nil)
		reader := kept.New("test", kept.Keeper{Store: shared})
		read := func(wantRunning, wantFound bool) kept.Record {
			t.Helper()
			rec, running, found, err := reader.Read(t.Context(), name)
			require.NoError(t, err)
			require.Equal(t, wantRunning, running)
			require.Equal(t, wantFound, found)
			return rec
		}
		read(false, false)
		_, e := begun(t, kept.Keeper{Store: shared})
		var beats atomic.Int64
		e.KeepAlive(func(ctx context.Context) {
			beats.Add(1)
			require.NoError(t, e.Update(ctx, func(rec *kept.Record) { rec.Said = "30 of 100" }))
		})
		require.Empty(t, read(true, true).Said)
		time.Sleep(time.Minute + time.Second)
		require.EqualValues(t, 12, beats.Load())
		require.Equal(t, "30 of 100", read(true, true).Said)
		_, err := reader.Entry(name, "report", nil).Begin(t.Context(), kept.Record{}, over)
		require.ErrorIs(t, err, kept.ErrHeld)

		e.Finish(t.Context(), answer("done"))
		rec := read(false, true)
		require.True(t, rec.Done)
		require.Equal(t, "args", rec.Args)
		require.Empty(t, rec.Said)
		require.JSONEq(t, `"done"`, string(rec.Answer.Result))
		require.NoError(t, e.Update(t.Context(), func(rec *kept.Record) { rec.Said = "late" }))
		require.Equal(t, rec, read(false, true))
		time.Sleep(time.Minute)
		require.EqualValues(t, 12, beats.Load())

		there, err := reader.Entry(name, "report", nil).Begin(t.Context(), kept.Record{}, nil)
		require.NoError(t, err)
		require.Equal(t, rec, *there)
		require.Equal(t, rec, read(false, true), "and no lease stands")
		_, _, err = shared.Swap(t.Context(), name+"/live", 0, []byte("died"), time.Hour)
		require.NoError(t, err)
		require.Equal(t, rec, read(false, true), "or one of a server that died before it ended it")
	})
}

// TestACallThatIsForgotten leaves nothing.
func TestACallThatIsForgotten(t *testing.T) {
	k, e := begun(t, kept.Keeper{})
	e.KeepAlive(nil)
	e.Finish(t.Context(), nil)
	_, running, found, err := k.Read(t.Context(), name)
	require.NoError(t, err)
	require.False(t, running)
	require.False(t, found)
}

// deaf is a store whose answers to so many writes are lost.
type deaf struct {
	store.Store

	lost int
	none bool // nothing is written either
}

var errDeaf = errors.New("the answer is lost")

func (d *deaf) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	if d.lost == 0 {
		return d.Store.Swap(ctx, key, old, value, ttl)
	}
	if d.lost--; !d.none {
		_, _, _ = d.Store.Swap(ctx, key, old, value, ttl)
	}
	return store.Item{}, false, errDeaf
}

// TestAnUpdateWhoseAnswerIsLost is no other call's record: the next one, and the end, are written over it.
func TestAnUpdateWhoseAnswerIsLost(t *testing.T) {
	for _, none := range []bool{false, true} {
		d := &deaf{Store: store.NewMemory(nil), none: none}
		k, e := begun(t, kept.Keeper{Store: d})
		e.KeepAlive(nil)
		d.lost = 1
		require.ErrorIs(t, e.Update(t.Context(), func(rec *kept.Record) { rec.Ran = "ran" }), errDeaf)
		rec, _, err := k.Look(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, !none, rec.Same("ran"))
		require.NoError(t, e.Update(t.Context(), func(rec *kept.Record) { rec.Said = "half" }))
		rec, _, err = k.Look(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, "half", rec.Said)
		require.Equal(t, "ran", rec.Ran)
		d.lost = 1
		require.Error(t, e.Update(t.Context(), func(rec *kept.Record) { rec.Ran = "other" }))
		e.Finish(t.Context(), answer("done"))
		rec, _, err = k.Look(t.Context(), name)
		require.NoError(t, err)
		require.True(t, rec.Done)
		require.Equal(t, "other", rec.Ran)
	}
}

// TestARecordThatIsTakenOver keeps both hashes of what it takes the place of.
func TestARecordThatIsTakenOver(t *testing.T) {
	for args, ran := range map[string]string{"sent": "ran", "ran": "sent"} {
		synctest.Test(t, func(t *testing.T) {
			k := kept.New("test", kept.Keeper{})
			dead := k.Entry(name, "", nil)
			_, err := dead.Begin(t.Context(), kept.Record{Args: "sent"}, nil)
			require.NoError(t, err)
			require.NoError(t, dead.Update(t.Context(), func(rec *kept.Record) { rec.Ran = "ran" }))
			time.Sleep(time.Minute)
			_, running, found, err := k.Read(t.Context(), name)
			require.NoError(t, err)
			require.False(t, running)
			require.True(t, found, "its end is unknown")
			there, err := k.Entry(name, "", nil).Begin(t.Context(), kept.Record{Args: args}, over)
			require.NoError(t, err)
			require.Nil(t, there)
			rec, running, _, err := k.Read(t.Context(), name)
			require.NoError(t, err)
			require.True(t, running)
			require.Equal(t, args, rec.Args)
			require.Equal(t, ran, rec.Ran)
		})
	}
}

// TestPut writes a record without a lease, unless another one is to stay.
func TestPut(t *testing.T) {
	k := kept.New("test", kept.Keeper{Limits: kept.Limits{KeysPerOwner: 1}})
	e := k.Entry(name, "", nil)
	ok, err := e.Put(t.Context(), kept.Record{Args: "1"}, func(kept.Record) bool { panic("nothing stands there") })
	require.NoError(t, err)
	require.True(t, ok)
	for args, want := range map[string]bool{"1": true, "2": false} {
		ok, err = e.Put(t.Context(), kept.Record{Args: args}, func(there kept.Record) bool { return there.Args == args })
		require.NoError(t, err)
		require.Equal(t, want, ok)
	}
	_, running, found, err := k.Read(t.Context(), name)
	require.NoError(t, err)
	require.False(t, running)
	require.True(t, found)
	_, err = k.Entry("group|other", "", nil).Put(t.Context(), kept.Record{}, over)
	full := fault.New(fault.KindRateLimited, "many")
	require.ErrorContains(t, k.Refused(err, full, nil), "many")
	require.NoError(t, k.Refused(errDeaf, full, full))
}
