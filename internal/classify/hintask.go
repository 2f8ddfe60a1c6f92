package classify

import (
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/fault"
)

// traits say what a type of error can be asked. They are found out once for a type,
// because asking each error for each of some twenty interfaces would cost more than
// all the rest.
type traits uint32

const (
	saysMessage traits = 1 << iota
	saysHint
	saysKind
	saysTimeout
	saysTemporary  // Temporary() bool
	saysRetryable  // Retryable() bool
	saysRetryError // RetryableError() bool, as the AWS SDK has it
	saysSafe       // SafeToRetry() bool, as pgx has it
	saysRetryAfter // RetryAfter() time.Duration
	saysEffect     // Effect() fault.Effect
	saysStatus     // StatusCode() int
	saysHTTPStatus // HTTPStatusCode() int
	saysHTTPCode   // HTTPCode() int
	saysResponse   // Response() *http.Response
	saysSQLState   // SQLState() string
	saysErrorCode  // ErrorCode() string
	isResponse     // *ResponseError
	isGRPC         // GRPCStatus() *status.Status
	isConnect      // *connect.Error
	isSQLite       // Code() int of a driver for SQLite
	isPermanent    // of cenkalti/backoff or avast/retry-go
	isBackoffAfter // *RetryAfterError of cenkalti/backoff
	isExceeded     // ExceededError of the retries of failsafe-go
	isHandshake    // what net/http gives up a handshake with
	isText         // *errors.errorString
	wraps          // the wrappings of fmt and errors, which say nothing

	saysClues = saysTemporary | saysRetryable | saysRetryError | saysSafe | saysRetryAfter | saysEffect | saysStatus | saysHTTPStatus |
		saysHTTPCode | saysResponse | saysSQLState | saysErrorCode | isResponse | isGRPC | isConnect | isSQLite | isPermanent | isBackoffAfter | isExceeded
)

// interfaces are the methods that are known by their types alone.
var interfaces = []struct {
	trait traits
	typ   reflect.Type
}{
	{saysMessage, reflect.TypeFor[PublicMessager]()},
	{saysHint, reflect.TypeFor[PublicHinter]()},
	{saysKind, reflect.TypeFor[PublicKinder]()},
	{saysTimeout, reflect.TypeFor[timeouter]()},
	{saysTemporary, reflect.TypeFor[temporary]()},
	{saysRetryable, reflect.TypeFor[retryable]()},
	{saysRetryError, reflect.TypeFor[retryableError]()},
	{saysSafe, reflect.TypeFor[safeToRetry]()},
	{saysRetryAfter, reflect.TypeFor[retryAfter]()},
	{saysEffect, reflect.TypeFor[effecter]()},
	{saysStatus, reflect.TypeFor[statusCode]()},
	{saysHTTPStatus, reflect.TypeFor[httpStatusCode]()},
	{saysHTTPCode, reflect.TypeFor[httpCode]()},
	{saysResponse, reflect.TypeFor[response]()},
	{saysSQLState, reflect.TypeFor[sqlState]()},
	{saysErrorCode, reflect.TypeFor[errorCode]()},
}

// knownTraits remembers the traits by type. A program has a bounded number of
// types, unless it makes them as it goes; those are looked at each time.
var (
	knownTraits sync.Map // reflect.Type to traits
	knownTypes  atomic.Int32
)

const maxTypes = 4096

func traitsOf(err error) traits {
	t := reflect.TypeOf(err)
	switch t {
	case fmtWrapType, fmtJoinType, joinType:
		return wraps
	case textType:
		return isText
	}
	if known, ok := knownTraits.Load(t); ok {
		return known.(traits) //nolint:forcetypeassert // nothing else is in there
	}
	found := lookAt(t)
	if knownTypes.Load() < maxTypes {
		if _, loaded := knownTraits.LoadOrStore(t, found); !loaded {
			knownTypes.Add(1)
		}
	}
	return found
}

