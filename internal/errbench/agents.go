package errbench

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Agents returns the scripted agents.
func Agents() []Agent {
	return []Agent{&Text{}, &Text{Expert: true}, &Text{Expert: true, Cautious: true}, Machine{}, Naive{}}
}

// patience is how often the scripted agents repeat a call that they are not told to stop.
const patience = 4

// main returns the last exchange of the tool that the task is about, and how often in a
// row the same call was made.
func (t *Turn) main() (last Exchange, times int) {
	for _, e := range slices.Backward(t.Exchanges) {
		if e.Tool != t.Exchanges[0].Tool && !t.renamed(e.Tool) {
			continue
		}
		switch {
		case times == 0:
			last, times = e, 1
		case e.Tool == last.Tool && reflect.DeepEqual(e.Arguments, last.Arguments):
			times++
		default:
			return last, times
		}
	}
	return last, times
}

// renamed reports whether a tool took the place of one that does not exist.
func (t *Turn) renamed(tool string) bool {
	first := t.Exchanges[0].Tool
	return t.tool(first) == nil && near(first, []string{tool}) != ""
}

func (t *Turn) tool(name string) *Tool {
	for i := range t.Tools {
		if t.Tools[i].Name == name {
			return &t.Tools[i]
		}
	}
	return nil
}

// harmless reports whether a call of the tool can be repeated.
func (t *Turn) harmless(name string) bool {
	tool := t.tool(name)
	return tool != nil && (tool.ReadOnly || tool.Idempotent)
}

// made reports whether this very call was made.
func (t *Turn) made(tool string, arguments map[string]any) bool {
	return slices.ContainsFunc(t.Exchanges, func(e Exchange) bool {
		return e.Tool == tool && reflect.DeepEqual(e.Arguments, arguments)
	})
}

// A Naive agent reads nothing. It makes the same call every second until it succeeds, five
// times in all.
type Naive struct{}

// Name returns "repeats".
func (Naive) Name() string { return "repeats" }

// Next repeats.
func (Naive) Next(_ context.Context, t *Turn) (Action, error) {
	last, times := t.main()
	switch {
	case !last.Answer.Failed:
		return Action{Done: true}, nil
	case times == 5:
		return Action{}, nil
	default:
		return Action{Wait: 1, Tool: last.Tool, Arguments: last.Arguments}, nil
	}
}

// A Machine reads what is there for programs: the guidance of mcpchain in _meta, a wait in
// one of its usual spellings, in the _meta or the data of an error, the code of a JSON-RPC
// error, and the annotations of tools. Where there is no guidance it repeats what does no
// harm, as careful clients do.
type Machine struct{}

// Name returns "machine form".
func (Machine) Name() string { return "machine form" }

// errorKey is where a server of mcpchain puts the machine form of a failure.
const errorKey = "io.github.mcpchain/error"

// Reads returns the machine form, or the text where there is none.
func (Machine) Reads(a *Answer) string {
	form := a.Meta[errorKey]
	if form == nil {
		form = a.Data
	}
	if form == nil && a.Structured != nil {
		form = a.Structured
	}
	if !a.Failed && a.Structured == nil || form == nil {
		return a.Text
	}
	text, err := json.Marshal(form)
	if err != nil {
		return a.Text
	}
	return string(text)
}

// A guidance is the part of the machine form that the agent knows.
type guidance struct {
	Retry *struct {
		Should  bool    `json:"should_retry"`
		After   float64 `json:"retry_after_seconds"`
		Effect  string  `json:"effect"`
		Partial bool    `json:"partial"`
		Attempt int     `json:"next_attempt"`
		Most    int     `json:"max_attempts"`
	} `json:"retry"`
	Similar    []string       `json:"similar_matches"`
	Identifier string         `json:"identifier"`
	Corrected  map[string]any `json:"corrected_arguments"`
	Tool       string         `json:"corrected_tool"`
	Field      string         `json:"field"`
	Violations []struct {
		Field      string `json:"field"`
		Expected   string `json:"expected"`
		Suggestion string `json:"suggestion"`
	} `json:"violations"`
	Steps []struct {
		Tool       string         `json:"tool"`
		Parameters map[string]any `json:"parameters"`
	} `json:"recovery_steps"`
}

