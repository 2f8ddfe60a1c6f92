// Package storetest tests implementations of [store.Store].
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Config{New: func(testing.TB) store.Store { return mystore.New() }})
//	}
package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/store"
)

// Config says what is tested.
type Config struct {
	// New returns a store in which nothing stands under any key. It is called once
	// for each test. Required.
	New func(tb testing.TB) store.Store

	// Advance lets time pass for the store. Nil means [time.Sleep].
	Advance func(d time.Duration)

	// Around runs each test. Give [testing/synctest.Test] for a store in memory, so that
	// no time is lost. Nil means that the tests just run.
	Around func(t *testing.T, test func(t *testing.T))
}

// unit is the step of time: much longer than a call over loopback takes, even on a busy
// machine.
const unit = 200 * time.Millisecond

// Run runs the whole suite: what the documentation of [store.Store] promises, each promise a
// subtest.
func Run(t *testing.T, c Config) {
	t.Helper()
	if c.New == nil {
		t.Fatal("storetest.Run: Config.New is nil")
	}
	if c.Advance == nil {
		c.Advance = time.Sleep
	}
	if c.Around == nil {
		c.Around = func(t *testing.T, test func(t *testing.T)) { t.Helper(); test(t) }
	}
	for _, promise := range []struct {
		name string
		test func(*suite)
	}{
		{"an absent key is the zero item", (*suite).absent},
		{"swap stores only over the version that was seen", (*suite).swap},
		{"a version is never given twice", (*suite).versions},
		{"bytes come back as they were", (*suite).values},
		{"keys are told apart whatever they hold", (*suite).keys},
		{"what is too large is refused", (*suite).tooLarge},
		{"a value ends when its time is over", (*suite).expiry},
		{"a ttl is positive", (*suite).ttl},
		{"a value keeps the time of the one before", (*suite).keepTTL},
		{"delete removes only the version that was seen", (*suite).remove},
		{"add counts", (*suite).add},
		{"a counter is exact to 2^53", (*suite).addRange},
		{"the expiry of a counter is its first one", (*suite).addExpiry},
		{"no update is lost", (*suite).concurrent},
		{"no addition is lost", (*suite).concurrentAdd},
		{"one of many creates", (*suite).create},
		{"a group keeps the keys of its bound", (*suite).boundKeys},
		{"a group keeps the bytes of its bound", (*suite).boundBytes},
		{"what has expired takes no room", (*suite).boundExpired},
		{"the wait for room is true", (*suite).boundWait},
		{"no two of many exceed a bound together", (*suite).concurrentBound},
		{"several operations end at the first that is not ok", (*suite).do},
		{"a refusal ends several operations", (*suite).doRefused},
	} {
		t.Run(promise.name, func(t *testing.T) {
			c.Around(t, func(t *testing.T) { promise.test(&suite{T: t, Store: c.New(t), advance: c.Advance}) })
		})
	}
}

// suite is a test with its store and the calls that must not fail.
type suite struct {
	*testing.T
	store.Store

	advance func(time.Duration)
}

func (s *suite) get(key string) store.Item {
	s.Helper()
	item, err := s.Get(s.Context(), key)
	if err != nil {
		s.Fatalf("Get(%.40q): %v", key, err)
	}
	if item.Version == 0 && len(item.Value) > 0 {
		s.Fatalf("Get(%.40q): a value without a version", key)
	}
	return item
}

func (s *suite) put(key string, old store.Version, value string, ttl time.Duration) (store.Item, bool) {
	s.Helper()
	item, ok, err := s.Swap(s.Context(), key, old, []byte(value), ttl)
	if err != nil {
		s.Fatalf("Swap(%.40q): %v", key, err)
	}
	if ok && (string(item.Value) != value || item.Version == 0 || item.Version == old) {
		s.Fatalf("Swap(%.40q) returned version %d and %d bytes over version %d", key, item.Version, len(item.Value), old)
	}
	return item, ok
}

