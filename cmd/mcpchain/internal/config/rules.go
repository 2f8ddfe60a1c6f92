package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/mask"
)

// A Rule words failures that the server words badly: if its text contains Contains, or matches
// Pattern, the caller reads the others instead.
type Rule struct {
	Contains string `json:"contains,omitempty"`
	Pattern  string `json:"pattern,omitempty"` // RE2

	Kind       fault.Kind `json:"kind"`
	Message    string     `json:"message"` // with a Pattern, $1 or ${name} stands for what it matched
	Suggestion string     `json:"suggestion,omitempty"`
	Step       *Step      `json:"step,omitempty"`
	RetryAfter *Duration  `json:"retry_after,omitempty"`
	Never      string     `json:"never,omitempty"` // why the call must not be repeated

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
	case strings.ContainsAny(string(r.Kind), " \t\r\n"):
		return fmt.Errorf("the kind %q is no word, such as not_found", string(r.Kind))
	case meant(r.Kind) != "":
		return fmt.Errorf("the kind %q is misspelt: did you mean %q?", string(r.Kind), meant(r.Kind))
	case r.Never != "" && r.RetryAfter != nil:
		return errors.New(`"never" and "retry_after" exclude each other`)
	case r.Step != nil && r.Step.Action == "":
		return errors.New(`"step" has no "action"`)
	}
	if r.Pattern != "" {
		r.pattern, err = regexp.Compile(r.Pattern)
	}
	return err
}

// kinds are those of package fault. A rule may have another one, which clients know by its name alone.
var kinds = []string{
	string(fault.KindValidation), string(fault.KindNotFound), string(fault.KindAlreadyExists),
	string(fault.KindUnauthenticated), string(fault.KindPermissionDenied), string(fault.KindRateLimited),
	string(fault.KindRepeatedFailure), string(fault.KindTimeout), string(fault.KindCancelled),
	string(fault.KindConnectionFailed), string(fault.KindServiceUnavailable), string(fault.KindServerError),
	string(fault.KindClientError), string(fault.KindConflict), string(fault.KindPreconditionFailed),
	string(fault.KindInternal), string(fault.KindTool),
}

// meant returns the kind of package fault that a misspelt one stands for, or "" for any other kind. One
// that has a whole kind in it, such as "export_timeout", is one of the user's own.
func meant(kind fault.Kind) string {
	if slices.Contains(kinds, string(kind)) {
		return ""
	}
	for _, known := range near.Matches(string(kind), kinds) {
		if !strings.Contains(string(kind), known) {
			return known
		}
	}
	return ""
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
