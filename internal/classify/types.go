package classify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// A typeInfo holds how errors of one type are read. It is made once for a type, because trying some fifty
// methods and fields on each error would cost more than all the rest.
type typeInfo struct {
	readers []reader // in the order of their weight
	public  bool     // it has a method for what a caller may know
	network bool     // io.EOF below it is the end of a connection
}

// A reader reads the clue of an error of one type.
type reader func(error) clue

// typeInfos is a cache. A program has a bounded number of types.
var typeInfos sync.Map // reflect.Type to *typeInfo

// The types that only wrap and say nothing themselves, and those that only have a text.
var (
	textType    = reflect.TypeOf(errors.New(""))
	fmtTextType = reflect.TypeOf(fmt.Errorf("%d", 1))
	joinType    = reflect.TypeOf(errors.Join(context.Canceled))
	fmtWrapType = reflect.TypeOf(fmt.Errorf("%w", context.Canceled))
	fmtJoinType = reflect.TypeOf(fmt.Errorf("%w%w", context.Canceled, context.Canceled))

	wrapping = &typeInfo{}
	plain    = &typeInfo{readers: []reader{ofText}}
)

func infoOf(t reflect.Type) *typeInfo {
	switch t {
	case fmtWrapType, fmtJoinType, joinType:
		return wrapping
	case textType, fmtTextType:
		return plain
	}
	known, ok := typeInfos.Load(t)
	if !ok {
		known, _ = typeInfos.LoadOrStore(t, examine(t))
	}
	return known.(*typeInfo) //nolint:forcetypeassert // nothing else is in there
}

// examine imports no library: types without a method or a field of a usual name are recognised by their
// own names.
func examine(t reflect.Type) *typeInfo {
	path, name := named(t).PkgPath(), named(t).Name()
	info := &typeInfo{
		public: has[PublicMessager](t) || has[PublicHinter](t) || has[PublicKinder](t),
		network: t == reflect.TypeFor[*net.OpError]() || path == "net/url" && name == "Error" || strings.Contains(path, "mongo-driver") ||
			has[interface{ SafeToRetry() bool }](t),
	}
	for _, f := range families {
		if f.name == name && strings.Contains(path, f.path) {
			info.readers = []reader{f.read}
			return info
		}
	}
	if t.Kind() == reflect.String || name == "errorString" && t.NumMethod() == 1 {
		info.readers = append(info.readers, ofText)
	}
	for _, readerOf := range conventions {
		if read := readerOf(t); read != nil {
			info.readers = append(info.readers, read)
		}
	}
	for _, m := range markers {
		if isLike(t, m.like) {
			info.readers = append(info.readers, is(m.says))
		}
	}
	return info
}

