package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/jsons"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/secrets"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Arguments says what is recorded of the arguments of a call.
type Arguments uint8

const (
	// Redacted records the arguments without secrets. A value is hidden if the tool's schema
	// marks it (format "password", writeOnly, a title that says so, x-sensitive or x-secret),
	// if its name is that of a secret, if its name is not in the schema and looks like a
	// misspelt name of a secret (pasword), or if it looks like a credential. If the tool's
	// schema is unknown, only the names of arguments are recorded.
	Redacted Arguments = iota

	// Hashed records the HMAC-SHA-256 of the arguments, which [Log.HashArguments]
	// computes for a comparison. It needs a Log with a key: there are few enough amounts,
	// names, dates and card numbers to try them all, and a hash without a key would confirm
	// each guess.
	Hashed

	// Omitted records nothing.
	Omitted
)

// maxArguments is how many bytes of arguments are recorded.
const maxArguments = 16 << 10

func (a *auditor) addArguments(rec *Record, req mcp.Request, tool *mcp.Tool) {
	raw := call.ArgumentsOf(req)
	switch {
	case len(raw) == 0 || a.Arguments == Omitted:
	case a.Arguments == Hashed:
		rec.ArgumentsHash = a.Log.HashArguments(raw)
	case len(raw) > maxArguments:
		rec.ArgumentsBytes = len(raw)
	default:
		args, err := decode(raw)
		if err != nil {
			rec.ArgumentsBytes = len(raw)
			return
		}
		if call.TargetKey(rec.Method) == "tool" {
			args = a.schemas.Of(tool).Without(args)
		} else {
			args = secrets.None.Without(args)
		}
		redacted := scrub.Cleaner{Text: scrub.Credentials, Copy: true}.Value(args)
		if rec.Arguments, err = json.Marshal(redacted); err != nil || len(rec.Arguments) > 2*maxArguments {
			rec.Arguments, rec.ArgumentsBytes = nil, len(raw)
			return
		}
		if slices.ContainsFunc(rec.Arguments, func(c byte) bool { return c < ' ' || c > '~' }) {
			rec.Arguments = json.RawMessage(words.JSON(string(rec.Arguments)))
		}
	}
}

var errUnclear = errors.New("audit: two readers could take the arguments for different things")

func decode(raw []byte) (v any, err error) {
	if !jsons.Clear(raw) { // a record of one reading would deny the other
		return nil, errUnclear
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return v, dec.Decode(&v)
}

// HashArguments returns the hash that a record has for [Hashed] arguments, so that an auditor can
// find the calls with given arguments. It is the HMAC-SHA-256, under a key that is derived from the
// Log's, of the canonical JSON (RFC 8785, but numbers keep all their digits), so that blanks, the
// order of names and the notation of numbers do not matter. Arguments that two readers could take for
// different things have the HMAC of their bytes. It returns "" if the Log has no key.
func (l *Log) HashArguments(raw json.RawMessage) string {
	if l.key == nil {
		return ""
	}
	if one, err := jsons.Canonical(raw); err == nil {
		raw = one
	}
	mac := hmac.New(sha256.New, derived(l.key, "arguments"))
	mac.Write(raw)
	return hex.EncodeToString(mac.Sum(nil))
}
