package classify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// A sort is what a type of error can be asked. It is found out once for a type,
// because asking each error for each of some fifty methods and fields would cost more
// than all the rest.
type sort struct {
	readers []reader // in the order of their weight
	wraps   bool     // a wrapping of fmt or errors, which says nothing itself
	text    bool     // it has nothing but a text
	public  bool     // it has a method for what a caller may know
	network bool     // io.EOF below it is the end of a connection
}

// A reader asks an error of one type what it says.
type reader func(error) clue

// sorts remembers by type. Without it each failure would look its types up by
// reflection again, which takes microseconds. A program has a bounded number of types,
// unless it makes them as it goes; those are looked at each time.
var (
	sorts     sync.Map // reflect.Type to *sort
	sortCount atomic.Int32
)

const maxTypes = 4096

// What the types are that only wrap or only have a text.
var (
	textType    = reflect.TypeOf(errors.New(""))
	fmtTextType = reflect.TypeOf(fmt.Errorf("%d", 1))
	joinType    = reflect.TypeOf(errors.Join(context.Canceled))
	fmtWrapType = reflect.TypeOf(fmt.Errorf("%w", context.Canceled))
	fmtJoinType = reflect.TypeOf(fmt.Errorf("%w%w", context.Canceled, context.Canceled))

	wrapping = &sort{wraps: true}
	plain    = &sort{text: true}
)

func sortOf(err error) *sort {
	t := reflect.TypeOf(err)
	switch t {
	case fmtWrapType, fmtJoinType, joinType:
		return wrapping
	case textType, fmtTextType:
		return plain
	}
	if known, ok := sorts.Load(t); ok {
		return known.(*sort) //nolint:forcetypeassert // nothing else is in there
	}
	found := lookAt(t)
	if sortCount.Load() < maxTypes {
		if _, loaded := sorts.LoadOrStore(t, found); !loaded {
			sortCount.Add(1)
		}
	}
	return found
}

// lookAt finds out what a type can be asked. No library is imported for it: types that
// have neither a method nor a field of a usual name are known by their own names.
func lookAt(t reflect.Type) *sort {
	path, name := nameOf(t)
	s := &sort{
		text:   t.Kind() == reflect.String || name == "errorString" && t.NumMethod() == 1,
		public: has[PublicMessager](t) || has[PublicHinter](t) || has[PublicKinder](t),
		network: t == reflect.TypeFor[*net.OpError]() || path == "net/url" && name == "Error" || strings.Contains(path, "mongo-driver") ||
			has[interface{ SafeToRetry() bool }](t),
	}
	for _, follows := range conventions {
		if read := follows(t, path, name); read != nil {
			s.readers = append(s.readers, read)
		}
	}
	return s
}

func nameOf(t reflect.Type) (path, name string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath(), t.Name()
}

// has reports whether t is the type T or has its methods.
func has[T any](t reflect.Type) bool { return t.AssignableTo(reflect.TypeFor[T]()) }

// A convention is something that types of errors are known by. It returns the reader for a
// type that follows it, and nil for any other.
type convention func(t reflect.Type, path, name string) reader

// by is the convention of a method, or of a type.
func by[T any](read func(T) clue) convention {
	return func(t reflect.Type, _, _ string) reader {
		if !has[T](t) {
			return nil
		}
		return func(err error) clue {
			e, _ := err.(T)
			return read(e)
		}
	}
}

// marks is the convention of a method whose presence says it all.
func marks[T any](c clue) convention { return by(func(T) clue { return c }) }

// called is the convention of a type's own name in a package with this in its path.
func called(path, name string, read reader) convention {
	return func(_ reflect.Type, itsPath, itsName string) reader {
		if itsName != name || !strings.Contains(itsPath, path) {
			return nil
		}
		return read
	}
}

