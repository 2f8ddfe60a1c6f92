package call

import (
	"cmp"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
)

// A toolFailure is what SEP-3313 has under [wire.ToolFailureKey].
type toolFailure struct {
	Class          string `json:"class"` // capability: another approach is needed; reliability: it may pass; governance: somebody has to permit it
	Code           string `json:"code"`
	Retryable      bool   `json:"retryable,omitempty"`
	RetryNotBefore int64  `json:"retryNotBefore,omitempty"` // Unix time in milliseconds
	CorrelationID  string `json:"correlationId"`
	AgentGuidance  string `json:"agentGuidance,omitempty"`
}

// draftCodes are the codes that the draft recommends, where they mean what a kind means.
// Any other kind is its own code.
var draftCodes = map[fault.Kind]string{
	fault.KindValidation:      "invalid_input",
	fault.KindNotFound:        "resource_not_found",
	fault.KindUnauthenticated: "auth_required",
}

// toolFailure returns what the draft asks for. The ID is there whether or not there is a
// record that it leads to, because the draft requires one.
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
	case retry.ShouldRetry, kinds.Of(string(d.Type)).Retry == kinds.Yes: // also one that this caller should not repeat
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

// maxAfter is the longest wait that is told as a time, in seconds: 30 days, as of hints.
const maxAfter = 30 * 24 * 3600

// A problem is a failure as problem details (RFC 9457).
type problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int64  `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"`

	// Members of our own, which the RFC allows.
	Code        string         `json:"code,omitempty"`
	Errors      []problemError `json:"errors,omitempty"`
	Retry       *fault.Retry   `json:"retry,omitempty"`
	ReferenceID string         `json:"reference_id,omitempty"`
}

type problemError struct {
	Detail  string `json:"detail"`
	Pointer string `json:"pointer,omitempty"` // of the arguments, as a fragment: #/items/1/sku
}

// problemTypes opens the type of a problem, a tag URI (RFC 4151): it names the kind and
// leads to no page, because kinds of a program's own have none.
const problemTypes = "tag:mcpchain.github.io,2026:"

func problemOf(e *fault.Error) *problem {
	d := e.Data()
	p := &problem{
		Type: problemTypes + url.PathEscape(string(d.Type)), Title: d.Type.Label(), Status: statusOf(e), Detail: d.Message,
		Code: d.Code, Retry: d.Retry, ReferenceID: d.ReferenceID,
	}
	if id, err := uuid.Parse(d.ReferenceID); err == nil {
		p.Instance = id.URN()
	}
	for _, v := range d.Violations {
		detail := cmp.Or(v.Message, v.Rule)
		if v.Message == "" && v.Expected != "" {
			detail = "expected " + v.Expected
		}
		pointer := ""
		if v.Pointer != "" {
			pointer = "#" + (&url.URL{Fragment: v.Pointer}).EscapedFragment()
		}
		p.Errors = append(p.Errors, problemError{Detail: detail, Pointer: pointer})
	}
	return p
}

// statusOf returns the HTTP status that says most of a failure.
func statusOf(e *fault.Error) int64 {
	if status := kinds.Of(string(e.Kind())).Status; status != 0 {
		return status
	}
	if status := codeOf(e, false); status > 0 {
		return status
	}
	return 500
}
