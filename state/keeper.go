package state

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/owner"
	"github.com/mcpchain/mcpchain/internal/stored"
	"github.com/mcpchain/mcpchain/store"
)

// A keeper is the middleware.
type keeper struct {
	Options

	owners owner.Finder
	by     string    // names this process in what it writes
	began  time.Time // what its times count from
}

func newKeeper(opts *Options) *keeper {
	var o Options
	if opts != nil {
		o = *opts
	}
	const of call.Options = "state.New: Options"
	call.Positive(of, "Expiry", &o.Expiry, time.Hour)
	call.Positive(of, "Limits.ValueBytes", &o.Limits.ValueBytes, 64<<10)
	if o.Limits.PerOwner = cmp.Or(o.Limits.PerOwner, 100); o.Limits.PerOwner < 0 {
		o.Limits.PerOwner = math.MaxInt / 2 // so many that a free one is always found
	}
	o.Limits.OwnerBytes = cmp.Or(o.Limits.OwnerBytes, 8<<20)
	o.Argument = cmp.Or(o.Argument, "handle")
	if o.Store == nil {
		o.Store = store.NewMemory(nil)
	}
	if o.Codec == nil {
		o.Codec = jsonCodec{}
	}
	return &keeper{Options: o, owners: owner.Finder{Func: o.Owner}, by: rand.Text(), began: time.Now()}
}

// A session is what the functions of this package need to know of one call.
type session struct {
	*keeper

	req mcp.Request

	mu    sync.Mutex
	value *taken
}

type sessionKey struct{}

func sessionOf(ctx context.Context, function string) (*session, error) {
	s, _ := ctx.Value(sessionKey{}).(*session)
	if s == nil {
		return nil, fmt.Errorf("%s: the context does not come from a call that passed the middleware of state.New", function)
	}
	return s, nil
}

func (s *session) taken() *taken {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}

// A place is where a value is kept.
type place struct {
	name string // in the store
	mark string // the beginning of the stored value of a handle; empty for a session or a connection, which need no Create
}

// place returns where the value of the call is kept.
func (s *session) place(ctx context.Context) (place, error) {
	whose := s.owners.Of(ctx, s.req)
	if whose == "" {
		return place{}, errNoOwner
	}
	handle, given, err := s.given()
	switch {
	case err != nil:
		return place{}, err
	case given:
		return placeOf(whose, Handle(handle)), nil
	}
	if id := call.SessionID(s.req); id != "" {
		return place{name: nameOf(whose, "session", id)}, nil
	}
	if connection := owner.Connection(s.req); connection != "" {
		return place{name: nameOf(whose, "connection", connection)}, nil
	}
	return place{}, s.begin(fault.Violations(fault.Violation{Field: s.Argument, Rule: "required", Expected: "the handle of a conversation"}))
}

// given returns the handle that the caller sent.
func (s *session) given() (handle string, given bool, err error) {
	var args map[string]json.RawMessage
	_ = json.Unmarshal(call.ArgumentsOf(s.req), &args) // arguments that are not an object have no handle
	if sent := args[s.Argument]; sent != nil && json.Unmarshal(sent, &handle) != nil {
		var received any
		_ = json.Unmarshal(sent, &received) // which is JSON
		return "", false, fault.Invalid(s.Argument, received, "the handle of a conversation, a string")
	}
	return handle, handle != "", nil
}

// placeOf returns where the value with a handle is kept. An owner has as many places as handles are
// allowed, and a handle ends with the number of its place. So the number of handles is bounded without
// a count. The owner is hashed into the name and the mark. So another owner's handle names nothing,
// takes as long to be refused as one that never existed, and cannot be read from the store.
func placeOf(owner string, handle Handle) place {
	number := string(handle[strings.LastIndexByte(string(handle), '-')+1:])
	return place{name: nameOf(owner, "place", number), mark: stored.Name("state/", "handle", owner, string(handle))}
}

func nameOf(owner string, parts ...string) string {
	return stored.OwnedName("state/", owner, parts...)
}

// within returns a context under which the store bounds the bytes of an owner.
func (k *keeper) within(ctx context.Context) context.Context {
	return store.Within(ctx, store.Bound{Bytes: max(0, k.Limits.OwnerBytes)})
}

func newHandle(number int) Handle {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return Handle(strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])) + "-" + strconv.Itoa(number))
}

// In the store, a value follows the mark of its place and a stamp: the name of the process that has
// written it, and the time by the clock of that process, in ms. To other processes the time says
// nothing.
const stampSize = nameSize + 8

// nameSize is the length of rand.Text.
const nameSize = 26

type content struct {
	version store.Version // zero: nothing is kept there for this handle
	data    []byte
	age     time.Duration // farAge if another process has written it
}

// farAge is more than the age of any value.
const farAge = math.MaxInt64

