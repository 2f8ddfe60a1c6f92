package middleware

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// An error of any type may say what a caller may know of it, by having one or
// more of these methods. They are looked for in the whole chain of wrapped and
// joined errors, the outermost first, and may return "" for "nothing to say".
type (
	// PublicMessager gives the public sentence of an error.
	PublicMessager interface{ PublicMessage() string }
	// PublicHinter gives the public suggestion of an error.
	PublicHinter interface{ PublicHint() string }
	// PublicKinder gives the kind of an error, such as "not_found".
	PublicKinder interface{ PublicKind() string }
)

// A Rule says what a caller may know of an error: it returns the public fault, or
// nil when the rule is not about this error. Rules are asked for errors that were
// not made for a caller on purpose. A rule may be called concurrently; one that
// panics counts as one that returned nil.
type Rule func(err error) *fault.Error

// origin says where the public part of a failure comes from.
type origin uint8

const (
	unknown    origin = iota // nothing is known: an internal error
	classified               // an error of a standard kind
	ruled                    // a user's rule
	bug                      // a panic, or a result that cannot be sent
	worded                   // somebody made it for the caller to read
	explained                // a middleware of ours made it of what the caller may know
)

// finding is what the classifier makes of an error.
type finding struct {
	origin origin
	fault  *fault.Error
	own    bool           // the fault is the error's own, and so is its cause
	wire   *jsonrpc.Error // a deliberate protocol error, sent as it is
	panic  *PanicError

	refused  bool // by the SDK, which checks the arguments of typed tools
	protocol bool // the fault is told as a protocol error
}

// HideError returns an error of which a caller learns only what the given fault
// says; the log has err. It is for failures that the server itself caused.
//
// A nil error stays nil, and a nil fault is the generic internal one.
func HideError(err error, public *fault.Error) error {
	if err == nil {
		return nil
	}
	if public == nil {
		public = fault.Generic(fault.KindInternal)
	}
	return &hidden{err, public}
}

type hidden struct {
	error
	public *fault.Error
}

func (h *hidden) Unwrap() error { return h.error }

// Classify returns what a caller may know of err, nil for a nil error. It is the
// one place where errors are told apart: deliberate faults and *jsonrpc.Errors,
// the given rules, errors with public methods, and the standard kinds of context,
// os, io, net and database/sql, anywhere in the chain. Of an error that it does
// not know it says only that it is an internal error. It survives errors whose
// methods panic.
func Classify(err error, rules ...Rule) *fault.Error {
	if err == nil {
		return nil
	}
	f := classify(err, rules)
	switch {
	case f.wire != nil:
		return wireFault(f.wire)
	case f.own:
		return f.fault
	default:
		return f.fault.Because(err)
	}
}

func classify(err error, rules []Rule) (f finding) {
	defer func() {
		// A stranger's Unwrap, Is or As panicked: nothing is known about it.
		if recover() != nil {
			f = finding{fault: fault.Generic(fault.KindInternal)}
		}
	}()
	var w walker
	if w.walk(err) {
		return w.found
	}
	if w.seen > maxErrors {
		rules = nil // errors.Is, which they ask, would not come back from a cycle
	}
	for _, rule := range rules {
		if public := ask(rule, err); public != nil {
			return finding{origin: ruled, fault: public}
		}
	}
	switch {
	case w.message != "":
		public := fault.New(orKind(w.named, w.kind, fault.KindTool), w.message).Suggest(w.hint)
		return finding{origin: worded, fault: public}
	case w.named != "" || w.kind != "":
		public := fault.Generic(orKind(w.named, w.kind, ""))
		if w.hint != "" {
			public = public.Suggest(w.hint)
		}
		return finding{origin: classified, fault: public}
	}
	if found := bySDKText(safe.Error(err)); found.fault != nil {
		return found
	}
	public := fault.Generic(fault.KindInternal)
	if w.hint != "" {
		public = public.Suggest(w.hint)
	}
	return finding{fault: public}
}

func ask(rule Rule, err error) (public *fault.Error) {
	defer func() {
		if recover() != nil {
			public = nil
		}
	}()
	if rule == nil {
		return nil
	}
	return rule(err)
}

func orKind(kinds ...fault.Kind) fault.Kind {
	for _, k := range kinds {
		if k != "" {
			return k
		}
	}
	return ""
}

// maxErrors bounds the walk through an error tree, which may be huge or have a
// cycle.
const maxErrors = 256

// walker collects, in one walk through an error tree, all that is known of it.
type walker struct {
	found         finding
	named, kind   fault.Kind // by the error's own word, by its type
	message, hint string
	seen          int
}

