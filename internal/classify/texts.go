package classify

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
)

// sentinels are the errors that have nothing but a text, of the standard library and
// of libraries that are not imported for it. The whole text must be equal.
var sentinels = map[string]clue{
	// net/http, crypto/tls, pgx
	"http: server closed idle connection": disconnected, "tls: use of closed connection": disconnected, "tls: protocol is shutdown": disconnected,
	"conn closed": disconnected, "closed pool": disconnected, "invalid connection": disconnected, "bad connection": disconnected,
	// circuit breakers and limiters, which refuse a call before it is made: failsafe-go, gobreaker
	"circuit breaker open": overloaded, "circuit breaker is open": overloaded, "bulkhead full": overloaded, "failure rate exceeded": overloaded,
	"rate limit exceeded": limited, "too many requests": limited, "timeout exceeded": tooSlow,
	// no rows: pgx, GORM, MongoDB, go-redis, redigo, bolt, badger, Cassandra, memcache, ent
	"no rows in result set": missing, "record not found": missing, "mongo: no documents in result": missing, "redis: nil": missing, "redigo: nil returned": missing,
	"not found": missing, "Key not found": missing, "memcache: cache miss": missing, "duplicated key not allowed": duplicate,
	"violates foreign key constraint": brokenRule, "violates check constraint": wrongData, "redis: transaction failed": rolledBack,
	"Transaction Conflict. Please retry": rolledBack, "memcache: compare-and-swap conflict": rolledBack, "memcache: item not stored": rolledBack,
	"memcache: no servers configured or available": overloaded,
	// pools that are used up
	"redis: connection pool timeout": overloaded, "redigo: connection pool exhausted": overloaded, "gocql: no hosts available in the pool": overloaded,
	"gocql: no response received from cassandra within timeout period": tooSlow, "gocql: no connections were made when creating the session": later(fault.KindConnectionFailed),
	"clickhouse: acquire conn timeout. you can increase the number of max open conn or the dial timeout": overloaded,
	// NATS
	"nats: no responders available for request": overloaded, "nats: timeout": tooSlow, "nats: no servers available for connection": later(fault.KindConnectionFailed),
	"nats: connection closed": disconnected, "nats: Authorization Violation": noCredentials, "nats: authorization violation": noCredentials,
	// go-git
	"repository not found": missing, "reference not found": missing, "object not found": missing, "entry not found": missing, "remote not found": missing,
	"repository does not exist": missing, "remote repository is empty": missing, "repository already exists": duplicate,
	"authentication required": noCredentials, "authorization failed": noCredentials, "non-fast-forward update": brokenRule,
	// etcd, Kafka
	"etcdclient: no available endpoints": overloaded, "kafka: client has run out of available brokers to talk to": later(fault.KindConnectionFailed),
	"unable to dial: no broker reachable": later(fault.KindConnectionFailed),
	// what go-sdk v1.8 says itself
	"the server is busy, retry later":                {kind: fault.KindServiceUnavailable, retry: RetryYes, effect: fault.EffectNone, party: fault.PartyServer, public: busy},
	"client does not support elicitation":            incapable("elicitation"),
	`client does not support "form" elicitation`:     incapable("elicitation with a form"),
	`client does not support "url" elicitation`:      incapable("elicitation with a URL"),
	"client does not support CreateMessage":          incapable("sampling"),
	"client does not support CreateMessageWithTools": incapable("sampling with tools"),
}

var missing = clue{kind: fault.KindNotFound, party: fault.PartyCaller, retry: RetryNo, effect: fault.EffectNone}

// busy is what the SDK means when it refuses a call before the handler has it.
var busy = fault.New(fault.KindServiceUnavailable, "the server is busy now").
	WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})

// incapable is what a call means that needs more than its client can do.
func incapable(what string) clue {
	public := fault.New(fault.KindPreconditionFailed, "this call needs "+what+", which the client of this session does not support").
		Suggest("Tell the user, or call something that does not ask back.")
	return clue{kind: public.Kind(), party: fault.PartyCaller, retry: RetryNo, reason: "The client will not be able to do it the next time either", effect: fault.EffectUnknown, public: public}
}