// putOff puts off the expiry of a value that was used, unless this process has just written it.
func (k *keeper) putOff(ctx context.Context, p place, c content) content {
	if c.version == 0 || c.age <= k.Expiry/10 {
		return c
	}
	// If another call was faster, it has put the expiry off too.
	if now, ok, err := k.Store.Swap(k.within(ctx), p.name, c.version, k.stamped(p, c.data), k.Expiry); err == nil && ok {
		c.version, c.age = now.Version, 0
	}
	return c
}

// look returns what is kept at a place.
func (k *keeper) look(ctx context.Context, p place) (content, error) {
	item, err := k.Store.Get(ctx, p.name)
	if err != nil {
		return content{}, unavailable(err)
	}
	c, err := k.parse(p, item)
	if err == nil && c.version == 0 && p.mark != "" {
		err = k.unknown()
	}
	return c, err
}

func (k *keeper) parse(p place, item store.Item) (content, error) {
	if item.Version == 0 {
		return content{}, nil
	}
	if len(item.Value) < len(p.mark)+stampSize {
		return content{}, errors.New("state: a value in the store is not one of this package")
	}
	mark, rest := item.Value[:len(p.mark)], item.Value[len(p.mark):]
	if subtle.ConstantTimeCompare(mark, []byte(p.mark)) == 0 {
		return content{}, nil
	}
	c := content{version: item.Version, data: rest[stampSize:], age: farAge}
	if string(rest[:nameSize]) == k.by {
		at := time.Duration(binary.BigEndian.Uint64(rest[nameSize:])) * time.Millisecond //nolint:gosec // it was one
		c.age = time.Since(k.began) - at
	}
	return c, nil
}

func (k *keeper) stamped(p place, data []byte) []byte {
	head := append(make([]byte, 0, len(p.mark)+stampSize+len(data)), p.mark+k.by...)
	return append(binary.BigEndian.AppendUint64(head, uint64(time.Since(k.began).Milliseconds())), data...) //nolint:gosec // not negative
}

// put replaces what was seen by data. It returns what is there now, and whether that is
// data: if not, another call was faster.
func (k *keeper) put(ctx context.Context, p place, seen content, data []byte) (content, bool, error) {
	if len(data) > k.Limits.ValueBytes {
		return content{}, false, errTooLarge
	}
	item, ok, err := k.Store.Swap(k.within(ctx), p.name, seen.version, k.stamped(p, data), k.Expiry)
	if err != nil {
		return content{}, false, k.refusal(err)
	}
	now, err := k.parse(p, item)
	return now, ok, err
}

// read reads the value at a place into pointer, and puts off its expiry. It returns what the value is
// compared with to see whether it was changed.
func (k *keeper) read(ctx context.Context, p place, pointer any) (content, error) {
	c, err := k.look(ctx, p)
	if err != nil {
		return content{}, err
	}
	c = k.putOff(ctx, p, c)
	if c.version == 0 {
		c.data, err = k.encode(pointer)
		return c, err
	}
	return c, k.decode(c.data, pointer)
}

func (k *keeper) encode(value any) ([]byte, error) {
	data, err := k.Codec.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("state: a value cannot be written: %w", err)
	}
	return data, nil
}

func (k *keeper) decode(data []byte, pointer any) error {
	if err := k.Codec.Unmarshal(data, pointer); err != nil {
		return fmt.Errorf("state: a value cannot be read: %w", err)
	}
	return nil
}

// taken is a value that a handler has for the whole call.
type taken struct {
	place   place
	pointer any
	before  content
	read    time.Time
}

// save writes the value if it was changed.
func (v *taken) save(ctx context.Context, k *keeper) error {
	data, err := k.encode(v.pointer)
	if err != nil || bytes.Equal(data, v.before.data) {
		return err
	}
	now, ok, err := k.put(ctx, v.place, v.before, data)
	switch {
	case err != nil:
		return unsaved(err)
	case ok:
		return nil
	case now.version == 0 && time.Since(v.read) >= k.Expiry-k.Expiry/10:
		return k.begin(errExpired)
	case now.version != 0 && bytes.Equal(now.data, v.before.data): // another call has only put off its end
		if _, ok, err = k.put(ctx, v.place, now, data); err != nil || ok {
			return unsaved(err)
		}
	}
	return errConflict
}

// unsaved says of a full store that the changes of the call are lost. Other errors stay as they are.
func unsaved(err error) error {
	if f, ok := err.(*fault.Error); ok && f.Code() == errTooManyBytes.Code() { //nolint:errorlint // put has made it
		return f.WithMessage(f.Message() + ", and what this call changed in this one was not saved")
	}
	return err
}

// maxUpdates is how often an update is tried again while others are faster.
const maxUpdates = 100

