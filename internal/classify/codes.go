package classify

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
)

// A reason says why a repetition does not help, and names the party to blame: the caller for data and
// requests, the server for credentials, statements and the state of its machine.
type reason struct {
	text  string // a sentence without a full stop
	party fault.Party
}

var (
	reasonRefused        = &reason{text: "The service refused the request", party: fault.PartyCaller}
	reasonConstraint     = &reason{text: "The same data will be refused again", party: fault.PartyCaller}
	reasonClient         = &reason{text: "The client will not be able to do it the next time either", party: fault.PartyCaller}
	reasonCredentials    = &reason{text: "The credentials are this server's: tell the user", party: fault.PartyServer}
	reasonOwnCredentials = &reason{text: "The service refuses these credentials", party: fault.PartyCaller}
	reasonUnimplemented  = &reason{text: "A service that is needed does not support this request", party: fault.PartyServer}
	reasonStatement      = &reason{text: "The database does not accept this request", party: fault.PartyServer}
	reasonObject         = &reason{text: "The database does not accept this request", party: fault.PartyServer} // it has such an object
	reasonStorage        = &reason{text: "The server has no storage space left", party: fault.PartyServer}
	reasonState          = &reason{text: "The server is in a state that does not pass by itself", party: fault.PartyServer}
	reasonTLS            = &reason{text: "A secure connection to a service that is needed cannot be set up", party: fault.PartyUpstream}
	reasonName           = &reason{text: "The address of a service that is needed cannot be found"}
	reasonPermanent      = &reason{text: "The failure is permanent"}
)

func (r *reason) String() string {
	if r == nil {
		return ""
	}
	return r.text
}

// reasonOf returns the reason in the row of a kind, nil for none.
func reasonOf(kind fault.Kind) *reason {
	if text := kinds.Of(string(kind)).Reason; text != "" {
		return &reason{text: text}
	}
	return nil
}

// refused is the clue of a service that will refuse the same request again.
func refused(kind fault.Kind, why *reason) clue {
	return clue{kind: kind, party: why.party, retry: fault.RetryNo, reason: why}
}

// later is the clue of a service that may do later what it did not do now.
func later(kind fault.Kind) clue {
	return clue{kind: kind, party: fault.PartyUpstream, retry: fault.RetryYes}
}

// worded returns the clue with a sentence of ours that says more than its kind. A program's
// own text around the error is assumed to say as much.
func (c clue) worded(message, suggestion string) clue {
	c.public, c.terse = fault.New(c.kind, message).Suggest(suggestion), true
	return c
}

// The meanings that services have codes for.
var (
	wrongRequest  = refused(fault.KindClientError, reasonRefused)
	missing       = refused(fault.KindNotFound, reasonRefused)
	existing      = refused(fault.KindAlreadyExists, reasonRefused)
	conflicting   = refused(fault.KindConflict, reasonRefused)
	unready       = refused(fault.KindPreconditionFailed, reasonRefused)
	noCredentials = refused(fault.KindServerError, reasonCredentials)
	badLogin      = clue{kind: fault.KindServerError, party: fault.PartyServer, retry: fault.RetryNo, reason: reasonCredentials, anonymous: true}
	unimplemented = refused(fault.KindServerError, reasonUnimplemented)
	limited       = later(fault.KindRateLimited)
	unavailable   = later(fault.KindServiceUnavailable)
	rolledBack    = later(fault.KindConflict)
	unreachable   = later(fault.KindConnectionFailed)
	disconnected  = unreachable.worded("the connection to a service that is needed broke before it had answered", "Keep the arguments: they are not the cause.")
	endedEarly    = unreachable.worded("what was read, from a service or a file, ended before it was complete", "Keep the arguments: they are not the cause.")
	tooSlow       = later(fault.KindTimeout)
	broken        = later(fault.KindServerError)
	failed        = clue{kind: fault.KindServerError, party: fault.PartyUpstream, retry: fault.RetryNo}
	stopped       = clue{kind: fault.KindCancelled}
)

// A table maps the codes of one family to their meanings. If a code stands there twice, the
// first counts.
type table[T comparable] []meaning[T]

// A meaning is a clue with the codes that share it.
type meaning[T comparable] struct {
	clue  *clue // read only
	codes []T
}

func (t table[T]) of(code T) clue { return t.by(func(other T) bool { return other == code }) }

// by returns the meaning of the first code that matches.
func (t table[T]) by(matches func(code T) bool) clue {
	for _, m := range t {
		if slices.ContainsFunc(m.codes, matches) {
			return *m.clue
		}
	}
	return clue{}
}