// set is put that requires success.
func (s *suite) set(key string, old store.Version, value string, ttl time.Duration) store.Version {
	s.Helper()
	item, ok := s.put(key, old, value, ttl)
	if !ok {
		s.Fatalf("Swap(%.40q) over version %d met version %d", key, old, item.Version)
	}
	return item.Version
}

func (s *suite) del(key string, old store.Version) bool {
	s.Helper()
	ok, err := s.Delete(s.Context(), key, old)
	if err != nil {
		s.Fatalf("Delete(%.40q): %v", key, err)
	}
	return ok
}

func (s *suite) count(key string, delta int64, ttl time.Duration) int64 {
	s.Helper()
	sum, err := s.Add(s.Context(), key, delta, ttl)
	if err != nil {
		s.Fatalf("Add(%.40q, %d): %v", key, delta, err)
	}
	return sum
}

func equal[T comparable](s *suite, what string, want, got T) {
	s.Helper()
	if want != got {
		s.Fatalf("%s: want %v, got %v", what, want, got)
	}
}

func (s *suite) wantErr(what string, want, err error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Fatalf("%s: want the error %q, got %v", what, want, err)
	}
}

func (s *suite) absent() {
	item := s.get("k")
	equal(s, "version", 0, item.Version)
	equal(s, "length", 0, len(item.Value))
	equal(s, "delete", false, s.del("k", 0))
}

func (s *suite) swap() {
	item, ok := s.put("k", 77, "x", time.Hour)
	equal(s, "over a version that is not there", false, ok)
	equal(s, "nothing is in the way", 0, item.Version)

	first := s.set("k", 0, "one", time.Hour)
	item, ok = s.put("k", 0, "two", time.Hour)
	equal(s, "create again", false, ok)
	equal(s, "what is in the way", "one", string(item.Value))
	equal(s, "its version", first, item.Version)

	second := s.set("k", first, "two", time.Hour)
	item, ok = s.put("k", first, "three", time.Hour)
	equal(s, "over an old version", false, ok)
	equal(s, "what is in the way", "two", string(item.Value))
	equal(s, "its version", second, item.Version)
	equal(s, "what stands there", "two", string(s.get("k").Value))
	equal(s, "its version", second, s.get("k").Version)

	third := s.set("k", second, "two", time.Hour)
	if third == second {
		s.Fatal("the same bytes are another write")
	}
}

func (s *suite) versions() {
	seen := map[store.Version]bool{}
	note := func(v store.Version) {
		s.Helper()
		if seen[v] {
			s.Fatalf("version %d was given twice", v)
		}
		seen[v] = true
	}
	for range 20 {
		v := s.set("k", 0, "same", time.Hour)
		note(v)
		note(s.set("k", v, "same", time.Hour))
		s.del("k", 0)
	}
	note(s.set("k", 0, "same", unit))
	s.advance(2 * unit)
	note(s.set("k", 0, "same", time.Hour))
	before := s.get("k").Version
	s.del("k", 0)
	s.count("k", 1, time.Hour)
	counted := s.get("k").Version
	note(counted)
	s.count("k", 1, time.Hour)
	note(s.get("k").Version)
	_, ok := s.put("k", before, "x", time.Hour)
	equal(s, "over a version of a key that was deleted since", false, ok)
	_, ok = s.put("k", counted, "x", time.Hour)
	equal(s, "over a counter that went on", false, ok)
}

func (s *suite) values() {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for i, value := range []string{"", "\x00", "0", "a\r\nb", string(all), strings.Repeat("x", 100_000)} {
		key := "k" + strconv.Itoa(i)
		s.set(key, 0, value, time.Hour)
		equal(s, "value", value, string(s.get(key).Value))
	}
	mine := []byte("mine")
	item, _, err := s.Swap(s.Context(), "k", 0, mine, time.Hour)
	if err != nil {
		s.Fatal(err)
	}
	copy(mine, "????")
	equal(s, "after the caller changed its bytes", "mine", string(s.get("k").Value))
	equal(s, "what Swap returned", "mine", string(item.Value))
}

