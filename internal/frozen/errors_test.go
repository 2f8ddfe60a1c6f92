package frozen_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/frozen/lookalike/connectrpc.com/connect"
	clickhouse "github.com/mcpchain/mcpchain/internal/frozen/lookalike/github.com/ClickHouse/clickhouse-go"
	"github.com/mcpchain/mcpchain/internal/frozen/lookalike/github.com/IBM/sarama"
	avast "github.com/mcpchain/mcpchain/internal/frozen/lookalike/github.com/avast/retry-go"
	docker "github.com/mcpchain/mcpchain/internal/frozen/lookalike/github.com/docker/docker/client"
	"github.com/mcpchain/mcpchain/internal/frozen/lookalike/github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/mcpchain/mcpchain/internal/frozen/lookalike/github.com/go-sql-driver/mysql"
	"github.com/mcpchain/mcpchain/internal/frozen/lookalike/github.com/gocql/gocql"
	"github.com/mcpchain/mcpchain/internal/frozen/lookalike/github.com/gomodule/redigo/redis"
	sqlite3 "github.com/mcpchain/mcpchain/internal/frozen/lookalike/github.com/mattn/go-sqlite3"
	mssql "github.com/mcpchain/mcpchain/internal/frozen/lookalike/github.com/microsoft/go-mssqldb"
	amqp091 "github.com/mcpchain/mcpchain/internal/frozen/lookalike/github.com/rabbitmq/amqp091-go"
	kafka "github.com/mcpchain/mcpchain/internal/frozen/lookalike/github.com/segmentio/kafka-go"
	"github.com/mcpchain/mcpchain/internal/frozen/lookalike/github.com/twmb/franz-go/pkg/kerr"
	"github.com/mcpchain/mcpchain/internal/frozen/lookalike/modernc.org/sqlite"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/validate"
)

// errPlain is an error of which nothing is known. Its text has what no caller may see.
var errPlain = errors.New("stock: query at 10.0.0.7:5432 failed, see /var/log/stock")

// A specimen is an error.
type specimen struct {
	name string
	make func() error
}

// A family is what is known by one convention or one table.
type family struct {
	name string
	all  []specimen
}

// of makes a family of what an error is made of.
func of[T any](name string, build func(T) error, all ...T) family {
	f := family{name: name}
	for _, v := range all {
		f.all = append(f.all, specimen{fmt.Sprint(v), func() error { return build(v) }})
	}
	return f
}

// values is a family of errors that are always the same.
func values(name string, all ...any) family {
	f := family{name: name}
	for i := 0; i < len(all); i += 2 {
		err, _ := all[i+1].(error)
		f.all = append(f.all, specimen{all[i].(string), func() error { return err }})
	}
	return f
}

// neighbours returns numbers and what stands beside each.
func neighbours(numbers []int) []int {
	seen := map[int]bool{}
	var all []int
	for _, n := range numbers {
		for _, v := range []int{n - 1, n, n + 1} {
			if v >= 0 && !seen[v] {
				seen[v] = true
				all = append(all, v)
			}
		}
	}
	return all
}

