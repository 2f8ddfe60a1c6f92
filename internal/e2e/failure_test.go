package e2e

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/scrub"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

// want is what must become of a failure, wherever it happens.
type want struct {
	public  *fault.Error // the public part, without a reference
	worded  bool         // the handler meant it for the caller
	whole   bool         // the caller reads all that there is: the text has no reference
	party   fault.Party  // whose fault it is; "" for what the kind says
	outcome string       // in the log
	level   string       // "" for that of the outcome
	stack   bool         // the log has the stack of a panic
	frame   string       // what is in the stack; "" for something of this package

	// What the record has to hold; nil means the canary of the failure.
	log []string

	// The message of a record that was written before the call ended, because the
	// handler might have said nothing.
	before string

	// The error as a whole, where the log must have exactly its text.
	err error

	// The protocol error that must arrive instead of a fault, on a tool too.
	wire *jsonrpc.Error

	// The texts of a failed result of the tool's own, one a block, and its structured
	// content.
	own        []string
	structured string
}

// fate is what becomes of a server without mcpchain.
type fate int

const (
	lives fate = iota // it answers, with or without sense
	leaks             // it answers with the canary
	hangs             // it never answers
	dies              // the process ends
)

// A failure is one way to fail that is the same for all handlers.
type failure struct {
	name string
	fail func(ctx context.Context, canary string) error
	want want
	bare fate // of a raw tool

	// adjust changes what is wanted where the SDK itself looks at the error first.
	adjust func(chain, kind string, w *want)
	only   []string // the kinds of mounts it is tried on; nil means all
}

func internal() *fault.Error { return fault.Generic(fault.KindInternal) }

// without says what becomes of a server that has no mcpchain.
func without(bare fate, f failure) failure {
	f.bare = bare
	return f
}

// panics returns a failure that panics in the way given.
func panics(name string, panicking func(canary string), log ...string) failure {
	return failure{
		name: "panic-" + name,
		fail: func(_ context.Context, canary string) error { panicking(canary); return nil },
		want: want{public: internal(), outcome: "panic", stack: true, log: log},
		bare: dies,
	}
}

// unknown returns a failure with an error of which nothing is known.
func unknown(name string, err func(canary string) error, log ...string) failure {
	return failure{
		name: "error-" + name,
		fail: func(_ context.Context, canary string) error { return err(canary) },
		want: want{public: internal(), outcome: "internal_error", log: log, err: err(canary("error-" + name))},
		bare: leaks,
	}
}

// classified returns a failure of a standard kind.
func classified(name string, kind fault.Kind, outcome string, err func(canary string) error, log ...string) failure {
	return failure{
		name: "kind-" + name,
		fail: func(_ context.Context, canary string) error { return err(canary) },
		want: want{public: fault.Generic(kind), outcome: outcome, level: "WARN", log: log, err: err(canary("kind-" + name))},
		bare: leaks,
	}
}

// deliberate returns a failure that the handler worded for its caller: the error
// of which public is all that may be seen.
func deliberate(name string, outcome string, public *fault.Error, err func(canary string) error, log ...string) failure {
	return failure{
		name: "fault-" + name,
		fail: func(_ context.Context, canary string) error { return err(canary) },
		want: want{public: public, worded: true, outcome: outcome, log: log},
	}
}

func failures() []failure {
	var all []failure
	all = append(all, panicFailures()...)
	all = append(all, unknownFailures()...)
	all = append(all, kindFailures()...)
	all = append(all, faultFailures()...)
	return append(all, wireFailures()...)
}

type (
	evilStringer struct{ secret string }
	evilError    struct{ secret string }
	evilUnwrap   struct{ secret string }
	evilIs       struct{ secret string }
	evilTwice    struct{ secret string }
	cycle        struct{ secret string }
	pointerError struct{ secret string }
	errorList    []error
	details      struct {
		DSN string
		N   int
	}
)