func (s *suite) keys() {
	keys := []string{
		"", "a", "A", "a ", " a", "a\n", "a\x00", "a:b", "a:b:c", "{a}", "{a}b", "{b}a", "}{", "{}", "{}a", "{}|a", "}a|b", "{a}|b", "a|b", "a|b}", "a}|b", "|a", "a||b", "*", "a*", "[a]", "é", "e\u0301", "\xff",
		strings.Repeat("k", store.MaxKey),
	}
	for i, key := range keys {
		s.set(key, 0, strconv.Itoa(i), time.Hour)
	}
	for i, key := range keys {
		equal(s, fmt.Sprintf("value of %.20q", key), strconv.Itoa(i), string(s.get(key).Value))
	}
	for i, key := range keys {
		equal(s, fmt.Sprintf("delete %.20q", key), true, s.del(key, 0))
		for _, other := range keys[i+1:] {
			if s.get(other).Version == 0 {
				s.Fatalf("deleting %.20q deleted %.20q", key, other)
			}
		}
	}
}

func (s *suite) tooLarge() {
	long := strings.Repeat("k", store.MaxKey+1)
	_, _, err := s.Swap(s.Context(), long, 0, nil, time.Hour)
	s.wantErr("a long key", store.ErrTooLarge, err)
	_, err = s.Add(s.Context(), long, 1, time.Hour)
	s.wantErr("a long key", store.ErrTooLarge, err)
	equal(s, "version", 0, s.get(long).Version)
	_, _, err = s.Swap(s.Context(), "k", 0, make([]byte, 64<<20), time.Hour)
	s.wantErr("64 MiB", store.ErrTooLarge, err)
	equal(s, "version", 0, s.get("k").Version)
}

func (s *suite) expiry() {
	v := s.set("short", 0, "x", 2*unit)
	long := s.set("long", 0, "x", time.Hour)
	renewed := s.set("renewed", 0, "x", 2*unit)
	renewed = s.set("renewed", renewed, "y", time.Hour)
	cut := s.set("cut", 0, "x", time.Hour)
	s.set("cut", cut, "y", 2*unit)
	s.advance(unit)
	equal(s, "before", v, s.get("short").Version)
	s.advance(2 * unit)
	equal(s, "after", 0, s.get("short").Version)
	equal(s, "one that is kept longer", long, s.get("long").Version)
	equal(s, "one whose expiry a swap moved", renewed, s.get("renewed").Version)
	equal(s, "one whose expiry a swap brought nearer", 0, s.get("cut").Version)
	equal(s, "delete of one that has expired", false, s.del("short", v))
	item, ok := s.put("short", v, "y", time.Hour)
	equal(s, "swap over one that has expired", false, ok)
	equal(s, "what is in the way", 0, item.Version)
	s.set("short", 0, "y", time.Hour)
}

func (s *suite) ttl() {
	for _, ttl := range []time.Duration{0, -1, -time.Hour} {
		_, _, err := s.Swap(s.Context(), "k", 0, nil, ttl)
		s.wantErr("Swap", store.ErrTTL, err)
		_, err = s.Add(s.Context(), "k", 1, ttl)
		s.wantErr("Add", store.ErrTTL, err)
	}
	equal(s, "version", 0, s.get("k").Version)
	s.set("tiny", 0, "x", 1)
	s.advance(unit)
	equal(s, "after a nanosecond", 0, s.get("tiny").Version)
	s.set("ages", 0, "x", 1<<62)
	s.advance(unit)
	equal(s, "after a while of 146 years", "x", string(s.get("ages").Value))
}

