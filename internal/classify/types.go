package classify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// A sort is what a type of error can be asked. It is found out once for a type,
// because asking each error for each of some fifty methods and fields would cost more
// than all the rest.
type sort struct {
	readers []reader // in the order of their weight
	public  bool     // it has a method for what a caller may know
	network bool     // io.EOF below it is the end of a connection
}

// A reader asks an error of one type what it says.
type reader func(error) clue

// sorts remembers by type. Without it each failure would look its types up by
// reflection again, which takes microseconds. A program has a bounded number of types.
var sorts sync.Map // reflect.Type to *sort

// What the types are that only wrap, and say nothing themselves, or only have a text.
var (
	textType    = reflect.TypeOf(errors.New(""))
	fmtTextType = reflect.TypeOf(fmt.Errorf("%d", 1))
	joinType    = reflect.TypeOf(errors.Join(context.Canceled))
	fmtWrapType = reflect.TypeOf(fmt.Errorf("%w", context.Canceled))
	fmtJoinType = reflect.TypeOf(fmt.Errorf("%w%w", context.Canceled, context.Canceled))

	wrapping = &sort{}
	plain    = &sort{readers: []reader{ofText}}
)

func sortOf(t reflect.Type) *sort {
	switch t {
	case fmtWrapType, fmtJoinType, joinType:
		return wrapping
	case textType, fmtTextType:
		return plain
	}
	known, ok := sorts.Load(t)
	if !ok {
		known, _ = sorts.LoadOrStore(t, lookAt(t))
	}
	return known.(*sort) //nolint:forcetypeassert // nothing else is in there
}

// lookAt finds out what a type can be asked. No library is imported for it: types that
// have neither a method nor a field of a usual name are known by their own names.
func lookAt(t reflect.Type) *sort {
	path, name := named(t).PkgPath(), named(t).Name()
	s := &sort{
		public: has[PublicMessager](t) || has[PublicHinter](t) || has[PublicKinder](t),
		network: t == reflect.TypeFor[*net.OpError]() || path == "net/url" && name == "Error" || strings.Contains(path, "mongo-driver") ||
			has[interface{ SafeToRetry() bool }](t),
	}
	for _, f := range families {
		if f.name == name && strings.Contains(path, f.path) {
			s.readers = []reader{f.read}
			return s
		}
	}
	if t.Kind() == reflect.String || name == "errorString" && t.NumMethod() == 1 {
		s.readers = append(s.readers, ofText)
	}
	for _, follows := range slices.Concat(conventions, markers) {
		if read := follows(t); read != nil {
			s.readers = append(s.readers, read)
		}
	}
	return s
}