func (e evilStringer) String() string { panic("String of " + e.secret) }
func (e evilError) Error() string     { panic("Error of " + e.secret) }
func (e evilTwice) Error() string     { panic(evilStringer(e)) } // fmt gives up on such a value and panics itself
func (e evilUnwrap) Error() string    { return "unwrap me: " + e.secret }
func (e evilUnwrap) Unwrap() error    { panic("Unwrap of " + e.secret) }
func (e evilIs) Error() string        { return "compare me: " + e.secret }
func (e evilIs) Is(error) bool        { panic("Is of " + e.secret) }
func (e evilIs) As(any) bool          { panic("As of " + e.secret) }
func (e *cycle) Error() string        { return "round and round: " + e.secret }
func (e *cycle) Unwrap() error        { return e }
func (e *pointerError) Error() string { return "pointer: " + e.secret }
func (e errorList) Error() string     { return fmt.Sprint("list of ", len(e), ": ", e[0]) }
func (e errorList) Unwrap() []error   { return e }

// zero returns a nil that no linter sees through.
func zero[T any]() (value T) { return value }

func panicFailures() []failure {
	zeroInt := zero[int]()
	return []failure{
		panics("string", func(c string) { panic("cannot open postgres://svc:" + c + "@10.1.2.3/prod") }),
		panics("error", func(c string) { panic(errors.New("boom: " + c)) }),
		panics("nil", func(string) { panic(nil) }, "panic called with nil argument"),
		panics("nil-map", func(c string) { zero[map[string]int]()[c] = 1 }, "assignment to entry in nil map"),
		panics("nil-pointer", func(string) { zero[*details]().N++ }, "nil pointer dereference"),
		panics("index", func(c string) { _ = []byte(c)[len(c)+zeroInt] }, "index out of range"),
		panics("slice", func(c string) { _ = c[len(c)+1+zeroInt:] }, "slice bounds out of range"),
		panics("division", func(string) { _ = 1 / zeroInt }, "integer divide by zero"),
		panics("assertion", func(c string) { _ = any(c).(int) }, "interface conversion"),
		panics("closed-channel", func(string) { c := make(chan int); close(c); close(c) }, "close of closed channel"),
		panics("hash", func(c string) { m := map[any]int{}; m[[]string{c}]++ }, "hash of unhashable type"),
		panics("stringer", func(c string) { panic(evilStringer{c}) }, "its String method panicked"),
		panics("error-panics", func(c string) { panic(evilError{c}) }, "its Error method panicked"),
		panics("error-panics-twice", func(c string) { panic(evilTwice{c}) }, "its Error method panicked"),
		panics("struct", func(c string) { panic(details{DSN: c, N: 7}) }),
		panics("pointer", func(c string) { panic(&details{DSN: c}) }),
		panics("abort", func(string) { panic(http.ErrAbortHandler) }, "net/http: abort Handler"),
		panics("nested-defer", func(c string) {
			defer func() { panic("the second " + c) }()
			panic("the first " + c)
		}, "the second"),
		panics("again", func(c string) {
			defer func() { panic(recover()) }()
			panic("once more " + c)
		}),
		panics("fault", func(c string) { panic(fault.NotFound("project", c)) }),
		panics("wire", func(c string) { panic(&jsonrpc.Error{Code: -32021, Message: "secret " + c}) }),
		panics("deadline", func(string) { panic(context.DeadlineExceeded) }, "context deadline exceeded"),
		panics("huge", func(c string) { panic(c + strings.Repeat(" huge", 200_000)) }),
		panics("deep", func(c string) { sink(dive(10_000, c)) }),
		{
			name: "panic-in-a-goroutine",
			fail: func(ctx context.Context, c string) error {
				return <-mcprecover.Go(ctx, func(context.Context) error { panic("elsewhere " + c) })
			},
			want: want{public: internal(), outcome: "panic", stack: true, before: "mcpchain: a goroutine panicked"},
			bare: leaks, // it has become an error
		},
	}
}

// dive panics deep down in a stack.
func dive(depth int, canary string) int {
	if depth == 0 {
		panic("at the bottom: " + canary)
	}
	return dive(depth-1, canary) + 1
}

// sink keeps the compiler from dropping a value.
var sink = func(int) {}

const (
	stackText = "panic: boom\n\ngoroutine 17 [running]:\nmain.load(0xc000012345)\n\t/srv/app/main.go:42 +0x1d\n"
	keyText   = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA%s\n-----END RSA PRIVATE KEY-----"
)

