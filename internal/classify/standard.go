package classify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/textproto"
	"os"
	"reflect"
	"strings"
	"syscall"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

// standard returns the clue of an error of the standard library, without a look at the errors inside.
func (w *walker) standard(err error) clue {
	switch {
	case err == io.ErrUnexpectedEOF && !w.network: // most often a cut answer, sometimes a file or a text
		return endedEarly
	case err == io.ErrUnexpectedEOF, err == io.EOF && w.network: // elsewhere io.EOF may end a file or a text
		return disconnected
	case err == net.ErrClosed:
		return cut
	}
	c := clue{}
	switch e := err.(type) {
	case *fs.PathError:
		c = w.ofPath(e.Path, e.Err)
	case *os.LinkError:
		path := e.Old
		if safe.Is(e.Err, fs.ErrExist) {
			path = e.New
		}
		c = w.ofPath(path, e.Err)
	case *net.OpError:
		c = ofOperation(e)
	case *net.DNSError:
		c = clue{kind: fault.KindConnectionFailed}
		if e.IsNotFound {
			c = refused(fault.KindConnectionFailed, reasonName)
		}
	case syscall.Errno:
		c = errnos.of(e)
	case tls.RecordHeaderError:
		c = ofTLS(e.Msg)
	case tls.AlertError:
		c = ofTLS(e.Error())
	case *tls.CertificateVerificationError, *tls.ECHRejectionError,
		x509.CertificateInvalidError, x509.HostnameError, x509.UnknownAuthorityError, x509.SystemRootsError:
		c = insecure
	case textproto.ProtocolError: // an answer that is not HTTP
		c = badAnswer
	case *json.SyntaxError, *json.UnmarshalTypeError:
		if w.network { // a service's answer, not a text of the caller or of the server
			c = badAnswer
		}
	}
	if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
		if reflect.TypeOf(err).String() == "http.tlsHandshakeTimeoutError" {
			c = insecure
		}
		late := clue{kind: fault.KindTimeout}
		if c.kind != "" {
			late.party = fault.PartyUpstream
		}
		return late
	}
	return c
}

var badAnswer = clue{kind: fault.KindServerError}

// ofPath returns the clue of a path that is missing, forbidden or invalid. The caller is
// to blame only if it named the path: any other is a file of the server's own.
func (w *walker) ofPath(path string, err error) clue {
	kind, format := meaningOf(err)
	if kind == "" {
		return clue{}
	}
	name := w.sent(path)
	switch {
	case name == "" && kind == fault.KindClientError:
		return clue{}
	case name == "":
		return clue{kind: fault.KindInternal, party: fault.PartyServer, retry: fault.RetryNo, reason: reasonState}
	}
	if kind == fault.KindNotFound && strings.ContainsAny(name, `/\`) {
		format = "%s does not exist, or a directory in this path does not"
	}
	c := clue{kind: kind, party: fault.PartyCaller, terse: true}
	c.public = fault.Generic(kind).WithMessage(fmt.Sprintf(format, words.Quote(words.Line(name), maxName)))
	return c
}

// maxName bounds a path that is shown to the caller.
const maxName = 200

// pathErrors are the meanings of errors about a path that the caller named.
var pathErrors = []struct {
	is     error
	kind   fault.Kind
	format string
}{
	{syscall.ENOTEMPTY, fault.KindConflict, "the directory %s is not empty"}, // it matches fs.ErrExist too
	{fs.ErrNotExist, fault.KindNotFound, "%s does not exist"},
	{fs.ErrExist, fault.KindAlreadyExists, "%s exists already"},
	{fs.ErrPermission, fault.KindPermissionDenied, "access to %s is not permitted"},
	{syscall.EISDIR, fault.KindClientError, "%s is a directory and not a file"},
	{syscall.ENOTDIR, fault.KindClientError, "%s, or a part of this path, is not a directory"},
	{syscall.ENAMETOOLONG, fault.KindClientError, "the name %s is too long"},
	{syscall.EINVAL, fault.KindClientError, "%s is not a path that can be used"},
}

// meaningOf returns the kind and the sentence for the error of a path; "" for an error
// that is not about the path.
func meaningOf(err error) (kind fault.Kind, format string) {
	for _, m := range pathErrors {
		if safe.Is(err, m.is) {
			return m.kind, m.format
		}
	}
	if safe.Error(err) == "path escapes from parent" { // the error of os.Root
		return fault.KindClientError, "%s leads out of the directory that may be used"
	}
	return "", ""
}

// maxPath bounds the parts of a path that are searched for in a request.
const maxPath = 32

// sent returns the path, or its end below a directory of the server's, if the caller sent
// it; "" if not.
func (w *walker) sent(path string) string {
	sent := w.fromCaller()
	if sent == nil {
		return ""
	}
	for range maxPath {
		if path == "" || sent(path) {
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

func ofOperation(e *net.OpError) clue {
	switch {
	case e.Op == "remote error", e.Op == "local error": // how crypto/tls reports an alert
		return ofTLS(safe.Error(e.Err))
	case errors.Is(e.Err, context.Canceled):
		return clue{kind: fault.KindCancelled}
	default:
		return clue{kind: fault.KindConnectionFailed}
	}
}

// errnos are the numbers with a meaning that does not depend on a path.
var errnos = table[syscall.Errno]{
	{&cut, []syscall.Errno{
		syscall.ECONNREFUSED, syscall.ENOTCONN, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
	}},
	{
		&clue{kind: fault.KindServiceUnavailable, party: fault.PartyServer, retry: fault.RetryYes},
		[]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS},
	},
	// A part may have been written.
	{&clue{party: fault.PartyServer, retry: fault.RetryNo, reason: reasonStorage}, []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT}},
	{&badState, []syscall.Errno{syscall.EROFS}},
}