// lookAt finds out what a type can be asked. A library that gives its errors
// neither a method nor an interface of standard types is known by its name: nothing
// of it is imported for that.
func lookAt(t reflect.Type) (found traits) {
	for _, i := range interfaces {
		if t.Implements(i.typ) {
			found |= i.trait
		}
	}
	named := t
	if t.Kind() == reflect.Pointer {
		named = t.Elem()
	}
	path, name := named.PkgPath(), named.Name()
	switch {
	case t == reflect.TypeFor[*ResponseError]():
		return isResponse
	case path == "net/http" && name == "tlsHandshakeTimeoutError":
		found |= isHandshake
	case strings.HasPrefix(path, "github.com/cenkalti/backoff") && name == "PermanentError",
		strings.HasPrefix(path, "github.com/avast/retry-go") && name == "unrecoverableError":
		found |= isPermanent
	case strings.HasPrefix(path, "github.com/cenkalti/backoff") && name == "RetryAfterError":
		found |= isBackoffAfter
	case path == "github.com/failsafe-go/failsafe-go/retrypolicy" && name == "ExceededError":
		found |= isExceeded
	}
	// The names are constants, so that the linker may still drop other methods.
	if m, ok := t.MethodByName("GRPCStatus"); ok && isGetter(m) {
		if code, ok := m.Type.Out(0).MethodByName("Code"); ok && isGetter(code) && code.Type.Out(0).Kind() == reflect.Uint32 {
			found |= isGRPC
		}
	}
	if m, ok := t.MethodByName("Code"); ok && isGetter(m) {
		switch kind := m.Type.Out(0).Kind(); {
		case path == "connectrpc.com/connect" && kind == reflect.Uint32:
			found |= isConnect
		case strings.Contains(path, "sqlite") && reflect.Int <= kind && kind <= reflect.Uint64:
			found |= isSQLite
		}
	}
	return found
}

// isGetter reports whether a method takes nothing and returns one value.
func isGetter(m reflect.Method) bool { return m.Type.NumIn() == 1 && m.Type.NumOut() == 1 }

// ask asks an error for what its type can say. What it says on purpose comes before
// what its code or its status means.
func (w *walker) ask(err error, has traits) {
	defer func() {
		_ = recover() // a stranger's method; what was said before stays
	}()
	if e, ok := as[*ResponseError](err, has, isResponse); ok {
		w.note(e.clue())
		return
	}
	if e, ok := as[effecter](err, has, saysEffect); ok {
		w.note(clue{effect: effect(e.Effect())})
	}
	if has&isExceeded != 0 {
		w.note(clue{effect: fault.EffectUnknown}) // it holds the last error only, and one before may have been sent
	}
	if has&isPermanent != 0 {
		w.note(clue{retry: RetryNo, reason: reasonPermanent})
	}
	if e, ok := as[retryable](err, has, saysRetryable); ok {
		w.note(ofBool(e.Retryable()))
	}
	if e, ok := as[retryableError](err, has, saysRetryError); ok {
		w.note(ofBool(e.RetryableError()))
	}
	if e, ok := as[retryAfter](err, has, saysRetryAfter); ok {
		w.note(ofWait(e.RetryAfter()))
	}
	if has&isBackoffAfter != 0 {
		w.note(ofWait(durationField(err, "Duration")))
	}
	if e, ok := as[safeToRetry](err, has, saysSafe); ok && e.SafeToRetry() {
		// Only the half of it is believed: pgx v5.12 says so too of a query that was
		// sent and whose connection broke before the answer.
		w.note(clue{retry: RetryYes})
	}
	if e, ok := as[sqlState](err, has, saysSQLState); ok {
		w.note(ofSQLState(e.SQLState()))
	}
	if has&isSQLite != 0 {
		w.note(ofSQLite(codeOf(err)))
	}
	if has&isGRPC != 0 {
		w.note(ofGRPCStatus(err))
	}
	if has&isConnect != 0 {
		c := ofGRPC(codeOf(err))
		if e, ok := err.(interface{ Meta() http.Header }); ok && c.retry == RetryYes {
			c.after = waitOf(e.Meta(), time.Now(), false)
		}
		w.note(c)
	}
	if e, ok := as[response](err, has, saysResponse); ok {
		if resp := e.Response(); resp != nil { //nolint:bodyclose // it is its owner's
			w.note(ofResponse(resp.StatusCode, resp.Header, time.Now()))
		}
	}
	if e, ok := as[statusCode](err, has, saysStatus); ok {
		w.note(withStatus(e.StatusCode()))
	}
	if e, ok := as[httpStatusCode](err, has, saysHTTPStatus); ok {
		w.note(withStatus(e.HTTPStatusCode()))
	}
	if e, ok := as[httpCode](err, has, saysHTTPCode); ok {
		w.note(withStatus(e.HTTPCode()))
	}
	if e, ok := as[temporary](err, has, saysTemporary); ok && e.Temporary() {
		w.note(clue{temporary: true})
	}
	if e, ok := as[errorCode](err, has, saysErrorCode); ok && throttled[e.ErrorCode()] {
		w.throttled()
	}
}

