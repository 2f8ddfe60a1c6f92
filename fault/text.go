package fault

import (
	"cmp"
	"maps"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/internal/words"
)

// text writes the public text, with the corrected call. It leaves out empty lines; the first line always
// begins with the kind's label.
func (d *Data) text(tries string, reference bool) string {
	var b strings.Builder
	b.Grow(400 + len(d.Message) + len(d.Suggestion))
	b.WriteString(d.Type.Label())
	b.WriteString(": ")
	d.headline(&b)
	d.below(&b, tries, reference)
	return b.String()
}

func (e *Error) besides() string {
	var b strings.Builder
	d := e.public()
	d.similar(&b, '\n')
	d.below(&b, e.tries(), false)
	return strings.TrimPrefix(b.String(), "\n")
}

// below writes the lines below the headline.
func (d *Data) below(b *strings.Builder, tries string, reference bool) {
	if suggestion := words.Clip(words.Lines(d.Suggestion), maxMessage); suggestion != "" {
		b.WriteString("\nSuggestion: ")
		b.WriteString(suggestion)
		b.WriteString(words.End(suggestion))
	}
	if details := d.readable(); len(details) > 0 {
		b.WriteString("\nDetails: ")
		b.WriteString(words.Clip(compact(details), maxMessage))
	}
	d.Retry.text(b, d.Type)
	stepsText(b, d.RecoverySteps)
	if tries != "" {
		b.WriteString("\nTry: ")
		b.WriteString(tries)
	}
	if reference && d.ReferenceID != "" {
		b.WriteString("\nReference: ")
		b.WriteString(words.Cut(d.ReferenceID, maxText))
		if d.Party == PartyServer {
			b.WriteString(words.ToReport)
		}
	}
}

// statusDetail is the detail with the HTTP status of a service. It is for programs: the text
// describes what the status means.
const statusDetail = "status_code"

// readable returns the details that the text shows.
func (d *Data) readable() map[string]any {
	details := maps.Clone(d.Details)
	maps.DeleteFunc(details, func(name string, value any) bool {
		text, _ := value.(string)
		inHeadline := text != "" && strings.Contains(d.Message, "'"+text+"'")
		return inHeadline || name == statusDetail || name == wire.LimitDetail && d.Code == wire.LimitCode
	})
	return details
}

// headline writes what failed, without the label.
func (d *Data) headline(b *strings.Builder) {
	message := words.Lines(d.Message)
	if limit := maxMessage; len(message) > limit {
		if strings.IndexByte(message, '\n') >= 0 {
			limit = maxListing
		}
		message = words.Clip(message, limit)
	}
	if message == "" {
		message = Generic(d.Type).data.Message
	}
	b.WriteString(message)
	next := byte(' ')
	if words.Quotes(message) {
		next = '\n' // the quoted line stays as it is, and ours begins a new one
	} else {
		b.WriteString(words.End(message))
	}
	d.similar(b, next)
}

// similar writes the sentences behind the message, the first one behind next.
func (d *Data) similar(b *strings.Builder, next byte) {
	if len(d.SimilarMatches) > 0 {
		b.WriteByte(next)
		b.WriteString("Did you mean ")
		b.WriteString(quotedList(d.SimilarMatches, maxExamples))
		b.WriteByte('?')
		next = ' '
	}
	if permission := words.Line(words.Cut(d.RequiredPermission, maxText)); permission != "" {
		b.WriteByte(next)
		b.WriteString("Required permission: ")
		b.WriteString(words.Ended(permission))
	}
}

// text writes the line about another try. kind is that of the failure, "" if it is unknown.
func (r *Retry) text(b *strings.Builder, kind Kind) {
	if r == nil {
		return
	}
	reason, fact := words.Clip(words.Line(r.Reason), maxItem), words.Clip(words.Line(r.Fact), maxItem)
	unsure := r.Effect == EffectUnknown && !r.ShouldRetry
	switch {
	case r.Unknown && r.RetryAfterSeconds > 0:
		b.WriteString("\nThe service asks to wait " + words.Seconds(r.RetryAfterSeconds) + ".")
	case r.Unknown && reason == "" && fact == "" && r.Effect == "":
		return
	default:
		b.WriteString("\nRetry: ")
		r.whether(b, kind, reason, unsure)
	}
	if r.Effect == EffectCommitted && r.Partial { // says what to do first
		b.WriteString(" At least a part of this call took effect: check that before you try another way.")
	}
	switch r.Reason {
	case StillRunning:
		if unsure {
			b.WriteString(" It may still take effect.")
		}
		return // the fact stands in the line, and the call has not ended with an effect
	case NotNow:
		writeSentence(b, fact)
		b.WriteString(" Tell the user; it may work again later.")
	default:
		writeSentence(b, reason)
		writeSentence(b, fact)
	}
	switch {
	case r.Effect == EffectNone:
		b.WriteString(" Nothing was changed by this call.")
	case r.Effect == EffectCommitted && r.Partial:
	case r.Effect == EffectCommitted:
		b.WriteString(" This call took effect: do not repeat it.")
	case r.Effect == EffectUnknown && r.ShouldRetry:
		b.WriteString(" It is not known whether this call took effect: look before you repeat it.")
	}
}