func unknownFailures() []failure {
	text := func(format string) func(string) error {
		return func(c string) error { return errors.New(strings.ReplaceAll(format, "%s", c)) }
	}
	// evil are errors that kill whoever prints them without care. The SDK does, in a
	// typed tool, and inside of it that is a panic.
	evil := func(name string, err func(string) error, log string) failure {
		f := unknown(name, err, log)
		f.want.err = nil
		f.bare = dies
		f.adjust = func(chain, kind string, w *want) {
			if kind == "typed" || kind == "addtool" {
				w.outcome, w.stack, w.log = "panic", true, []string{"panic: "}
			}
		}
		return f
	}
	huge := unknown("huge", text("%s"+strings.Repeat("all work and no play ", 250_000))) // 5 MB
	huge.only = []string{"raw", "typed", "resource"}
	return []failure{
		unknown("plain", text("cannot do it: %s")),
		unknown("wrapped", func(c string) error {
			return fmt.Errorf("load: %w", fmt.Errorf("query: %w", errors.New("server said "+c)))
		}),
		unknown("joined", func(c string) error { return errors.Join(errors.New("first"), errors.New("second "+c)) }),
		unknown("uncomparable", func(c string) error { return errorList{errors.New(c), errors.New("two")} }),
		unknown("connection-string", text("dial postgres://svc:%s@db.internal:5432/prod?sslmode=disable: no route")),
		unknown("keyword-dsn", text("connect host=10.0.0.7 port=5432 user=svc password=%s dbname=prod failed")),
		unknown("bearer", text("upstream refused Authorization: Bearer %s")),
		unknown("path", text("parse /etc/%s/secrets.yaml: line 3")),
		unknown("windows-path", text(`parse C:\Users\%s\secrets.yaml: line 3`)),
		unknown("sql", text("near \"FROM\": SELECT token FROM users WHERE token = '%s'")),
		unknown("stack-text", text(stackText+"%s")),
		unknown("environment", text("AWS_SECRET_ACCESS_KEY=%s HOME=/root PATH=/bin exec failed")),
		unknown("private-key", text("bad key "+keyText)),
		unknown("jwt", text("token eyJhbGciOiJIUzI1NiJ9.%s.c2lnbmF0dXJl is expired")),
		unknown("url", func(c string) error {
			return &url.Error{Op: "Get", URL: "https://user:" + c + "@10.0.0.9/x", Err: errors.New("broken")}
		}),
		huge,
		unknown("control", func(c string) error {
			return errors.New("\x00\x01\x1b[31m" + c + "\xff\xfe\u202e\u2028\r\n\t\"\\</script>" + strings.Repeat("\x07\xc3", 20_000))
		}, canary("error-control")),
		without(dies, unknown("unwrap-panics", func(c string) error { return evilUnwrap{c} })),
		without(dies, unknown("is-panics", func(c string) error { return fmt.Errorf("outer: %w", evilIs{c}) })),
		without(lives, unknown("cycle", func(c string) error { return &cycle{c} })), // it looks for the end of it
		evil("typed-nil", func(string) error { var e *pointerError; return e }, "<nil *e2e.pointerError>"),
		func() failure {
			f := evil("typed-nil-wire", func(string) error { var e *jsonrpc.Error; return e }, "<nil *jsonrpc2.WireError>")
			f.adjust = nil // the SDK passes it on
			return f
		}(),
		evil("error-panics", func(c string) error { return evilError{c} }, "its Error method panicked"),
		evil("error-panics-twice", func(c string) error { return evilTwice{c} }, "its Error method panicked"),
		evil("wrapped-evil", func(c string) error { return errors.Join(errors.New("ok"), evilError{c}) }, "its Error method panicked"),
	}
}

