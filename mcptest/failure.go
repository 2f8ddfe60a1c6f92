package mcptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/middleware"
)

// Expect says what a failure has to be. Fields that are zero are not checked.
type Expect struct {
	Kind   fault.Kind
	Code   string
	Party  fault.Party
	Effect fault.Effect

	// Retry is [fault.RetryYes] or [fault.RetryNo].
	Retry fault.Retryable

	// After is the wait before the next try.
	After time.Duration

	// Violations are all wrong arguments, each with the rule that it breaks, such as "type"
	// or "required"; "" means any.
	Violations map[string]string

	// Steps are the tools that the steps name, in order. A call that cannot be made is removed
	// from its step on the way out, and is missing here; [ExecutableSteps] says why.
	Steps []string

	// Text are texts that the caller has to read.
	Text []string
}

// Check requires that a call failed as expected. Pass it what [Session.Call], or another
// method of a session, returned. It ends the test if the call succeeded or was not
// answered.
func (e Expect) Check(t testing.TB, res mcp.Result, err error) {
	t.Helper()
	f := failure(t, "mcptest.Expect", res, err)
	if wrong := e.missing(f, Text(res, err)); len(wrong) > 0 {
		t.Errorf("mcptest.Expect: not as expected:\n%s\nThe caller reads:\n%s",
			indent(strings.Join(wrong, "\n")), indent(Text(res, err)))
	}
}

// Failure returns the failure that a call ended with. It ends the test if the call
// succeeded or was not answered.
func Failure(t testing.TB, res mcp.Result, err error) *fault.Error {
	t.Helper()
	return failure(t, "mcptest.Failure", res, err)
}

func failure(t testing.TB, name string, res mcp.Result, err error) *fault.Error {
	t.Helper()
	if !answered(err) {
		t.Fatalf("%s: the call was not answered: %v", name, err)
	}
	f, failed := middleware.FaultOf(res, err)
	if !failed {
		t.Fatalf("%s: the call succeeded:\n%s", name, indent(Text(res, err)))
	}
	return f
}

// answered reports whether an error, if there is one, came from the server.
func answered(err error) bool {
	var wire *jsonrpc.Error
	return err == nil || errors.As(err, &wire)
}

// missing returns the differences between a failure and what is expected, a line each.
func (e Expect) missing(f *fault.Error, text string) []string {
	var lines []string
	compare := func(what string, got, want any, same bool) {
		if !same {
			lines = append(lines, fmt.Sprintf("%s: got %v, want %v", what, orNothing(got), orNothing(want)))
		}
	}
	advised, given := f.Retry()
	advice := fault.RetryUnknown
	switch {
	case given && advised.ShouldRetry:
		advice = fault.RetryYes
	case given:
		advice = fault.RetryNo
	}
	after := time.Duration(advised.RetryAfterSeconds * float64(time.Second))
	compare("kind", f.Kind(), e.Kind, e.Kind == "" || f.Kind() == e.Kind)
	compare("code", f.Code(), e.Code, e.Code == "" || f.Code() == e.Code)
	compare("party", f.Party(), e.Party, e.Party == "" || f.Party() == e.Party)
	compare("effect", advised.Effect, e.Effect, e.Effect == "" || advised.Effect == e.Effect)
	compare("retry", advice, e.Retry, e.Retry == fault.RetryUnknown || advice == e.Retry)
	compare("wait", after, e.After, e.After == 0 || after == e.After)
	if e.Violations != nil {
		got, same := violations(f), true
		for field, rule := range e.Violations {
			had, ok := got[field]
			same = same && ok && (rule == "" || rule == had)
		}
		compare("violations", pairs(got), pairs(e.Violations), same && len(got) == len(e.Violations))
	}
	if e.Steps != nil {
		calls := callsOf(f)
		tools := make([]string, len(calls))
		for i, c := range calls {
			tools[i] = c.tool
		}
		compare("steps", strings.Join(tools, ", "), strings.Join(e.Steps, ", "), slices.Equal(tools, e.Steps))
	}
	for _, words := range e.Text {
		if !strings.Contains(text, words) {
			lines = append(lines, fmt.Sprintf("text: does not have %q", words))
		}
	}
	return lines
}

func orNothing(v any) any {
	if fmt.Sprint(v) == "" {
		return "nothing"
	}
	return v
}

// violations returns the wrong arguments, each with the rule that it breaks.
func violations(f *fault.Error) map[string]string {
	found := map[string]string{}
	for _, v := range f.Data().Violations {
		found[v.Field] = v.Rule
	}
	return found
}

