package classify

import (
	"net/http"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
)

// The reasons that codes give.
const (
	reasonRefused       = "The service refused the request; the same call will be refused again"
	reasonPermanent     = "The failure is permanent"
	reasonCredentials   = "A service that is needed refused this server, which the caller cannot change"
	reasonUnimplemented = "A service that is needed does not support this request"
	reasonUpstream      = "A service that is needed failed in a way that a repetition does not mend"
	reasonConstraint    = "The same data will be refused again"
	reasonStatement     = "The database does not accept this request"
)

// refused is what a service says that did nothing, and will do nothing. Whose fault it
// is follows from the reason: data and requests are the caller's, credentials, statements
// and the state of its machine the server's.
func refused(kind fault.Kind, reason string) clue {
	c := clue{kind: kind, retry: RetryNo, reason: reason, effect: fault.EffectNone}
	switch reason {
	case reasonRefused, reasonConstraint:
		c.party = fault.PartyCaller
	case reasonCredentials, reasonUnimplemented, reasonStatement, reasonState, reasonStorage:
		c.party = fault.PartyServer
	default:
		c.party = fault.PartyUpstream
	}
	return c
}

// later is what a service says that did nothing, and may do it at another time.
func later(kind fault.Kind) clue {
	return clue{kind: kind, party: fault.PartyUpstream, retry: RetryYes, effect: fault.EffectNone}
}

// unsure is what a service says that may have done something.
func unsure(kind fault.Kind) clue {
	return clue{kind: kind, party: fault.PartyUpstream, retry: RetryYes, effect: fault.EffectUnknown}
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
		return refused(fault.KindNotFound, reasonRefused)
	case http.StatusRequestTimeout: // the request did not arrive as a whole
		return later(fault.KindTimeout)
	case http.StatusConflict, http.StatusLocked:
		return refused(fault.KindConflict, reasonRefused)
	case http.StatusPreconditionFailed, http.StatusPreconditionRequired:
		return refused(fault.KindPreconditionFailed, reasonRefused)
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
		return refused(fault.KindClientError, reasonRefused)
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
		return refused(fault.KindClientError, reasonRefused)
	case 4: // DeadlineExceeded
		return unsure(fault.KindTimeout)
	case 5: // NotFound
		return refused(fault.KindNotFound, reasonRefused)
	case 6: // AlreadyExists
		return refused(fault.KindAlreadyExists, reasonRefused)
	case 7, 16: // PermissionDenied, Unauthenticated
		return refused(fault.KindServerError, reasonCredentials)
	case 8: // ResourceExhausted
		return later(fault.KindRateLimited)
	case 9: // FailedPrecondition
		return refused(fault.KindPreconditionFailed, reasonRefused)
	case 10: // Aborted
		return later(fault.KindConflict)
	case 12: // Unimplemented
		return refused(fault.KindServerError, reasonUnimplemented)
	case 2, 13, 15: // Unknown, Internal, DataLoss
		return clue{kind: fault.KindServerError, party: fault.PartyUpstream, retry: RetryNo, reason: reasonUpstream, effect: fault.EffectUnknown}
	case 14: // Unavailable
		return unsure(fault.KindServiceUnavailable)
	default:
		return clue{}
	}
}

// words are the codes in words that services give, without case and punctuation, and the
// HTTP statuses that mean the same.
var byWord = map[string]int{
	"badrequest": 400, "baddata": 400, "invalidinput": 400, "invalidargument": 400, "invalidrequest": 400, "jsonerror": 400, "validationerror": 400, "clienterror": 400,
	"unauthorized": 401, "unauthenticated": 401, "notauthed": 401, "invalidauth": 401, "tokenexpired": 401, "tokenrevoked": 401, "accountinactive": 401, "authenticationfailed": 401,
	"forbidden": 403, "accessdenied": 403, "permissiondenied": 403, "missingscope": 403, "restrictedresource": 403, "notallowedtokentype": 403,
	"notfound": 404, "objectnotfound": 404, "channelnotfound": 404, "usernotfound": 404, "resourcenotfound": 404, "nosuchkey": 404, "nosuchbucket": 404,
	"conflict": 409, "conflicterror": 409, "alreadyexists": 409, "uniquenesserror": 409, "locked": 409,
	"execution": 422, "unprocessable": 422,
	"ratelimited": 429, "ratelimitexceeded": 429, "toomanyrequests": 429, "throttled": 429, "resourceexhausted": 429,
	"internal": 500, "internalerror": 500, "internalservererror": 500, "servererror": 500, "serviceerror": 500,
	"unavailable": 503, "serviceunavailable": 503, "timeout": 504,
}

// ofWord returns what a code in words means.
func ofWord(word string) clue {
	if len(word) > maxWord {
		return clue{}
	}
	if status, ok := byWord[strings.ToLower(separators.Replace(word))]; ok {
		return statusClue(status)
	}
	return clue{}
}

const maxWord = 64

var separators = strings.NewReplacer("_", "", "-", "", " ", "")