// conventions are in the order of their weight: what a type says on purpose comes before
// what a status or a number of it means, and an answer with a header before a status alone.
var conventions = append([]convention{
	by(func(e *ResponseError) clue { return e.said }),
	by(func(e interface{ Effect() fault.Effect }) clue { return clue{effect: effect(e.Effect())} }),
	// It holds the last error only, and one before may have been sent.
	called("github.com/failsafe-go/failsafe-go/retrypolicy", "ExceededError", func(error) clue { return clue{effect: fault.EffectUnknown} }),
	called("github.com/cenkalti/backoff", "PermanentError", func(error) clue { return ofBool(false) }),
	called("github.com/avast/retry-go", "unrecoverableError", func(error) clue { return ofBool(false) }),
	by(func(e interface{ Retryable() bool }) clue { return ofBool(e.Retryable()) }),
	by(func(e interface{ RetryableError() bool }) clue { return ofBool(e.RetryableError()) }), // the AWS SDK
	by(func(e interface{ RetryAfter() time.Duration }) clue { return ofWait(e.RetryAfter()) }),
	called("github.com/cenkalti/backoff", "RetryAfterError", func(err error) clue {
		d, _ := reflect.TypeAssert[time.Duration](reflect.Indirect(reflect.ValueOf(err)).FieldByName("Duration"))
		return ofWait(d)
	}),
	// Only the half of it is believed: pgx v5.12 says so too of a query that was sent
	// and whose connection broke before the answer.
	by(func(e interface{ SafeToRetry() bool }) clue {
		if e.SafeToRetry() {
			return clue{retry: RetryYes}
		}
		return clue{}
	}),
	called("go-mssqldb", "ServerError", func(error) clue { return shutDown }),
	by(func(e interface{ SQLState() string }) clue { return ofSQLState(e.SQLState()) }),
	by(ofMongo),
	by(func(e interface {
		error
		RedisError()
	}) clue {
		return ofRedis(e.Error())
	}),
	called("github.com/gomodule/redigo/redis", "Error", func(err error) clue { return ofRedis(err.Error()) }),
	by(func(e interface{ Response() *http.Response }) clue {
		if resp := e.Response(); resp != nil {
			return ofResponse(resp.StatusCode, resp.Header, time.Now())
		}
		return clue{}
	}),
	byNumber, byCode, byGRPCStatus, byStatus, byFields,
	by(func(e interface{ StatusCode() int }) clue { return withStatus(e.StatusCode()) }),
	by(func(e interface{ HTTPStatusCode() int }) clue { return withStatus(e.HTTPStatusCode()) }),
	by(func(e interface{ HTTPStatus() int }) clue { return withStatus(e.HTTPStatus()) }),
	by(func(e interface{ HTTPCode() int }) clue { return withStatus(e.HTTPCode()) }),
	by(func(e interface{ Temporary() bool }) clue { return clue{temporary: e.Temporary()} }),
	by(func(e interface{ ErrorCode() string }) clue { return ofWord(e.ErrorCode()) }),
	// The clients of Docker keep a marker in a field that is not exported, and tell a
	// refused connection by a type of its own.
	called("github.com/docker/docker/client", "httpError", ofMarker),
	called("github.com/moby/moby/client", "httpError", ofMarker),
	called("github.com/docker/docker/client", "errConnectionFailed", func(error) clue { return unreachable }),
	called("github.com/moby/moby/client", "errConnectionFailed", func(error) clue { return unreachable }),
}, markers...)

// markers are the methods of containerd and moby.
var markers = []convention{
	marks[interface{ InvalidParameter() }](wrongRequest),
	marks[interface{ NotFound() }](missing),
	marks[interface{ AlreadyExists() }](existing),
	marks[interface{ Conflict() }](conflicting),
	marks[interface{ FailedPrecondition() }](unready),
	marks[interface{ Unauthorized() }](noCredentials),
	marks[interface{ Forbidden() }](noCredentials),
	marks[interface{ ResourceExhausted() }](limited),
	marks[interface{ Unavailable() }](shutDown),
	marks[interface{ NotImplemented() }](unimplemented),
	marks[interface{ System() }](broken),
	marks[interface{ Internal() }](broken),
	marks[interface{ DataLoss() }](broken),
}

