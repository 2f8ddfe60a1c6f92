package classify

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
)

var (
	// absent is a driver's or a store's report that what was asked for does not exist.
	absent = clue{kind: fault.KindNotFound, party: fault.PartyCaller, retry: fault.RetryNo}

	// cut is a connection that could not be made or was ended.
	cut = clue{kind: fault.KindConnectionFailed}

	// insecure is a handshake that failed: nothing had been sent, and it fails again until a
	// certificate or a setting changes.
	insecure = refused(fault.KindConnectionFailed, reasonTLS)

	// busy is the SDK's refusal of a call before its handler runs.
	busy = clue{
		kind: fault.KindServiceUnavailable, party: fault.PartyServer, retry: fault.RetryYes,
		public: fault.New(fault.KindServiceUnavailable, "the server is busy now"),
	}
)

// ErrShutdown is drain.ErrShutdown.
var ErrShutdown = errors.New("drain: the server is shutting down")

// cutByShutdown is the clue of a call that the server's shutdown cut.
var cutByShutdown = clue{
	kind: fault.KindServiceUnavailable, party: fault.PartyServer, retry: fault.RetryYes, by: Cut, after: time.Second, effect: fault.EffectUnknown, proof: Cut,
	public: fault.New(fault.KindServiceUnavailable, "this server was replaced before the call had finished"),
}

// incapable is the clue of a call that needs a capability which its client lacks.
func incapable(what string) *clue {
	public := fault.New(fault.KindPreconditionFailed, "this call needs "+what+", which the client of this session does not support").
		Suggest("Tell the user, or call something that does not ask back.")
	return &clue{kind: public.Kind(), party: fault.PartyCaller, retry: fault.RetryNo, reason: reasonClient, public: public}
}

// sentinels are errors that only their text identifies, of the standard library and of libraries
// that are not imported for it. The whole text must be equal.
var sentinels = table[string]{
	{&stopped, []string{context.Canceled.Error()}},
	{&cut, []string{io.ErrClosedPipe.Error(), mcp.ErrConnectionClosed.Error(), driver.ErrBadConn.Error(), sql.ErrConnDone.Error()}},
	{&clue{kind: fault.KindNotFound}, []string{sql.ErrNoRows.Error()}},
	{&clue{party: fault.PartyServer, retry: fault.RetryNo}, []string{sql.ErrTxDone.Error()}},
	{&insecure, []string{http.ErrSchemeMismatch.Error()}},
	{&disconnected, []string{
		"http: server closed idle connection", "tls: use of closed connection", "tls: protocol is shutdown",
		"conn closed", "closed pool", "invalid connection", "bad connection", "nats: connection closed",
	}},
	// Circuit breakers and limiters (failsafe-go, gobreaker) refuse a call before it is made.
	{&unavailable, []string{
		"circuit breaker open", "circuit breaker is open", "bulkhead full", "failure rate exceeded",
		"redis: connection pool timeout", "redigo: connection pool exhausted", "gocql: no hosts available in the pool",
		"clickhouse: acquire conn timeout. you can increase the number of max open conn or the dial timeout",
		"memcache: no servers configured or available", "nats: no responders available for request", "nats: no response from stream", "etcdclient: no available endpoints",
	}},
	{&limited, []string{"rate limit exceeded", "too many requests"}},
	{&tooSlow, []string{"timeout exceeded", "nats: timeout", "gocql: no response received from cassandra within timeout period"}},
	{&unreachable, []string{
		"gocql: no connections were made when creating the session", "nats: no servers available for connection",
		"kafka: client has run out of available brokers to talk to", "unable to dial: no broker reachable",
	}},
	// No rows: pgx, GORM, MongoDB, go-redis, redigo, bolt, badger, Cassandra, memcache, ent; go-git; and JetStream.
	{&absent, []string{
		"no rows in result set", "record not found", "mongo: no documents in result", "redis: nil", "redigo: nil returned",
		"not found", "Key not found", "memcache: cache miss",
		"repository not found", "reference not found", "object not found", "entry not found", "remote not found",
		"repository does not exist", "remote repository is empty",
		"nats: key not found", "nats: key was deleted", "nats: no keys found", "nats: bucket not found", "nats: object not found", "nats: no objects found",
	}},
	{&duplicate, []string{
		"duplicated key not allowed", "repository already exists",
		"nats: key exists", "nats: bucket name already in use", "nats: an object already exists with that name",
	}},
	{&brokenReference, []string{"violates foreign key constraint"}},
	{&failedCheck, []string{"violates check constraint"}},
	{&wrongState, []string{"non-fast-forward update"}},
	{&rolledBack, []string{
		"redis: transaction failed", "Transaction Conflict. Please retry", "memcache: compare-and-swap conflict", "memcache: item not stored",
		"nats: key revision mismatch",
	}},
	{&noCredentials, []string{
		"nats: Authorization Violation", "nats: authorization violation", "authentication required", "authorization failed",
	}},
	// Texts of go-sdk v1.8.
	{&busy, []string{"the server is busy, retry later"}},
	{incapable("elicitation"), []string{"client does not support elicitation"}},
	{incapable("elicitation with a form"), []string{`client does not support "form" elicitation`}},
	{incapable("elicitation with a URL"), []string{`client does not support "url" elicitation`}},
	{incapable("sampling"), []string{"client does not support CreateMessage"}},
	{incapable("sampling with tools"), []string{"client does not support CreateMessageWithTools"}},
}

// ofText returns the meaning of an error that has only a text.
func ofText(err error) clue {
	text := err.Error()
	switch c := sentinels.of(text); {
	case c != clue{}:
		return c
	case strings.HasPrefix(text, "tls: "):
		return ofTLS(text)
	case strings.HasPrefix(text, "x509: "):
		return insecure
	default:
		return clue{}
	}
}

