package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/canonical"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Arguments says what is recorded of the arguments of a call.
type Arguments uint8

const (
	// Redacted records the arguments without secrets. A value is hidden if the tool's
	// schema marks it (format "password", writeOnly, a title that says so, x-sensitive or
	// x-secret), if its name says secret, or if it looks like a credential. Of a tool whose schema is not known, only
	// the names of arguments are recorded.
	Redacted Arguments = iota

	// Hashed records the HMAC-SHA-256 of the arguments, which [Log.HashArguments]
	// computes for a comparison. It needs a Log with a key: amounts, names, dates and
	// numbers of cards are few enough to try them all, and with a plain hash each
	// guess could be checked against the log.
	Hashed

	// Omitted records nothing.
	Omitted
)

func (a *auditor) addArguments(rec *Record, req mcp.Request, tool *mcp.Tool) {
	raw := argumentsOf(req)
	switch {
	case len(raw) == 0 || a.Arguments == Omitted:
	case a.Arguments == Hashed:
		rec.ArgumentsHash = a.Log.HashArguments(raw)
	case len(raw) > a.MaxArguments:
		rec.ArgumentsBytes = len(raw)
	default:
		args, err := decode(raw)
		if err != nil {
			rec.ArgumentsBytes = len(raw)
			return
		}
		if call.TargetKey(rec.Method) == "tool" {
			args = a.schemas.of(tool).hidden(args)
		}
		clean := scrub.Cleaner{Text: scrub.Credentials, Copy: true}.Value(args)
		if rec.Arguments, err = json.Marshal(clean); err != nil || len(rec.Arguments) > 2*a.MaxArguments {
			rec.Arguments, rec.ArgumentsBytes = nil, len(raw)
			return
		}
		rec.Arguments = json.RawMessage(words.JSON(string(rec.Arguments)))
	}
}

func decode(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("audit: more than one JSON value")
	}
	return v, nil
}

// HashArguments returns what a record of [Hashed] arguments has as their hash, so that an
// auditor can find the calls with given arguments. It is the HMAC-SHA-256, under a key
// that is derived from the Log's, of the canonical JSON (RFC 8785), so that blanks, the
// order of names and the notation of numbers do not matter. It is "" for a Log without a
// key.
func (l *Log) HashArguments(raw json.RawMessage) string {
	if l.key == nil {
		return ""
	}
	if one, err := canonical.JSON(raw); err == nil {
		raw = one
	}
	mac := hmac.New(sha256.New, derived(l.key, "arguments"))
	mac.Write(raw)
	return hex.EncodeToString(mac.Sum(nil))
}

// secrets are the names under which a schema has secrets, in lower case.
type secrets struct {
	names map[string]bool
	all   bool // nothing is known to be fit
}

// A secretCache has what was read of tools, by their names. A tool that was replaced is
// another pointer.
type secretCache struct {
	mu    sync.Mutex
	tools map[string]cached
}

type cached struct {
	tool *mcp.Tool
	secrets
}

const maxCached = 4096

// of returns the secrets of a tool, which is nil if nobody knows it.
func (k *secretCache) of(tool *mcp.Tool) secrets {
	if tool == nil {
		return secrets{all: true}
	}
	k.mu.Lock()
	have := k.tools[tool.Name]
	k.mu.Unlock()
	if have.tool == tool {
		return have.secrets
	}
	s := secretsOf(tool.InputSchema)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tools == nil {
		k.tools = map[string]cached{}
	}
	for name := range k.tools {
		if len(k.tools) < maxCached {
			break
		}
		delete(k.tools, name) // any one
	}
	k.tools[tool.Name] = cached{tool, s}
	return s
}

// secretsOf reads the schema of a tool's arguments. A name counts wherever it stands,
// which hides too much rather than too little and needs no validator.
func secretsOf(schema any) secrets {
	raw, err := json.Marshal(schema)
	if err != nil {
		return secrets{all: true}
	}
	root, err := decode(raw)
	if err != nil {
		return secrets{all: true}
	}
	s := secrets{names: map[string]bool{}, all: reading{root, map[string]bool{}}.secret(root)}
	s.collect(root, root)
	return s
}

// collect adds the names of properties that are declared as secrets, anywhere in v.
func (s secrets) collect(root, v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			s.collect(root, e)
		}
	case map[string]any:
		properties, _ := v["properties"].(map[string]any)
		for name, schema := range properties {
			if (reading{root, map[string]bool{}}).secret(schema) {
				s.names[strings.ToLower(name)] = true
			}
		}
		for _, e := range v {
			s.collect(root, e)
		}
	}
}

// reading is one walk through a schema.
type reading struct {
	root any
	seen map[string]bool // references that were followed
}

// secret reports whether a value of the schema is a secret, or holds one that has no name
// of its own.
func (r reading) secret(schema any) bool {
	m, ok := schema.(map[string]any)
	if !ok {
		return false
	}
	if call.SaysSecret(m) {
		return true
	}
	for keyword, v := range m {
		switch keyword {
		case "$ref", "$dynamicRef":
			ref, _ := v.(string)
			if r.seen[ref] {
				continue
			}
			r.seen[ref] = true
			if target, found := resolve(r.root, ref); !found || r.secret(target) {
				return true
			}
		case "items", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains", "if", "then", "else":
			if r.secret(v) {
				return true
			}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			list, _ := v.([]any)
			if slices.ContainsFunc(list, r.secret) {
				return true
			}
		case "patternProperties", "dependentSchemas":
			schemas, _ := v.(map[string]any)
			for _, e := range schemas {
				if r.secret(e) {
					return true
				}
			}
		}
	}
	return false
}

// resolve returns the schema that a local reference leads to.
func resolve(root any, ref string) (schema any, found bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" {
			continue
		}
		m, ok := root.(map[string]any)
		if !ok {
			return nil, false
		}
		if root, ok = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]; !ok {
			return nil, false
		}
	}
	return root, true
}

// hidden returns v with the secrets hidden.
func (s secrets) hidden(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			switch {
			case s.all || s.names[strings.ToLower(name)]:
				if e != nil {
					v[name] = scrub.Redacted
				}
			default:
				v[name] = s.hidden(e)
			}
		}
		return v
	case []any:
		for i, e := range v {
			v[i] = s.hidden(e)
		}
		return v
	default:
		if s.all {
			return scrub.Redacted
		}
		return v
	}
}