func (s *suite) keepTTL() {
	_, _, err := s.Swap(s.Context(), "absent", 0, []byte("x"), store.KeepTTL)
	s.wantErr("Swap", store.ErrTTL, err)
	for _, key := range []string{"plain", "group|name"} {
		first := s.set(key, 0, "first", 2*unit)
		s.advance(unit)
		ctx := store.Within(s.Context(), store.Bound{Keys: 5})
		item, ok, err := s.Swap(ctx, key, first, []byte("second"), store.KeepTTL)
		if err != nil || !ok || string(item.Value) != "second" {
			s.Fatalf("Swap(%q) with KeepTTL: %q, %v, %v", key, item.Value, ok, err)
		}
		if _, ok, err := s.Swap(ctx, key, first, []byte("third"), store.KeepTTL); err != nil || ok {
			s.Fatalf("Swap(%q) with KeepTTL over another version: %v, %v", key, ok, err)
		}
		if got := s.get(key); string(got.Value) != "second" || got.Version != item.Version {
			s.Fatalf("Get(%q): %q", key, got.Value)
		}
		s.advance(2 * unit)
		if got := s.get(key); got.Version != 0 {
			s.Fatalf("Get(%q): %q, which has ended", key, got.Value)
		}
	}
}

func (s *suite) remove() {
	v := s.set("k", 0, "x", time.Hour)
	equal(s, "another version", false, s.del("k", v+1))
	equal(s, "still there", v, s.get("k").Version)
	equal(s, "the version", true, s.del("k", v))
	equal(s, "gone", 0, s.get("k").Version)
	equal(s, "again", false, s.del("k", v))
	s.set("k", 0, "x", time.Hour)
	equal(s, "any version", true, s.del("k", 0))
	equal(s, "gone", 0, s.get("k").Version)
	s.count("n", 5, time.Hour)
	equal(s, "a counter", true, s.del("n", 0))
	equal(s, "begins again", 1, s.count("n", 1, time.Hour))
}

func (s *suite) add() {
	equal(s, "first", 1, s.count("n", 1, time.Hour))
	equal(s, "second", 11, s.count("n", 10, time.Hour))
	equal(s, "less", -4, s.count("n", -15, time.Hour))
	equal(s, "nothing", -4, s.count("n", 0, time.Hour))
	equal(s, "as a value", "-4", string(s.get("n").Value))
	equal(s, "another", 3, s.count("m", 3, time.Hour))

	v := s.get("n").Version
	s.set("n", v, "41", time.Hour)
	equal(s, "on a number that was stored", 42, s.count("n", 1, time.Hour))
	s.set("empty", 0, "", time.Hour)
	equal(s, "on an empty value", 1, s.count("empty", 1, time.Hour))
	for i, text := range []string{"x", " 1", "1 ", "+1", "01", "-0", "1.0", "1e3", "0x1", "--1", "9007199254740993", "99999999999999999999", "nan", "-"} {
		key := "text" + strconv.Itoa(i)
		v := s.set(key, 0, text, time.Hour)
		_, err := s.Add(s.Context(), key, 1, time.Hour)
		s.wantErr(fmt.Sprintf("on %q", text), store.ErrNotCounter, err)
		equal(s, "it stays", v, s.get(key).Version)
	}
}

func (s *suite) addRange() {
	equal(s, "the largest", store.MaxCount, s.count("n", store.MaxCount, time.Hour))
	for _, delta := range []int64{1, store.MaxCount, 1<<63 - 1} {
		_, err := s.Add(s.Context(), "n", delta, time.Hour)
		s.wantErr("beyond", store.ErrRange, err)
	}
	equal(s, "it stays", strconv.FormatInt(store.MaxCount, 10), string(s.get("n").Value))
	equal(s, "one less", store.MaxCount-1, s.count("n", -1, time.Hour))
	equal(s, "back", -1, s.count("n", -store.MaxCount, time.Hour))
	equal(s, "to the other end", -store.MaxCount, s.count("n", -store.MaxCount+1, time.Hour))
	for _, delta := range []int64{-1, -1 << 63} {
		_, err := s.Add(s.Context(), "n", delta, time.Hour)
		s.wantErr("below", store.ErrRange, err)
	}
	_, err := s.Add(s.Context(), "fresh", -1<<63, time.Hour)
	s.wantErr("at once", store.ErrRange, err)
	equal(s, "nothing is made", 0, s.get("fresh").Version)
}