// maxText bounds how much of a text is searched for a status.
const maxText = 4096

// ofWholeText is for libraries that keep only a text. It is tried last, if nothing else is known.
func ofWholeText(text string) clue {
	text = text[:min(len(text), maxText)]
	switch status := statusIn(text); {
	case strings.Contains(text, ": connect: connection refused") && strings.Contains(text, "dial "):
		return unreachable
	case status != 0:
		return ofStatus(status)
	case strings.HasSuffix(text, " attempt(s)") && strings.Contains(text, " giving up after "): // go-retryablehttp
		return unavailable
	case strings.Contains(text, "(Client.Timeout exceeded"), strings.HasSuffix(text, ": context deadline exceeded"):
		return tooSlow
	default:
		return clue{}
	}
}

// marksOfStatus precede a status in the texts of libraries: go-jira, GraphQL clients, ClickHouse over
// HTTP, Prometheus.
var marksOfStatus = []string{
	"tatus code: ", "tatus code ", "statusCode: ", "[HTTP ", "(HTTP ", "http status: ", "client error: ", "server error: ", "StatusCode: ", "error code: ",
}

// statusIn finds a status after one of the words that announce it, or with its name, such as "404
// Not Found". It also finds the name alone at the end, as in go-sdk v1.8: `sending "tools/call":
// Too Many Requests`.
func statusIn(text string) int {
	named := 0
	for i := range text {
		status := threeDigits(text[i:])
		if !IsFailure(status) || i > 0 && isDigit(text[i-1]) {
			continue
		}
		if slices.ContainsFunc(marksOfStatus, func(mark string) bool { return strings.HasSuffix(text[:i], mark) }) {
			return status
		}
		name := http.StatusText(status)
		if after, is := strings.CutPrefix(text[i+3:], " "+name); is && named == 0 && name != "" && standsAlone(text[:i], after) {
			named = status
		}
	}
	if named != 0 || !slices.ContainsFunc(transports, func(word string) bool { return strings.Contains(text, word) }) {
		return named
	}
	end := text[strings.LastIndex(text, ": ")+1:]
	if end == " session not found" {
		return http.StatusNotFound
	}
	for status := http.StatusBadRequest; status < 600; status++ {
		if name := http.StatusText(status); name != "" && end == " "+name {
			return status
		}
	}
	return 0
}

// standsAlone reports whether the texts before and after a status show that it is an answer. In
// prose, such as "409 Conflict markers", it need not be one.
func standsAlone(before, after string) bool {
	begins := before == "" || slices.ContainsFunc(leads, func(lead string) bool { return strings.HasSuffix(before, lead) })
	return begins && (after == "" || strings.IndexByte(":;,.)]\"'\n", after[0]) >= 0 || strings.HasPrefix(after, " [") || strings.HasPrefix(after, " ("))
}

// leads are the texts in front of a status with its name in libraries.
var leads = []string{": ", "(", "[", "\"", "'", "\n", "answered ", "returned ", "status ", "response ", "got ", "received ", "with "}

// transports are the texts in which the transports of go-sdk v1.8 report a failure.
var transports = []string{`sending "`, "failed to connect: ", "SSE request failed"}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// threeDigits returns the status at the beginning of a text, or zero.
func threeDigits(text string) int {
	if len(text) < 3 || text[0] != '4' && text[0] != '5' || len(text) > 3 && isDigit(text[3]) {
		return 0
	}
	n, _ := strconv.Atoi(text[:3])
	return n
}

// ArgumentsRefused is how the text of go-sdk begins with which it refuses the arguments of a typed tool.
const ArgumentsRefused = `validating "arguments": `

// bySDKText recognises the failures of typed tools that go-sdk v1.8 reports only by their text.
func bySDKText(text string) Finding {
	switch {
	// The rest of the text comes from the validator and repeats the argument.
	case strings.HasPrefix(text, ArgumentsRefused):
		return Finding{Origin: Classified, Fault: fault.Generic(fault.KindValidation), Refused: true, Chosen: true}
	// A typed output that JSON cannot hold or that breaks its schema: the server is to blame,
	// whatever the error wraps.
	case strings.HasPrefix(text, "marshaling output: "), strings.HasPrefix(text, "validating tool output: "):
		return Finding{Origin: Bug, Fault: fault.Generic(fault.KindInternal)}
	default:
		return Finding{}
	}
}

// SDKChecks are the texts with which go-sdk v1.8 wraps a protocol error of its own. They are kept
// whole. Of any other wrapped protocol error only the protocol error itself is sent, because the
// text around it may be private.
var SDKChecks = map[string]bool{
	"invalid params: missing required 'ref' field":           true,
	"invalid params: missing required 'argument.name' field": true,
	"invalid params: missing required 'notifications' field": true,
}

// ofTLS distinguishes a handshake that failed from a connection that broke later. Only the text of
// crypto/tls shows the difference.
func ofTLS(text string) clue {
	text, _ = strings.CutPrefix(text, "tls: ")
	if slices.ContainsFunc(handshakes, func(begin string) bool { return strings.HasPrefix(text, begin) }) {
		return insecure
	}
	return disconnected
}

// handshakes are the beginnings of the texts of crypto/tls about a handshake: errors of this side,
// then alerts.
var handshakes = []string{
	"first record does not look like a TLS handshake", "failed to", "server ", "peer ", "no supported versions",
	"handshake failure", "bad certificate", "unsupported certificate", "revoked certificate", "expired certificate",
	"unknown certificate", // also: unknown certificate authority
	"certificate required", "access denied", "protocol version not supported", "insufficient security level", "inappropriate fallback",
	"missing extension", "unsupported extension", "unrecognized name", "no application protocol", "encrypted client hello required",
}
