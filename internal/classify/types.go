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

// A sort holds what a type of error can be read for. It is made once for a type, because trying
// some fifty methods and fields on each error would cost more than all the rest.
type sort struct {
	readers []reader // in the order of their weight
	public  bool     // it has a method for what a caller may know
	network bool     // io.EOF below it is the end of a connection
}

// A reader reads the clue of an error of one type.
type reader func(error) clue

// sorts caches by type. Without it each failure would examine its types by reflection again, which
// takes microseconds. A program has a bounded number of types.
var sorts sync.Map // reflect.Type to *sort

// The sorts of types that only wrap and say nothing themselves, and of those that only have a text.
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

// lookAt examines a type. No library is imported for it: types without a method or a field of a
// usual name are recognised by their own names.
func lookAt(t reflect.Type) *sort {
	path, name := named(t).PkgPath(), named(t).Name()
	if path == "github.com/mcpchain/mcpchain/retry" && name == "ResponseError" {
		return wrapping // it wraps the ResponseError of this package, which holds everything
	}
	s := &sort{
		public: has[PublicMessager](t) || has[PublicHinter](t) || has[PublicKinder](t),
		network: t == reflect.TypeFor[*net.OpError]() || path == "net/url" && name == "Error" || strings.Contains(path, "mongo-driver") ||
			has[interface{ SafeToRetry() bool }](t),
	}
	for i := range families {
		if f := &families[i]; f.name == name && strings.Contains(path, f.path) {
			s.readers = []reader{f.reader()}
			return s
		}
	}
	if t.Kind() == reflect.String || name == "errorString" && t.NumMethod() == 1 {
		s.readers = append(s.readers, ofText)
	}
	for i := range conventions {
		if read := conventions[i].reader(t); read != nil {
			s.readers = append(s.readers, read)
		}
	}
	for i := range markers {
		if isLike(t, markers[i].like) {
			s.readers = append(s.readers, is(markers[i].says))
		}
	}
	return s
}