// IsFailure reports whether a number is the HTTP status of a failure.
func IsFailure(status int) bool { return 400 <= status && status <= 599 }

// httpStatuses are the HTTP statuses that mean more than their class. The credentials that a
// service refuses are this server's own, so the caller must not read that it lacks a
// permission.
var httpStatuses = table[int]{
	{&badLogin, []int{401, 407}},
	{&noCredentials, []int{402, 403}},
	{&missing, []int{404, 410}},
	{&conflicting, []int{409, 423}},
	{&unready, []int{412, 428}},
	{&limited, []int{429}},
	{&unimplemented, []int{501, 505}},
	{&unavailable, []int{425, 502, 503, 529}}, // 529: overloaded, at some services
	{&tooSlow, []int{408, 504}},
}

// statusClue returns the meaning of an HTTP status. Other codes may be mapped to a status,
// too.
func statusClue(status int) clue {
	switch c := httpStatuses.of(status); {
	case c != clue{}:
		return c
	case status < http.StatusInternalServerError:
		return wrongRequest
	default:
		return broken
	}
}

// ofStatus returns the meaning of an HTTP status of a service.
func ofStatus(status int) clue {
	if !IsFailure(status) {
		return clue{}
	}
	c := statusClue(status)
	c.status = status
	return c
}

// withStatus leaves open whether to retry, which [clue.second] then decides: an error
// further inside may know better, such as that of a service that answers 400 to too many
// requests.
func withStatus(status int) clue {
	c := ofStatus(status)
	c.retry, c.reason = fault.RetryUnknown, nil
	return c
}

// grpcCodes are the meanings of the codes of gRPC, following Google's AIP-194: of the codes
// that may hide a bug only Unavailable is repeated.
var grpcCodes = table[int64]{
	{&stopped, []int64{1}},          // Canceled
	{&failed, []int64{2, 13, 15}},   // Unknown, Internal, DataLoss
	{&wrongRequest, []int64{3, 11}}, // InvalidArgument, OutOfRange
	{&tooSlow, []int64{4}},          // DeadlineExceeded
	{&missing, []int64{5}},          // NotFound
	{&existing, []int64{6}},         // AlreadyExists
	{&noCredentials, []int64{7}},    // PermissionDenied
	{&badLogin, []int64{16}},        // Unauthenticated
	{&limited, []int64{8}},          // ResourceExhausted
	{&unready, []int64{9}},          // FailedPrecondition
	{&rolledBack, []int64{10}},      // Aborted
	{&unimplemented, []int64{12}},   // Unimplemented
	{&unavailable, []int64{14}},     // Unavailable
}

// codeWords are the codes that services give as words, without case, punctuation and the
// word exception.
var codeWords = table[string]{
	{&wrongRequest, []string{
		"badrequest", "baddata", "invalidinput", "invalidargument", "invalidrequest", "jsonerror", "validationerror", "clienterror",
		"execution", "unprocessable",
	}},
	{&badLogin, []string{
		"unauthorized", "unauthenticated", "notauthed", "invalidauth", "tokenexpired", "tokenrevoked", "accountinactive", "authenticationfailed",
	}},
	{&noCredentials, []string{
		"forbidden", "accessdenied", "permissiondenied", "missingscope", "restrictedresource", "notallowedtokentype",
	}},
	{&missing, []string{"notfound", "objectnotfound", "channelnotfound", "usernotfound", "resourcenotfound", "nosuchkey", "nosuchbucket"}},
	{&conflicting, []string{"conflict", "conflicterror", "alreadyexists", "uniquenesserror", "locked"}},
	{&limited, []string{
		"ratelimited", "ratelimitexceeded", "toomanyrequests", "throttled", "resourceexhausted",
		// AWS
		"throttling", "requestthrottled", "requestlimitexceeded", "provisionedthroughputexceeded", "limitexceeded",
		"bandwidthlimitexceeded", "priorrequestnotcomplete", "slowdown", "ec2throttled", "transactioninprogress",
	}},
	{&broken, []string{"internal", "internalerror", "internalservererror", "servererror", "serviceerror"}},
	{&unavailable, []string{"unavailable", "serviceunavailable"}},
	{&tooSlow, []string{"timeout"}},
}

// ofWord returns the meaning of a code that is a word.
func ofWord(word string) clue {
	if len(word) > maxWord {
		return clue{}
	}
	return codeWords.of(strings.TrimSuffix(strings.ToLower(separators.Replace(word)), "exception"))
}

const maxWord = 64

var separators = strings.NewReplacer("_", "", "-", "", " ", "")