func pairs(m map[string]string) string {
	all := slices.Sorted(maps.Keys(m))
	for i, key := range all {
		if m[key] != "" {
			all[i] += " (" + m[key] + ")"
		}
	}
	return strings.Join(all, ", ")
}

// A suggestedCall is a call that a failure suggests to its caller.
type suggestedCall struct {
	where, tool string
	parameters  map[string]any
	missing     []string
}

// callsOf returns the calls that a failure names: of its steps, and of their options.
func callsOf(f *fault.Error) []suggestedCall {
	var calls []suggestedCall
	add := func(where, tool string, parameters map[string]any, missing []string) {
		if tool != "" {
			calls = append(calls, suggestedCall{where, tool, parameters, missing})
		}
	}
	for _, s := range f.Data().RecoverySteps {
		add(fmt.Sprintf("step %d (%s)", s.Number, s.Action), s.Tool, s.Parameters, s.Missing)
		for _, o := range s.Options {
			add(fmt.Sprintf("option %q of step %d", o.Action, s.Number), o.Tool, o.Parameters, o.Missing)
		}
	}
	return calls
}

// ExecutableSteps requires that a failure names at least one call, as a step, an option or a
// correction. Its caller must be able to make each of them: the server lists the tool, the tool's
// schema accepts the parameters, and none of them is a placeholder such as <name>.
// Parameters that the caller has to fill in, by Missing of the step, may be absent. Pass it
// the fault as the handler made it, or as the caller got it. A call that cannot be made is
// removed from its step on the way; ExecutableSteps reports that too, unless the server runs
// in another process.
func ExecutableSteps(t testing.TB, s *Session, f *fault.Error) {
	t.Helper()
	tools, err := s.tools()
	if err != nil {
		t.Errorf("mcptest.ExecutableSteps: %v", err)
		return
	}
	calls := callsOf(f)
	if d := f.Data(); d.CorrectedTool != "" {
		calls = append(calls, suggestedCall{"the correction", d.CorrectedTool, d.CorrectedArguments, nil})
	}
	for _, lost := range droppedFrom(f) {
		t.Errorf("mcptest.ExecutableSteps: %s", lost)
	}
	if len(calls) == 0 {
		t.Errorf("mcptest.ExecutableSteps: the failure names no call:\n%s", indent(f.Text()))
	}
	for _, c := range calls {
		tool := tools[c.tool]
		if tool == nil {
			t.Errorf("mcptest.ExecutableSteps: %s: the server lists no tool %q", c.where, c.tool)
			continue
		}
		if c.parameters == nil {
			c.parameters = map[string]any{}
		}
		if at, text := placeholder("", c.parameters); text != "" && c.where != "the correction" {
			t.Errorf("mcptest.ExecutableSteps: %s: %s%s is the placeholder %q; leave it out, and the step says that it has to be filled in", c.where, c.tool, at, text)
		}
		if err := fits(lenient(tool.InputSchema, c.missing), c.parameters); err != nil {
			t.Errorf("mcptest.ExecutableSteps: %s: %s does not accept %s: %v", c.where, c.tool, compact(c.parameters), err)
		}
	}
}

// fits returns why a schema refuses a value, nil if it does not. A nil schema accepts any.
func fits(schema, value any) error {
	if schema == nil {
		return nil
	}
	read := ask.JSONSchema(schema)
	if read == nil {
		return errors.New("its schema cannot be read")
	}
	resolved, err := read.Resolve(nil)
	if err != nil {
		return fmt.Errorf("its schema cannot be used: %w", err)
	}
	return resolved.Validate(value)
}

func compact(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return clip(string(raw), 200)
}

// Text returns what a model reads of an answer: the text in a result, or the message of
// an error.
func Text(res mcp.Result, err error) string {
	if err != nil {
		if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
			return wire.Message
		}
		return err.Error()
	}
	var all []string
	add := func(content mcp.Content) {
		if text, ok := content.(*mcp.TextContent); ok {
			all = append(all, text.Text)
		}
	}
	switch res := res.(type) {
	case *mcp.CallToolResult:
		for _, content := range res.Content {
			add(content)
		}
	case *mcp.GetPromptResult:
		for _, message := range res.Messages {
			add(message.Content)
		}
	case *mcp.ReadResourceResult:
		for _, contents := range res.Contents {
			all = append(all, contents.Text)
		}
	}
	return strings.Join(all, "\n")
}

func indent(text string) string {
	return "\t" + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n\t")
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " ..."
}
