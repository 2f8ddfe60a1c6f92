package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/words"
	"github.com/mcpchain/mcpchain/mask"
)

// A Rule words failures that the server words badly: if its text contains Contains, or matches
// Pattern, the caller reads the others instead.
type Rule struct {
	Contains string `json:"contains,omitempty" jsonschema:"a part of the text of the failure"`
	Pattern  string `json:"pattern,omitempty" jsonschema:"or a regular expression (RE2) that matches a part of it"`

	Kind       fault.Kind `json:"kind"`
	Message    string     `json:"message" jsonschema:"what the caller reads; with a pattern, $1 or ${name} stands for what a group matched"`
	Suggestion string     `json:"suggestion,omitempty" jsonschema:"what the caller may do about it"`
	Step       *Step      `json:"step,omitempty" jsonschema:"the next step: words, or the call of a tool"`
	RetryAfter *Duration  `json:"retry_after,omitempty" jsonschema:"when to call again"`
	Never      string     `json:"never,omitempty" jsonschema:"why the call must not be repeated"`

	pattern *regexp.Regexp
}

// A Step is what to do next: words, or the call of a tool.
type Step struct {
	Action     string         `json:"action"`
	Tool       string         `json:"tool,omitempty"`
	Parameters map[string]any `json:"parameters,omitempty"`
}

func (r *Rule) check() (err error) {
	switch {
	case (r.Contains == "") == (r.Pattern == ""):
		return errors.New(`give one of "contains" and "pattern"`)
	case r.Kind == "" || r.Message == "":
		return errors.New(`"kind" and "message" are required`)
	case !kinds.Known(string(r.Kind)):
		return unknownKind(string(r.Kind))
	case r.Never != "" && r.RetryAfter != nil:
		return errors.New(`"never" and "retry_after" exclude each other`)
	case r.Step != nil && r.Step.Action == "":
		return errors.New(`"step" has no "action"`)
	}
	if r.Pattern != "" {
		if r.pattern, err = regexp.Compile(r.Pattern); err != nil {
			return fmt.Errorf(`"pattern": %w`, err)
		}
	}
	return r.checkGroups()
}

// dollar finds what stands for a group of a pattern, and the dollar that is written as two.
var dollar = regexp.MustCompile(`\$(?:\$|\{(\w+)\}|(\w+))`)

// checkGroups refuses a group that the pattern does not have: nothing would stand in its place.
func (r *Rule) checkGroups() error {
	for _, found := range dollar.FindAllStringSubmatch(r.Message, -1) {
		name := found[1] + found[2]
		number, err := strconv.Atoi(name)
		switch {
		case name == "":
		case r.pattern == nil && (err == nil || found[1] != ""):
			return fmt.Errorf(`"message" has %s, but only a "pattern" has groups`, found[0])
		case r.pattern == nil, err == nil && number <= r.pattern.NumSubexp(), r.pattern.SubexpIndex(name) >= 0:
		default:
			return fmt.Errorf(`"message" has %s, which is not a group of "pattern": write (...) there for $1, ${1} before a letter, and $$ for a dollar`, found[0])
		}
	}
	return nil
}

// kindNames are those of package fault. Clients know what to do about them, and about no other.
func kindNames() (names []string) {
	for kind := range kinds.All {
		names = append(names, kind)
	}
	return names
}

func unknownKind(kind string) error {
	if matches := near.Matches(kind, kindNames()); len(matches) > 0 {
		return unknown("kind", kind, matches)
	}
	return fmt.Errorf("there is no kind %q: it is %s", kind, words.List(kindNames(), "or"))
}

// rule returns the rule as package mask asks it.
func (r *Rule) rule() mask.Rule {
	return func(err error) *fault.Error {
		text := err.Error()
		message := r.Message
		if r.pattern == nil {
			if !strings.Contains(text, r.Contains) {
				return nil
			}
		} else {
			found := r.pattern.FindStringSubmatchIndex(text)
			if found == nil {
				return nil
			}
			message = string(r.pattern.ExpandString(nil, message, text, found))
		}
		f := fault.New(r.Kind, message)
		if r.Suggestion != "" {
			f = f.Suggest(r.Suggestion)
		}
		if r.Step != nil {
			f = f.Step(r.Step.Action, r.Step.Tool, r.Step.Parameters)
		}
		switch {
		case r.RetryAfter != nil:
			f = f.After(time.Duration(*r.RetryAfter))
		case r.Never != "":
			f = f.Never(r.Never)
		}
		return f
	}
}