// whether writes whether and when the call may be repeated.
func (r *Retry) whether(b *strings.Builder, kind Kind, reason string, unsure bool) {
	switch {
	case r.ShouldRetry && r.RetryAfterSeconds > words.LongestWait:
		b.WriteString("not now: possible again in " + words.Seconds(r.RetryAfterSeconds) + "; tell the user.")
	case r.ShouldRetry:
		b.WriteString("yes")
		if r.RetryAfterSeconds > 0 {
			b.WriteString(", after " + words.Seconds(r.RetryAfterSeconds))
		}
		switch {
		case r.NextAttempt > 0 && r.MaxAttempts > 0:
			b.WriteString(" (attempt " + strconv.Itoa(r.NextAttempt) + " of " + strconv.Itoa(r.MaxAttempts) + ")")
		case r.NextAttempt > 0:
			b.WriteString(" (attempt " + strconv.Itoa(r.NextAttempt) + ")")
		case r.MaxAttempts > 0:
			b.WriteString(" (" + strconv.Itoa(r.MaxAttempts) + " attempts at most)")
		}
		b.WriteByte('.')
	case r.Reason == NotNow:
		b.WriteString("not now.")
	case r.Reason == StillRunning:
		b.WriteString("not the same call: " + words.Ended(cmp.Or(words.Clip(words.Line(r.Fact), maxItem), "it is still running")))
	case unsure && reason == "":
		b.WriteString("no, unless you see that it did not take effect.")
	case unsure:
		b.WriteString("no. This call may have changed something: look whether it did before you go on.")
	case r.Unknown:
		b.WriteString("unknown.")
	case reason != "":
		b.WriteString("no.")
	case kind == KindValidation && r.Effect == "":
		b.WriteString("only with corrected arguments.")
	case kind == KindUnauthenticated && r.Effect == "":
		b.WriteString("only after the user has signed in.")
	default:
		b.WriteString("no.")
	}
}

// writeSentence writes a sentence behind another one. An empty one is left out.
func writeSentence(b *strings.Builder, text string) {
	if text != "" {
		b.WriteByte(' ')
		b.WriteString(words.Ended(words.Capital(text)))
	}
}

// String returns the line about this in a text for a model, such as "Retry: yes, after 30 s
// (attempt 2).", without a line break. Waits are written in whole seconds, rounded up.
//
//go:noinline
func (r Retry) String() string {
	var b strings.Builder
	r.text(&b, "")
	return strings.TrimPrefix(b.String(), "\n")
}

func listed(steps []Step) string {
	var b strings.Builder
	stepsText(&b, steps)
	return strings.TrimPrefix(b.String(), "\n")
}

func stepsText(b *strings.Builder, steps []Step) {
	for i, s := range steps {
		if i == 0 {
			b.WriteString("\nNext: ")
		} else {
			b.WriteString("\n      ")
		}
		b.WriteString(strconv.Itoa(i + 1))
		b.WriteString(". ")
		s.text(b)
	}
}

func (s *Step) text(b *strings.Builder) {
	action := words.Clip(words.Line(s.Action), maxItem)
	if action == "" {
		action = "Continue"
	}
	if s.Tool == "" && len(s.Options) == 0 {
		b.WriteString(words.Ended(action))
	} else {
		b.WriteString(strings.TrimRight(action, ".:"))
		s.call(b)
		b.WriteByte('.')
	}
	if description := words.Clip(words.Line(s.Description), maxItem); description != "" {
		b.WriteByte(' ')
		b.WriteString(words.Ended(description))
	}
}

// call writes the call of a step, and the choices that it offers.
func (s *Step) call(b *strings.Builder) {
	if s.Tool != "" {
		b.WriteString(": ")
		writeCall(b, s.Tool, s.Parameters, s.Missing)
	}
	if len(s.Options) == 0 {
		return
	}
	choices := make([]string, len(s.Options))
	for i := range s.Options {
		choices[i] = s.Options[i].text()
	}
	if s.Tool != "" {
		b.WriteString("; ")
	} else {
		b.WriteString(": ")
	}
	switch len(choices) {
	case 1:
	case 2:
		b.WriteString("either ")
	default:
		b.WriteString("one of ")
	}
	b.WriteString(words.List(choices, "or"))
}

// text writes a choice: its call, with its action if the tool's name does not say the same, or the
// action alone.
func (o *Option) text() string {
	action := strings.TrimRight(words.Clip(words.Line(o.Action), maxItem), ".:")
	if o.Tool == "" {
		return action
	}
	var b strings.Builder
	writeCall(&b, o.Tool, o.Parameters, o.Missing)
	if !within(action, o.Tool) {
		b.WriteString(" (" + action + ")")
	}
	return b.String()
}

// within reports whether the name of a tool contains all words of an action.
func within(action, tool string) bool {
	tool = strings.ToLower(tool)
	for word := range strings.FieldsSeq(strings.ToLower(action)) {
		if !strings.Contains(tool, word) {
			return false
		}
	}
	return true
}

func writeCall(b *strings.Builder, tool string, parameters map[string]any, missing []string) {
	b.WriteString("call ")
	b.WriteString(words.Cut(tool, 2*maxName))
	b.WriteByte(' ')
	switch text := compact(parameters); {
	case len(parameters) == 0:
		b.WriteString("{}")
	case len(text) > maxMessage: // half of it would be useless
		b.WriteString("with the parameters in recovery_steps")
	default:
		b.WriteString(text)
	}
	if len(missing) > 0 {
		b.WriteString(" with " + words.Listed(missing, quoted, "and") + " filled in")
	}
}
