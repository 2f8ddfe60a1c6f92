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
	"github.com/mcpchain/mcpchain/internal/words"
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
	fmtTextType = reflect.TypeOf(fmt.Errorf("%d", 1))
	joinType    = reflect.TypeOf(errors.Join(io.EOF))
	fmtWrapType = reflect.TypeOf(fmt.Errorf("%w", io.EOF))
	fmtJoinType = reflect.TypeOf(fmt.Errorf("%w%w", io.EOF, io.EOF))
)

// standard tells what one error of the standard library says, without looking at
// what it wraps. An effect is given only where it is certain.
func (w *walker) standard(err error) clue {
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
	case io.EOF, io.ErrUnexpectedEOF:
		if !w.network {
			return clue{} // the end of a file or of a text, as likely
		}
		return disconnected
	case io.ErrClosedPipe, net.ErrClosed, mcp.ErrConnectionClosed,
		// A driver is to return it only where the database has done nothing, but lib/pq
		// returns it when the answer to a statement does not come, too.
		driver.ErrBadConn:
		return clue{kind: fault.KindConnectionFailed, effect: fault.EffectUnknown}
	case sql.ErrConnDone:
		return clue{kind: fault.KindConnectionFailed}
	case sql.ErrTxDone:
		return clue{party: fault.PartyServer, retry: RetryNo}
	case http.ErrSchemeMismatch:
		return insecure
	}
	switch e := err.(type) {
	case *fs.PathError:
		if c, ok := w.ofPath(e.Op, e.Path, e.Err); ok {
			return c
		}
	case *os.LinkError:
		path := e.Old
		if safe.Is(e.Err, fs.ErrExist) {
			path = e.New
		}
		if c, ok := w.ofPath(e.Op, path, e.Err); ok {
			return c
		}
	}
	if timedOut(err) {
		return timeout(err)
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
	return clue{}
}

// ofPath tells what a path that is missing, forbidden or no good means. It is the
// caller's only where the caller named it: any other is a file of the server's own.
func (w *walker) ofPath(op, path string, err error) (clue, bool) {
	kind, format := meaningOf(err)
	if kind == "" {
		return clue{}, false
	}
	name := w.sent(path)
	switch {
	case name == "" && kind == fault.KindClientError:
		return clue{}, false
	case name == "":
		return clue{kind: fault.KindInternal, party: fault.PartyServer, retry: RetryNo}, true
	}
	if kind == fault.KindNotFound && strings.ContainsAny(name, `/\`) {
		format = "%s does not exist, or a directory in this path does not"
	}
	c := clue{kind: kind, party: fault.PartyCaller, terse: true}
	c.public = fault.Generic(kind).WithMessage(fmt.Sprintf(format, words.Quote(words.Line(name), maxName)))
	if kind == fault.KindClientError && op != "write" && op != "read" {
		c.effect = fault.EffectNone
	}
	return c, true
}

// maxName bounds a path that is shown back.
const maxName = 200

// meaningOf returns what the error of a path that the caller named means, and the sentence
// for it; "" for one that does not come from the path.
func meaningOf(err error) (kind fault.Kind, format string) {
	switch {
	case err == syscall.ENOTEMPTY: // which is fs.ErrExist too
		return fault.KindConflict, "the directory %s is not empty"
	case safe.Is(err, fs.ErrNotExist):
		return fault.KindNotFound, "%s does not exist"
	case safe.Is(err, fs.ErrExist):
		return fault.KindAlreadyExists, "%s exists already"
	case safe.Is(err, fs.ErrPermission):
		return fault.KindPermissionDenied, "access to %s is not permitted"
	case safe.Is(err, syscall.EISDIR):
		return fault.KindClientError, "%s is a directory and not a file"
	case safe.Is(err, syscall.ENOTDIR):
		return fault.KindClientError, "%s, or a part of this path, is not a directory"
	case safe.Is(err, syscall.ENAMETOOLONG):
		return fault.KindClientError, "the name %s is too long"
	case safe.Is(err, syscall.EINVAL):
		return fault.KindClientError, "%s is not a path that can be used"
	case safe.Error(err) == "path escapes from parent": // of os.Root
		return fault.KindClientError, "%s leads out of the directory that may be used"
	}
	return "", ""
}

// maxPath bounds the parts of a path that are looked for in a request.
const maxPath = 32

// sent returns a path, or the end of it below a directory of the server's, that stands
// in the request; "" for none.
func (w *walker) sent(path string) string {
	if w.opts.Sent == nil {
		return ""
	}
	for range maxPath {
		if path == "" || w.opts.Sent(path) {
			return path
		}
		i := strings.IndexAny(path, `/\`)
		if i < 0 || i == len(path)-1 {
			return ""
		}
		path = path[i+1:]
	}
	return ""
}

// insecure is a handshake that failed: nothing had been sent by then, and it fails
// again until somebody changes a certificate or a setting.
var insecure = clue{kind: fault.KindConnectionFailed, party: fault.PartyUpstream, retry: RetryNo, reason: reasonTLS, effect: fault.EffectNone}

// timeout tells what had been done when the time was over.
func timeout(err error) clue {
	c := clue{kind: fault.KindTimeout}
	switch e := err.(type) {
	case *net.OpError:
		c.party, c.effect = fault.PartyUpstream, ofOperation(e).effect
	case *net.DNSError:
		c.party, c.effect = fault.PartyUpstream, fault.EffectNone
	default:
		if reflect.TypeOf(err).String() == "http.tlsHandshakeTimeoutError" {
			c.party, c.effect = fault.PartyUpstream, fault.EffectNone
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
		return clue{kind: fault.KindServiceUnavailable, party: fault.PartyServer, retry: RetryYes, effect: fault.EffectNone}
	case syscall.ENOSPC, syscall.EDQUOT: // a part may have been written
		return clue{party: fault.PartyServer, retry: RetryNo, reason: reasonStorage, effect: fault.EffectUnknown}
	case syscall.EROFS:
		return clue{party: fault.PartyServer, retry: RetryNo, reason: reasonState, effect: fault.EffectNone}
	}
	return clue{} // what a file is to the caller, its path tells
}