func kindFailures() []failure {
	wrap := func(err error) func(string) error {
		return func(c string) error { return fmt.Errorf("secret %s: %w", c, err) }
	}
	timeout := errors.Join(context.DeadlineExceeded, errors.New("and more"))
	// own is an error of a standard kind about what is the server's own, such as a file
	// whose path the caller did not send.
	own := func(name string, err func(string) error) failure {
		f := classified(name, fault.KindInternal, "internal_error", err)
		f.want.level = ""
		return f
	}
	noRows := classified("no-rows", fault.KindNotFound, "not_found", wrap(sql.ErrNoRows))
	noRows.want.level = "" // it is the caller's doing
	dnsTimeout := classified("dns-timeout", fault.KindTimeout, "timeout", func(c string) error {
		return &net.DNSError{Err: "i/o timeout", Name: c, IsTimeout: true}
	})
	dnsTimeout.want.party = fault.PartyUpstream
	return []failure{
		classified("deadline", fault.KindTimeout, "timeout", wrap(context.DeadlineExceeded)),
		classified("deadline-joined", fault.KindTimeout, "timeout", wrap(timeout)),
		classified("os-deadline", fault.KindTimeout, "timeout", wrap(os.ErrDeadlineExceeded)),
		classified("url-timeout", fault.KindTimeout, "timeout", func(c string) error {
			return &url.Error{Op: "Get", URL: "https://" + c + ".example/", Err: context.DeadlineExceeded}
		}),
		classified("cancelled", fault.KindCancelled, "tool_error", wrap(context.Canceled)), // not by the client
		own("not-exist", func(c string) error {
			_, err := os.Open("/nonexistent/" + c)
			return err
		}),
		own("exist", func(c string) error {
			return &fs.PathError{Op: "mkdir", Path: "/srv/" + c, Err: fs.ErrExist}
		}),
		own("permission", func(c string) error {
			return &fs.PathError{Op: "open", Path: "/srv/" + c, Err: fs.ErrPermission}
		}),
		noRows,
		classified("bad-connection", fault.KindConnectionFailed, "unavailable", wrap(driver.ErrBadConn)),
		classified("refused", fault.KindConnectionFailed, "unavailable", func(c string) error {
			_, err := (&net.Dialer{}).Dial("tcp", "127.0.0.1:1")
			return fmt.Errorf("%s: %w", c, err)
		}),
		classified("dns", fault.KindConnectionFailed, "unavailable", func(c string) error {
			return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: c + ".corp.internal", IsNotFound: true}}
		}),
		dnsTimeout,
		classified("eof", fault.KindConnectionFailed, "unavailable", wrap(io.ErrUnexpectedEOF)), // of an answer, most often
		classified("closed", fault.KindConnectionFailed, "unavailable", wrap(net.ErrClosed)),
	}
}

// publicError is an error that says itself what a caller may know.
type publicError struct{ error }

func (publicError) PublicMessage() string { return "the quota of this month is used up" }
func (publicError) PublicHint() string    { return "Ask the owner for more." }
func (publicError) PublicKind() string    { return "rate_limited" }

// outcomes are the outcomes of the kinds.
var outcomes = map[fault.Kind]string{
	fault.KindValidation: "validation", fault.KindNotFound: "not_found", fault.KindAlreadyExists: "conflict",
	fault.KindUnauthenticated: "denied", fault.KindPermissionDenied: "denied", fault.KindRateLimited: "rate_limited",
	fault.KindTimeout: "timeout", fault.KindCancelled: "cancelled", fault.KindConnectionFailed: "unavailable",
	fault.KindServiceUnavailable: "unavailable", fault.KindServerError: "unavailable", fault.KindClientError: "tool_error",
	fault.KindConflict: "conflict", fault.KindPreconditionFailed: "conflict", fault.KindInternal: "internal_error",
	"deployment_in_progress": "tool_error",
}