func ofMarker(err error) clue {
	v := reflect.Indirect(reflect.ValueOf(err))
	if v.Kind() != reflect.Struct {
		return clue{}
	}
	marker := v.FieldByName("errdef")
	if !marker.IsValid() || marker.Kind() != reflect.Interface || marker.IsNil() {
		return clue{}
	}
	for _, follows := range markers {
		if read := follows(marker.Elem().Type(), "", ""); read != nil {
			return read(err)
		}
	}
	if unexpected := reflect.Indirect(marker.Elem()); unexpected.Kind() == reflect.Struct {
		return withStatus(int(numberOf(unexpected.FieldByName("Status"))))
	}
	return clue{}
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

// getter returns the type of what a method returns that takes nothing and returns one
// value, and a function that asks an error for it. The name of a method is to be a constant
// where it is looked up, so that the linker may still drop others.
func getter(m reflect.Method, ok bool) (reflect.Type, func(error) reflect.Value) {
	if !ok || m.Type.NumIn() != 1 || m.Type.NumOut() != 1 {
		return nil, nil
	}
	return m.Type.Out(0), func(err error) reflect.Value { return m.Func.Call([]reflect.Value{reflect.ValueOf(err)})[0] }
}

// byCode is the convention of a method Code whose number has a meaning that its type tells.
func byCode(t reflect.Type, path, _ string) reader {
	out, get := getter(t.MethodByName("Code"))
	if out == nil || out.Kind() < reflect.Int || out.Kind() > reflect.Uint64 {
		return nil
	}
	code := func(err error) int64 { return int64(numberOf(get(err))) }
	switch {
	case path == "connectrpc.com/connect":
		return func(err error) clue {
			if safe.Find(err, func(err error) bool { _, ok := err.(*net.OpError); return ok }) {
				return clue{} // the code is the client's own for a connection, which tells more itself
			}
			c := grpcCodes.of(code(err))
			if e, ok := err.(interface{ Meta() http.Header }); ok && c.retry == RetryYes {
				c.after = waitOf(e.Meta(), time.Now(), false)
			}
			return c
		}
	case out.PkgPath() == "google.golang.org/grpc/codes":
		return func(err error) clue { return grpcCodes.of(code(err)) }
	case strings.Contains(path, "sqlite"):
		return func(err error) clue { return ofSQLite(code(err)) }
	case strings.Contains(path, "gocql"):
		return func(err error) clue { return cassandra.of(code(err)) }
	default:
		return nil
	}
}

// byGRPCStatus is the convention of gRPC.
func byGRPCStatus(t reflect.Type, _, _ string) reader {
	out, status := getter(t.MethodByName("GRPCStatus"))
	if !isGRPC(out) {
		return nil
	}
	return func(err error) clue { return ofGRPCStatus(status(err)) }
}

// byStatus is the convention of a method Status, whose result is that of gRPC (Temporal),
// has fields (Kubernetes), or is a number.
func byStatus(t reflect.Type, _, _ string) reader {
	out, status := getter(t.MethodByName("Status"))
	switch {
	case out == nil:
	case isGRPC(out):
		return func(err error) clue { return ofGRPCStatus(status(err)) }
	case out.Kind() == reflect.Struct:
		if f := fieldsOf(out); f != nil {
			return func(err error) clue { return f.of(status(err)) }
		}
	case out.Kind() == reflect.Int:
		return func(err error) clue { return withStatus(int(status(err).Int())) }
	}
	return nil
}

func isGRPC(t reflect.Type) bool {
	if t == nil {
		return false
	}
	m, ok := t.MethodByName("Code")
	return ok && m.Type.NumOut() == 1 && m.Type.Out(0).Kind() == reflect.Uint32
}

// maxDetails bounds what is looked at of the details of a gRPC status, each of which
// is decoded for it.
const maxDetails = 16

// ofGRPCStatus reads the status of a gRPC error. Its type belongs to gRPC, so it is
// asked by the names of its methods.
func ofGRPCStatus(status reflect.Value) clue {
	if status.Kind() == reflect.Pointer && status.IsNil() {
		return clue{}
	}
	c := grpcCodes.of(int64(numberOf(status.MethodByName("Code").Call(nil)[0])))
	if m, ok := reflect.TypeAssert[interface{ Message() string }](status); ok {
		switch text := m.Message(); {
		case c.kind == fault.KindRateLimited && strings.Contains(text, "larger than max"):
			// gRPC has one code for a limit of the service and for an answer that this side
			// refused to read, of a call that was carried out.
			return failed
		case c.kind == fault.KindServiceUnavailable && strings.HasPrefix(text, "connection error: desc = \"transport: Error while dialing"):
			return unreachable // it was not sent
		}
	}
	detailed, ok := reflect.TypeAssert[interface{ Details() []any }](status)
	if !ok || c.retry != RetryYes {
		return c
	}
	details := detailed.Details()
	for _, d := range details[:min(len(details), maxDetails)] {
		if c.after = retryDelay(d); c.after > 0 {
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
