package classify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"reflect"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// The reasons that the errors of the standard library give.
const (
	reasonTLS     = "A secure connection to a service that is needed cannot be set up"
	reasonName    = "The address of a service that is needed cannot be found"
	reasonStorage = "The server has no storage space left"
	reasonState   = "The server is in a state that does not pass by itself"
)

// What the types are that only wrap or only have a text.
var (
	textType    = reflect.TypeOf(errors.New(""))
	joinType    = reflect.TypeOf(errors.Join(io.EOF))
	fmtWrapType = reflect.TypeOf(fmt.Errorf("%w", io.EOF))
	fmtJoinType = reflect.TypeOf(fmt.Errorf("%w%w", io.EOF, io.EOF))
)

// standard tells what one error of the standard library says, without looking at
// what it wraps. An effect is given only where it is certain.
func standard(err error, has traits) clue {
	switch err {
	case context.DeadlineExceeded, os.ErrDeadlineExceeded:
		return clue{kind: fault.KindTimeout, effect: fault.EffectUnknown}
	case context.Canceled:
		return clue{kind: fault.KindCancelled, effect: fault.EffectUnknown}
	case fs.ErrNotExist, sql.ErrNoRows:
		return clue{kind: fault.KindNotFound}
	case fs.ErrExist:
		return clue{kind: fault.KindAlreadyExists}
	case fs.ErrPermission:
		return clue{kind: fault.KindPermissionDenied}
	case io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, mcp.ErrConnectionClosed,
		// A driver is to return it only where the database has done nothing, but lib/pq
		// returns it when the answer to a statement does not come, too.
		driver.ErrBadConn:
		return clue{kind: fault.KindConnectionFailed, effect: fault.EffectUnknown}
	case sql.ErrConnDone:
		return clue{kind: fault.KindConnectionFailed}
	case sql.ErrTxDone:
		return clue{retry: RetryNo, reason: reasonUnexpected}
	case http.ErrSchemeMismatch:
		return insecure
	}
	if t, ok := as[timeouter](err, has, saysTimeout); ok && t.Timeout() {
		return timeout(err, has)
	}
	switch e := err.(type) {
	case *net.OpError:
		return ofOperation(e)
	case *net.DNSError:
		if e.IsNotFound {
			return clue{kind: fault.KindConnectionFailed, retry: RetryNo, reason: reasonName, effect: fault.EffectNone}
		}
		return clue{kind: fault.KindConnectionFailed, effect: fault.EffectNone}
	case syscall.Errno:
		return ofErrno(e)
	case tls.RecordHeaderError:
		return ofTLS("tls: " + e.Msg)
	case tls.AlertError:
		return ofTLS(e.Error())
	case *tls.CertificateVerificationError, *tls.ECHRejectionError,
		x509.CertificateInvalidError, x509.HostnameError, x509.UnknownAuthorityError, x509.SystemRootsError:
		return insecure
	case textproto.ProtocolError: // an answer that is none
		return clue{kind: fault.KindServerError, effect: fault.EffectUnknown}
	}
	if has&isText != 0 {
		return ofText(err.Error())
	}
	return clue{}
}

// insecure is a handshake that failed: nothing had been sent by then, and it fails
// again until somebody changes a certificate or a setting.
var insecure = clue{kind: fault.KindConnectionFailed, retry: RetryNo, reason: reasonTLS, effect: fault.EffectNone}

// timeout tells what had been done when the time was over.
func timeout(err error, has traits) clue {
	c := clue{kind: fault.KindTimeout}
	switch e := err.(type) {
	case *net.OpError:
		c.effect = ofOperation(e).effect
	case *net.DNSError:
		c.effect = fault.EffectNone
	default:
		if has&isHandshake != 0 {
			c.effect = fault.EffectNone
		}
	}
	return c
}