func faultFailures() []failure {
	because := func(public *fault.Error) func(string) error {
		return func(c string) error { return public.Because(errors.New("private " + c)) }
	}
	var all []failure
	for kind, outcome := range outcomes {
		public := fault.New(kind, "step one of two failed")
		f := deliberate(string(kind), outcome, public, because(public))
		f.only = []string{"raw", "typed", "resource", "prompt", "custom"}
		all = append(all, f)
	}
	steps := fault.New(fault.KindPreconditionFailed, "the project is locked").
		WithCode("PROJECT_LOCKED").Suggest("Unlock it first.").With("holder", "build <7> & co").With("count", 3).
		Step("Unlock it", "unlock_project", map[string]any{"project": "alpha", "force": false}).
		WithSteps(fault.Step{Action: "Choose", Options: []fault.Option{{Action: "wait"}, {Action: "give up"}}, Description: "Either will do."}).
		After(90 * time.Second)
	// What breaks a terminal, a line or a text does not reach a reader.
	withoutCall := func(f failure, public *fault.Error) failure {
		f.adjust = func(chain, kind string, w *want) {
			if chain == chainHandlers && kind != "addtool" {
				return // nobody there knows the tools
			}
			d := public.Data()
			d.RecoverySteps[0].Tool, d.RecoverySteps[0].Parameters = "", nil
			w.public = faults.ScrubbedBy(fault.FromData(d), scrub.Credentials)
		}
		return f
	}
	whole := func(f failure) failure {
		f.want.whole = true
		return f
	}
	control := fault.New(fault.KindConflict, "\x00\x1b[31mred\xff\xfe\u202e\u2028 \a end"+strings.Repeat("\x07\xc3 on and on", 20_000)).
		WithCode("C\xff").With("k\x1b\xff", "v\x00\xfe").Step("Look\r\nhere\x1b", "look\xff", map[string]any{"a\x00": "\xff"})
	all = append(all,
		withoutCall(deliberate("control", "conflict", faults.ScrubbedBy(control, scrub.Credentials), because(control)), control),
		deliberate("steps", "conflict", steps, because(steps)),
		deliberate("near-names", "not_found",
			fault.NotFound("project", "alhpa", "alpha", "beta"),
			because(fault.NotFound("project", "alhpa", "alpha", "beta"))),
		deliberate("missing-permission", "denied",
			fault.Denied("delete", "project 'alpha'").Needs("project:delete").Never("only the owner may"),
			because(fault.Denied("delete", "project 'alpha'").Needs("project:delete").Never("only the owner may"))),
		deliberate("limited", "rate_limited", fault.RateLimited("the search API", 30*time.Second),
			because(fault.RateLimited("the search API", 30*time.Second))),
		deliberate("retry", "timeout",
			fault.Timeout("the report", time.Minute).WithRetry(fault.Retry{ShouldRetry: true, NextAttempt: 2, MaxAttempts: 3, Effect: fault.EffectUnknown}),
			because(fault.Timeout("the report", time.Minute).WithRetry(fault.Retry{ShouldRetry: true, NextAttempt: 2, MaxAttempts: 3, Effect: fault.EffectUnknown}))),
		deliberate("exists", "conflict", fault.AlreadyExists("project", "alpha"), because(fault.AlreadyExists("project", "alpha"))),
		deliberate("down", "unavailable", fault.Unavailable("the weather service").After(0), because(fault.Unavailable("the weather service").After(0))),
		deliberate("invalid", "validation",
			fault.Invalid("quantity", "five", "an integer", "5"), because(fault.Invalid("quantity", "five", "an integer", "5"))),
		deliberate("violations", "validation",
			fault.Violations(fault.Violation{Field: "a", Rule: "required", Expected: "a text"}, fault.Violation{Field: "b[1]", Rule: "type", Expected: "an integer", Received: 1.5}),
			because(fault.Violations(fault.Violation{Field: "a", Rule: "required", Expected: "a text"}, fault.Violation{Field: "b[1]", Rule: "type", Expected: "an integer", Received: 1.5}))),
		deliberate("wrapped", "not_found", fault.NotFound("project", "alpha"), func(c string) error {
			return fmt.Errorf("secret %s: %w", c, fault.NotFound("project", "alpha"))
		}),
		deliberate("joined-with-an-error", "not_found", fault.NotFound("project", "alpha"), func(c string) error {
			return errors.Join(errors.New("secret "+c), fault.NotFound("project", "alpha"))
		}),
		deliberate("joined", "not_found",
			fault.Join(fault.NotFound("project", "alpha"), fault.Denied("read", "project 'beta'")),
			func(c string) error {
				return errors.Join(fault.NotFound("project", "alpha").Because(errors.New(c)), fault.Denied("read", "project 'beta'"))
			}),
		whole(deliberate("without-a-cause", "not_found", fault.NotFound("project", "alpha"),
			func(string) error { return fault.NotFound("project", "alpha") }, "project 'alpha' does not exist.")),
		deliberate("evil-cause", "conflict", fault.New(fault.KindConflict, "somebody else was faster"),
			func(c string) error {
				return fault.New(fault.KindConflict, "somebody else was faster").Because(evilTwice{c})
			}, "its Error method panicked"),
		// A path that somebody worded for the caller is shown.
		whole(deliberate("secret-in-the-message", "unavailable",
			fault.New(fault.KindServiceUnavailable, "cannot reach postgres://[redacted] now").Suggest("Look at /etc/app.yaml for password=[redacted] first."),
			func(c string) error {
				return fault.New(fault.KindServiceUnavailable, "cannot reach postgres://svc:"+c+"@db:5432/prod now").
					Suggest("Look at /etc/app.yaml for password=" + c + " first.")
			})),
		deliberate("public-methods", "rate_limited",
			fault.New(fault.KindRateLimited, "the quota of this month is used up").Suggest("Ask the owner for more."),
			func(c string) error { return fmt.Errorf("account %s: %w", c, publicError{errors.New(c)}) }),
	)
	// A typed nil: nothing was worded.
	nilFault := unknown("typed-nil-fault", func(string) error { var e *fault.Error; return e }, "<nil *fault.Error>", "nil")
	nilFault.want.err, nilFault.want.log, nilFault.bare = nil, []string{"fault.Error"}, lives
	return append(all, nilFault)
}

