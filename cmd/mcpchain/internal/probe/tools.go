package probe

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/explain"
)

const (
	maxPages     = 50
	maxTools     = 1000
	maxCalled    = 12 // how many tools the checks of arguments call, in order
	maxArgsTried = 4  // how many arguments of a tool each of these checks gets wrong
	maxSchema    = 256 << 10
)

// A tool is one that the server lists.
type tool struct {
	Name         string          `json:"name"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  struct {
		ReadOnlyHint bool `json:"readOnlyHint"`
	} `json:"annotations"`

	// input checks arguments, nil if the schema cannot be used; schema is what is read to make them. A server's
	// schema is not trusted: both are bounded, and no reference is followed.
	input  *explain.Schema
	schema *jsonschema.Schema
	output *explain.Schema // nil if there is none that can be used
	slow   bool            // calls take long, so that silence says nothing
}

// prepare reads the schemas of a tool.
func (t *tool) prepare() {
	t.schema = &jsonschema.Schema{}
	if len(t.InputSchema) <= maxSchema && t.InputSchema != nil {
		t.input, _ = explain.Compile([]byte(t.InputSchema))
		if t.input == nil || json.Unmarshal(t.InputSchema, t.schema) != nil {
			t.input, t.schema = nil, &jsonschema.Schema{}
		}
	}
	if len(t.OutputSchema) <= maxSchema && t.OutputSchema != nil && string(t.OutputSchema) != "null" {
		t.output, _ = explain.Compile([]byte(t.OutputSchema))
	}
}

// fits returns why the output schema refuses structured content.
func (t *tool) fits(structured any) error {
	raw, err := json.Marshal(structured)
	if err != nil {
		return err
	}
	report := t.output.Explain(raw, false)
	if report == nil || len(report.Violations) == 0 || report.Violations[0].Rule == "budget" {
		return nil
	}
	return errors.New(strings.TrimSuffix(report.Violations[0].Message, "."))
}

// refuses reports whether the tool's schema refuses arguments.
func (t *tool) refuses(arguments string) bool {
	if t.input == nil {
		return false
	}
	report := t.input.Explain([]byte(arguments), true)
	return report != nil && !slices.ContainsFunc(report.Violations, func(v fault.Violation) bool { return v.Rule == "budget" || v.Rule == "depth" })
}

// good returns arguments that fit: all, or the required ones. ok is false if none were found.
func (t *tool) good() (members map[string]json.RawMessage, ok bool) {
	if t.input == nil {
		return nil, false
	}
	members = map[string]json.RawMessage{}
	for _, name := range t.schema.Required {
		members[name] = sample(t.schema.Properties[name], 0)
	}
	all := maps.Clone(members)
	for name, schema := range t.schema.Properties {
		all[name] = sample(schema, 0)
	}
	for _, members := range []map[string]json.RawMessage{all, members} {
		if text := object(members, ""); json.Valid([]byte(text)) && t.input.Explain([]byte(text), true) == nil {
			return members, true
		}
	}
	return nil, false
}

// An attempt is a call with arguments that the schema refuses.
type attempt struct {
	tool      *tool
	arguments string
	fields    []string // that are wrong
	choices   []string // that the field has
	kind      string
	outcome
}

// The ways in which arguments are wrong.
const (
	missingArg = "argument-missing"
	typeArg    = "argument-of-wrong-type"
	enumArg    = "argument-out-of-enum"
	rangeArg   = "argument-out-of-range"
	unknownArg = "argument-unknown"
	severalArg = "all-wrong-named"
)

// wrongOf returns calls of a tool that are wrong in one way.
func (t *tool) wrongOf(kind string) []attempt {
	good, _ := t.good()
	var all []attempt
	add := func(members map[string]json.RawMessage, more string, choices []string, fields ...string) {
		a := attempt{tool: t, kind: kind, arguments: object(members, more), fields: fields, choices: choices}
		if len(all) < maxArgsTried && t.refuses(a.arguments) {
			all = append(all, a)
		}
	}
	with := func(name, value string) map[string]json.RawMessage {
		changed := maps.Clone(good)
		if changed == nil {
			changed = map[string]json.RawMessage{}
		}
		changed[name] = json.RawMessage(value)
		return changed
	}
	names := slices.Sorted(maps.Keys(t.schema.Properties))
	switch kind {
	case missingArg:
		for _, name := range t.schema.Required {
			rest := maps.Clone(good)
			delete(rest, name)
			add(rest, "", nil, name)
		}
	case typeArg:
		for _, name := range names {
			add(with(name, otherType(t.schema.Properties[name])), "", nil, name)
		}
	case enumArg:
		for _, name := range names {
			if schema := t.schema.Properties[name]; schema != nil && len(schema.Enum) > 0 {
				var choices []string
				for _, choice := range schema.Enum {
					if text, ok := choice.(string); ok {
						choices = append(choices, text)
					}
				}
				add(with(name, `"mcpchain_no_such_choice"`), "", choices, name)
			}
		}
	case rangeArg:
		for _, name := range names {
			if value := outOfRange(t.schema.Properties[name]); value != "" {
				add(with(name, value), "", nil, name)
			}
		}
	case unknownArg:
		add(good, `"mcpchain_unknown":1`, nil, "mcpchain_unknown")
	case severalArg:
		wrong := with("", "0")
		delete(wrong, "")
		var fields []string
		for _, name := range names {
			value := otherType(t.schema.Properties[name])
			if len(fields) < 2 && t.refuses(object(with(name, value), "")) {
				wrong[name] = json.RawMessage(value)
				fields = append(fields, name)
			}
		}
		if len(fields) == 2 {
			add(wrong, "", nil, fields...)
		}
	}
	return all
}

// otherType returns a value of another type than a schema asks for.
func otherType(s *jsonschema.Schema) string {
	types := []string{}
	if s != nil {
		types = append(slices.Clone(s.Types), s.Type)
	}
	switch {
	case slices.Contains(types, "string"):
		return `{"mcpchain":true}`
	case slices.Contains(types, "boolean"):
		return `"perhaps"`
	case slices.Contains(types, "number"), slices.Contains(types, "integer"):
		return `"five"`
	case slices.Contains(types, "array"):
		return `5`
	default:
		return `"x"`
	}
}

// outOfRange returns a value of the right type that a schema refuses, "" if it has no range.
func outOfRange(s *jsonschema.Schema) string {
	switch {
	case s == nil:
		return ""
	case s.Minimum != nil:
		return fmt.Sprintf("%.0f", *s.Minimum-1)
	case s.Maximum != nil:
		return fmt.Sprintf("%.0f", *s.Maximum+1)
	case s.MinLength != nil && *s.MinLength > 0:
		return `""`
	case s.MaxLength != nil && *s.MaxLength < 10_000:
		return quote(strings.Repeat("x", max(0, *s.MaxLength)+1))
	case s.MinItems != nil && *s.MinItems > 0:
		return `[]`
	}
	return ""
}

// listTools lists the tools, and chooses those that may be called.
func (p *prober) listTools() {
	c, err := p.session(p.main)
	if err != nil {
		p.listWhy = err.Error()
		return
	}
	if _, ok := p.caps["tools"]; !ok {
		p.listWhy = "the server has no tools"
		return
	}
	found := map[string]*tool{}
	var names []string
	cursor := "{}"
	for range maxPages {
		o := c.ask("tools/list", cursor)
		if o.none != replied || o.failed() {
			p.listWhy = "the server does not list its tools: " + o.got()
			break
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(o.Result, &page); err != nil {
			p.listWhy = "the list of tools cannot be read: " + err.Error()
			break
		}
		for _, raw := range page.Tools {
			t := &tool{}
			if json.Unmarshal(raw, t) != nil || t.Name == "" || found[t.Name] != nil || len(found) >= maxTools {
				continue
			}
			t.prepare()
			found[t.Name] = t
			names = append(names, t.Name)
		}
		if page.NextCursor == "" || len(page.Tools) == 0 || len(found) >= maxTools {
			break
		}
		cursor = `{"cursor":` + quote(page.NextCursor) + `}`
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tools, p.names = found, names
	for _, name := range names {
		if t := found[name]; t.Annotations.ReadOnlyHint || p.Writes || slices.Contains(p.Tools, name) {
			p.callable = append(p.callable, t)
		}
	}
	named := func(t *tool) int { return map[bool]int{true: -1}[slices.Contains(p.Tools, t.Name)] }
	slices.SortStableFunc(p.callable, func(a, b *tool) int { return named(a) - named(b) }) // not all may be called
}

// toCall returns the tools that a check calls. If there are none it says why, and skips the trial.
func (t *trial) toCall() []*tool {
	if len(t.callable) == 0 {
		t.skip(cmp.Or(t.listWhy, "no tool is marked as reading, and none was named"))
	}
	return t.callable[:min(len(t.callable), maxCalled)]
}

// quick returns those of the tools to call that answer at once.
func (t *trial) quick() []*tool {
	return slices.DeleteFunc(slices.Clone(t.toCall()), func(tool *tool) bool { return tool.slow })
}

// call calls a tool. arguments is JSON.
func (t *trial) call(c *conn, tool *tool, arguments string) outcome {
	id := c.id()
	return c.settled(c.await(c.beginCall(tool, arguments, id), c.limit))
}

func (c *conn) beginCall(tool *tool, arguments, id string) *exchange {
	line := c.line(id, "tools/call", `{"name":`+quote(tool.Name)+`,"arguments":`+arguments+`}`)
	x := &exchange{sent: line, tool: tool}
	_ = json.Unmarshal(line, &x.request)
	return c.start(x, id, false)
}

// attempts makes the calls that are wrong in one way, once for each version of the protocol: several
// checks look at them.
func (t *trial) attempts(kind string) []attempt {
	key := kind + " " + t.version
	if done, ok := t.wrong[key]; ok {
		return done
	}
	var done []attempt
	for _, tool := range t.toCall() {
		if tool.slow && kind != missingArg && kind != typeArg {
			continue // each call of it that is not refused takes long
		}
		for _, a := range tool.wrongOf(kind) {
			if t.late() {
				break
			}
			a.outcome = t.call(t.conn(), tool, a.arguments)
			done = append(done, a)
			if a.none != replied {
				break // the next would take as long
			}
		}
	}
	t.wrong[key] = done
	return done
}