// Next does what the machine form says.
func (m Machine) Next(_ context.Context, t *Turn) (Action, error) {
	newest := t.Exchanges[len(t.Exchanges)-1]
	last, times := t.main()
	if newest.Tool != last.Tool {
		return m.afterHelp(t, newest, last), nil
	}
	if !last.Answer.Failed {
		return resend(last, last.Answer.Structured), nil
	}
	form := last.Answer.Meta[errorKey]
	if form == nil {
		form = last.Answer.Data
	}
	g := guided(form)
	if g == nil {
		return m.unguided(t, last, times), nil
	}
	if a, ok := m.corrected(t, last, g); ok {
		return a, nil
	}
	for _, step := range g.Steps {
		if step.Tool != "" && !t.made(step.Tool, step.Parameters) {
			return Action{Tool: step.Tool, Arguments: step.Parameters, Told: true}, nil
		}
	}
	switch {
	case g.Retry == nil:
		return m.unguided(t, last, times), nil
	case g.Retry.Effect == "committed" && !g.Retry.Partial:
		return Action{Done: true, Told: true}, nil
	case g.Retry.Should && g.Retry.After <= chatPatience.Seconds() && (g.Retry.Most == 0 || g.Retry.Attempt <= g.Retry.Most):
		return Action{Wait: max(g.Retry.After, 0.5), Tool: last.Tool, Arguments: last.Arguments, Told: true}, nil
	default:
		return Action{Told: true}, nil
	}
}

// guided reads the machine form, and returns nil if it is none.
func guided(form any) *guidance {
	var g guidance
	text, err := json.Marshal(form)
	if form == nil || err != nil || json.Unmarshal(text, &g) != nil {
		return nil
	}
	return &g
}

// corrected makes the call again with other arguments, if the machine form has them.
func (Machine) corrected(t *Turn, last Exchange, g *guidance) (Action, bool) {
	arguments, tool := maps.Clone(last.Arguments), last.Tool
	if g.Tool != "" {
		tool = g.Tool
	}
	if g.Corrected != nil {
		arguments = g.Corrected
	}
	for _, v := range g.Violations {
		correct(t, last.Tool, arguments, v.Field, v.Expected+" "+v.Suggestion)
	}
	if g.Field != "" && len(g.Violations) == 0 {
		correct(t, last.Tool, arguments, g.Field, "")
	}
	if len(g.Similar) > 0 {
		if t.tool(last.Tool) == nil {
			tool = g.Similar[0]
		} else {
			replace(arguments, g.Identifier, g.Similar[0])
		}
	}
	if t.made(tool, arguments) {
		return Action{}, false
	}
	return Action{Tool: tool, Arguments: arguments, Told: true}, true
}

// afterHelp follows the call of another tool. A program cannot read its words, so it
// looks whether they are a word that says no.
func (Machine) afterHelp(t *Turn, help, last Exchange) Action {
	switch {
	case help.Answer.Failed:
		return Action{}
	case t.tool(help.Tool).ReadOnly && !absent.MatchString(help.Answer.Text):
		return Action{Done: true}
	default:
		return Action{Wait: 0.5, Tool: last.Tool, Arguments: last.Arguments}
	}
}

// unguided is what a careful program does of its own.
func (Machine) unguided(t *Turn, last Exchange, times int) Action {
	if wait, ok := spelled(last.Answer); ok && wait <= chatPatience.Seconds() && times < patience {
		return Action{Wait: wait, Tool: last.Tool, Arguments: last.Arguments, Told: true}
	}
	if last.Answer.Code == -32602 || !t.harmless(last.Tool) || times >= 3 {
		return Action{}
	}
	return Action{Wait: float64(int(1) << times), Tool: last.Tool, Arguments: last.Arguments}
}

