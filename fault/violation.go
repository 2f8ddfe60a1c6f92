package fault

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Invalid returns a validation fault for one argument: its name (a path such as
// "items[1].sku" for a nested one), the value that was received, what was
// expected ("an integer", "one of: red, green") and examples of valid values.
//
// The value is shown only if it is a short string, a number or a boolean. It is scrubbed,
// and not kept at all if the field's name looks like that of a secret. The text describes
// any other value by its type. Nil means null, or no value. If all arguments together are
// wrong, the name is "". Examples that are part of expected are not repeated in the text.
// For an enumeration see [OneOf].
func Invalid(field string, received any, expected string, examples ...string) *Error {
	e := Violations(Violation{Field: field, Received: orNull(received), Expected: expected})
	if len(examples) == 0 {
		return e
	}
	e.data.Examples = append([]string(nil), examples...)
	more := slices.DeleteFunc(slices.Clone(examples[:min(len(examples), maxCandidates)]), func(example string) bool { return names(expected, example) })
	if len(more) > 0 {
		e.data.Message += " For example: " + quotedList(more, maxExamples) + "."
	}
	return e
}

// orNull returns a typed nil, which is shown as null, for nil, which a [Violation] does not show.
func orNull(received any) any {
	if received == nil {
		return (*struct{})(nil)
	}
	return received
}

// names reports whether a text contains a value as a separate word.
func names(text, value string) bool {
	for from := 0; value != ""; {
		i := strings.Index(text[from:], value)
		if i < 0 {
			break
		}
		before, _ := utf8.DecodeLastRuneInString(text[:from+i])
		after, _ := utf8.DecodeRuneInString(text[from+i+len(value):])
		if !inWord(before) && !inWord(after) {
			return true
		}
		from += i + len(value)
	}
	return false
}

func inWord(r rune) bool {
	return r == '_' || r == '-' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// OneOf returns a validation fault for an argument that has to be one of some values, in the
// words of an enumeration in a schema:
//
//	Validation Error: Argument 'unit' expected 'celsius' or 'kelvin', but received 'Kelvni'. Did you mean 'kelvin'?
//
// The received value is treated as [Invalid] treats it. The value that was probably meant is named if
// there is one. Pass only values that the caller may know.
func OneOf(field string, received any, values ...string) *Error {
	v := Violation{Field: field, Rule: "enum", Received: orNull(received), Expected: words.Listed(values, quoted, "or")}
	text, ok := received.(string)
	if shown, _ := v.clean(); ok && shown.Received == received {
		if meant := near.Meant(text, values); meant != "" {
			v.Suggestion = "Did you mean " + quoted(meant) + "?"
		}
	}
	e := Violations(v)
	if v.Suggestion != "" { // on the line of its sentence
		e.data.Message, e.data.Suggestion = e.data.Message+" "+v.Suggestion, ""
	}
	return e
}

// Violations returns a validation fault for all the given violations, in that order. The machine
// form has every one; the text shows the first ten. With one violation it is the same fault as
// [Invalid] returns; with none it is the [Generic] one. Received values are treated as Invalid
// treats them, except that nil is not shown.
func Violations(violations ...Violation) *Error {
	return firstViolations(len(violations), violations...)
}

// firstViolations is [Violations] for the first of total violations. It only counts the others.
func firstViolations(total int, violations ...Violation) *Error {
	total = max(total, len(violations))
	switch {
	case len(violations) == 0:
		return Generic(KindValidation)
	case total == 1:
		v, sentence := violations[0].clean()
		e := New(KindValidation, sentence)
		e.data.Field, e.data.Received, e.data.Expected = v.Field, v.Received, v.Expected
		e.data.Suggestion = v.Suggestion
		e.data.Violations = []Violation{v}
		return e
	}
	clean := make([]Violation, len(violations))
	items := make([]string, 0, maxListed)
	for i, v := range violations {
		var sentence string
		clean[i], sentence = v.clean()
		if i < maxListed {
			items = append(items, withSuggestion(sentence, v.Suggestion))
		}
	}
	e := New(KindValidation, listing(total, "arguments are wrong", items))
	e.data.Violations = clean
	return e
}

// clean returns v without a received value that must not be shown, and the sentence that describes
// the violation.
func (v Violation) clean() (_ Violation, sentence string) {
	var received string // described in words, "" if it is unknown
	if v.Received != nil {
		secret := scrub.SecretName(v.Field)
		if v.Received, received = shown(v.Received, secret); secret {
			v.Received = nil
		}
	}
	if sentence = words.Free(words.Line(v.Message), true); sentence == "" {
		sentence = v.sentence(received)
	}
	v.Message = ""
	return v, words.Ended(sentence)
}

// shown returns a received value as far as it may be shown, and its description.
func shown(received any, secret bool) (value any, text string) {
	switch received.(type) { // avoids encoding a large value whose text is one word
	case []any, map[string]any:
		if !safe.Nil(received) {
			text, value = scrub.Received(received, secret)
			return value, text
		}
	}
	if isBytes(received) {
		return nil, "binary data"
	}
	if n, ok := received.(json.Number); ok {
		if _, err := n.Float64(); errors.Is(err, strconv.ErrRange) { // JSON has no bound for numbers, but its readers have
			text, _ = scrub.Received(n, secret)
			return nil, words.Line(text)
		}
	}
	p := plain(received)
	if p == scrub.Unwritable || p == scrub.Unshown || p == scrub.LeftOut {
		return nil, "a value that cannot be shown"
	}
	text, value = scrub.Received(p, secret)
	if _, isNumber := p.(float64); isNumber && value != nil {
		value = p
	}
	return value, text
}

// isBytes reports whether JSON would write v in base64, which no scrubber can read.
func isBytes(v any) bool {
	switch v.(type) {
	case nil, json.Marshaler, encoding.TextMarshaler:
		return false
	}
	rv := reflect.Indirect(reflect.ValueOf(v))
	return rv.Kind() == reflect.Slice && rv.Type().Elem().Kind() == reflect.Uint8 && !rv.IsNil()
}

// sentence describes one violation. received is the description of the value from shown.
func (v *Violation) sentence(received string) string {
	subject, expected := "Argument "+quoted(v.Field), words.Line(v.Expected)
	if v.Field == "" {
		subject = words.AllArguments
	}
	if v.Rule == "required" && (received == "" || received == "null") {
		return words.Missing(subject, expected, "")
	}
	return words.Wrong(subject, expected, "", received)
}

func withSuggestion(text, suggestion string) string {
	if suggestion = words.Line(suggestion); suggestion == "" {
		return text
	}
	return text + " " + words.Ended(suggestion)
}

// listing writes a count and one line for each of the first items.
func listing(count int, what string, items []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s.", count, what)
	for _, item := range items {
		b.WriteString(itemStart)
		b.WriteString(item)
	}
	if count > len(items) {
		fmt.Fprintf(&b, "%sand %d more.", itemStart, count-len(items))
	}
	return b.String()
}

// itemStart begins the line of an item in a listing.
const itemStart = "\n- "
