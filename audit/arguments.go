package audit

import (
	"bytes"
	"encoding/json"
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
	// Redacted records the arguments without secrets. A value is hidden if the tool's
	// schema marks it: format "password", writeOnly, a title that says so, x-sensitive or
	// x-secret. It is also hidden if its name is that of a secret, or if it looks like a
	// credential. The same holds for a name that is not in the schema and looks like a
	// misspelt name of a secret (pasword). If the tool's schema is unknown, only the names
	// of arguments are recorded.
	Redacted Arguments = iota

	// Omitted records nothing.
	Omitted
)

// maxArguments is how many bytes of arguments are recorded.
const maxArguments = 16 << 10

// addMended records the arguments with which the handler ran, if they are not those that were sent.
func (a *auditor) addMended(rec *Record, c *call.Call, tool *mcp.Tool) {
	if raw, ok := c.Mended(); ok {
		rec.Arguments, rec.ArgumentsBytes = nil, 0
		a.addArguments(rec, raw, tool)
	}
	for _, change := range c.Changes() {
		rec.Mended = append(rec.Mended, Mended{Argument: safeName(change.Argument), Change: change.Kind})
	}
}

func (a *auditor) addArguments(rec *Record, raw json.RawMessage, tool *mcp.Tool) {
	switch {
	case len(raw) == 0 || a.Arguments == Omitted:
	case len(raw) > maxArguments:
		rec.ArgumentsBytes = len(raw)
	default:
		var args any
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if !jsons.Clear(raw) || dec.Decode(&args) != nil { // a record of one reading would deny the other
			rec.ArgumentsBytes = len(raw)
			return
		}
		if call.TargetKey(rec.Method) == "tool" {
			args = a.schemas.Of(tool).Without(args)
		} else {
			args = secrets.None.Without(args)
		}
		redacted := scrub.Cleaner{Text: scrub.Credentials, Copy: true}.Value(args)
		var err error
		if rec.Arguments, err = json.Marshal(redacted); err != nil || len(rec.Arguments) > 2*maxArguments {
			rec.Arguments, rec.ArgumentsBytes = nil, len(raw)
			return
		}
		if slices.ContainsFunc(rec.Arguments, func(c byte) bool { return c < ' ' || c > '~' }) {
			rec.Arguments = json.RawMessage(words.JSON(string(rec.Arguments)))
		}
	}
}