func (s *suite) addExpiry() {
	s.count("n", 1, 3*unit)
	s.count("m", 1, time.Hour)
	s.advance(2 * unit)
	equal(s, "within its time", 2, s.count("n", 1, time.Hour))
	equal(s, "within its time", 2, s.count("m", 1, unit))
	s.advance(2 * unit)
	equal(s, "begins again", 1, s.count("n", 1, time.Hour))
	equal(s, "goes on", 3, s.count("m", 1, unit))
}

func (s *suite) concurrent() {
	const workers, each = 8, 25
	var work sync.WaitGroup
	for range workers {
		work.Go(func() {
			item, err := s.Get(s.Context(), "k")
			for n := 0; n < each && err == nil; {
				have, _ := strconv.Atoi(cmp.Or(string(item.Value), "0"))
				var ok bool
				if item, ok, err = s.Swap(s.Context(), "k", item.Version, []byte(strconv.Itoa(have+1)), time.Hour); ok {
					n++
				}
			}
			if err != nil {
				s.Error(err)
			}
		})
	}
	work.Wait()
	equal(s, "sum", strconv.Itoa(workers*each), string(s.get("k").Value))
}

func (s *suite) concurrentAdd() {
	const workers, each = 8, 25
	var work sync.WaitGroup
	seen := make([]atomic.Bool, workers*each+1)
	for range workers {
		work.Go(func() {
			for range each {
				sum, err := s.Add(s.Context(), "k", 1, time.Hour)
				if err != nil || sum < 1 || sum >= int64(len(seen)) || seen[sum].Swap(true) {
					s.Errorf("the sum %d came twice or is out of range, or failed: %v", sum, err)
					return
				}
			}
		})
	}
	work.Wait()
}

func (s *suite) create() {
	for round := range 10 {
		key := "k" + strconv.Itoa(round)
		var won atomic.Int32
		var work sync.WaitGroup
		for i := range 8 {
			work.Go(func() {
				_, ok, err := s.Swap(s.Context(), key, 0, fmt.Append(nil, i), time.Hour)
				if err != nil {
					s.Error(err)
				}
				if ok {
					won.Add(1)
				}
			})
		}
		work.Wait()
		equal(s, "winners", 1, won.Load())
	}
}

// within is put with a bound.
func (s *suite) within(b store.Bound, key string, old store.Version, size int, ttl time.Duration) (store.Version, error) {
	s.Helper()
	item, ok, err := s.Swap(store.Within(s.Context(), b), key, old, make([]byte, size), ttl)
	if err == nil && !ok {
		s.Fatalf("Swap(%.40q) over version %d met version %d", key, old, item.Version)
	}
	if err != nil && (item.Version != 0 || ok) {
		s.Fatalf("Swap(%.40q) failed and returned version %d and %v: %v", key, item.Version, ok, err)
	}
	return item.Version, err
}

func (s *suite) fits(b store.Bound, key string, old store.Version, size int, ttl time.Duration) store.Version {
	s.Helper()
	v, err := s.within(b, key, old, size, ttl)
	if err != nil {
		s.Fatalf("Swap(%.40q) within %+v: %v", key, b, err)
	}
	return v
}

func (s *suite) over(why error, b store.Bound, key string, old store.Version, size int) time.Duration {
	s.Helper()
	_, err := s.within(b, key, old, size, time.Hour)
	s.wantErr(fmt.Sprintf("%.40q within %+v", key, b), why, err)
	equal(s, "what stands there", old, s.get(key).Version)
	var room *store.RoomError
	if !errors.As(err, &room) {
		s.Fatalf("%v is no RoomError", err)
	}
	return room.After
}

