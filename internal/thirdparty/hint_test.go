// Package thirdparty_test holds tests with the errors of libraries that mcpchain
// knows without importing them. It is a module of its own, so that nobody who uses
// mcpchain gets them.
package thirdparty_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/cenkalti/backoff/v5"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	fstimeout "github.com/failsafe-go/failsafe-go/timeout"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	_ "github.com/lib/pq" // the driver "postgres"
	"github.com/sony/gobreaker/v2"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

const (
	client      = "The service refused the request"
	permanent   = "The failure is permanent"
	credentials = "The credentials are this server's: tell the user"
	unsupported = "A service that is needed does not support this request"
	upstream    = ""
	constraint  = "The same data will be refused again"
	statement   = "The database does not accept this request"
	storage     = "The server has no storage space left"
	unexpected  = ""
	cancelled   = "The call was cancelled"

	yes = fault.RetryYes
	no  = fault.RetryNo
)

// check looks at an error alone, wrapped and joined, and below a fault.
func check(t *testing.T, err error, kind fault.Kind, want fault.Hint) {
	t.Helper()
	require.Error(t, err)
	for how, err := range map[string]error{
		"alone":         err,
		"wrapped":       fmt.Errorf("outer: %w", fmt.Errorf("inner: %w", err)),
		"joined":        fmt.Errorf("%w: %w", errors.New("sentinel"), err),
		"below a fault": fault.New("own_kind", "it failed").Because(err),
	} {
		if how != "below a fault" {
			require.Equal(t, kind, middleware.Classify(err).Kind(), "%s: %T %v", how, err, err)
		}
		got := middleware.HintOf(err)
		if how == "below a fault" && want == (fault.Hint{Retry: no}) && kind == fault.KindInternal {
			require.Equal(t, fault.Hint{}, got, how) // nothing is known, and the author chose a kind
			continue
		}
		require.Equal(t, want, got, "%s: %T %v", how, err, err)
		require.NotContains(t, got.Reason, harness.Canary)
	}
}

func TestGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		parts := strings.Split(method, "/")
		if strings.HasPrefix(method, "/large/") {
			return stream.SendMsg(wrapperspb.Bytes(make([]byte, 5<<20)))
		}
		code, err := strconv.Atoi(parts[len(parts)-1])
		if err != nil {
			<-stream.Context().Done()
			return stream.Context().Err()
		}
		s := status.New(codes.Code(code), harness.Canary)
		if strings.Contains(method, "wait") {
			s, err = s.WithDetails(&errdetails.Help{}, &errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)})
			if err != nil {
				return err
			}
		}
		return s.Err()
	}))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	call := func(ctx context.Context, method string) error {
		return conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{})
	}
	for _, c := range []struct {
		method string
		kind   fault.Kind
		want   fault.Hint
	}{
		{"/x/1", fault.KindCancelled, fault.Hint{Retry: no, Reason: cancelled}},
		{"/x/2", fault.KindServerError, fault.Hint{Retry: no, Reason: upstream}},
		{"/x/3", fault.KindClientError, fault.Hint{Retry: no, Reason: client}},
		{"/x/4", fault.KindTimeout, fault.Hint{Retry: yes}},
		{"/x/5", fault.KindNotFound, fault.Hint{Retry: no, Reason: client}},
		{"/x/6", fault.KindAlreadyExists, fault.Hint{Retry: no, Reason: client}},
		{"/x/7", fault.KindServerError, fault.Hint{Retry: no, Reason: credentials}},
		{"/x/8", fault.KindRateLimited, fault.Hint{Retry: yes}},
		{"/wait/8", fault.KindRateLimited, fault.Hint{Retry: yes, After: 1500 * time.Millisecond}},
		{"/x/9", fault.KindPreconditionFailed, fault.Hint{Retry: no, Reason: client}},
		{"/x/10", fault.KindConflict, fault.Hint{Retry: yes}},
		{"/x/11", fault.KindClientError, fault.Hint{Retry: no, Reason: client}},
		{"/x/12", fault.KindServerError, fault.Hint{Retry: no, Reason: unsupported}},
		{"/x/13", fault.KindServerError, fault.Hint{Retry: no, Reason: upstream}},
		{"/wait/13", fault.KindServerError, fault.Hint{Retry: no, Reason: upstream}},
		{"/x/14", fault.KindServiceUnavailable, fault.Hint{Retry: yes}},
		{"/wait/14", fault.KindServiceUnavailable, fault.Hint{Retry: yes, After: 1500 * time.Millisecond}},
		{"/x/15", fault.KindServerError, fault.Hint{Retry: no, Reason: upstream}},
		{"/x/16", fault.KindServerError, fault.Hint{Retry: no, Reason: credentials}},
		{"/x/99", fault.KindInternal, fault.Hint{Retry: no, Reason: unexpected}},
	} {
		t.Run(c.method, func(t *testing.T) { check(t, call(t.Context(), c.method), c.kind, c.want) })
	}
	t.Run("deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		check(t, call(ctx, "/x/stuck"), fault.KindTimeout, fault.Hint{Retry: yes})
	})
	t.Run("answer that is too large", func(t *testing.T) {
		err := conn.Invoke(t.Context(), "/large/1", &emptypb.Empty{}, &wrapperspb.BytesValue{})
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
		check(t, err, fault.KindServerError, fault.Hint{Retry: no, Reason: upstream})
	})
	t.Run("closed port", func(t *testing.T) {
		closed, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, closed.Close())
		conn, err := grpc.NewClient(closed.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		defer conn.Close()
		check(t, conn.Invoke(t.Context(), "/x/1", &emptypb.Empty{}, &emptypb.Empty{}),
			fault.KindConnectionFailed, fault.Hint{Retry: yes})
	})
}

