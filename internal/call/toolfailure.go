package call

import (
	"cmp"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// A toolFailure is the value that SEP-3313 defines for [wire.ToolFailureKey].
type toolFailure struct {
	Class          string `json:"class"` // capability: another approach is needed; reliability: it may pass; governance: somebody has to permit it
	Code           string `json:"code"`
	Retryable      bool   `json:"retryable,omitempty"`
	RetryNotBefore int64  `json:"retryNotBefore,omitempty"` // Unix time in milliseconds
	CorrelationID  string `json:"correlationId"`
	AgentGuidance  string `json:"agentGuidance,omitempty"`
}

// draftCodes are the codes that the draft recommends and that mean the same as a kind. Any other
// kind is its own code.
var draftCodes = map[fault.Kind]string{
	fault.KindValidation:      "invalid_input",
	fault.KindNotFound:        "resource_not_found",
	fault.KindUnauthenticated: "auth_required",
}

// withToolFailure adds the draft's value to _meta, if the option asks for it. A value from
// another server stays.
func (c *Call) withToolFailure(meta mcp.Meta, e *fault.Error) mcp.Meta {
	if _, there := meta[wire.ToolFailureKey]; there || !c.settings().Render.ToolFailure {
		return meta
	}
	return withMeta(meta, wire.ToolFailureKey, c.toolFailure(e))
}

// toolFailure returns the draft's value. It has an ID even if no record has it, because the
// draft requires one.
func (c *Call) toolFailure(e *fault.Error) toolFailure {
	d := e.Data()
	t := toolFailure{
		Class: "capability", Code: cmp.Or(draftCodes[d.Type], string(d.Type)),
		CorrelationID: d.ReferenceID, AgentGuidance: d.Suggestion,
	}
	retry := fault.Retry{}
	if d.Retry != nil {
		retry = *d.Retry
	}
	switch {
	case d.Type == fault.KindUnauthenticated || d.Type == fault.KindPermissionDenied:
		t.Class = "governance"
	case retry.ShouldRetry, kinds.Of(string(d.Type)).Retry == kinds.Yes: // also if this caller should not repeat it
		t.Class, t.Retryable = "reliability", retry.ShouldRetry
		if after := retry.RetryAfterSeconds; t.Retryable && after > 0 {
			t.RetryNotBefore = time.Now().UnixMilli() + int64(min(after, maxAfter)*1000)
		}
	}
	if t.CorrelationID == "" {
		t.CorrelationID = c.ID()
	}
	return t
}

// maxAfter is the longest wait in seconds that is sent as a time: 30 days, the same bound as for
// hints.
const maxAfter = 30 * 24 * 3600