func (s *suite) boundKeys() {
	b := store.Bound{Keys: 3}
	first := s.fits(b, "ann|1", 0, 10, time.Hour)
	s.fits(b, "ann|2", 0, 10, 2*unit)
	s.set("ann|free", 0, "not counted", time.Hour)
	s.count("ann|n", 1, time.Hour)
	third := s.fits(b, "ann|3", 0, 10, time.Hour)
	s.over(store.ErrManyKeys, b, "ann|4", 0, 0)
	for _, other := range []string{"bob|4", "4", "|4", "ann", "an|n4"} {
		s.fits(b, other, 0, 10, time.Hour)
	}
	first = s.fits(b, "ann|1", first, 1000, time.Hour)
	s.over(store.ErrManyKeys, b, "ann|4", 0, 0)

	s.set("ann|3", third, "written without a bound", time.Hour)
	s.fits(b, "ann|4", 0, 0, time.Hour)
	s.over(store.ErrManyKeys, b, "ann|5", 0, 0)
	s.count("ann|4", 1, time.Hour)
	s.fits(b, "ann|4", s.get("ann|4").Version, 0, time.Hour)
	s.over(store.ErrManyKeys, b, "ann|5", 0, 0)
	s.count("ann|4", 1, time.Hour)
	fifth := s.fits(b, "ann|5", 0, 0, time.Hour)
	s.over(store.ErrManyKeys, b, "ann|6", 0, 0)
	equal(s, "delete", true, s.del("ann|5", fifth))
	third = s.fits(b, "ann|4", s.get("ann|4").Version, 0, time.Hour)
	s.over(store.ErrManyKeys, b, "ann|5", 0, 0)
	equal(s, "delete", true, s.del("ann|free", 0))
	s.over(store.ErrManyKeys, b, "ann|5", 0, 0)
	equal(s, "delete", true, s.del("ann|4", third))
	s.fits(b, "ann|5", 0, 10, time.Hour)
	s.over(store.ErrManyKeys, b, "ann|6", 0, 0)
	s.advance(3 * unit)
	s.fits(b, "ann|6", 0, 10, time.Hour) // in the place of 2, which has expired
	s.over(store.ErrManyKeys, b, "ann|7", 0, 0)
	s.fits(store.Bound{Keys: 4}, "ann|7", 0, 10, time.Hour)
	_, ok, err := s.Swap(store.Within(store.Within(s.Context(), b), store.Bound{}), "ann|unbounded", 0, nil, time.Hour)
	equal(s, "a bound of nothing", nil, err)
	equal(s, "a bound of nothing", true, ok)
	var item store.Item
	item, ok, err = s.Swap(store.Within(s.Context(), b), "ann|1", 0, nil, time.Hour)
	equal(s, "what is in the way comes before the bound", nil, err)
	equal(s, "what is in the way comes before the bound", false, ok)
	equal(s, "what is in the way", first, item.Version)
}

func (s *suite) boundBytes() {
	const name = len("ann|1") + store.Overhead
	b := store.Bound{Bytes: 3 * (name + 100)}
	first := s.fits(b, "ann|1", 0, 100, time.Hour)
	second := s.fits(b, "ann|2", 0, 100, time.Hour)
	s.over(store.ErrManyBytes, b, "ann|3", 0, 101)
	third := s.fits(b, "ann|3", 0, 100, 2*unit)
	s.over(store.ErrManyBytes, b, "ann|4", 0, 0)
	s.over(store.ErrManyBytes, b, "ann|1", first, 101)
	s.fits(b, "bob|1", 0, 200, time.Hour)

	first = s.fits(b, "ann|1", first, 100, time.Hour)
	tight := store.Bound{Bytes: name + 100}
	first = s.fits(tight, "ann|1", first, 100, time.Hour)
	first = s.fits(tight, "ann|1", first, 99, time.Hour)
	s.over(store.ErrManyBytes, tight, "ann|1", first, 100)
	first = s.fits(b, "ann|1", first, 100, time.Hour)
	first = s.fits(b, "ann|1", first, 50, time.Hour)
	s.over(store.ErrManyBytes, b, "ann|2", second, 151)
	second = s.fits(b, "ann|2", second, 150, time.Hour)
	equal(s, "delete", true, s.del("ann|2", second))
	s.fits(b, "ann|2", 0, 150, time.Hour)
	s.advance(3 * unit)
	item, ok := s.put("ann|3", third, "x", time.Hour)
	equal(s, "over one that has expired", false, ok)
	equal(s, "what is in the way", 0, item.Version)
	s.fits(b, "ann|3", 0, 100, time.Hour)
	s.over(store.ErrManyBytes, b, "ann|4", 0, 0)

	_, err := s.within(b, "ann|1", first, b.Bytes+1-name, time.Hour)
	s.wantErr("larger than its bound", store.ErrTooLarge, err)
	equal(s, "what stands there", first, s.get("ann|1").Version)
}

