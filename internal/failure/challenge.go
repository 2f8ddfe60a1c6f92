package failure

import (
	"strings"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
)

// Credentials reports whether the program says that the caller's credentials are why the call
// failed: they are not valid, or lack the scopes that are returned. It is false where only a table
// of ours says so: the credentials that a service refused may be this server's.
func (f *Failure) Credentials() (kind fault.Kind, scopes []string, ok bool) {
	v := &f.view
	switch {
	case v.Own, v.Wire != nil, f.err == nil: // a tool or another server reported it
		return "", nil, false
	case v.Chosen:
	case v.Origin == classify.Classified && f.passedOn:
	default:
		return "", nil, false
	}
	switch kind = v.Fault.Kind(); kind {
	case fault.KindUnauthenticated, fault.KindPermissionDenied:
	default:
		return "", nil, false
	}
	for permission := range strings.SplitSeq(v.Fault.Data().RequiredPermission, ", ") {
		if permission == "" {
			continue
		}
		if !IsScope(permission) {
			scopes = nil // a client cannot ask for a permission in other words
			break
		}
		scopes = append(scopes, permission)
	}
	return kind, scopes, kind == fault.KindUnauthenticated || len(scopes) > 0
}

// maxScope is how long one scope may be.
const maxScope = 256

// IsScope reports whether a text is a scope (RFC 6749, section 3.3).
func IsScope(text string) bool {
	if text == "" || len(text) > maxScope {
		return false
	}
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Repeats reports whether the caller may send the same call a second time, at once: it only reads,
// is idempotent, or is known to have changed nothing.
func (f *Failure) Repeats(safety func() Safety) bool {
	return f.Again(Situation{}).Effect == fault.EffectNone || safety() >= Idempotent
}