func TestConnect(t *testing.T) {
	limited := connect.NewError(connect.CodeResourceExhausted, errors.New(harness.Canary))
	check(t, limited, fault.KindRateLimited, fault.Hint{Retry: yes})
	limited.Meta().Set("Retry-After", "7")
	check(t, limited, fault.KindRateLimited, fault.Hint{Retry: yes, After: 7 * time.Second})
	check(t, connect.NewError(connect.CodeUnauthenticated, errors.New(harness.Canary)), fault.KindServerError,
		fault.Hint{Retry: no, Reason: credentials})
	check(t, connect.NewError(connect.CodeUnavailable, errors.New(harness.Canary)), fault.KindServiceUnavailable,
		fault.Hint{Retry: yes})
}

// postgres is a server that speaks the protocol and answers every query with the
// error whose SQLSTATE the query names.
func postgres(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return listener.Addr().String()
}

func serve(conn net.Conn) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	start, err := b.ReceiveStartupMessage()
	if err != nil {
		return
	}
	if m, ok := start.(*pgproto3.StartupMessage); ok && m.Parameters["user"] == "stranger" {
		b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: harness.Canary})
		_ = b.Flush()
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	for {
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if b.Flush() != nil {
			return
		}
		message, err := b.Receive()
		if err != nil {
			return
		}
		switch m := message.(type) {
		case *pgproto3.Query:
			if m.String == "hang up" {
				return
			}
			b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: strings.TrimSpace(strings.Trim(m.String, ";")), Message: harness.Canary})
		default:
			return
		}
	}
}