// ofText returns what an error means that has nothing but a text.
func ofText(text string) clue {
	if c, ok := sentinels[text]; ok {
		return c
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

// maxText bounds what is looked at of a text in which a status may stand.
const maxText = 4096

// ofWholeText is for the errors of libraries that keep nothing but a text: they are asked
// last, where nothing else is there.
func ofWholeText(text string) clue {
	text = text[:min(len(text), maxText)]
	if strings.Contains(text, ": connect: connection refused") && strings.Contains(text, "dial ") {
		return later(fault.KindConnectionFailed)
	}
	for _, mark := range marksOfStatus {
		for rest := text; ; {
			i := strings.Index(rest, mark)
			if i < 0 {
				break
			}
			if rest = rest[i+len(mark):]; isFailure(threeDigits(rest)) {
				return ofStatus(threeDigits(rest))
			}
		}
	}
	if status := statusInWords(text); status != 0 {
		return ofStatus(status)
	}
	if strings.HasSuffix(text, " attempt(s)") && strings.Contains(text, " giving up after ") { // go-retryablehttp
		return shutDown
	}
	if strings.Contains(text, "(Client.Timeout exceeded") || strings.HasSuffix(text, ": context deadline exceeded") {
		return tooSlow
	}
	return clue{}
}

// marksOfStatus are the words before a status in the texts of libraries: go-jira, GraphQL
// clients, ClickHouse over HTTP, Prometheus.
var marksOfStatus = []string{"tatus code: ", "tatus code ", "statusCode: ", "[HTTP ", "(HTTP ", "http status: ", "client error: ", "server error: ", "StatusCode: ", "error code: "}

// threeDigits returns the number of three digits that a text begins with, or zero.
func threeDigits(text string) int {
	if len(text) < 3 || len(text) > 3 && '0' <= text[3] && text[3] <= '9' {
		return 0
	}
	n, err := strconv.Atoi(text[:3])
	if err != nil {
		return 0
	}
	return n
}

// statusInWords finds a status with its name, such as "404 Not Found", or the name alone at
// the end, as go-sdk v1.8 has it: `sending "tools/call": Too Many Requests`.
func statusInWords(text string) int {
	for i := 0; i+4 < len(text); i++ {
		if c := text[i]; (c == '4' || c == '5') && (i == 0 || text[i-1] < '0' || text[i-1] > '9') {
			if status := threeDigits(text[i:]); isFailure(status) {
				if name := http.StatusText(status); name != "" && strings.HasPrefix(text[i+3:], " "+name) {
					return status
				}
			}
		}
	}
	if strings.Contains(text, `sending "`) || strings.Contains(text, "failed to connect: ") || strings.Contains(text, "SSE request failed") {
		name := text[strings.LastIndex(text, ": ")+1:]
		for status := http.StatusBadRequest; status < 600; status++ {
			if full := http.StatusText(status); full != "" && name == " "+full {
				return status
			}
		}
		if strings.HasSuffix(text, ": session not found") {
			return http.StatusNotFound
		}
	}
	return 0
}

// bySDKText knows the failures of typed tools that go-sdk v1.8 tells by their text alone.
func bySDKText(text string) Finding {
	switch {
	// The rest of the text is the validator's and echoes the argument.
	case strings.HasPrefix(text, `validating "arguments": `):
		return Finding{Origin: Classified, Fault: fault.Generic(fault.KindValidation), Refused: true}
	// A typed output that JSON cannot hold or that breaks its schema: the server's
	// fault, whatever stands in the chain.
	case strings.HasPrefix(text, "marshaling output: "), strings.HasPrefix(text, "validating tool output: "):
		return Finding{Origin: Bug, Fault: fault.Generic(fault.KindInternal)}
	default:
		return Finding{}
	}
}

// SDKChecks are the texts with which go-sdk v1.8 wraps a protocol error of its
// own. They are kept whole; of any other wrapped protocol error only the
// protocol error itself is sent, because nobody knows what is in the wrapping.
var SDKChecks = map[string]bool{
	"invalid params: missing required 'ref' field":           true,
	"invalid params: missing required 'argument.name' field": true,
	"invalid params: missing required 'notifications' field": true,
}

// ofTLS tells a handshake that failed from a connection that broke later, by the
// text of crypto/tls, which has no other mark for it.
func ofTLS(text string) clue {
	for _, handshake := range handshakes {
		if strings.HasPrefix(text, handshake) {
			return insecure
		}
	}
	return disconnected
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