// walk visits err and what it wraps, the outermost first, and reports whether it
// found something that settles the matter.
func (w *walker) walk(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if w.seen++; w.seen > maxErrors || safe.Nil(err) {
			return false
		}
		if w.visit(err) {
			return true
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			return w.walkJoined(joined.Unwrap())
		}
	}
	return false
}

// walkJoined visits all the errors, because faults that were joined are told
// together; a panic or a protocol error among them is told alone.
func (w *walker) walkJoined(errs []error) bool {
	var faults []*fault.Error
	for _, err := range errs {
		switch {
		case !w.walk(err):
		case w.found.origin != worded || w.found.wire != nil:
			return true
		default:
			faults = append(faults, w.found.fault)
			w.found = finding{}
		}
	}
	if len(faults) == 0 {
		return false
	}
	w.found = finding{origin: worded, fault: fault.Join(faults...), own: true}
	return true
}

// visit looks at one error and reports whether it settles the matter.
func (w *walker) visit(err error) bool {
	switch e := err.(type) {
	case *fault.Error:
		w.found = finding{origin: worded, fault: e, own: true}
		return true
	case *jsonrpc.Error:
		w.found = finding{origin: worded, wire: e}
		return true
	case *PanicError:
		w.found = finding{origin: bug, fault: fault.Generic(fault.KindInternal), panic: e}
		return true
	case *renderedError:
		if e, ok := faultFromMeta(e.res.Meta); ok {
			w.found = finding{origin: worded, fault: e, own: true}
			return true
		}
		return false
	case *hidden:
		w.found = finding{origin: bug, fault: e.public}
		return true
	case fault.Kind:
		w.kind = orKind(w.kind, e)
		return false
	}
	if m, ok := err.(PublicMessager); ok && w.message == "" {
		w.message = m.PublicMessage()
	}
	if h, ok := err.(PublicHinter); ok && w.hint == "" {
		w.hint = h.PublicHint()
	}
	if k, ok := err.(PublicKinder); ok && w.named == "" {
		w.named = fault.Kind(k.PublicKind())
	}
	if w.kind == "" {
		w.kind = standardKind(err)
	}
	return false
}

// standardKind tells the kind of one error, without looking at what it wraps.
func standardKind(err error) fault.Kind {
	switch err {
	case context.DeadlineExceeded, os.ErrDeadlineExceeded:
		return fault.KindTimeout
	case context.Canceled:
		return fault.KindCancelled
	case fs.ErrNotExist, sql.ErrNoRows:
		return fault.KindNotFound
	case fs.ErrExist:
		return fault.KindAlreadyExists
	case fs.ErrPermission:
		return fault.KindPermissionDenied
	case io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, driver.ErrBadConn, sql.ErrConnDone, mcp.ErrConnectionClosed:
		return fault.KindConnectionFailed
	}
	if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
		return fault.KindTimeout
	}
	switch e := err.(type) {
	case *net.OpError:
		if errors.Is(e.Err, context.Canceled) {
			return fault.KindCancelled
		}
		return fault.KindConnectionFailed
	case *net.DNSError:
		return fault.KindConnectionFailed
	case syscall.Errno:
		return errnoKind(e)
	}
	return ""
}

func errnoKind(e syscall.Errno) fault.Kind {
	switch e {
	case syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENOTCONN:
		return fault.KindConnectionFailed
	}
	switch {
	case e.Is(fs.ErrNotExist):
		return fault.KindNotFound
	case e.Is(fs.ErrExist):
		return fault.KindAlreadyExists
	case e.Is(fs.ErrPermission):
		return fault.KindPermissionDenied
	default:
		return ""
	}
}

// bySDKText knows the failures that go-sdk v1.8 tells by their text alone.
func bySDKText(text string) finding {
	switch {
	// The rest of the text is the validator's and echoes the argument.
	case strings.HasPrefix(text, `validating "arguments": `):
		return finding{origin: classified, fault: fault.Generic(fault.KindValidation), refused: true}
	case text == "the server is busy, retry later":
		return finding{origin: classified, fault: fault.New(fault.KindServiceUnavailable, "the server is busy now").After(0)}
	// A typed output that JSON cannot hold or that breaks its schema: the server's
	// fault, whatever stands in the chain.
	case strings.HasPrefix(text, "marshaling output: "), strings.HasPrefix(text, "validating tool output: "):
		return finding{origin: bug, fault: fault.Generic(fault.KindInternal)}
	default:
		return finding{}
	}
}

// sdkChecks are the texts with which go-sdk v1.8 wraps a protocol error of its
// own. They are kept whole; of any other wrapped protocol error only the
// protocol error itself is sent, because nobody knows what is in the wrapping.
var sdkChecks = map[string]bool{
	"invalid params: missing required 'ref' field":           true,
	"invalid params: missing required 'argument.name' field": true,
	"invalid params: missing required 'notifications' field": true,
}