func ofOperation(e *net.OpError) clue {
	c := clue{kind: fault.KindConnectionFailed}
	switch e.Op {
	case "dial", "listen", "proxyconnect", "socks connect":
		c.effect = fault.EffectNone
	case "remote error", "local error": // so crypto/tls tells an alert
		c = ofTLS(safe.Error(e.Err))
	case "read", "readfrom", "write", "writeto", "sendfile", "splice", "close":
		c.effect = fault.EffectUnknown
	}
	if errors.Is(e.Err, context.Canceled) {
		c.kind = fault.KindCancelled
	}
	return c
}

func ofErrno(e syscall.Errno) clue {
	switch e {
	case syscall.ECONNREFUSED, syscall.ENOTCONN:
		return clue{kind: fault.KindConnectionFailed, effect: fault.EffectNone}
	case syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE:
		return clue{kind: fault.KindConnectionFailed, effect: fault.EffectUnknown}
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH:
		return clue{kind: fault.KindConnectionFailed}
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS:
		return clue{kind: fault.KindServiceUnavailable, retry: RetryYes, effect: fault.EffectNone}
	case syscall.ENOSPC, syscall.EDQUOT: // a part may have been written
		return clue{retry: RetryNo, reason: reasonStorage, effect: fault.EffectUnknown}
	case syscall.EROFS:
		return clue{retry: RetryNo, reason: reasonState, effect: fault.EffectNone}
	}
	switch {
	case e.Is(fs.ErrNotExist):
		return clue{kind: fault.KindNotFound}
	case e.Is(fs.ErrExist):
		return clue{kind: fault.KindAlreadyExists}
	case e.Is(fs.ErrPermission):
		return clue{kind: fault.KindPermissionDenied}
	default:
		return clue{}
	}
}

// ofText knows the sentinel errors that have nothing but a text: some of the
// standard library's that have no name outside of it, and those of libraries that
// are not imported for it, such as the circuit breakers and limiters (failsafe-go,
// gobreaker) that refuse a call before it is made. The whole text must be equal.
func ofText(text string) clue {
	switch text {
	case "http: server closed idle connection", "tls: use of closed connection", "tls: protocol is shutdown",
		"conn closed": // pgx
		return clue{kind: fault.KindConnectionFailed, effect: fault.EffectUnknown}
	case "circuit breaker open", "circuit breaker is open", "bulkhead full", "failure rate exceeded":
		return clue{kind: fault.KindServiceUnavailable, retry: RetryYes, effect: fault.EffectNone}
	case "rate limit exceeded", "too many requests":
		return clue{kind: fault.KindRateLimited, retry: RetryYes, effect: fault.EffectNone}
	case "timeout exceeded":
		return clue{kind: fault.KindTimeout, effect: fault.EffectUnknown}
	}
	switch {
	case strings.HasPrefix(text, "tls: "):
		return ofTLS(text)
	case strings.HasPrefix(text, "x509: "):
		return insecure
	default:
		return clue{}
	}
}

// ofTLS tells a handshake that failed from a connection that broke later, by the
// text of crypto/tls, which has no other mark for it.
func ofTLS(text string) clue {
	for _, handshake := range handshakes {
		if strings.HasPrefix(text, handshake) {
			return insecure
		}
	}
	return clue{kind: fault.KindConnectionFailed, effect: fault.EffectUnknown}
}

// handshakes are how the texts of crypto/tls begin that speak of a handshake.
var handshakes = []string{
	// Errors of this side.
	"tls: first record does not look like a TLS handshake",
	"tls: failed to",
	"tls: server ",
	"tls: peer ",
	"tls: no supported versions",
	// Alerts.
	"tls: handshake failure",
	"tls: bad certificate",
	"tls: unsupported certificate",
	"tls: revoked certificate",
	"tls: expired certificate",
	"tls: unknown certificate", // also: unknown certificate authority
	"tls: certificate required",
	"tls: access denied",
	"tls: protocol version not supported",
	"tls: insufficient security level",
	"tls: inappropriate fallback",
	"tls: missing extension",
	"tls: unsupported extension",
	"tls: unrecognized name",
	"tls: no application protocol",
	"tls: encrypted client hello required",
}