func span(from, to int) []int {
	var all []int
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

// saying says of itself what its fields hold.
type saying struct {
	text      string
	status    int
	after     time.Duration
	effect    fault.Effect
	state     string
	inner     error
	panicking string
}

func (s *saying) check(method string) {
	if s.panicking == method {
		panic(method + " panicked")
	}
}
func (s *saying) Error() string {
	s.check("Error")
	if s.text != "" {
		return s.text
	}
	return "saying something of 10.0.0.7"
}
func (s *saying) Unwrap() error             { s.check("Unwrap"); return s.inner }
func (s *saying) StatusCode() int           { s.check("StatusCode"); return s.status }
func (s *saying) RetryAfter() time.Duration { s.check("RetryAfter"); return s.after }
func (s *saying) Effect() fault.Effect      { s.check("Effect"); return s.effect }
func (s *saying) SQLState() string          { s.check("SQLState"); return s.state }

// Errors by one convention each.
type (
	base       struct{}
	statusCode struct {
		base
		n int
	}
	httpStatus struct {
		base
		n int
	}
	httpStatusOf struct {
		base
		n int
	}
	httpCode struct {
		base
		n int
	}
	statusNumber struct {
		base
		n int
	}
	errorCode struct {
		base
		word string
	}
	grpcError struct {
		base
		status *grpcStatus
	}
	grpcStatus struct {
		code    uint32
		message string
		details []any
	}
	retryInfo    struct{ d time.Duration }
	delay        time.Duration
	temporalLike struct {
		base
		status *grpcStatus
	}
	kubernetes struct {
		base
		status kubernetesStatus
	}
	kubernetesStatus struct {
		Status  string
		Message string
		Reason  string
		Code    int32
		Details *kubernetesDetails
	}
	kubernetesDetails struct{ RetryAfterSeconds int32 }
	retryable         struct {
		yes   bool
		inner error
	}
	awsRetryable struct{ yes bool }
	smithy       struct {
		code, message string
		status        int
	}
	safeToRetry struct {
		yes   bool
		inner error
	}
	timeouts  struct{ late, temporary bool }
	stateful  struct{ state string }
	mongoLike struct {
		code  int
		label string
	}
	redisLike struct{ text string }
	answered  struct{ resp *http.Response }
	public    struct {
		message, hint, kind string
		inner               error
	}
	wrapping    struct{ inner error }
	byIs        struct{ target error }
	byAs        struct{ as *fault.Error }
	ring        struct{}
	errorList   []error
	stringError string
)

func (base) Error() string                          { return "an error of 10.0.0.7" }
func (e statusCode) StatusCode() int                { return e.n }
func (e httpStatus) HTTPStatusCode() int            { return e.n }
func (e httpStatusOf) HTTPStatus() int              { return e.n }
func (e httpCode) HTTPCode() int                    { return e.n }
func (e statusNumber) Status() int                  { return e.n }
func (e errorCode) ErrorCode() string               { return e.word }
func (e grpcError) GRPCStatus() *grpcStatus         { return e.status }
func (e temporalLike) Status() *grpcStatus          { return e.status }
func (s *grpcStatus) Code() uint32                  { return s.code }
func (s *grpcStatus) Message() string               { return s.message }
func (s *grpcStatus) Details() []any                { return s.details }
func (r retryInfo) GetRetryDelay() delay            { return delay(r.d) }
func (d delay) AsDuration() time.Duration           { return time.Duration(d) }
func (e kubernetes) Status() kubernetesStatus       { return e.status }
func (e retryable) Error() string                   { return "retryable, of 10.0.0.7" }
func (e retryable) Retryable() bool                 { return e.yes }
func (e retryable) Unwrap() error                   { return e.inner }
func (e awsRetryable) Error() string                { return "of AWS at 10.0.0.7" }
func (e awsRetryable) RetryableError() bool         { return e.yes }
func (e smithy) Error() string                      { return "operation error SQS: " + e.code + ": " + e.message }
func (e smithy) ErrorCode() string                  { return e.code }
func (e smithy) ErrorMessage() string               { return e.message }
func (e smithy) HTTPStatusCode() int                { return e.status }
func (e safeToRetry) Error() string                 { return "connect failed at 10.0.0.7" }
func (e safeToRetry) SafeToRetry() bool             { return e.yes }
func (e safeToRetry) Unwrap() error                 { return e.inner }
func (e timeouts) Error() string                    { return "late at 10.0.0.7" }
func (e timeouts) Timeout() bool                    { return e.late }
func (e timeouts) Temporary() bool                  { return e.temporary }
func (e stateful) Error() string                    { return "ERROR of 10.0.0.7" }
func (e stateful) SQLState() string                 { return e.state }
func (e mongoLike) Error() string                   { return "of MongoDB at 10.0.0.7" }
func (e mongoLike) HasErrorCode(code int) bool      { return e.code == code }
func (e mongoLike) HasErrorLabel(label string) bool { return e.label == label }
func (e redisLike) Error() string                   { return e.text }
func (redisLike) RedisError()                       {}
func (e answered) Error() string                    { return "answered by 10.0.0.7" }
func (e answered) Response() *http.Response         { return e.resp }
func (e public) Error() string                      { return "private words of 10.0.0.7" }
func (e public) PublicMessage() string              { return e.message }
func (e public) PublicHint() string                 { return e.hint }
func (e public) PublicKind() string                 { return e.kind }
func (e public) Unwrap() error                      { return e.inner }
func (e wrapping) Error() string                    { return "wrapped in a type of 10.0.0.7" }
func (e wrapping) Unwrap() error                    { return e.inner }
func (e byIs) Error() string                        { return "is another of 10.0.0.7" }
func (e byIs) Is(target error) bool                 { return target == e.target }
func (e byAs) Error() string                        { return "becomes another of 10.0.0.7" }
func (e byAs) As(target any) bool {
	t, ok := target.(**fault.Error)
	if ok {
		*t = e.as
	}
	return ok
}
func (*ring) Error() string         { return "a ring of 10.0.0.7" }
func (r *ring) Unwrap() error       { return r }
func (errorList) Error() string     { return "a list of 10.0.0.7" }
func (e errorList) Unwrap() []error { return e }
func (e stringError) Error() string { return string(e) }

// Errors by their fields.
type (
	fieldStatus struct {
		base
		StatusCode int
		Body       string
		RetryAfter int
	}
	fieldCode struct {
		base
		Code    int
		Message string
		Header  http.Header
		Errors  []struct{ Reason, Message string }
	}
	fieldText struct {
		base
		Status string
		Detail string
	}
	fieldWord struct {
		base
		Code, Type, Message string
	}
	fieldResponse struct {
		base
		Response *http.Response
		Message  string
	}
	fieldReset struct {
		base
		Status  int
		ResetAt time.Time
	}
	fieldState struct {
		base
		SQLState string
	}
	fieldWait struct {
		base
		RetryAfter time.Duration
	}
	rateLimitError struct {
		base
		Message string
	}
	nested struct {
		base
		Err           error
		ErrorResponse *struct {
			Code       int
			RetryAfter float64
		}
	}
)

type evilStatus struct{}

func (evilStatus) Code() uint32 { panic("Code panicked") }

type evilGRPC struct{ base }

func (evilGRPC) GRPCStatus() evilStatus { return evilStatus{} }

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// A reply is the answer of a service.
type reply struct{ *http.Response }

// response makes a reply.
func response(status int, body string, pairs ...string) reply {
	return reply{&http.Response{
		StatusCode: status, Header: header(pairs...), Body: io.NopCloser(strings.NewReader(body)),
		Request: must(http.NewRequest(http.MethodPost, "https://user:secret@api.example.com/v1/items?key=secret", nil)),
	}}
}

// dial is the error of a connection.
func dial(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 5432}, Err: err}
}