func update[T any](ctx context.Context, k *keeper, p place, change func(*T) error) error {
	c, err := k.look(ctx, p)
	for try := range maxUpdates {
		if err != nil {
			return err
		}
		var value T
		if c.version != 0 {
			err = k.decode(c.data, &value)
		}
		if err == nil {
			err = change(&value)
		}
		if err != nil {
			k.putOff(ctx, p, c) // it was used
			return err
		}
		data, err := k.encode(&value)
		if err != nil {
			return err
		}
		now, ok, err := k.put(ctx, p, c, data)
		switch {
		case err != nil || ok:
			return err
		case now.version == 0 && p.mark != "":
			return k.unknown() // deleted meanwhile
		}
		c = now
		if !pause(ctx, try) {
			return context.Cause(ctx)
		}
	}
	return errBusy
}

// pause waits for a random time, longer with each try, so that one of many callers comes
// through. It returns false if ctx has ended.
func pause(ctx context.Context, try int) bool {
	if try < 2 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(mathrand.N(time.Millisecond << min(try, 6)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// create keeps a new value in a free place of its owner.
func (k *keeper) create(ctx context.Context, owner string, value any) (Handle, error) {
	data, err := k.encode(value)
	if err != nil {
		return "", err
	}
	first := mathrand.IntN(k.Limits.PerOwner)
	for try := range k.Limits.PerOwner {
		handle := newHandle((first + try) % k.Limits.PerOwner)
		if _, ok, err := k.put(ctx, placeOf(owner, handle), content{}, data); err != nil {
			return "", err
		} else if ok {
			return handle, nil
		}
	}
	return "", errTooMany
}

func (k *keeper) remove(ctx context.Context, p place) error {
	for try := range maxUpdates {
		item, err := k.Store.Get(ctx, p.name)
		if err != nil {
			return unavailable(err)
		}
		c, err := k.parse(p, item)
		if err != nil || c.version == 0 {
			return err
		}
		if ok, err := k.Store.Delete(ctx, p.name, c.version); err != nil {
			return unavailable(err)
		} else if ok {
			return nil
		}
		if !pause(ctx, try) {
			return context.Cause(ctx)
		}
	}
	return errBusy
}

// The errors that a caller gets. A handler may have changed something before it meets one, so none of
// them says that nothing was done.
var (
	errUnknown = fault.New(fault.KindNotFound, "this handle is not known: it has expired, or there never was one").
			WithCode("UNKNOWN_HANDLE")

	errNoOwner = fault.Generic(fault.KindInternal).
			Because(errors.New("state: the caller is unknown; over HTTP, authenticate callers so that TokenInfo.UserID is set, or set Options.Owner"))

	errTooMany = fault.New(fault.KindRateLimited, "there are too many open conversations").
			WithCode("TOO_MANY_HANDLES").
			Suggest("Use one that is there, or close one.").
			WithRetry(fault.Retry{Effect: fault.EffectUnknown})

	errTooManyBytes = fault.New(fault.KindRateLimited, "the open conversations take all the room that one caller has").
			WithCode("TOO_MANY_BYTES").
			Suggest("Close one, or go on with less in it.")

	errTooLarge = fault.New(fault.KindPreconditionFailed, "this conversation holds more than the server keeps").
			WithCode("STATE_TOO_LARGE").
			Suggest("Go on in a new one.")

	errExpired = fault.New(fault.KindNotFound, "this conversation expired while the call ran, and what the call changed in it was not saved").
			WithCode("STATE_EXPIRED").
			WithRetry(fault.Retry{Effect: fault.EffectUnknown})

	errConflict = fault.New(fault.KindConflict, "another call has changed this conversation at the same time, and what this call changed in it was not saved").
			WithCode("STATE_CHANGED").
			WithRetry(fault.Retry{Effect: fault.EffectUnknown})

	errBusy = fault.New(fault.KindConflict, "too many calls change this conversation at the same time").
		WithCode("STATE_BUSY").
		WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1, Effect: fault.EffectUnknown})

	errTaken = errors.New("state.Update: the value was taken with state.From in this call; change it there")
)

// unknown is the error for a handle that names nothing.
func (k *keeper) unknown() error { return k.begin(errUnknown) }

// begin adds the step that gets a new handle.
func (k *keeper) begin(f *fault.Error) error {
	if k.NewTool == "" {
		return f
	}
	return f.Step("Begin a new one, whose handle is in the answer", k.NewTool, nil)
}

// refusal turns an error of a write into what the caller may know of it. All that an owner has now
// expires within Expiry, so no wait is longer.
func (k *keeper) refusal(err error) error {
	switch {
	case errors.Is(err, store.ErrTooLarge):
		return errTooLarge.Because(err)
	case !errors.Is(err, store.ErrManyBytes):
		return unavailable(err)
	}
	wait := k.Expiry
	if room := (*store.RoomError)(nil); errors.As(err, &room) && room.After > 0 {
		wait = room.After
	}
	return errTooManyBytes.Because(err).WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: wait.Seconds(), Effect: fault.EffectUnknown})
}

// unavailable turns an error of the store into what the caller may know of it.
func unavailable(err error) error {
	return stored.Failed(err, "the store of conversations", fault.EffectUnknown)
}