// named returns the type that has the name, without pointers.
func named(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// A family is a type of errors that is recognised by its name and by the path of its package. It
// has one of three: a clue by its presence, a table of numbers in fields, or a function.
type family struct {
	path, name string
	says       *clue
	numbers    *table[int64]
	fields     []string
	read       reader
}

func (f *family) reader() reader {
	switch {
	case f.says != nil:
		return is(f.says)
	case f.numbers != nil:
		return func(err error) clue { return number(err, f.numbers.of, f.fields...) }
	default:
		return f.read
	}
}

// families are read in no other way.
var families = []family{
	{path: "github.com/cenkalti/backoff", name: "PermanentError", says: &permanent},
	{path: "github.com/avast/retry-go", name: "unrecoverableError", says: &permanent},
	{path: "github.com/cenkalti/backoff", name: "RetryAfterError", read: func(err error) clue {
		d, _ := reflect.TypeAssert[time.Duration](reflect.Indirect(reflect.ValueOf(err)).FieldByName("Duration"))
		return ofWait(d)
	}},
	{path: "github.com/gomodule/redigo/redis", name: "Error", read: func(err error) clue { return ofRedis(err.Error()) }},
	{path: "connectrpc.com/connect", name: "Error", read: ofConnect},
	{path: "docker/docker/client", name: "httpError", read: ofMarker},
	{path: "moby/moby/client", name: "httpError", read: ofMarker},
	{path: "docker/docker/client", name: "errConnectionFailed", says: &unreachable},
	{path: "moby/moby/client", name: "errConnectionFailed", says: &unreachable},
	{path: "go-sql-driver/mysql", name: "MySQLError", numbers: &mysql, fields: []string{"Number"}},
	{path: "go-mssqldb", name: "Error", numbers: &sqlServer, fields: []string{"Number"}},
	{path: "go-mssqldb", name: "ServerError", says: &unavailable},
	{path: "ClickHouse", name: "Exception", numbers: &clickHouse, fields: []string{"Code"}},
	{path: "franz-go/pkg/kerr", name: "Error", numbers: &kafka, fields: []string{"Code"}},
	{path: "segmentio/kafka-go", name: "Error", numbers: &kafka},
	{path: "sarama", name: "KError", numbers: &kafka},
	{path: "rabbitmq/amqp091-go", name: "Error", numbers: &amqp, fields: []string{"Code"}},
	{path: "mattn/go-sqlite3", name: "Error", read: func(err error) clue { return number(err, ofSQLite, "ExtendedCode", "Code") }},
	{path: "nats-io/nats.go", name: "jsError", read: ofText}, // without an APIError it has only a text
	{path: "nats-io/nats.go", name: "APIError", read: func(err error) clue {
		if c := number(err, jetStream.of, "ErrorCode"); c != (clue{}) {
			return c
		}
		return number(err, func(status int64) clue { return withStatus(int(status)) }, "Code")
	}},
}

// A convention is a feature by which types of errors are recognised.
type convention struct {
	like any                       // a nil pointer to their type, or to an interface with their methods
	read reader                    // reads an error of such a type
	of   func(reflect.Type) reader // if like is not enough: it returns nil for any other type
}

// reader returns the reader for a type that follows the convention, nil for any other type.
func (c *convention) reader(t reflect.Type) reader {
	switch {
	case c.of != nil:
		return c.of(t)
	case isLike(t, c.like):
		return c.read
	default:
		return nil
	}
}

// The methods by which types are recognised. They have names so that no code fills the table.
type (
	withEffect         interface{ Effect() fault.Effect }
	withRetryable      interface{ Retryable() bool }
	withRetryableError interface{ RetryableError() bool } // the AWS SDK
	withRetryAfter     interface{ RetryAfter() time.Duration }
	withSafeToRetry    interface{ SafeToRetry() bool }
	withSQLState       interface{ SQLState() string }
	withMongo          interface {
		HasErrorCode(code int) bool
		HasErrorLabel(label string) bool
	}
	withRedis interface {
		error
		RedisError()
	}
	withResponse       interface{ Response() *http.Response }
	withStatusCode     interface{ StatusCode() int }
	withHTTPStatusCode interface{ HTTPStatusCode() int }
	withHTTPStatus     interface{ HTTPStatus() int }
	withHTTPCode       interface{ HTTPCode() int }
	withErrorCode      interface{ ErrorCode() string }
)

// conventions are in the order of their weight: a statement on purpose comes before the meaning of
// a status or a number, and an answer with a header before a status alone.
var conventions = []convention{
	{like: (**ResponseError)(nil), read: func(err error) clue { return as[*ResponseError](err).said }},
	{like: (*withEffect)(nil), read: func(err error) clue {
		return clue{effect: Effect(as[withEffect](err).Effect()), proof: ByError}
	}},
	{like: (*withRetryable)(nil), read: func(err error) clue { return ofBool(as[withRetryable](err).Retryable()) }},
	{like: (*withRetryableError)(nil), read: func(err error) clue { return ofBool(as[withRetryableError](err).RetryableError()) }},
	{like: (*withRetryAfter)(nil), read: func(err error) clue { return ofWait(as[withRetryAfter](err).RetryAfter()) }},
	// Only true is believed: pgx v5.12 returns false also for a query that was sent and whose
	// connection broke before the answer.
	{like: (*withSafeToRetry)(nil), read: func(err error) clue {
		if as[withSafeToRetry](err).SafeToRetry() {
			return clue{retry: fault.RetryYes, by: ByError}
		}
		return clue{}
	}},
	{like: (*withSQLState)(nil), read: func(err error) clue { return ofSQLState(as[withSQLState](err).SQLState()) }},
	{like: (*withMongo)(nil), read: ofMongo},
	{like: (*withRedis)(nil), read: func(err error) clue { return ofRedis(err.Error()) }},
	{like: (*withResponse)(nil), read: func(err error) clue {
		if resp := as[withResponse](err).Response(); resp != nil {
			return ofResponse(resp.StatusCode, resp.Header, false, 0)
		}
		return clue{}
	}},
	{of: byCode},
	{of: byStatus},
	{of: byFields},
	{like: (*withStatusCode)(nil), read: func(err error) clue { return withStatus(as[withStatusCode](err).StatusCode()) }},
	{like: (*withHTTPStatusCode)(nil), read: func(err error) clue { return withStatus(as[withHTTPStatusCode](err).HTTPStatusCode()) }},
	{like: (*withHTTPStatus)(nil), read: func(err error) clue { return withStatus(as[withHTTPStatus](err).HTTPStatus()) }},
	{like: (*withHTTPCode)(nil), read: func(err error) clue { return withStatus(as[withHTTPCode](err).HTTPCode()) }},
	{like: (*withErrorCode)(nil), read: func(err error) clue { return ofWord(as[withErrorCode](err).ErrorCode()) }},
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

// as returns err as the type that it is known to have.
func as[T any](err error) T {
	e, _ := err.(T)
	return e
}

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

// number reads a service's own number: the first of the fields that has a meaning, or without
// fields the error itself. If no number has a meaning, an SQLSTATE may.
func number(err error, of func(int64) clue, fields ...string) clue {
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

// ofMarker reads errors of Docker's clients, which keep a marker in an unexported field.
func ofMarker(err error) clue {
	of := reflect.Indirect(reflect.ValueOf(err)).FieldByName("errdef")
	if !of.IsValid() || of.Kind() != reflect.Interface || of.IsNil() {
		return clue{}
	}
	for i := range markers {
		if isLike(of.Elem().Type(), markers[i].like) {
			return *markers[i].says
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