func (w *walker) note(c clue) { w.clue.fill(&c) }

// throttled notes that the AWS SDK tells that there were too many requests, which
// it does below an HTTP status of 400.
func (w *walker) throttled() {
	if w.clue.kind == "" || w.clue.kind == fault.KindClientError {
		w.clue.kind = fault.KindRateLimited
	}
	w.note(clue{retry: RetryYes, effect: fault.EffectNone})
}

type (
	effecter       interface{ Effect() fault.Effect }
	retryable      interface{ Retryable() bool }
	retryableError interface{ RetryableError() bool }
	retryAfter     interface{ RetryAfter() time.Duration }
	safeToRetry    interface{ SafeToRetry() bool }
	temporary      interface{ Temporary() bool }
	timeouter      interface{ Timeout() bool }
	sqlState       interface{ SQLState() string }
	errorCode      interface{ ErrorCode() string }
	response       interface{ Response() *http.Response }
	statusCode     interface{ StatusCode() int }
	httpStatusCode interface{ HTTPStatusCode() int }
	httpCode       interface{ HTTPCode() int }
)

// as returns err as a T, if its type has the trait that says that it is one.
func as[T any](err error, has, trait traits) (e T, ok bool) {
	if has&trait != 0 {
		e, ok = err.(T)
	}
	return e, ok
}

func ofBool(yes bool) clue {
	if yes {
		return clue{retry: RetryYes}
	}
	return clue{retry: RetryNo, reason: reasonPermanent}
}

func ofWait(d time.Duration) clue {
	if d <= 0 {
		return clue{}
	}
	return clue{retry: RetryYes, after: bounded(d)}
}

// codeOf returns what the method Code of an error returns, whose type has a name of
// its own in the package of the error.
func codeOf(err error) uint64 {
	v := reflect.ValueOf(err).MethodByName("Code").Call(nil)[0]
	if v.CanInt() {
		return uint64(max(0, v.Int()))
	}
	return v.Uint()
}

// durationField returns a field of an error that has no method for it.
func durationField(err error, name string) time.Duration {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return 0
	}
	if d, ok := reflect.TypeAssert[time.Duration](v.FieldByName(name)); ok {
		return d
	}
	return 0
}

// maxDetails bounds what is looked at of the details of a gRPC status, each of which
// is decoded for it.
const maxDetails = 16

// ofGRPCStatus reads the status of a gRPC error. Its type belongs to gRPC, so it is
// asked by the names of its methods.
func ofGRPCStatus(err error) clue {
	status := reflect.ValueOf(err).MethodByName("GRPCStatus").Call(nil)[0]
	if status.Kind() == reflect.Pointer && status.IsNil() {
		return clue{}
	}
	c := ofGRPC(status.MethodByName("Code").Call(nil)[0].Uint())
	if m, ok := reflect.TypeAssert[interface{ Message() string }](status); ok && c.kind == fault.KindRateLimited && strings.Contains(m.Message(), "larger than max") {
		// gRPC has one code for a limit of the service and for an answer that this side
		// refused to read, of a call that was carried out.
		return clue{kind: fault.KindServerError, retry: RetryNo, reason: reasonUpstream, effect: fault.EffectUnknown}
	}
	detailed, ok := reflect.TypeAssert[interface{ Details() []any }](status)
	if !ok || c.retry != RetryYes {
		return c
	}
	details := detailed.Details()
	for _, d := range details[:min(len(details), maxDetails)] {
		if wait := retryDelay(d); wait > 0 {
			c.after = wait
			break
		}
	}
	return c
}

// retryDelay returns the wait of a google.rpc.RetryInfo.
func retryDelay(detail any) time.Duration {
	v := reflect.ValueOf(detail)
	if !v.IsValid() {
		return 0
	}
	m := v.MethodByName("GetRetryDelay")
	if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 {
		return 0
	}
	if d, ok := reflect.TypeAssert[interface{ AsDuration() time.Duration }](m.Call(nil)[0]); ok {
		return bounded(d.AsDuration())
	}
	return 0
}