func (s *suite) boundExpired() {
	const name = len("ann|10") + store.Overhead
	b := store.Bound{Keys: 11, Bytes: 11 * (name + 100)}
	s.fits(b, "ann|99", 0, 100, time.Hour) // stays
	for i := range 10 {
		s.fits(b, "ann|"+strconv.Itoa(i+10), 0, 100, unit)
	}
	s.over(store.ErrManyKeys, b, "ann|20", 0, 0)
	s.advance(2 * unit)
	s.over(store.ErrManyKeys, store.Bound{Keys: 1}, "ann|20", 0, 0)
	v := s.fits(b, "ann|20", 0, 10*(name+100)-name, time.Hour)
	s.over(store.ErrManyBytes, b, "ann|10", 0, 0)
	equal(s, "delete", true, s.del("ann|20", v))
	s.fits(b, "ann|10", 0, 9*(name+100), time.Hour)
}

func (s *suite) boundWait() {
	near := func(what string, want, got time.Duration) {
		s.Helper()
		if got > want || got < want-5*time.Second {
			s.Fatalf("%s: want %v, got %v", what, want, got)
		}
	}
	const name = len("ann|1") + store.Overhead
	b := store.Bound{Keys: 4, Bytes: 10 * name}
	s.fits(b, "ann|3", 0, 2*name, 30*time.Minute)
	s.fits(b, "ann|1", 0, name, 10*time.Minute)
	s.fits(b, "ann|4", 0, 0, 40*time.Minute)
	near("bytes, after the first", 10*time.Minute, s.over(store.ErrManyBytes, b, "ann|5", 0, 4*name))
	near("bytes, after the second", 30*time.Minute, s.over(store.ErrManyBytes, b, "ann|5", 0, 6*name))
	near("bytes, after the third", 40*time.Minute, s.over(store.ErrManyBytes, b, "ann|5", 0, 9*name))
	v := s.fits(b, "ann|2", 0, 0, 20*time.Minute)
	near("keys", 10*time.Minute, s.over(store.ErrManyKeys, b, "ann|5", 0, 0))
	near("keys, of a smaller bound", 30*time.Minute, s.over(store.ErrManyKeys, store.Bound{Keys: 2}, "ann|5", 0, 0))
	s.fits(b, "ann|2", v, 0, 5*time.Minute)
	near("keys, after one ends earlier", 5*time.Minute, s.over(store.ErrManyKeys, b, "ann|5", 0, 0))

	c := store.Bound{Keys: 1}
	s.fits(c, "bob|1", 0, 0, 3*unit)
	wait := s.over(store.ErrManyKeys, c, "bob|2", 0, 0)
	if wait <= 0 || wait > 3*unit {
		s.Fatalf("after %v there is no room, and after %v there is", wait, 3*unit)
	}
	s.advance(wait + time.Millisecond)
	s.fits(c, "bob|2", 0, 0, time.Hour)
}

func (s *suite) concurrentBound() {
	b := store.Bound{Keys: 10}
	var stored atomic.Int32
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for j := range 5 {
				_, ok, err := s.Swap(store.Within(s.Context(), b), fmt.Sprintf("ann|%d-%d", i, j), 0, nil, time.Hour)
				if ok {
					stored.Add(1)
				} else if !errors.Is(err, store.ErrManyKeys) {
					s.Errorf("Swap: %v", err)
				}
			}
		})
	}
	work.Wait()
	equal(s, "stored", b.Keys, int(stored.Load()))
}

func (s *suite) together(ops ...store.Op) []store.Done {
	s.Helper()
	done, err := store.Do(s.Context(), s.Store, ops...)
	if err != nil {
		s.Fatalf("Do: %v", err)
	}
	if len(done) != len(ops) {
		s.Fatalf("Do returned %d results for %d operations", len(done), len(ops))
	}
	return done
}

