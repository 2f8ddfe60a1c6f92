package classify

import (
	"net/http"

	"github.com/mcpchain/mcpchain/fault"
)

// The reasons that codes give.
const (
	reasonClient        = "Client errors are not retryable"
	reasonPermanent     = "The failure is permanent"
	reasonCredentials   = "A service that is needed refused this server, which the caller cannot change"
	reasonUnimplemented = "A service that is needed does not support this request"
	reasonUpstream      = "A service that is needed failed in a way that a repetition does not mend"
	reasonConstraint    = "The data break a rule of the database"
	reasonStatement     = "The database does not accept this request"
)

// refused is what a service says that did nothing, and will do nothing.
func refused(kind fault.Kind, reason string) clue {
	return clue{kind: kind, retry: RetryNo, reason: reason, effect: fault.EffectNone}
}

// later is what a service says that did nothing, and may do it at another time.
func later(kind fault.Kind) clue {
	return clue{kind: kind, retry: RetryYes, effect: fault.EffectNone}
}

// unsure is what a service says that may have done something.
func unsure(kind fault.Kind) clue {
	return clue{kind: kind, retry: RetryYes, effect: fault.EffectUnknown}
}

func isFailure(status int) bool { return 400 <= status && status <= 599 }

// ofStatus returns what an HTTP status of a service means. The credentials that the
// service refused with 401, 402, 403 or 407 are this server's own: its caller must
// not read that it lacks a permission.
func ofStatus(status int) clue {
	if !isFailure(status) {
		return clue{}
	}
	c := statusClue(status)
	c.status = status
	return c
}

func statusClue(status int) clue {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusProxyAuthRequired:
		return refused(fault.KindServerError, reasonCredentials)
	case http.StatusNotFound, http.StatusGone:
		return refused(fault.KindNotFound, reasonClient)
	case http.StatusRequestTimeout: // the request did not arrive as a whole
		return later(fault.KindTimeout)
	case http.StatusConflict, http.StatusLocked:
		return refused(fault.KindConflict, reasonClient)
	case http.StatusPreconditionFailed, http.StatusPreconditionRequired:
		return refused(fault.KindPreconditionFailed, reasonClient)
	case http.StatusTooEarly:
		return later(fault.KindServiceUnavailable)
	case http.StatusTooManyRequests:
		return later(fault.KindRateLimited)
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return refused(fault.KindServerError, reasonUnimplemented)
	case http.StatusBadGateway, http.StatusServiceUnavailable, 529: // overloaded, as some services have it
		return unsure(fault.KindServiceUnavailable)
	case http.StatusGatewayTimeout:
		return unsure(fault.KindTimeout)
	}
	if status < http.StatusInternalServerError {
		return refused(fault.KindClientError, reasonClient)
	}
	return unsure(fault.KindServerError)
}

// withStatus returns the clue of an error that has a status. Whether to retry is
// left open in it: an error further inside may know better, as that of a service
// that answers 400 when it is asked too often.
func withStatus(status int) clue {
	c := ofStatus(status)
	c.retry, c.reason = RetryUnknown, ""
	return c
}

// throttled are the codes with which services of AWS refuse too many requests.
var throttled = map[string]bool{
	"Throttling":                             true,
	"ThrottlingException":                    true,
	"ThrottledException":                     true,
	"RequestThrottled":                       true,
	"RequestThrottledException":              true,
	"RequestLimitExceeded":                   true,
	"TooManyRequestsException":               true,
	"ProvisionedThroughputExceededException": true,
	"LimitExceededException":                 true,
	"BandwidthLimitExceeded":                 true,
	"PriorRequestNotComplete":                true,
	"SlowDown":                               true,
	"EC2ThrottledException":                  true,
	"TransactionInProgressException":         true,
}