func wireFailures() []failure {
	wire := func(name string, sent, arrives *jsonrpc.Error, err func(c string, sent *jsonrpc.Error) error, log ...string) failure {
		return failure{
			name: "wire-" + name,
			fail: func(_ context.Context, c string) error { return err(c, sent) },
			want: want{wire: arrives, outcome: "protocol_error", log: log},
		}
	}
	bare := func(_ string, sent *jsonrpc.Error) error { return sent }
	wrapped := func(c string, sent *jsonrpc.Error) error { return fmt.Errorf("secret %s: %w", c, sent) }
	data := json.RawMessage(`{"supported":["a<b"],"n":1.50}`)
	url := &jsonrpc.Error{Code: -32042, Message: "URL elicitation required", Data: json.RawMessage(`{"elicitations":[]}`)}
	capability := &jsonrpc.Error{Code: -32021, Message: "missing required client capability", Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
	all := []failure{
		wire("bare", &jsonrpc.Error{Code: 40001, Message: "out of paper", Data: data},
			&jsonrpc.Error{Code: 40001, Message: "out of paper", Data: data}, bare, "out of paper"),
		wire("wrapped", &jsonrpc.Error{Code: 40001, Message: "out of paper", Data: data},
			&jsonrpc.Error{Code: 40001, Message: "out of paper", Data: data}, wrapped),
		wire("joined", &jsonrpc.Error{Code: -32001, Message: "gone"}, &jsonrpc.Error{Code: -32001, Message: "gone"},
			func(c string, sent *jsonrpc.Error) error { return errors.Join(errors.New(c), sent) }),
		wire("capability", capability, capability, bare, "missing required client capability"),
		wire("capability-wrapped", capability, capability, wrapped),
		wire("url-elicitation", url, url, wrapped),
		wire("invalid-params", &jsonrpc.Error{Code: -32602, Message: "bad cursor"}, &jsonrpc.Error{Code: -32602, Message: "bad cursor"}, wrapped),
		wire("secret-in-the-message", nil, &jsonrpc.Error{Code: 7, Message: "cannot reach postgres://[redacted] now"},
			func(c string, _ *jsonrpc.Error) error {
				return &jsonrpc.Error{Code: 7, Message: "cannot reach postgres://svc:" + c + "@db:5432/prod now"}
			}),
		// What cannot be written as JSON must not be tried: the session would break.
		wire("broken-data", nil, &jsonrpc.Error{Code: 7, Message: "half an object"},
			func(c string, _ *jsonrpc.Error) error {
				return &jsonrpc.Error{Code: 7, Message: "half an object", Data: json.RawMessage(`{"secret":"` + c)}
			}, "half an object"),
	}
	for i := range all {
		if all[i].name == "wire-url-elicitation" {
			// The client of the SDK knows this code and answers it by itself elsewhere.
			all[i].only = []string{"raw", "typed", "resource", "prompt"}
		}
	}
	return all
}