// spelled finds a wait in one of the spellings that servers use.
func spelled(a Answer) (float64, bool) {
	data, _ := a.Data.(map[string]any)
	structured, _ := a.Structured.(map[string]any)
	for _, members := range []map[string]any{a.Meta, data, structured} {
		for _, name := range []string{"retryAfter", "retry_after", "Retry-After", "retryAfterSeconds", "retry_after_seconds"} {
			if n, err := strconv.ParseFloat(fmt.Sprint(members[name]), 64); err == nil {
				return n, true
			}
		}
	}
	return 0, false
}

// resend ends a task whose last call succeeded, unless a structured answer names items to
// be sent again.
func resend(last Exchange, structured any) Action {
	out, _ := structured.(map[string]any)
	items, _ := out["retry_items"].([]any)
	if len(items) == 0 {
		return Action{Done: true}
	}
	return again1(last, items)
}

// again1 makes the call for these items only.
func again1(last Exchange, items []any) Action {
	arguments := maps.Clone(last.Arguments)
	for name, value := range arguments {
		if _, ok := value.([]any); ok {
			arguments[name] = items
		}
	}
	return Action{Wait: 1, Tool: last.Tool, Arguments: arguments, Told: true}
}

// correct puts what the user could say for an argument in the place of what was wrong. What
// was expected is searched for one of the values; else the first one that was not tried
// counts that has the type of the schema.
func correct(t *Turn, tool string, arguments map[string]any, field, expected string) bool {
	field, _, _ = strings.Cut(field, "[")
	spec := t.tool(tool)
	if spec == nil {
		return false
	}
	properties, _ := spec.InputSchema["properties"].(map[string]any)
	if _, known := properties[field]; !known {
		value, sent := arguments[field]
		name := near(field, slices.Sorted(maps.Keys(properties)))
		if sent && name != "" {
			delete(arguments, field)
			arguments[name] = value
		}
		return sent && name != ""
	}
	tried := func(value any) bool {
		return slices.ContainsFunc(t.Exchanges, func(e Exchange) bool { return reflect.DeepEqual(e.Arguments[field], value) })
	}
	var left []any
	for _, value := range t.Knows[field] {
		if !tried(value) {
			left = append(left, value)
		}
	}
	for _, value := range left {
		if wordIn(expected, fmt.Sprint(value)) || fits(expected, value) {
			arguments[field] = value
			return true
		}
	}
	if len(left) == 0 {
		return false
	}
	arguments[field] = left[0]
	return true
}

// fits reports whether a value has a type, or a form, that a text in English asks for.
func fits(expected string, value any) bool {
	lower := strings.ToLower(expected)
	switch v := value.(type) {
	case int, float64:
		return regexp.MustCompile(`\b(integer|number)\b`).MatchString(lower)
	case bool:
		return regexp.MustCompile(`\bbool(ean)?\b|true or false`).MatchString(lower)
	case string:
		_, err := time.Parse(time.DateOnly, v)
		return err == nil && regexp.MustCompile(`\bdate|yyyy|\\d\{4\}`).MatchString(lower)
	default:
		return false
	}
}

// wordIn reports whether a word stands in a text, and not inside of another one.
func wordIn(text, word string) bool {
	return word != "" && regexp.MustCompile(`(^|[^\w-])`+regexp.QuoteMeta(word)+`($|[^\w-])`).MatchString(text)
}

// replace puts a name in the place of the value that is it, or is near to it.
func replace(arguments map[string]any, wrong, right string) {
	for name, value := range arguments {
		if text, ok := value.(string); ok && (text == wrong || wrong == "" && near(text, []string{right}) != "") {
			arguments[name] = right
		}
	}
}

// near returns the name that is at most two letters away, or "".
func near(name string, names []string) string {
	best, found := 3, ""
	for _, other := range names {
		if d := distance(name, other); d < best {
			best, found = d, other
		}
	}
	return found
}

// distance counts the letters to be put in, left out or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