// ofGRPC returns what a gRPC code means, as Google's AIP-194 has it: of the codes
// that may hide a bug only Unavailable is repeated. See ofStatus for why a refused
// permission is no such kind.
func ofGRPC(code uint64) clue {
	switch code {
	case 1: // Canceled
		return clue{kind: fault.KindCancelled, effect: fault.EffectUnknown}
	case 3, 11: // InvalidArgument, OutOfRange
		return refused(fault.KindClientError, reasonClient)
	case 4: // DeadlineExceeded
		return unsure(fault.KindTimeout)
	case 5: // NotFound
		return refused(fault.KindNotFound, reasonClient)
	case 6: // AlreadyExists
		return refused(fault.KindAlreadyExists, reasonClient)
	case 7, 16: // PermissionDenied, Unauthenticated
		return refused(fault.KindServerError, reasonCredentials)
	case 8: // ResourceExhausted
		return later(fault.KindRateLimited)
	case 9: // FailedPrecondition
		return refused(fault.KindPreconditionFailed, reasonClient)
	case 10: // Aborted
		return later(fault.KindConflict)
	case 12: // Unimplemented
		return refused(fault.KindServerError, reasonUnimplemented)
	case 2, 13, 15: // Unknown, Internal, DataLoss
		return clue{kind: fault.KindServerError, retry: RetryNo, reason: reasonUpstream, effect: fault.EffectUnknown}
	case 14: // Unavailable
		return unsure(fault.KindServiceUnavailable)
	default:
		return clue{}
	}
}

// ofSQLState returns what an SQLSTATE means: five characters, of which the first two
// are the class. A statement that the database refused had no effect.
func ofSQLState(state string) clue {
	if len(state) != 5 {
		return clue{}
	}
	switch state {
	case "08007", "40003": // nobody knows whether the transaction was committed
		return unsure(fault.KindConnectionFailed)
	case "08001", "08004": // the connection was not made
		return later(fault.KindConnectionFailed)
	case "23502", "23514": // a value that must be there, a value that is checked
		return refused(fault.KindClientError, reasonConstraint)
	case "23505": // unique
		return refused(fault.KindAlreadyExists, reasonConstraint)
	case "40002": // an integrity constraint
		return refused(fault.KindConflict, reasonConstraint)
	case "42501": // the right is this server's
		return refused(fault.KindServerError, reasonCredentials)
	case "53100": // disk full
		return refused(fault.KindServiceUnavailable, reasonState)
	case "55P03", "55006": // a lock, an object in use
		return later(fault.KindConflict)
	case "57014": // the statement took too long
		return later(fault.KindTimeout)
	case "57P01", "57P02": // shut down in the middle of it
		return unsure(fault.KindServiceUnavailable)
	case "57P03": // does not accept connections yet
		return later(fault.KindServiceUnavailable)
	}
	switch state[:2] {
	case "08":
		return unsure(fault.KindConnectionFailed)
	case "22":
		return refused(fault.KindClientError, reasonClient)
	case "23", "44":
		return refused(fault.KindConflict, reasonConstraint)
	case "28":
		return refused(fault.KindServerError, reasonCredentials)
	case "40": // serialization, deadlock: rolled back
		return later(fault.KindConflict)
	case "42", "26", "34", "3D", "3F", "0A": // a bug of this server or of its set-up
		return refused("", reasonStatement)
	case "53":
		return later(fault.KindServiceUnavailable)
	default:
		return clue{}
	}
}

// ofSQLite returns what a result code of SQLite means, primary or extended. SQLite
// rolls back a statement that fails.
func ofSQLite(code uint64) clue {
	switch code {
	case 1555, 2067: // a primary key, a unique index
		return refused(fault.KindAlreadyExists, reasonConstraint)
	}
	switch code & 0xff {
	case 5, 6: // BUSY, LOCKED
		return later(fault.KindServiceUnavailable)
	case 1, 21, 25: // ERROR, MISUSE, RANGE
		return refused("", reasonStatement)
	case 7: // NOMEM
		return later(fault.KindServiceUnavailable)
	case 8, 11, 14, 26: // READONLY, CORRUPT, CANTOPEN, NOTADB
		return refused("", reasonState)
	case 9: // INTERRUPT
		return clue{kind: fault.KindCancelled, effect: fault.EffectNone}
	case 10: // IOERR
		return clue{retry: RetryNo, reason: reasonState, effect: fault.EffectUnknown}
	case 13: // FULL
		return refused("", reasonStorage)
	case 18, 20: // TOOBIG, MISMATCH
		return refused(fault.KindClientError, reasonConstraint)
	case 19: // CONSTRAINT
		return refused(fault.KindConflict, reasonConstraint)
	default:
		return clue{}
	}
}