func TestPostgres(t *testing.T) {
	address := postgres(t)
	pool, err := sql.Open("postgres", "postgres://app@"+address+"/db?sslmode=disable")
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	for _, c := range []struct {
		state string
		kind  fault.Kind
		want  fault.Hint
	}{
		{"08006", fault.KindConnectionFailed, fault.Hint{Retry: yes}},
		{"08007", fault.KindConnectionFailed, fault.Hint{Retry: yes}},
		{"08001", fault.KindConnectionFailed, fault.Hint{Retry: yes}},
		{"22001", fault.KindClientError, fault.Hint{Retry: no, Reason: constraint}},
		{"22P02", fault.KindClientError, fault.Hint{Retry: no, Reason: constraint}},
		{"23502", fault.KindClientError, fault.Hint{Retry: no, Reason: constraint}},
		{"23503", fault.KindConflict, fault.Hint{Retry: no, Reason: constraint}},
		{"23505", fault.KindAlreadyExists, fault.Hint{Retry: no, Reason: constraint}},
		{"23514", fault.KindClientError, fault.Hint{Retry: no, Reason: constraint}},
		{"40001", fault.KindConflict, fault.Hint{Retry: yes}},
		{"40002", fault.KindConflict, fault.Hint{Retry: no, Reason: constraint}},
		{"40003", fault.KindConnectionFailed, fault.Hint{Retry: yes}},
		{"40P01", fault.KindConflict, fault.Hint{Retry: yes}},
		{"42501", fault.KindServerError, fault.Hint{Retry: no, Reason: credentials}},
		{"42601", fault.KindInternal, fault.Hint{Retry: no, Reason: statement}},
		{"42P01", fault.KindInternal, fault.Hint{Retry: no, Reason: statement}},
		{"53300", fault.KindServiceUnavailable, fault.Hint{Retry: yes}},
		{"55P03", fault.KindConflict, fault.Hint{Retry: yes}},
		{"57014", fault.KindTimeout, fault.Hint{Retry: yes}},
		{"57P01", fault.KindServiceUnavailable, fault.Hint{Retry: yes}},
		{"57P03", fault.KindServiceUnavailable, fault.Hint{Retry: yes}},
		{"P0001", fault.KindInternal, fault.Hint{Retry: no, Reason: unexpected}},
	} {
		t.Run("pgx/"+c.state, func(t *testing.T) {
			conn, err := pgconn.Connect(t.Context(), "postgres://app@"+address+"/db?sslmode=disable")
			require.NoError(t, err)
			defer func() { _ = conn.Close(context.Background()) }()
			_, err = conn.Exec(t.Context(), c.state).ReadAll()
			var pg *pgconn.PgError
			require.ErrorAs(t, err, &pg)
			require.Equal(t, c.state, pg.Code)
			check(t, err, c.kind, c.want)
		})
		t.Run("pq/"+c.state, func(t *testing.T) {
			_, err := pool.Exec(c.state)
			check(t, err, c.kind, c.want)
		})
	}
	t.Run("pgx/wrong password", func(t *testing.T) {
		_, err := pgconn.Connect(t.Context(), "postgres://stranger@"+address+"/db?sslmode=disable")
		check(t, err, fault.KindServerError, fault.Hint{Retry: no, Reason: credentials})
	})
	t.Run("pq/wrong password", func(t *testing.T) {
		pool, err := sql.Open("postgres", "postgres://stranger@"+address+"/db?sslmode=disable")
		require.NoError(t, err)
		defer pool.Close()
		check(t, pool.Ping(), fault.KindServerError, fault.Hint{Retry: no, Reason: credentials})
	})
	t.Run("pgx/hang up", func(t *testing.T) {
		conn, err := pgconn.Connect(t.Context(), "postgres://app@"+address+"/db?sslmode=disable")
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), "hang up").ReadAll()
		require.True(t, pgconn.SafeToRetry(err), "pgx does not say so any more: believe it then")
		check(t, err, fault.KindConnectionFailed, fault.Hint{Retry: yes})
	})
	t.Run("pq/hang up", func(t *testing.T) {
		_, err := pool.Exec("hang up")
		require.ErrorIs(t, err, driver.ErrBadConn, "which promises that nothing was done")
		check(t, err, fault.KindConnectionFailed, fault.Hint{Retry: yes})
	})
	t.Run("pgx/closed port", func(t *testing.T) {
		closed, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, closed.Close())
		_, err = pgconn.Connect(t.Context(), "postgres://app@"+closed.Addr().String()+"/db?sslmode=disable")
		check(t, err, fault.KindConnectionFailed, fault.Hint{Retry: yes})
	})
	t.Run("pgx/cancelled before", func(t *testing.T) {
		conn, err := pgconn.Connect(t.Context(), "postgres://app@"+address+"/db?sslmode=disable")
		require.NoError(t, err)
		defer func() { _ = conn.Close(context.Background()) }()
		ctx, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		_, err = conn.Exec(ctx, "40001").ReadAll()
		check(t, err, fault.KindTimeout, fault.Hint{Retry: yes})
	})
}

func TestSQLite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data.db")
	open := func() *sql.DB {
		db, err := sql.Open("sqlite", file)
		require.NoError(t, err)
		db.SetMaxOpenConns(1)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	db, other := open(), open()
	exec := func(db *sql.DB, statement string) error { _, err := db.Exec(statement); return err }
	require.NoError(t, exec(db, `CREATE TABLE projects (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, parent INTEGER REFERENCES projects(id), size INTEGER CHECK (size > 0))`))
	require.NoError(t, exec(db, `PRAGMA foreign_keys = ON`))
	require.NoError(t, exec(db, `INSERT INTO projects (id, name) VALUES (1, 'alpha')`))

	require.NoError(t, exec(other, `BEGIN IMMEDIATE`))
	check(t, exec(db, `INSERT INTO projects (name) VALUES ('beta')`), fault.KindServiceUnavailable, fault.Hint{Retry: yes})
	require.NoError(t, exec(other, `ROLLBACK`))

	for _, c := range []struct {
		statement string
		kind      fault.Kind
		want      fault.Hint
	}{
		{`INSERT INTO projects (id, name) VALUES (1, 'gamma')`, fault.KindAlreadyExists, fault.Hint{Retry: no, Reason: constraint}},
		{`INSERT INTO projects (name) VALUES ('alpha')`, fault.KindAlreadyExists, fault.Hint{Retry: no, Reason: constraint}},
		{`INSERT INTO projects (name, parent) VALUES ('delta', 99)`, fault.KindConflict, fault.Hint{Retry: no, Reason: constraint}},
		{`INSERT INTO projects (name, size) VALUES ('delta', 0)`, fault.KindClientError, fault.Hint{Retry: no, Reason: constraint}},
		{`INSERT INTO projects (id, name) VALUES ('x', 'delta')`, fault.KindClientError, fault.Hint{Retry: no, Reason: constraint}},
		{`SELECT nothing FROM nowhere`, fault.KindInternal, fault.Hint{Retry: no, Reason: statement}},
	} {
		t.Run(c.statement, func(t *testing.T) { check(t, exec(db, c.statement), c.kind, c.want) })
	}
	require.NoError(t, exec(db, `PRAGMA max_page_count = 4`))
	check(t, exec(db, `INSERT INTO projects (name) VALUES (hex(zeroblob(100000)))`), fault.KindInternal, fault.Hint{Retry: no, Reason: storage})
	require.NoError(t, exec(db, `PRAGMA query_only = ON`))
	check(t, exec(db, `DELETE FROM projects`), fault.KindInternal,
		fault.Hint{Retry: no, Reason: "The server is in a state that does not pass by itself"})
}