// named returns the type that has the name.
func named(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// families are the types that are known by their name in a package with this in its path.
// A type that stands here is asked for nothing else.
var families = []struct {
	path, name string
	read       reader
}{
	// It holds the last error only, and one before may have been sent.
	{"github.com/failsafe-go/failsafe-go/retrypolicy", "ExceededError", is(clue{effect: fault.EffectUnknown})},
	{"github.com/cenkalti/backoff", "PermanentError", is(permanent)},
	{"github.com/avast/retry-go", "unrecoverableError", is(permanent)},
	{"github.com/cenkalti/backoff", "RetryAfterError", func(err error) clue {
		d, _ := reflect.TypeAssert[time.Duration](reflect.Indirect(reflect.ValueOf(err)).FieldByName("Duration"))
		return ofWait(d)
	}},
	{"github.com/gomodule/redigo/redis", "Error", func(err error) clue { return ofRedis(err.Error()) }},
	{"connectrpc.com/connect", "Error", ofConnect},
	{"docker/docker/client", "httpError", ofMarker},
	{"moby/moby/client", "httpError", ofMarker},
	{"docker/docker/client", "errConnectionFailed", is(unreachable)},
	{"moby/moby/client", "errConnectionFailed", is(unreachable)},
	{"go-sql-driver/mysql", "MySQLError", number(mysql.of, "Number")},
	{"go-mssqldb", "Error", number(sqlServer.of, "Number")},
	{"go-mssqldb", "ServerError", is(shutDown)},
	{"ClickHouse", "Exception", number(clickHouse.of, "Code")},
	{"franz-go/pkg/kerr", "Error", number(kafka.of, "Code")},
	{"segmentio/kafka-go", "Error", number(kafka.of)},
	{"sarama", "KError", number(kafka.of)},
	{"rabbitmq/amqp091-go", "Error", number(amqp.of, "Code")},
	{"mattn/go-sqlite3", "Error", number(ofSQLite, "ExtendedCode", "Code")},
	{"nats-io/nats.go", "jsError", ofText}, // it may have no APIError, and then a text alone
	{"nats-io/nats.go", "APIError", func(err error) clue {
		if c := number(jetStream.of, "ErrorCode")(err); c != (clue{}) {
			return c
		}
		return number(func(status int64) clue { return withStatus(int(status)) }, "Code")(err)
	}},
}

// A convention is something that types of errors are known by. It returns the reader for a
// type that follows it, and nil for any other.
type convention func(t reflect.Type) reader

// conventions are in the order of their weight: what a type says on purpose comes before
// what a status or a number of it means, and an answer with a header before a status alone.
var conventions = []convention{
	by(func(e *ResponseError) clue { return e.said }),
	by(func(e interface{ Effect() fault.Effect }) clue {
		return clue{effect: Effect(e.Effect()), proof: ByError}
	}),
	by(func(e interface{ Retryable() bool }) clue { return ofBool(e.Retryable()) }),
	by(func(e interface{ RetryableError() bool }) clue { return ofBool(e.RetryableError()) }), // the AWS SDK
	by(func(e interface{ RetryAfter() time.Duration }) clue { return ofWait(e.RetryAfter()) }),
	// Only the half of it is believed: pgx v5.12 says so too of a query that was sent
	// and whose connection broke before the answer.
	by(func(e interface{ SafeToRetry() bool }) clue {
		if e.SafeToRetry() {
			return clue{retry: RetryYes, by: ByError}
		}
		return clue{}
	}),
	by(func(e interface{ SQLState() string }) clue { return ofSQLState(e.SQLState()) }),
	by(ofMongo),
	by(func(e interface {
		error
		RedisError()
	}) clue {
		return ofRedis(e.Error())
	}),
	by(func(e interface{ Response() *http.Response }) clue {
		if resp := e.Response(); resp != nil {
			return ofResponse(resp.StatusCode, resp.Header, false, 0)
		}
		return clue{}
	}),
	byCode, byStatus, byFields,
	by(func(e interface{ StatusCode() int }) clue { return withStatus(e.StatusCode()) }),
	by(func(e interface{ HTTPStatusCode() int }) clue { return withStatus(e.HTTPStatusCode()) }),
	by(func(e interface{ HTTPStatus() int }) clue { return withStatus(e.HTTPStatus()) }),
	by(func(e interface{ HTTPCode() int }) clue { return withStatus(e.HTTPCode()) }),
	by(func(e interface{ ErrorCode() string }) clue { return ofWord(e.ErrorCode()) }),
}

// markers are the methods of containerd and moby.
var markers = []convention{
	marks[interface{ InvalidParameter() }](wrongRequest),
	marks[interface{ NotFound() }](missing),
	marks[interface{ AlreadyExists() }](existing),
	marks[interface{ Conflict() }](conflicting),
	marks[interface{ FailedPrecondition() }](unready),
	marks[interface{ Unauthorized() }](badLogin),
	marks[interface{ Forbidden() }](noCredentials),
	marks[interface{ ResourceExhausted() }](limited),
	marks[interface{ Unavailable() }](shutDown),
	marks[interface{ NotImplemented() }](unimplemented),
	marks[interface{ System() }](broken),
	marks[interface{ Internal() }](broken),
	marks[interface{ DataLoss() }](broken),
}

// has reports whether t is the type T or has its methods.
func has[T any](t reflect.Type) bool { return t.AssignableTo(reflect.TypeFor[T]()) }

// by is the convention of a method, or of a type.
func by[T any](read func(T) clue) convention {
	return func(t reflect.Type) reader {
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

// is reads what a type says by its presence.
func is(c clue) reader { return func(error) clue { return c } }

var permanent = clue{retry: RetryNo, reason: reasonPermanent}

func ofBool(yes bool) clue {
	if yes {
		return clue{retry: RetryYes, by: ByError}
	}
	c := permanent
	c.by = ByError
	return c
}

func ofWait(d time.Duration) clue {
	if d <= 0 {
		return clue{}
	}
	return clue{retry: RetryYes, by: ByError, after: Bounded(d)}
}

// number reads a number of a service's own: the first of the fields that has a meaning, or
// without fields the error itself. What no number tells, an SQLSTATE may.
func number(of func(int64) clue, fields ...string) reader {
	return func(err error) clue {
		v := reflect.Indirect(reflect.ValueOf(err))
		if len(fields) == 0 {
			return of(int64(numberOf(v)))
		}
		for _, field := range fields {
			if c := of(int64(numberOf(v.FieldByName(field)))); c != (clue{}) {
				return c
			}
		}
		if state := v.FieldByName("SQLState"); state.IsValid() {
			return ofSQLState(stateOf(state))
		}
		return clue{}
	}
}

// ofMarker reads the clients of Docker, which keep a marker in a field that is not exported.
func ofMarker(err error) clue {
	marker := reflect.Indirect(reflect.ValueOf(err)).FieldByName("errdef")
	if !marker.IsValid() || marker.Kind() != reflect.Interface || marker.IsNil() {
		return clue{}
	}
	for _, follows := range markers {
		if read := follows(marker.Elem().Type()); read != nil {
			return read(err)
		}
	}
	if unexpected := reflect.Indirect(marker.Elem()); unexpected.Kind() == reflect.Struct {
		return withStatus(int(numberOf(unexpected.FieldByName("Status"))))
	}
	return clue{}
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
func byCode(t reflect.Type) reader {
	out, code := getter(t.MethodByName("Code"))
	if out == nil || out.Kind() < reflect.Int || out.Kind() > reflect.Uint64 {
		return nil
	}
	var of func(int64) clue
	switch path := named(t).PkgPath(); {
	case out.PkgPath() == "google.golang.org/grpc/codes":
		of = grpcCodes.of
	case strings.Contains(path, "sqlite"):
		of = ofSQLite
	case strings.Contains(path, "gocql"):
		of = cassandra.of
	default:
		return nil
	}
	return func(err error) clue { return of(int64(numberOf(code(err)))) }
}

// byStatus is the convention of the methods GRPCStatus, and Status, whose result is that of
// gRPC (Temporal), has fields (Kubernetes), or is a number.
func byStatus(t reflect.Type) reader {
	out, status := getter(t.MethodByName("GRPCStatus"))
	if out == nil {
		out, status = getter(t.MethodByName("Status"))
	}
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
			// refused to read, of a call that was carried out: https://github.com/grpc/grpc/pull/10612.
			return failed
		case c.kind == fault.KindServiceUnavailable && strings.HasPrefix(text, "connection error: desc = \"transport: Error while dialing"):
			return unreachable // it was not sent
		}
	}
	if d, ok := reflect.TypeAssert[interface{ Details() []any }](status); ok && c.retry == RetryYes {
		details := d.Details()
		for _, detail := range details[:min(len(details), maxDetails)] {
			c.after = cmp.Or(c.after, retryDelay(detail))
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
		return Bounded(d.AsDuration())
	}
	return 0
}

// ofConnect reads an error of Connect.
func ofConnect(err error) clue {
	if safe.Find(err, func(err error) bool { _, ok := err.(*net.OpError); return ok }) {
		return clue{} // the code is the client's own for a connection, which tells more itself
	}
	c := grpcCodes.of(int64(numberOf(reflect.ValueOf(err).MethodByName("Code").Call(nil)[0])))
	if e, ok := err.(interface{ Meta() http.Header }); ok && c.retry == RetryYes {
		c.after = WaitOf(e.Meta(), time.Now(), false)
	}
	return c
}
