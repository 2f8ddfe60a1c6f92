package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/store"
)

// modelled is one key of the model.
type modelled struct {
	value   string
	version store.Version
	ends    time.Duration
	counts  bool // towards the bound of its group
}

// size is what a key of the model counts with a value.
func size(key, value string) int { return store.Overhead + len(key) + len(value) }

// Model runs a program of operations, three bytes each, against a store and a
// simple map, and fails where they differ. It is for fuzzing. Time passes by
// Config.Advance, and not at all if it is nil.
func Model(tb testing.TB, c Config, program []byte) {
	tb.Helper()
	s := c.New(tb)
	ctx := tb.Context()
	var now time.Duration
	model := map[string]modelled{}
	var versions []store.Version // all versions so far
	live := func(key string) modelled {
		if m := model[key]; m.version != 0 && now < m.ends {
			return m
		}
		return modelled{}
	}
	values := []string{"", "7", "-3", "text", "9007199254740992"}
	deltas := []int64{1, -1, 5, store.MaxCount, -store.MaxCount, 1 << 62}
	var log strings.Builder
	check := func(what string, want, got any) {
		tb.Helper()
		if want != got {
			tb.Fatalf("%s: want %v, got %v, after\n%s", what, want, got, log.String())
		}
	}
	for ; len(program) >= 3; program = program[3:] {
		op, key, arg := program[0]%7, "g|"+string('a'+rune(program[1]%3)), int(program[2])
		ttl := time.Duration(1+arg%7)*time.Second - time.Second/2 // never ends when the clock stands
		have := live(key)
		old := have.version
		if pick := int(program[1]) / 3; pick%3 == 2 && len(versions) > 0 { // an older version
			old = versions[pick%len(versions)]
		}
		fmt.Fprintf(&log, "%d %s %d\n", op, key, arg)
		switch op {
		case 0:
			item, err := s.Get(ctx, key)
			check("Get", nil, err)
			check("Get", have.value, string(item.Value))
			check("Get's version", have.version, item.Version)
		case 1, 2:
			value := values[arg%len(values)]
			item, ok, err := s.Swap(ctx, key, old, []byte(value), ttl)
			check("Swap", nil, err)
			check("Swap's ok", old == have.version, ok)
			if ok {
				check("a version for each write", false, slices.Contains(versions, item.Version))
				have = modelled{value, item.Version, now + ttl, false}
				model[key] = have
				versions = append(versions, item.Version)
			}
			check("Swap's value", have.value, string(item.Value))
			check("Swap's version", have.version, item.Version)
		case 3:
			if arg%2 == 0 {
				old = 0
			}
			ok, err := s.Delete(ctx, key, old)
			check("Delete", nil, err)
			check("Delete's ok", have.version != 0 && (old == 0 || old == have.version), ok)
			if ok {
				delete(model, key)
			}
		case 4:
			want, wantErr := modelAdd(have.value, deltas[arg%len(deltas)])
			sum, err := s.Add(ctx, key, deltas[arg%len(deltas)], ttl)
			check("Add", true, errors.Is(err, wantErr))
			if wantErr == nil {
				check("Add's sum", want, sum)
				item, err := s.Get(ctx, key)
				check("Get", nil, err)
				if have.version == 0 {
					have.ends = now + ttl
				}
				check("a version for each write", true, item.Version != have.version)
				model[key] = modelled{strconv.FormatInt(sum, 10), item.Version, have.ends, false}
				versions = append(versions, item.Version)
			}
		case 5:
			value := values[arg%len(values)]
			bound := store.Bound{Keys: arg % 4, Bytes: arg % 3 * 2 * size(key, "text")}
			item, ok, err := s.Swap(store.Within(ctx, bound), key, old, []byte(value), ttl)
			if old != have.version {
				check("Swap's error", nil, err)
				check("Swap's ok", false, ok)
				check("Swap's version", have.version, item.Version)
				break
			}
			why := modelBound(bound, model, now, have, key, value)
			check("Swap's error", true, errors.Is(err, why))
			check("Swap's ok", why == nil, ok)
			if ok {
				check("a version for each write", false, slices.Contains(versions, item.Version))
				model[key] = modelled{value, item.Version, now + ttl, bound != store.Bound{}}
				versions = append(versions, item.Version)
			}
		default:
			if c.Advance != nil {
				c.Advance(time.Duration(arg%4) * time.Second)
				now += time.Duration(arg%4) * time.Second
			}
		}
	}
}

// modelAdd is what Store.Add has to do.
func modelAdd(value string, delta int64) (int64, error) {
	if delta > store.MaxCount {
		return 0, store.ErrRange
	}
	n, err := strconv.ParseInt(cmp.Or(value, "0"), 10, 64)
	if err != nil {
		return 0, store.ErrNotCounter
	}
	if n += delta; n > store.MaxCount || n < -store.MaxCount {
		return 0, store.ErrRange
	}
	return n, nil
}

// modelBound returns the error that Swap has to return for a bound.
func modelBound(b store.Bound, model map[string]modelled, now time.Duration, have modelled, key, value string) error {
	if have.counts && len(value) <= len(have.value) {
		return nil
	}
	keys, bytes := 1, size(key, value)
	for other, m := range model {
		if m.counts && now < m.ends && other != key {
			keys, bytes = keys+1, bytes+size(other, m.value)
		}
	}
	switch {
	case b.Keys > 0 && !have.counts && keys > b.Keys:
		return store.ErrManyKeys
	case b.Bytes > 0 && bytes > b.Bytes:
		return store.ErrManyBytes
	default:
		return nil
	}
}