func TestResilienceLibraries(t *testing.T) {
	t.Run("backoff", func(t *testing.T) {
		temporary := fmt.Errorf("%w", fault.KindServiceUnavailable)
		check(t, temporary, fault.KindServiceUnavailable, fault.Hint{Retry: yes})
		check(t, backoff.Permanent(temporary), fault.KindServiceUnavailable, fault.Hint{Retry: no, Reason: permanent})
		check(t, backoff.RetryAfter(40), fault.KindServiceUnavailable, fault.Hint{Retry: yes, After: 40 * time.Second})
		check(t, backoff.Permanent(backoff.RetryAfter(40)), fault.KindServiceUnavailable, fault.Hint{Retry: no, Reason: permanent})
	})
	fail := func() error { return errors.New(harness.Canary) }
	t.Run("failsafe", func(t *testing.T) {
		breaker := circuitbreaker.NewWithDefaults[any]()
		breaker.Open()
		check(t, failsafe.With[any](breaker).Run(fail), fault.KindServiceUnavailable, fault.Hint{Retry: yes})

		full := bulkhead.New[any](1)
		require.True(t, full.TryAcquirePermit())
		check(t, failsafe.With[any](full).Run(fail), fault.KindServiceUnavailable, fault.Hint{Retry: yes})

		limiter := ratelimiter.NewBursty[any](1, time.Hour)
		require.True(t, limiter.TryAcquirePermit())
		check(t, failsafe.With[any](limiter).Run(fail), fault.KindRateLimited, fault.Hint{Retry: yes})

		limit := fstimeout.New[any](time.Millisecond)
		check(t, failsafe.With[any](limit).RunWithExecution(func(e failsafe.Execution[any]) error {
			<-e.Canceled()
			return nil
		}), fault.KindTimeout, fault.Hint{Retry: yes})

		// Retries that are used up are what the last error is, but for the effect of
		// those before.
		retries := retrypolicy.NewBuilder[any]().WithMaxRetries(1).Build()
		check(t, failsafe.With[any](retries, breaker).Run(fail), fault.KindServiceUnavailable, fault.Hint{Retry: yes})
	})
	t.Run("gobreaker", func(t *testing.T) {
		breaker := gobreaker.NewCircuitBreaker[any](gobreaker.Settings{ReadyToTrip: func(gobreaker.Counts) bool { return true }})
		run := func() error { _, err := breaker.Execute(func() (any, error) { return nil, fail() }); return err }
		require.ErrorContains(t, run(), harness.Canary)
		check(t, run(), fault.KindServiceUnavailable, fault.Hint{Retry: yes})
	})
}

func TestAWS(t *testing.T) {
	answer := func(status int, err error) error {
		return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "PutItem", Err: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err,
		}}
	}
	api := func(code string) error { return &smithy.GenericAPIError{Code: code, Message: harness.Canary} }
	check(t, answer(400, api("ValidationException")), fault.KindClientError, fault.Hint{Retry: no, Status: 400, Reason: "The service refused the request (HTTP 400)"})
	check(t, answer(400, api("ThrottlingException")), fault.KindRateLimited, fault.Hint{Retry: yes, Status: 400})
	check(t, answer(503, api("SlowDown")), fault.KindServiceUnavailable, fault.Hint{Retry: yes, Status: 503})
	check(t, answer(403, api("AccessDenied")), fault.KindServerError, fault.Hint{Retry: no, Status: 403, Reason: credentials})
	check(t, answer(500, api("InternalServerError")), fault.KindServerError, fault.Hint{Retry: yes, Status: 500})
}