func (s *suite) do() {
	for _, keys := range [][3]string{{"g|1", "g|2", "g|3"}, {"a", "b", "c"}, {"g|4", "h|5", "c2"}} {
		a, b, c := keys[0], keys[1], keys[2]
		swap := func(key string, old store.Version, value string) store.Op {
			return store.Op{Key: key, Old: old, Value: []byte(value), TTL: time.Hour}
		}
		done := s.together(swap(a, 0, "one"), swap(b, 0, "two"))
		for i, value := range []string{"one", "two"} {
			equal(s, "ok", true, done[i].OK)
			equal(s, "value", value, string(done[i].Item.Value))
			equal(s, "value", value, string(s.get(keys[i]).Value))
			equal(s, "version", s.get(keys[i]).Version, done[i].Item.Version)
		}
		first, second := done[0].Item.Version, done[1].Item.Version
		done = s.together(swap(a, first, "new"), swap(b, 7, "new"), swap(c, 0, "left out"), store.Op{Key: a, Old: first}, store.Op{Key: b, Old: second, Anyway: true})
		equal(s, "the first", true, done[0].OK)
		equal(s, "the second", false, done[1].OK)
		equal(s, "what is in its way", "two", string(done[1].Item.Value))
		equal(s, "what is in its way", second, done[1].Item.Version)
		equal(s, "the third", false, done[2].OK)
		equal(s, "what was left out", 0, done[2].Item.Version)
		equal(s, "what was left out", 0, s.get(c).Version)
		equal(s, "the fourth", false, done[3].OK)
		equal(s, "the fifth, anyway", true, done[4].OK)
		equal(s, "what it removed", 0, s.get(b).Version)
		equal(s, "what stays", "new", string(s.get(a).Value))
		done = s.together(store.Op{Key: b, Old: second}, swap(b, 0, "left out"))
		equal(s, "a Delete of nothing", false, done[0].OK)
		equal(s, "what was left out", 0, s.get(b).Version)
		done = s.together(swap(c, 9, "x"), swap(c, 0, "y"))
		equal(s, "over nothing", false, done[0].OK)
		equal(s, "nothing is in its way", 0, done[0].Item.Version)
		equal(s, "what was left out", 0, s.get(c).Version)
		done = s.together(store.Op{Key: a, Old: s.get(a).Version}, swap(a, 0, "again"))
		equal(s, "after a Delete", true, done[1].OK)
		equal(s, "after a Delete", "again", string(s.get(a).Value))
	}
	equal(s, "none", 0, len(s.together()))
	_, err := store.Do(s.Context(), s.Store, store.Op{Key: "g|neg", TTL: -1})
	s.wantErr("a negative ttl", store.ErrTTL, err)
}

func (s *suite) doRefused() {
	b := store.Bound{Keys: 1}
	swap := func(key string) store.Op { return store.Op{Key: key, TTL: time.Hour, Bound: b} }
	done, err := store.Do(s.Context(), s.Store, store.Op{Key: "g|lease", TTL: time.Hour}, swap("g|1"), swap("g|2"), store.Op{Key: "g|lease", Anyway: true})
	s.wantErr("the third", store.ErrManyKeys, err)
	equal(s, "those before", 2, len(done))
	equal(s, "the second", true, done[1].OK)
	equal(s, "its version", s.get("g|1").Version, done[1].Item.Version)
	equal(s, "the refused one", 0, s.get("g|2").Version)
	if s.get("g|lease").Version == 0 {
		s.Fatal("what stands behind a refusal was made")
	}
	done, err = store.Do(s.Context(), s.Store, store.Op{Key: "g|3", TTL: time.Hour}, store.Op{Key: "g|4", Value: make([]byte, 64<<20), TTL: time.Hour})
	s.wantErr("64 MiB", store.ErrTooLarge, err)
	equal(s, "those before", 1, len(done))
	equal(s, "the first", true, done[0].OK)
}
