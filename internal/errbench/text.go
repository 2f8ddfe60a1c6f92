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
)

// A Text agent reads the text and obeys it. It knows no server: it looks for what plain
// English says of a second try, of names and of arguments, whoever wrote it. Where an
// answer says nothing of the kind it tries once more.
type Text struct {
	// Expert also knows what the errors of databases, of HTTP and of the operating system
	// mean: that a refused connection has changed nothing, and that a write which timed out
	// is to be looked for.
	Expert bool

	// Cautious stops where an answer says nothing.
	Cautious bool
}

// Name returns "text", "text, expert" or "text, expert, cautious".
func (x *Text) Name() string {
	name := "text"
	if x.Expert {
		name += ", expert"
	}
	if x.Cautious {
		name += ", cautious"
	}
	return name
}

const (
	number = `(\d+(?:\.\d+)?)`
	unit   = `(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b`
)

// What a text may say, in plain English.
var (
	waits = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(?:retry|try(?: it)? again|again|wait|back off|available)\b[^.\n]{0,40}?\b(?:after|in|for|within)\s+` + number + `\s*` + unit),
		regexp.MustCompile(`(?i)\bwait\s+(?:at least\s+)?` + number + `\s*` + unit),
		regexp.MustCompile(`(?i)\bretry[- ]after:?\s+` + number + `()`),
	}
	hours   = regexp.MustCompile(`(?i)\b(?:retry|again|wait|possible)\b[^.\n]{0,40}?\b(?:in|after)\s+\d+ ?(?:h|hours?)\b`)
	refusal = regexp.MustCompile(`(?i)\b(?:do not|don't|never|must not|cannot be) (?:be )?(?:retry|retried|repeat|repeated|try again|call again)\b|\bnot retryable\b|\bretry:? (?:no|only|not)\b|\bretries: no\b|\bwill (?:fail|be refused) again\b|\bno retry\b|\bpermanent(?:ly)?\b|tell the user`)
	invited = regexp.MustCompile(`(?i)\bretry:? yes\b|\b(?:please |can |may |then )(?:retry|try again|call again|be retried|be repeated)\b|\btry again\b|\bsend (?:it |them )?again\b|\bis retryable\b|\bsafe to retry\b|\bretry (?:after|in)\b`)
	unsure  = regexp.MustCompile(`(?i)\bnot known (?:whether|if)\b|\bunknown (?:whether|if)\b|\b(?:may|might|could) (?:or may not )?have (?:changed|been|taken|had|succeeded)\b|\bcheck (?:that |this |it )?before\b`)
	took    = regexp.MustCompile(`(?i)\b(?:took|has taken) effect: do not|\bwas (?:made|created|placed|saved),? but\b`)
	absent  = regexp.MustCompile(`(?i)\b(?:no|none|not|nothing|never)\b`)
	meant   = regexp.MustCompile(`(?i)\bdid you mean:? ["'` + "`" + `]?([\w.-]+)`)

	resending = regexp.MustCompile(`(?i)\b(?:send|retry|repeat) [^.]*`)
	failing   = regexp.MustCompile(`(?i)\bfailed\b`)
)

// What errors mean that nobody worded, as everybody knows who has read many.
var (
	passing  = regexp.MustCompile(`(?i)connection refused|temporar|unavailable|\b503\b|\blocked\b|\bbusy\b|overload|could not serialize|deadlock|too many connections|connection slots|\b429\b|too many requests|rate limit`)
	limiting = regexp.MustCompile(`(?i)\b429\b|too many requests|rate limit`)
	cut      = regexp.MustCompile(`(?i)deadline exceeded|timed? ?out|connection reset|broken pipe|unexpected eof|connection closed`)
	hopeless = regexp.MustCompile(`(?i)\b40[13]\b|permission|denied|forbidden|unauthori[sz]ed|not allowed|authentication failed|no such host|already exists|duplicate|quota`)
	missing  = regexp.MustCompile(`(?i)\b404\b|not found|no rows|does not exist|unknown`)
)

// Next does what the text says.
func (x *Text) Next(_ context.Context, t *Turn) (Action, error) {
	newest := t.Exchanges[len(t.Exchanges)-1]
	last, times := t.main()
	if newest.Tool != last.Tool {
		return x.afterHelp(t, newest, last), nil
	}
	text := last.Answer.Text
	if items := unfinished(last, text); items != nil {
		return again1(last, items), nil
	}
	if !last.Answer.Failed {
		return Action{Done: true}, nil
	}
	if took.MatchString(text) {
		return Action{Done: true, Told: true}, nil
	}
	if a, ok := x.mend(t, last, text); ok {
		return a, nil
	}
	if a, ok := step(t, last, text); ok {
		return a, nil
	}
	repeat := Action{Tool: last.Tool, Arguments: last.Arguments, Told: true}
	wait, waits := waitIn(text)
	switch {
	case unsure.MatchString(text):
		return x.lookOrStop(t, last, true), nil
	case hours.MatchString(text) || wait > chatPatience.Seconds():
		return Action{Told: true}, nil
	case refusal.MatchString(text):
		if missing.MatchString(text) {
			if a, ok := list(t, last); ok {
				return a, nil
			}
		}
		return Action{Told: true}, nil
	case (waits || invited.MatchString(text)) && times < patience+1:
		repeat.Wait = max(wait, 1)
		return repeat, nil
	}
	return x.guess(t, last, times, text), nil
}

// guess is what the agent makes of a text that says nothing about a second try.
func (x *Text) guess(t *Turn, last Exchange, times int, text string) Action {
	repeat := Action{Wait: 2, Tool: last.Tool, Arguments: last.Arguments}
	switch {
	case !x.Expert && times == 1 && !x.Cautious:
		return repeat
	case times > patience, !x.Expert:
		return Action{}
	case hopeless.MatchString(text):
		return Action{}
	case missing.MatchString(text):
		if a, ok := list(t, last); ok {
			return a
		}
		return Action{}
	case cut.MatchString(text) && !t.harmless(last.Tool):
		return x.lookOrStop(t, last, false)
	case cut.MatchString(text):
		return repeat
	case limiting.MatchString(text):
		repeat.Wait = 5 * float64(int(1)<<(times-1)) // as nobody says how long: longer each time
		return repeat
	case passing.MatchString(text):
		repeat.Wait = float64(int(1) << times)
		return repeat
	case times == 1 && !x.Cautious:
		return repeat
	default:
		return Action{}
	}
}

// waitIn returns the wait that a text names, in seconds.
func waitIn(text string) (float64, bool) {
	for _, pattern := range waits {
		if m := pattern.FindStringSubmatch(text); m != nil {
			n, _ := strconv.ParseFloat(m[1], 64)
			switch {
			case strings.HasPrefix(m[2], "ms"), strings.HasPrefix(m[2], "milli"):
				return n / 1000, true
			case strings.HasPrefix(m[2], "m"):
				return n * 60, true
			case strings.HasPrefix(m[2], "h"):
				return n * 3600, true
			}
			return n, true
		}
	}
	return 0, false
}

// step finds a tool that a text names, and calls it as the text says or with what is known.
func step(t *Turn, last Exchange, text string) (Action, bool) {
	for _, tool := range t.Tools {
		at := regexp.MustCompile(`\b` + regexp.QuoteMeta(tool.Name) + `\b`).FindStringIndex(text)
		if tool.Name == last.Tool || at == nil {
			continue
		}
		arguments, ok := known(&tool, last.Arguments)
		if rest := strings.TrimLeft(text[at[1]:], " :"); strings.HasPrefix(rest, "{") {
			arguments = nil
			ok = json.NewDecoder(strings.NewReader(rest)).Decode(&arguments) == nil
		}
		if ok && !t.made(tool.Name, arguments) {
			return Action{Tool: tool.Name, Arguments: arguments, Told: true}, true
		}
	}
	return Action{}, false
}

// known returns the arguments that a tool requires, from those of another call.
func known(tool *Tool, from map[string]any) (map[string]any, bool) {
	arguments := map[string]any{}
	required, _ := tool.InputSchema["required"].([]string)
	for _, name := range required {
		value, ok := from[name]
		if !ok {
			return nil, false
		}
		arguments[name] = value
	}
	return arguments, true
}

// lookOrStop looks for a tool that tells what became of a call, by itself, or stops.
func (*Text) lookOrStop(t *Turn, last Exchange, told bool) Action {
	for _, tool := range t.Tools {
		arguments, ok := known(&tool, last.Arguments)
		if ok && tool.ReadOnly && tool.Name != last.Tool && !t.made(tool.Name, arguments) {
			return Action{Tool: tool.Name, Arguments: arguments, Told: told}
		}
	}
	return Action{Told: told}
}

// list calls a tool that lists what there is, if there is one.
func list(t *Turn, last Exchange) (Action, bool) {
	for _, tool := range t.Tools {
		if tool.ReadOnly && tool.Name != last.Tool && strings.HasPrefix(tool.Name, "list_") && !t.made(tool.Name, map[string]any{}) {
			return Action{Tool: tool.Name, Arguments: map[string]any{}}, true
		}
	}
	return Action{}, false
}

// afterHelp goes on with the task after the call of another tool.
func (x *Text) afterHelp(t *Turn, help, last Exchange) Action {
	text := help.Answer.Text
	if help.Answer.Failed {
		return Action{}
	}
	again := Action{Wait: 1, Tool: last.Tool, Arguments: maps.Clone(last.Arguments)}
	if !t.tool(help.Tool).ReadOnly {
		return again
	}
	names := regexp.MustCompile(`[\w-]+`).FindAllString(text, -1)
	for name, value := range last.Arguments {
		switch v := value.(type) {
		case []any: // some of the items are there
			left := slices.DeleteFunc(slices.Clone(v), func(item any) bool { return slices.Contains(names, fmt.Sprint(item)) })
			if len(left) == 0 {
				return Action{Done: true}
			}
			again.Arguments[name] = left
			return again
		case string:
			if strings.HasPrefix(help.Tool, "list_") {
				right := near(v, names)
				if right == "" || right == v {
					return Action{}
				}
				again.Arguments[name] = right
				return again
			}
		}
	}
	if absent.MatchString(text) {
		return again
	}
	return Action{Done: true}
}

// mend makes the call again with other arguments, if the text says which are wrong.
func (*Text) mend(t *Turn, last Exchange, text string) (Action, bool) {
	arguments := maps.Clone(last.Arguments)
	told := false
	if m := meant.FindStringSubmatch(text); m != nil {
		right := strings.TrimRight(m[1], ".")
		if t.tool(last.Tool) == nil && t.tool(right) != nil {
			return Action{Tool: right, Arguments: arguments, Told: true}, true
		}
		replace(arguments, "", right)
		told = !reflect.DeepEqual(arguments, last.Arguments)
	}
	if t.tool(last.Tool) == nil { // the client has the list
		var names []string
		for _, tool := range t.Tools {
			names = append(names, tool.Name)
		}
		if right := near(last.Tool, names); right != "" {
			return Action{Tool: right, Arguments: arguments}, true
		}
		return Action{}, false
	}
	if whole := regexp.MustCompile(`\b` + regexp.QuoteMeta(last.Tool) + `:? (\{.*\})`).FindStringSubmatch(text); whole != nil {
		var corrected map[string]any
		if json.Unmarshal([]byte(whole[1]), &corrected) == nil && !t.made(last.Tool, corrected) {
			return Action{Tool: last.Tool, Arguments: corrected, Told: true}, true
		}
	}
	if !told && aboutArguments.MatchString(text) {
		properties, _ := t.tool(last.Tool).InputSchema["properties"].(map[string]any)
		fields := slices.Concat(slices.Sorted(maps.Keys(last.Arguments)), slices.Sorted(maps.Keys(properties)))
		for line := range strings.Lines(text) {
			if field := fieldOf(strings.TrimSpace(line), fields); field != "" {
				told = correct(t, last.Tool, arguments, field, line) || told
			}
		}
	}
	if !told || t.made(last.Tool, arguments) {
		return Action{}, false
	}
	return Action{Tool: last.Tool, Arguments: arguments, Told: true}, true
}

// aboutArguments finds texts that are about arguments.
var aboutArguments = regexp.MustCompile(`(?i)\bargument|\bvalidat|\binvalid\b|\bmust\b|\bexpected\b|\brequired\b|\bschema\b|\bproperty\b|\bparameter`)

// fieldOf returns the argument that a line names first: quoted, in a path or a list, or as
// the first word of what is said.
func fieldOf(line string, fields []string) (first string) {
	at := len(line)
	for _, field := range fields {
		named := regexp.MustCompile(`(?:["'` + "`" + `/.\[]|: |(?i:argument|parameter|field|property) )` + regexp.QuoteMeta(field) + `\b|^` + regexp.QuoteMeta(field) + `\b`)
		if found := named.FindStringIndex(line); found != nil && found[0] < at {
			first, at = field, found[0]
		}
	}
	return first
}

// unfinished returns the items of a list that a text names as those to be sent again, or
// as those that failed.
func unfinished(last Exchange, text string) []any {
	for _, value := range last.Arguments {
		items, ok := value.([]any)
		if !ok {
			continue
		}
		for _, about := range []*regexp.Regexp{resending, failing} {
			var left []any
			for line := range strings.Lines(text) {
				at := about.FindStringIndex(line)
				if at == nil {
					continue
				}
				names := regexp.MustCompile(`[\w-]+`).FindAllString(line[at[0]:], -1)
				for _, item := range items {
					if slices.Contains(names, fmt.Sprint(item)) {
						left = append(left, item)
					}
				}
			}
			if len(left) > 0 && len(left) < len(items) {
				return left
			}
		}
	}
	return nil
}
