package fault

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxName     = 64  // runes of a name or a received value that the text repeats
	maxText     = 200 // runes of a phrase that the text repeats
	maxListed   = 10  // violations that the text lists
	maxExamples = 5   // examples that the text lists
)

// text writes the public text. Only lines that say something are written; the
// first one always begins with the kind's label.
func (d *Data) text(reference bool) string {
	var b strings.Builder
	b.Grow(160 + len(d.Message) + len(d.Suggestion))
	b.WriteString(d.Type.Label())
	b.WriteString(": ")
	d.headline(&b)
	if suggestion := paragraph(d.Suggestion); suggestion != "" {
		b.WriteString("\nSuggestion: ")
		b.WriteString(ended(suggestion))
	}
	if len(d.Details) > 0 {
		b.WriteString("\nDetails: ")
		b.WriteString(compact(d.Details))
	}
	d.Retry.text(&b)
	stepsText(&b, d.RecoverySteps)
	if reference && d.ReferenceID != "" {
		b.WriteString("\nReference: ")
		b.WriteString(line(d.ReferenceID, maxText))
	}
	return b.String()
}

// headline writes what failed, without the label.
func (d *Data) headline(b *strings.Builder) {
	message := paragraph(d.Message)
	if message == "" {
		message = Generic(d.Type).data.Message
	}
	b.WriteString(ended(message))
	if len(d.SimilarMatches) > 0 {
		b.WriteString(" Did you mean ")
		b.WriteString(quotedList(d.SimilarMatches))
		b.WriteByte('?')
	}
	if permission := strings.TrimSpace(line(d.RequiredPermission, maxText)); permission != "" {
		b.WriteString(" Required permission: ")
		b.WriteString(ended(permission))
	}
}

func (r *Retry) text(b *strings.Builder) {
	if r == nil {
		return
	}
	switch {
	case r.ShouldRetry:
		b.WriteString("\nRetry: yes")
		if r.RetryAfterSeconds > 0 {
			b.WriteString(", after ")
			b.WriteString(seconds(r.RetryAfterSeconds))
		}
		switch {
		case r.NextAttempt > 0 && r.MaxAttempts > 0:
			fmt.Fprintf(b, " (attempt %d of %d)", r.NextAttempt, r.MaxAttempts)
		case r.NextAttempt > 0:
			fmt.Fprintf(b, " (attempt %d)", r.NextAttempt)
		case r.MaxAttempts > 0:
			fmt.Fprintf(b, " (%d attempts at most)", r.MaxAttempts)
		}
		b.WriteByte('.')
	default:
		b.WriteString("\nRetry: no.")
	}
	if reason := flat(r.Reason); reason != "" {
		b.WriteByte(' ')
		b.WriteString(ended(capital(reason)))
	}
	switch r.Effect {
	case EffectNone:
		b.WriteString(" Nothing was changed by this call.")
	case EffectUnknown:
		b.WriteString(" It is not known whether this call took effect: check before you repeat it.")
	case EffectCommitted:
		b.WriteString(" This call took effect: do not repeat it.")
	}
}

// StepsText returns the lines that list steps in a text for a model, beginning
// with "Next: 1. ", without a line break before or after, and "" for no steps.
func StepsText(steps []Step) string {
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
	action := flat(s.Action)
	if action == "" {
		action = "Continue"
	}
	if s.Tool == "" && len(s.Options) == 0 {
		b.WriteString(ended(action))
	} else {
		b.WriteString(strings.TrimRight(action, ".:"))
		s.call(b)
		b.WriteByte('.')
	}
	if description := flat(s.Description); description != "" {
		b.WriteByte(' ')
		b.WriteString(ended(description))
	}
}

