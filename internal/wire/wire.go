// Package wire has every name of ours that goes on the wire, so that a package
// can know another's without importing it.
package wire

// Prefix opens every key of ours in a _meta.
const Prefix = "io.github.mcpchain/"

// The keys in a _meta.
const (
	ErrorKey      = Prefix + "error"              // the machine form of a failure
	StepsKey      = Prefix + "next_steps"         // what a successful result suggests
	AttemptKey    = Prefix + "attempt"            // of a request: how often its caller has made this call, from 1
	AttemptsKey   = Prefix + "attempts"           // of an answer: how often the handler was run for it, from 2
	KeyKey        = Prefix + "idempotency_key"    // of a request: the key under which it is made, see package replay; of a listed tool: true where keys are kept
	ReferenceKey  = Prefix + "reference"          // of a successful answer: the ID of the call
	ReplayedKey   = Prefix + "replayed"           // of an answer: it is that of an earlier call
	DegradedKey   = Prefix + "degraded"           // of an answer: which of its parts are missing or old, see package degrade
	MendedKey     = Prefix + "mended"             // of an answer: which arguments were changed before the handler ran, a list of Change
	LeftOutKey    = Prefix + "left_out"           // of an answer: what was too large for it, see package budget
	StructuredKey = Prefix + "structured_content" // of a failed answer: the structured content that its tool's output schema forbids
	TaskKey       = Prefix + "task"               // of an answer: the state of the call behind a handle, see package task

)

// A Change is what was changed of one argument, or of all of them, before the handler ran. It has no value.
type Change struct {
	Argument string `json:"argument"` // as violations name it; "" for all of them
	Kind     string `json:"change"`   // see package explain
}

// A refusal of package limit has the code and the detail, which is the name of the limit. They are
// for programs: the text of the failure says in words which limit it is.
const (
	LimitCode   = "LIMIT_REACHED"
	LimitDetail = "limit"
)

// KeyKeys are the members of a request's _meta that may hold an idempotency key. The
// first is that of the specification's proposal.
var KeyKeys = []string{"io.modelcontextprotocol/idempotencyKey", KeyKey}