// named returns a type without its pointer.
func named(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// families are types of errors that are recognised by their names and the paths of their packages. They are
// read in no other way.
var families = []struct {
	path, name string
	read       reader
}{
	{"github.com/mcpchain/mcpchain/retry", "ResponseError", is(&clue{})}, // it wraps the ResponseError of this package
	{"github.com/cenkalti/backoff", "PermanentError", is(&permanent)},
	{"github.com/avast/retry-go", "unrecoverableError", is(&permanent)},
	{"github.com/cenkalti/backoff", "RetryAfterError", func(err error) clue {
		d, _ := reflect.TypeAssert[time.Duration](reflect.Indirect(reflect.ValueOf(err)).FieldByName("Duration"))
		return ofWait(d)
	}},
	{"github.com/gomodule/redigo/redis", "Error", func(err error) clue { return ofRedis(err.Error()) }},
	{"connectrpc.com/connect", "Error", ofConnect},
	{"docker/docker/client", "httpError", ofMarker},
	{"moby/moby/client", "httpError", ofMarker},
	{"docker/docker/client", "errConnectionFailed", is(&unreachable)},
	{"moby/moby/client", "errConnectionFailed", is(&unreachable)},
	{"go-sql-driver/mysql", "MySQLError", numbered(mysql.of, "Number")},
	{"go-mssqldb", "Error", numbered(sqlServer.of, "Number")},
	{"go-mssqldb", "ServerError", is(&unavailable)},
	{"ClickHouse", "Exception", numbered(clickHouse.of, "Code")},
	{"franz-go/pkg/kerr", "Error", numbered(kafka.of, "Code")},
	{"segmentio/kafka-go", "Error", numbered(kafka.of)},
	{"sarama", "KError", numbered(kafka.of)},
	{"rabbitmq/amqp091-go", "Error", numbered(amqp.of, "Code")},
	{"mattn/go-sqlite3", "Error", numbered(ofSQLite, "ExtendedCode", "Code")},
	{"nats-io/nats.go", "jsError", ofText}, // without an APIError it has only a text
	{"nats-io/nats.go", "APIError", func(err error) clue {
		status := numbered(func(status int64) clue { return withStatus(int(status)) }, "Code")
		return cmp.Or(numbered(jetStream.of, "ErrorCode")(err), status(err))
	}},
}

// conventions are methods and fields by which types of errors are recognised, in the order of their weight: a
// statement on purpose comes before the meaning of a status or a number, and an answer with a header before
// a status alone. Each returns the reader of a type, nil for any other type.
var conventions = []func(reflect.Type) reader{
	with(func(e *ResponseError) clue { return e.said }),
	with(func(e interface{ Effect() fault.Effect }) clue {
		return clue{effect: Effect(e.Effect()), proof: ByError}
	}),
	with(func(e interface{ Retryable() bool }) clue { return ofBool(e.Retryable()) }),
	with(func(e interface{ RetryableError() bool }) clue { return ofBool(e.RetryableError()) }), // the AWS SDK
	with(func(e interface{ RetryAfter() time.Duration }) clue { return ofWait(e.RetryAfter()) }),
	// Only true is believed: pgx v5.12 returns false also for a query that was sent and whose
	// connection broke before the answer.
	with(func(e interface{ SafeToRetry() bool }) clue {
		if e.SafeToRetry() {
			return clue{retry: fault.RetryYes, by: ByError}
		}
		return clue{}
	}),
	with(func(e interface{ SQLState() string }) clue { return ofSQLState(e.SQLState()) }),
	with(ofMongo),
	with(func(e interface {
		error
		RedisError()
	},
	) clue {
		return ofRedis(e.Error())
	}),
	with(func(e interface{ Response() *http.Response }) clue {
		if resp := e.Response(); resp != nil {
			return ofResponse(resp.StatusCode, resp.Header, false, 0)
		}
		return clue{}
	}),
	byCode,
	byStatus,
	byFields,
	with(func(e interface{ StatusCode() int }) clue { return withStatus(e.StatusCode()) }),
	with(func(e interface{ HTTPStatusCode() int }) clue { return withStatus(e.HTTPStatusCode()) }),
	with(func(e interface{ HTTPStatus() int }) clue { return withStatus(e.HTTPStatus()) }),
	with(func(e interface{ HTTPCode() int }) clue { return withStatus(e.HTTPCode()) }),
	with(func(e interface{ ErrorCode() string }) clue { return ofWord(e.ErrorCode()) }),
}

// with is the convention of the type T, or of its methods.
func with[T any](read func(T) clue) func(reflect.Type) reader {
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

// markers are the methods of containerd and moby whose presence is a statement.
var markers = []struct {
	like any
	says *clue
}{
	{(*interface{ InvalidParameter() })(nil), &wrongRequest},
	{(*interface{ NotFound() })(nil), &missing},
	{(*interface{ AlreadyExists() })(nil), &existing},
	{(*interface{ Conflict() })(nil), &conflicting},
	{(*interface{ FailedPrecondition() })(nil), &unready},
	{(*interface{ Unauthorized() })(nil), &badLogin},
	{(*interface{ Forbidden() })(nil), &noCredentials},
	{(*interface{ ResourceExhausted() })(nil), &limited},
	{(*interface{ Unavailable() })(nil), &unavailable},
	{(*interface{ NotImplemented() })(nil), &unimplemented},
	{(*interface{ System() })(nil), &broken},
	{(*interface{ Internal() })(nil), &broken},
	{(*interface{ DataLoss() })(nil), &broken},
}

// isLike reports whether t is the type that like points to, or has its methods.
func isLike(t reflect.Type, like any) bool { return t.AssignableTo(reflect.TypeOf(like).Elem()) }

// has reports whether t has the methods of the interface T.
func has[T any](t reflect.Type) bool { return isLike(t, (*T)(nil)) }

// is returns a reader for types whose presence is a statement.
func is(says *clue) reader { return func(error) clue { return *says } }

var permanent = clue{retry: fault.RetryNo, reason: reasonPermanent}

func ofBool(yes bool) clue {
	if yes {
		return clue{retry: fault.RetryYes, by: ByError}
	}
	c := permanent
	c.by = ByError
	return c
}

func ofWait(d time.Duration) clue {
	if d <= 0 {
		return clue{}
	}
	return clue{retry: fault.RetryYes, by: ByError, after: Bounded(d)}
}

// numbered reads a service's own number: the first of the fields that has a meaning, or without
// fields the error itself. If no number has a meaning, an SQLSTATE may.
func numbered(of func(int64) clue, fields ...string) reader {
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
		return ofSQLState(stateIn(err))
	}
}

// ofMarker reads errors of Docker's clients, which keep a marker in an unexported field.
func ofMarker(err error) clue {
	of := reflect.Indirect(reflect.ValueOf(err)).FieldByName("errdef")
	if !of.IsValid() || of.Kind() != reflect.Interface || of.IsNil() {
		return clue{}
	}
	for _, m := range markers {
		if isLike(of.Elem().Type(), m.like) {
			return *m.says
		}
	}
	if unexpected := reflect.Indirect(of.Elem()); unexpected.Kind() == reflect.Struct {
		return withStatus(int(numberOf(unexpected.FieldByName("Status"))))
	}
	return clue{}
}

// getter returns the result type of a method without parameters and with one result, and a function
// that calls it. Callers look the method up by a constant name, so that the linker may still drop
// others.
func getter(m reflect.Method, ok bool) (reflect.Type, func(error) reflect.Value) {
	if !ok || m.Type.NumIn() != 1 || m.Type.NumOut() != 1 {
		return nil, nil
	}
	return m.Type.Out(0), func(err error) reflect.Value { return m.Func.Call([]reflect.Value{reflect.ValueOf(err)})[0] }
}

// byCode is the convention of a method Code whose result type shows what its number means.
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

// byStatus is the convention of the methods GRPCStatus and Status. The result of Status is that of
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

// maxDetails bounds how many details of a gRPC status are decoded.
const maxDetails = 16

// ofGRPCStatus reads the status of a gRPC error. Its type belongs to gRPC, so its methods are
// called by name.
func ofGRPCStatus(status reflect.Value) clue {
	if status.Kind() == reflect.Pointer && status.IsNil() {
		return clue{}
	}
	c := grpcCodes.of(int64(numberOf(status.MethodByName("Code").Call(nil)[0])))
	if m, ok := reflect.TypeAssert[interface{ Message() string }](status); ok {
		switch text := m.Message(); {
		case c.kind == fault.KindRateLimited && strings.Contains(text, "larger than max"):
			// gRPC has one code for a limit of the service and for an answer that this side refused to
			// read after the call was carried out: https://github.com/grpc/grpc/pull/10612.
			return failed
		case c.kind == fault.KindServiceUnavailable && strings.HasPrefix(text, "connection error: desc = \"transport: Error while dialing"):
			return unreachable
		}
	}
	if d, ok := reflect.TypeAssert[interface{ Details() []any }](status); ok && c.retry == fault.RetryYes {
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
		return clue{} // the client itself sets the code for a connection, whose error says more
	}
	c := grpcCodes.of(int64(numberOf(reflect.ValueOf(err).MethodByName("Code").Call(nil)[0])))
	if e, ok := err.(interface{ Meta() http.Header }); ok && c.retry == fault.RetryYes {
		c.after = WaitOf(e.Meta(), time.Now(), false)
	}
	return c
}