// call writes the call that a step is, and what there is to choose from.
func (s *Step) call(b *strings.Builder) {
	if s.Tool != "" {
		b.WriteString(": call ")
		b.WriteString(line(s.Tool, 2*maxName))
		b.WriteByte(' ')
		if len(s.Parameters) == 0 {
			b.WriteString("{}")
		} else {
			b.WriteString(compact(s.Parameters))
		}
	}
	for i, option := range s.Options {
		if i == 0 {
			b.WriteString(" (options: ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(flat(option))
	}
	if len(s.Options) > 0 {
		b.WriteByte(')')
	}
}

// ended returns text with a full stop where it has no end yet.
func ended(text string) string {
	if r, _ := utf8.DecodeLastRuneInString(text); strings.ContainsRune(".!?:。！？…", r) {
		return text
	}
	return text + "."
}

func capital(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	if upper := unicode.ToUpper(r); upper != r {
		return string(upper) + text[n:]
	}
	return text
}

// paragraph makes a text fit to be shown: of what controls a terminal only line
// breaks and tabs are left.
func paragraph(text string) string {
	if !printable(text, "\n\t") {
		text = strings.Map(func(r rune) rune {
			if r == '\n' || r == '\t' {
				return r
			}
			return shownRune(r)
		}, strings.ReplaceAll(text, "\r\n", "\n"))
	}
	return strings.TrimSpace(text)
}

// flat makes a text fit into one line.
func flat(text string) string { return strings.TrimSpace(line(text, len(text))) }

// line makes a stranger's text fit into one line of at most limit runes.
func line(text string, limit int) string {
	if len(text) <= limit && printable(text, "") {
		return text
	}
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n == limit {
			b.WriteString("...")
			break
		}
		n++
		b.WriteRune(shownRune(r))
	}
	return b.String()
}

// printable reports whether text is ASCII without control characters other than
// those that are allowed.
func printable(text, allowed string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c >= 0x7f) && strings.IndexByte(allowed, c) < 0 {
			return false
		}
	}
	return true
}

// shownRune returns a space for a character that breaks a line, controls a
// terminal or makes text read in another order than it is written.
func shownRune(r rune) rune {
	switch {
	case unicode.IsControl(r), r == 0x2028, r == 0x2029, 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
		return ' '
	default:
		return r
	}
}

func quoted(text string) string { return "'" + line(text, maxName) + "'" }

// quotedList writes 'a', 'b' or 'c'.
func quotedList(texts []string) string {
	texts = texts[:min(len(texts), maxExamples)]
	var b strings.Builder
	for i, t := range texts {
		switch {
		case i == 0:
		case i == len(texts)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(quoted(t))
	}
	return b.String()
}

// duration writes a time span as people do: 250 ms, 1.5 s, 30 s, 5 min, 2 h 30 min.
func duration(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 s"
	case d < time.Millisecond:
		return "1 ms"
	}
	d = d.Round(precision(d))
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 2*time.Minute:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
	case d < time.Hour:
		return units(d, time.Minute, "min", time.Second, "s")
	default:
		return units(d, time.Hour, "h", time.Minute, "min")
	}
}

// precision is the smallest span that duration tells apart in a span like d.
func precision(d time.Duration) time.Duration {
	switch {
	case d < time.Second:
		return time.Millisecond
	case d < 2*time.Minute:
		return 100 * time.Millisecond
	case d < time.Hour:
		return time.Second
	default:
		return time.Minute
	}
}

func units(d, unit time.Duration, name string, smaller time.Duration, smallerName string) string {
	text := strconv.FormatInt(int64(d/unit), 10) + " " + name
	if m := d % unit / smaller; m > 0 {
		text += " " + strconv.FormatInt(int64(m), 10) + " " + smallerName
	}
	return text
}

// seconds writes a wait. It rounds up, so that nobody is told to come back too
// early, and survives what a foreign server may send.
func seconds(s float64) string {
	const century = 100 * 365 * 24 * 3600
	d := max(1, time.Duration(min(s, century)*float64(time.Second)))
	p := precision(d)
	return duration((d + p - 1).Truncate(p))
}