func get(err error) error {
	return &url.Error{Op: "Get", URL: "https://api.internal/v1?key=secret", Err: err}
}

// sessions wraps as the client of the SDK does.
func calling(method string, err error) error { return fmt.Errorf("calling %q: %w", method, err) }

func jsonError(text string, into any) error { return json.Unmarshal([]byte(text), into) }

// families returns all errors of the tables.
func families() []family {
	statuses := append(span(100, 103), append(span(199, 206), append(span(300, 308), append(span(399, 452), append(span(499, 512), 520, 522, 529, 530, 598, 599, 600, 700, 0, -1)...)...)...)...)
	some := []int{200, 302, 400, 401, 402, 403, 404, 405, 408, 409, 410, 412, 413, 418, 422, 423, 425, 429, 451, 499, 500, 501, 502, 503, 504, 505, 507, 529, 599}
	few := []int{302, 401, 404, 429, 500, 503, 600}
	waits := []string{
		"Retry-After: 7", "Retry-After: 0", "Retry-After: -1", "Retry-After: soon", "Retry-After: 1e3", "Retry-After: 99999999", "Retry-After: 2.5",
		"Retry-After: Sat, 01 Jan 2000 00:01:00 GMT", "Retry-After: 2000-01-01T00:02:00Z", "Retry-After-Ms: 1500", "X-Ms-Retry-After-Ms: 2500",
		"Ratelimit: limit=10, remaining=0, reset=30", `Ratelimit: "burst";r=0;t=30, "day";r=120;t=40000`, `Ratelimit: "burst";r=1;t=30`, "Ratelimit-Reset: 30",
		"X-Ratelimit-Reset-After: 4.2", "X-Ratelimit-Reset: 946684830", "X-Ratelimit-Reset: 946684830000", "X-Ratelimit-Remaining: 0", "X-Ratelimit-Remaining: 5",
	}
	headed := func(status int) func(string) error {
		return func(line string) error {
			key, value, _ := strings.Cut(line, ": ")
			return answered{response(status, "", key, value).Response}
		}
	}
	var all []family
	add := func(f ...family) { all = append(all, f...) }
	add(
		of("StatusCode()", func(n int) error { return statusCode{n: n} }, statuses...),
		of("HTTPStatusCode()", func(n int) error { return httpStatus{n: n} }, few...),
		of("HTTPStatus()", func(n int) error { return httpStatusOf{n: n} }, few...),
		of("HTTPCode()", func(n int) error { return httpCode{n: n} }, few...),
		of("Status() int", func(n int) error { return statusNumber{n: n} }, few...),
		of("Response()", func(n int) error { return answered{response(n, "").Response} }, some...),
		of("field StatusCode", func(n int) error { return &fieldStatus{StatusCode: n, Body: `{"message":"it is the service's"}`} }, some...),
		of("field StatusCode with a wait", func(n int) error { return fieldStatus{StatusCode: n, RetryAfter: 9} }, some...),
		of("field Code", func(n int) error { return &fieldCode{Code: n, Message: "words"} }, some...),
		of("field Code of a quota", func(n int) error {
			return &fieldCode{Code: n, Errors: []struct{ Reason, Message string }{{"rateLimitExceeded", ""}}}
		}, some...),
		of("field Status, a text", func(n int) error { return fieldText{Status: fmt.Sprintf("%d %s", n, http.StatusText(n)), Detail: "d"} }, some...),
		of("field Response", func(n int) error {
			return &fieldResponse{Response: response(n, "x", "X-Ratelimit-Remaining", "0").Response, Message: "m"}
		}, some...),
		of("field with a time", func(n int) error { return fieldReset{Status: n, ResetAt: time.Now().Add(time.Minute)} }, some...),
		of("retry.FromResponse", func(n int) error {
			return retry.FromResponse(response(n, `{"error":{"message":"words of the service, secret=abc123def456"}}`, "Retry-After", "5").Response)
		}, some[2:]...),
		of("kubernetes", func(n int) error {
			return kubernetes{status: kubernetesStatus{Status: "Failure", Code: int32(n), Reason: "R", Details: &kubernetesDetails{3}}}
		}, some...),
		of("headers of 429", headed(429), waits...), of("headers of 503", headed(503), waits...), of("headers of 403", headed(403), waits...), of("headers of 400", headed(400), waits...),
	)
	for _, mark := range statusMarks {
		add(of("text with "+strconv.Quote(mark), func(n int) error { return errors.New("it failed: " + mark + strconv.Itoa(n) + " of 10.0.0.7") }, few...))
	}
	add(
		of("text with a status's name", func(n int) error { return fmt.Errorf("GET /x: %d %s", n, http.StatusText(n)) }, some...),
		of("text of a transport", func(n int) error { return fmt.Errorf("sending %q: %s", "tools/call", http.StatusText(n)) }, some...),
		of("gRPC", func(n int) error { return grpcError{status: &grpcStatus{code: uint32(n), message: "m"}} }, span(0, 20)...),
		of("gRPC with a wait", func(n int) error {
			return grpcError{status: &grpcStatus{code: uint32(n), details: []any{1, retryInfo{4 * time.Second}}}}
		}, span(0, 17)...),
		of("Temporal", func(n int) error { return temporalLike{status: &grpcStatus{code: uint32(n)}} }, span(0, 17)...),
		of("Connect", func(n int) error { return &connect.Error{Number: connect.Code(n), Header: header("Retry-After", "8")} }, span(0, 17)...),
		values(
			"gRPC, words", "larger than max", grpcError{status: &grpcStatus{code: 8, message: "grpc: received message larger than max (5 vs. 4)"}},
			"dialing", grpcError{status: &grpcStatus{code: 14, message: `connection error: desc = "transport: Error while dialing: dial tcp"`}},
			"nil", grpcError{}, "panics", evilGRPC{}, "connect over a broken connection", &connect.Error{Number: 14, Err: dial("dial", syscall.ECONNREFUSED)},
		),
		of("words in ErrorCode()", func(w string) error { return errorCode{word: w} }, codeWords...),
		of("words in other spellings", func(w string) error { return fieldWord{Code: w} },
			"NOT_FOUND", "Not Found", "ThrottlingException", "Rate-Limited", "UNAVAILABLE", "AccessDeniedException", "x", "", strings.Repeat("n", 70), "404"),
		of("words in a type", func(w string) error { return fieldWord{Type: w, Message: "words"} }, "invalid_request", "rate_limited", "server_error", "none"),
		of("AWS", func(w string) error { return smithy{w, "the words of AWS", 400} },
			"ThrottlingException", "AccessDenied", "ResourceNotFoundException", "InternalError", "ServiceUnavailable", "ValidationException", "ExpiredToken"),
		of("AWS retryable", func(yes bool) error { return awsRetryable{yes} }, true, false),
		of("SQLSTATE", func(s string) error { return stateful{s} }, states()...),
		of("field SQLState", func(s string) error { return fieldState{SQLState: s} }, states()...),
		of("MySQL", func(n int) error { return &mysql.MySQLError{Number: uint16(n), Message: "Duplicate entry 'x'"} }, neighbours(mysqlNumbers)...),
		of("MySQL's state", func(s string) error {
			e := &mysql.MySQLError{Number: 9999}
			copy(e.SQLState[:], s)
			return e
		}, "23000", "40001", "42000", "HY000", "08S01"),
		of("SQL Server", func(n int) error { return mssql.Error{Number: int32(n)} }, neighbours(sqlServerNumbers)...),
		of("ClickHouse", func(n int) error { return &clickhouse.Exception{Code: int32(n)} }, neighbours(clickHouseNumbers)...),
		of("MongoDB", func(n int) error { return mongoLike{code: n} }, neighbours(mongoNumbers)...),
		of("MongoDB's labels", func(l string) error { return mongoLike{label: l} }, append(mongoLabels, "x")...),
		of("Cassandra", func(n int) error { return &gocql.Error{Number: n} }, neighbours(cassandraNumbers)...),
		of("Kafka of franz-go", func(n int) error { return &kerr.Error{Code: int16(n)} }, neighbours(kafkaNumbers)...),
		of("Kafka of segmentio", func(n int) error { return kafka.Error(n) }, kafkaNumbers...),
		of("Kafka of sarama", func(n int) error { return sarama.KError(n) }, kafkaNumbers...),
		of("AMQP", func(n int) error { return &amqp091.Error{Code: n} }, neighbours(amqpNumbers)...),
		of("SQLite", func(n int) error { return &sqlite.Error{Number: n} }, neighbours(sqliteNumbers)...),
		of("SQLite of mattn", func(n int) error {
			return sqlite3.Error{Code: sqlite3.ErrNo(n & 0xff), ExtendedCode: sqlite3.ErrNoExtended(n)}
		}, neighbours(sqliteNumbers)...),
		of("Redis", func(s string) error { return redisLike{s + "of 10.0.0.7"} }, append(redisAnswers, "ERR other ")...),
		of("redigo", func(s string) error { return redis.Error(s + "of 10.0.0.7") }, append(redisAnswers, "ERR other ")...),
		of("texts", errors.New, sentinelTexts...),
		of("texts with more", func(s string) error { return errors.New(s + ".") }, sentinelTexts...),
		of("texts of a type", func(s string) error { return stringError(s) }, sentinelTexts[:12]...),
		of("TLS", func(s string) error { return errors.New("tls: " + s + " x") }, append(handshakeTexts, "bad record MAC", "x")...),
		of("TLS alerts", func(s string) error { return dial("remote error", errors.New("tls: "+s)) }, append(handshakeTexts, "bad record MAC")...),
		of("errno", func(n int) error { return syscall.Errno(n) }, span(1, 133)...),
		of("errno of a dial", func(n int) error { return dial("dial", os.NewSyscallError("connect", syscall.Errno(n))) }, 4, 11, 13, 24, 99, 101, 104, 110, 111, 113),
		of("errno of a path", func(n int) error {
			return &fs.PathError{Op: "open", Path: "/srv/data/secret.txt", Err: syscall.Errno(n)}
		}, span(1, 40)...),
		of("errno of a link", func(n int) error {
			return &os.LinkError{Op: "rename", Old: "/srv/a", New: "/srv/b", Err: syscall.Errno(n)}
		}, 2, 13, 17, 18, 39),
		of("operations", func(op string) error { return dial(op, errors.New("it broke")) },
			"dial", "listen", "proxyconnect", "socks connect", "read", "readfrom", "write", "writeto", "sendfile", "splice", "close", "accept", "set", "local error", "remote error"),
		of("protocol errors", func(n int) error {
			return &jsonrpc.Error{Code: int64(n), Message: "a message on purpose", Data: json.RawMessage(`{"a":1}`)}
		}, -32700, -32603, -32602, -32601, -32600, -32042, -32021, -32022, -32005, -32004, -32003, -32002, -32001, -32000, -1, 0, 1, 400, 403, 404, 409, 418, 429, 499, 500, 503, 504, 508),
		of("protocol errors of a session", func(n int) error {
			return calling("tools/call", &jsonrpc.Error{Code: int64(n), Message: "a message of 10.0.0.7"})
		}, -32700, -32603, -32602, -32601, -32600, -32042, -32021, -32005, -32002, -32001, -32000, 0, 400, 403, 404, 409, 429, 499, 500, 503, 504),
		of("protocol errors of a client", func(n int) error {
			return calling("elicitation/create", &jsonrpc.Error{Code: int64(n), Message: "a message of the client"})
		}, -32603, -32602, -32601, -1, 0, 404),
		of("kinds", func(k string) error { return fault.Kind(k) }, kinds...),
		of("faults", func(k string) error { return fault.New(fault.Kind(k), "my words") }, kinds...),
		of("generic faults", func(k string) error { return fault.Generic(fault.Kind(k)) }, kinds...),
		of("faults with a cause", func(k string) error { return fault.New(fault.Kind(k), "my words").Because(statusCode{n: 503}) }, kinds...),
		of("faults with a cause that says no", func(k string) error { return fault.New(fault.Kind(k), "my words").Because(retryable{}) }, kinds...),
		of("faults that say when", func(k string) error { return fault.New(fault.Kind(k), "my words").After(9 * time.Second) }, kinds...),
		of("faults that say when, with a cause", func(k string) error {
			return fault.New(fault.Kind(k), "my words").After(9 * time.Second).Because(dial("read", syscall.ECONNRESET))
		}, kinds...),
		of("faults that say never", func(k string) error { return fault.New(fault.Kind(k), "my words").Never("it is over") }, kinds...),
		of("faults that took effect", func(k string) error {
			return fault.New(fault.Kind(k), "my words").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectCommitted})
		}, kinds...),
		of("faults without effect", func(k string) error {
			return fault.New(fault.Kind(k), "my words").WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 2, Effect: fault.EffectNone})
		}, kinds...),
		of("public kinds", func(k string) error { return public{kind: k} }, kinds...),
		of("public words of a kind", func(k string) error { return public{message: "public words", hint: "do this", kind: k} }, kinds...),
	)
	add(standardErrors(), markers(), combinations())
	return all
}

// kinds are those known by name, and some of a program's own.
var kinds = []string{
	"validation_error", "not_found", "already_exists", "unauthenticated", "permission_denied", "rate_limited", "repeated_failure", "timeout", "cancelled",
	"connection_failed", "service_unavailable", "server_error", "client_error", "conflict", "precondition_failed", "tool_error", "internal_error",
	"deployment_in_progress", "Weird Kind!", "",
}

// states are SQLSTATEs: those that mean something, one of each class, and what is none.
func states() []string {
	all := []string{"", "4", "HY000", "ZZZZZ", "40001x"}
	seen := map[string]bool{}
	for _, s := range sqlStates {
		for _, v := range []string{s, s + "000", s + "123"} {
			if len(v) == 5 && !seen[v] {
				seen[v] = true
				all = append(all, v)
			}
		}
	}
	for _, class := range []string{"00", "01", "02", "03", "09", "0B", "0F", "0L", "0P", "0Z", "20", "21", "24", "25", "27", "2B", "2D", "2F", "38", "39", "3B", "54", "55", "57", "58", "72", "F0", "HV", "P0", "XX"} {
		all = append(all, class+"000", class+"001")
	}
	return all
}

// standardErrors are those of the standard library and of the SDK.
func standardErrors() family {
	var number int
	var object struct{ A int }
	_, atoi := strconv.Atoi("five")
	_, parse := time.Parse(time.RFC3339, "tomorrow")
	_, duration := time.ParseDuration("long")
	_, ip := net.ResolveTCPAddr("tcp", "x")
	_, proxy := url.Parse("http://[::1")
	return values(
		"standard",
		"plain", errPlain, "empty", errors.New(""), "context.Canceled", context.Canceled, "context.DeadlineExceeded", context.DeadlineExceeded,
		"io.EOF", io.EOF, "io.ErrUnexpectedEOF", io.ErrUnexpectedEOF, "io.ErrClosedPipe", io.ErrClosedPipe, "io.ErrShortWrite", io.ErrShortWrite, "io.ErrNoProgress", io.ErrNoProgress,
		"bufio.ErrTooLong", bufio.ErrTooLong,
		"EOF of a connection", dial("read", io.EOF), "EOF of a request", get(io.EOF), "unexpected EOF of a request", get(io.ErrUnexpectedEOF),
		"refused", dial("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)), "reset", dial("read", os.NewSyscallError("read", syscall.ECONNRESET)),
		"refused request", get(dial("dial", syscall.ECONNREFUSED)), "late request", get(context.DeadlineExceeded), "cancelled request", get(context.Canceled),
		"cancelled dial", dial("dial", context.Canceled), "os deadline", os.ErrDeadlineExceeded, "deadline of a connection", dial("read", os.ErrDeadlineExceeded),
		"net.ErrClosed", net.ErrClosed, "closed connection", dial("read", net.ErrClosed), "net.ErrWriteToConnected", net.ErrWriteToConnected,
		"no such host", &net.DNSError{Err: "no such host", Name: "db.internal", IsNotFound: true}, "DNS is late", &net.DNSError{Err: "i/o timeout", Name: "db.internal", IsTimeout: true},
		"DNS is away", dial("dial", &net.DNSError{Err: "server misbehaving", Name: "db.internal", IsTemporary: true}),
		"no address", ip, "no URL", proxy,
		"TLS record", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "TLS alert", tls.AlertError(42), "TLS alert of a bad record", tls.AlertError(20),
		"certificate", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "unknown authority", x509.UnknownAuthorityError{}, "hostname", x509.CertificateInvalidError{Reason: x509.Expired},
		"x509 text", errors.New("x509: certificate signed by unknown authority"), "scheme", http.ErrSchemeMismatch,
		"http.ErrHandlerTimeout", http.ErrHandlerTimeout, "http.ErrServerClosed", http.ErrServerClosed, "http.ErrBodyReadAfterClose", http.ErrBodyReadAfterClose,
		"no HTTP", textproto.ProtocolError("malformed HTTP response"), "code of mail", &textproto.Error{Code: 550, Msg: "mailbox unavailable"},
		"fs.ErrNotExist", fs.ErrNotExist, "fs.ErrExist", fs.ErrExist, "fs.ErrPermission", fs.ErrPermission, "fs.ErrClosed", fs.ErrClosed, "fs.ErrInvalid", fs.ErrInvalid,
		"path", &fs.PathError{Op: "open", Path: "/etc/secret", Err: fs.ErrNotExist}, "escaping path", &fs.PathError{Op: "openat", Path: "../x", Err: errors.New("path escapes from parent")},
		"disk full", &fs.PathError{Op: "write", Path: "/var/x", Err: syscall.ENOSPC}, "too many files", &fs.PathError{Op: "open", Path: "/var/x", Err: syscall.EMFILE},
		"exec", &exec.Error{Name: "git", Err: exec.ErrNotFound}, "exit", &exec.ExitError{Stderr: []byte("fatal: not a repository in /srv")},
		"JSON syntax", jsonError("{", &number), "JSON syntax within", jsonError(`{"A":1]`, &object), "JSON type", jsonError(`{"A":"x"}`, &object), "JSON of an answer", get(jsonError("<html>", &number)),
		"number", atoi, "time", parse, "duration", duration, "unsupported value", func() error { _, err := json.Marshal(math.NaN()); return err }(),
		"errors.ErrUnsupported", errors.ErrUnsupported,
		"sql.ErrNoRows", sql.ErrNoRows, "sql.ErrConnDone", sql.ErrConnDone, "sql.ErrTxDone", sql.ErrTxDone, "driver.ErrBadConn", driver.ErrBadConn, "driver.ErrSkip", driver.ErrSkip,
		"mcp.ErrConnectionClosed", mcp.ErrConnectionClosed, "resource not found", mcp.ResourceNotFoundError("file:///x"),
		"URL elicitation", mcp.URLElicitationRequiredError([]*mcp.ElicitParams{{Mode: "url", Message: "sign in", URL: "https://example.com/x", ElicitationID: "e1"}}),
		"rejected by a transport", &jsonrpc.Error{Code: -32005, Message: "rejected by transport"},
		"refused arguments", errors.New(`validating "arguments": validating root: required: missing properties: ["a"]`),
		"output", errors.New("validating tool output: x"), "marshaling", errors.New("marshaling output: x"),
		"go-retryablehttp", errors.New("GET https://api/ giving up after 5 attempt(s)"), "client time-out", errors.New("net/http: request canceled (Client.Timeout exceeded while awaiting headers)"),
		"text of a refused connection", errors.New("failed to connect: dial tcp 10.0.0.7:5432: connect: connection refused"), "text of a deadline", errors.New("get items: context deadline exceeded"),
		"closed session", errors.New(`sending "tools/call": session not found`), "calling, closed", calling("tools/call", io.EOF), "calling, refused", calling("tools/call", dial("dial", syscall.ECONNREFUSED)),
		"marked argument", validate.Arguments(errPlain), "marked number", validate.Arguments(atoi), "marked time", validate.Arguments(parse), "marked JSON", validate.Arguments(jsonError(`{"A":"x"}`, &object)),
	)
}

// Markers of containerd and moby.
type (
	invalidParameter   struct{ base }
	notFound           struct{ base }
	alreadyExists      struct{ base }
	conflict           struct{ base }
	failedPrecondition struct{ base }
	unauthorized       struct{ base }
	forbidden          struct{ base }
	resourceExhausted  struct{ base }
	unavailable        struct{ base }
	notImplemented     struct{ base }
	system             struct{ base }
	dataLoss           struct{ base }
	unexpectedStatus   struct {
		base
		Status int
	}
)

func (invalidParameter) InvalidParameter()     {}
func (notFound) NotFound()                     {}
func (alreadyExists) AlreadyExists()           {}
func (conflict) Conflict()                     {}
func (failedPrecondition) FailedPrecondition() {}
func (unauthorized) Unauthorized()             {}
func (forbidden) Forbidden()                   {}
func (resourceExhausted) ResourceExhausted()   {}
func (unavailable) Unavailable()               {}
func (notImplemented) NotImplemented()         {}
func (system) System()                         {}
func (dataLoss) DataLoss()                     {}

func markers() family {
	f := family{name: "markers"}
	for name, err := range map[string]error{
		"InvalidParameter": invalidParameter{}, "NotFound": notFound{}, "AlreadyExists": alreadyExists{}, "Conflict": conflict{}, "FailedPrecondition": failedPrecondition{},
		"Unauthorized": unauthorized{}, "Forbidden": forbidden{}, "ResourceExhausted": resourceExhausted{}, "Unavailable": unavailable{}, "NotImplemented": notImplemented{},
		"System": system{}, "DataLoss": dataLoss{},
	} {
		f.all = append(f.all, specimen{name, func() error { return err }}, specimen{"docker " + name, func() error { return docker.New(errPlain, err) }})
	}
	f.all = append(
		f.all,
		specimen{"docker status", func() error { return docker.New(errPlain, unexpectedStatus{Status: 404}) }},
		specimen{"docker nil", func() error { return docker.New(errPlain, nil) }},
		specimen{"docker connection", func() error { return docker.ConnectionFailed(errPlain) }},
	)
	return sorted(f)
}

// combinations are errors that follow several conventions, hide what they are, or are hostile.
func combinations() family {
	refused := dial("dial", syscall.ECONNREFUSED)
	down := fault.Unavailable("the shop")
	evil := func(method string) error { return &saying{panicking: method, inner: net.ErrClosed} }
	join := &errorList{}
	*join = errorList{*join, statusCode{n: 503}}
	return sorted(values(
		"combinations",
		"status and wait", &saying{status: 503, after: time.Minute}, "status, wait and effect", &saying{status: 500, after: time.Second, effect: fault.EffectNone},
		"status and state", &saying{status: 409, state: "40001"}, "effect committed", &saying{effect: fault.EffectCommitted}, "effect without sense", &saying{status: 500, effect: "so so"},
		"negative wait", &saying{after: -time.Minute}, "endless wait", &saying{after: math.MaxInt64}, "tea", &saying{status: 418},
		"status around a status", &saying{status: 429, inner: statusCode{n: 503}}, "not retryable, 503", retryable{inner: statusCode{n: 503}}, "retryable, 409", retryable{true, statusCode{n: 409}},
		"retryable", retryable{yes: true}, "not retryable", retryable{}, "safe", safeToRetry{true, refused}, "not safe", safeToRetry{false, refused}, "safe EOF", safeToRetry{false, io.EOF},
		"late", timeouts{true, false}, "temporary", timeouts{false, true}, "late and temporary", timeouts{true, true}, "late at a service", fmt.Errorf("%w", get(timeouts{true, true})),
		"rate limit", rateLimitError{Message: "slow down"}, "wait in a field", fieldWait{RetryAfter: 3 * time.Second}, "nested", nested{ErrorResponse: &struct {
			Code       int
			RetryAfter float64
		}{429, 1.5}}, "nested nil", nested{}, "no response", answered{}, "no response in a field", &fieldResponse{},
		"typed nil", (*saying)(nil), "typed nil fault", (*fault.Error)(nil), "typed nil protocol error", (*jsonrpc.Error)(nil), "typed nil in a chain", fmt.Errorf("a: %w", (*saying)(nil)),
		"panicking Error", evil("Error"), "panicking Unwrap", evil("Unwrap"), "panicking StatusCode", evil("StatusCode"), "panicking RetryAfter", evil("RetryAfter"),
		"panicking Effect", evil("Effect"), "panicking SQLState", evil("SQLState"), "panicking Error below a fault", down.Because(evil("Error")), "panicking Unwrap below a fault", down.Because(evil("Unwrap")),
		"ring", &ring{}, "ring below a fault", down.Because(&ring{}), "ring beside 503", errors.Join(statusCode{n: 503}, &ring{}), "list in itself", join, "many", errors.Join(slicesRepeat(refused, 300)...),
		"is", byIs{context.Canceled}, "is a kind", byIs{fault.KindNotFound}, "as a fault", byAs{fault.NotFound("file", "a.txt")}, "empty list", errorList{}, "list of nil", errorList{nil, nil},
		"joined: 503, 400", errors.Join(statusCode{n: 503}, statusCode{n: 400}), "joined: 400, 503", errors.Join(statusCode{n: 400}, statusCode{n: 503}),
		"joined: plain, refused", errors.Join(errPlain, refused), "joined: refused, plain", errors.Join(refused, errPlain), "joined: refused twice", errors.Join(refused, refused),
		"joined: two waits", errors.Join(&saying{after: time.Second}, &saying{after: time.Minute}), "joined: two faults", errors.Join(fault.NotFound("file", "a"), fault.NotFound("file", "b")),
		"joined: two violations", errors.Join(fault.Invalid("a", 1, "a string"), fault.Invalid("b", "x", "a number", "1", "2")),
		"joined: fault, plain", errors.Join(fault.NotFound("file", "a"), errPlain), "joined: plain, fault", errors.Join(errPlain, fault.NotFound("file", "a")),
		"joined: protocol error, plain", errors.Join(&jsonrpc.Error{Code: 404, Message: "on purpose"}, errPlain), "joined: fault, protocol error", errors.Join(down, &jsonrpc.Error{Code: 404, Message: "on purpose"}),
		"two verbs", fmt.Errorf("%w: %w", errPlain, refused), "two verbs, committed", fmt.Errorf("%w; rolled back: %w", refused, context.DeadlineExceeded),
		"fault around status", down.Because(statusCode{n: 503}), "fault around 400", down.Because(statusCode{n: 400}), "fault around no rows", down.Because(sql.ErrNoRows),
		"fault around fault", down.Because(fault.New("own_kind", "private").After(time.Minute)), "fault around fault that says never", down.Because(fault.New("own_kind", "private").Never("private")),
		"fault around a protocol error", down.Because(&jsonrpc.Error{Code: 429, Message: "private"}), "fault around EOF", down.Because(get(io.EOF)), "status around a fault", &saying{status: 429, inner: fault.NotFound("file", "a")},
		"wrapped fault", fmt.Errorf("private at 10.0.0.7: %w", fault.NotFound("file", "a.txt", "b.txt")), "wrapped protocol error", fmt.Errorf("private at 10.0.0.7: %w", &jsonrpc.Error{Code: 499, Message: "not now", Data: json.RawMessage(`{"a":1}`)}),
		"public words around 503", public{message: "public words", inner: statusCode{n: 503}}, "public hint alone", public{hint: "do this"}, "public kind around 503", public{kind: "busy_now", inner: statusCode{n: 503}},
		"public words around a fault", public{message: "public words", inner: fault.NotFound("file", "a")}, "fault around public words", down.Because(public{message: "public words"}), "empty public words", public{inner: errPlain},
		"permanent", backoff.Permanent(statusCode{n: 503}), "wait of backoff", backoff.RetryAfter(7), "unrecoverable", avast.Unrecoverable(statusCode{n: 503}), "exceeded", retrypolicy.ExceededError{LastError: refused},
		"exceeded, plain", retrypolicy.ExceededError{LastError: errPlain}, "not ready", retry.NotReady("the index", 20*time.Second), "rule's", errOurs, "wrapped rule's", fmt.Errorf("list: %w", errOurs),
		"locked database", errors.New("database is locked (5)"), "deep", deep(300, statusCode{n: 503}), "deep enough", deep(60, statusCode{n: 503}),
	))
}

func slicesRepeat(err error, n int) []error {
	all := make([]error, n)
	for i := range all {
		all[i] = err
	}
	return all
}

func deep(n int, err error) error {
	for range n {
		err = wrapping{err}
	}
	return err
}

func sorted(f family) family {
	sortBy(f.all, func(s specimen) string { return s.name })
	return f
}
