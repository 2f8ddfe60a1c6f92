package fault

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Invalid returns a validation fault for one argument: its name (a path such as
// "items[1].sku" for a nested one), the value that was received, what was
// expected ("an integer", "one of: red, green") and examples of valid values.
//
// The value is shown only when it is a string, a number or a boolean and short;
// it is scrubbed, and not kept at all when the field's name looks like a
// secret's. A received value of nil means that there was none.
func Invalid(field string, received any, expected string, examples ...string) *Error {
	e := Violations(Violation{Field: field, Received: received, Expected: expected})
	if len(examples) > 0 {
		e.data.Examples = append([]string(nil), examples...)
		e.data.Message += " For example: " + quotedList(examples, maxExamples) + "."
	}
	return e
}

// Violations returns a validation fault for all the given violations, in that
// order. The machine form has every one; the text shows the first ten. With one
// violation it is the same fault as [Invalid] gives; with none it is the
// [Generic] one. The received values are treated as Invalid treats them.
func Violations(violations ...Violation) *Error {
	return FirstViolations(len(violations), violations...)
}

// FirstViolations is [Violations] for the first of total violations, of which the
// others are only counted.
func FirstViolations(total int, violations ...Violation) *Error {
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

// noValue is what is said to have been received where nothing was.
const noValue = "no value"

// clean returns v without a received value that must not be shown, and the
// sentence that says what is wrong.
func (v Violation) clean() (_ Violation, sentence string) {
	var received string // in words; "" when they would say too much
	v.Received, received = shown(v.Received)
	if received != noValue && scrub.SecretName(v.Field) {
		v.Received, received = nil, ""
	}
	if sentence = words.Free(words.Line(v.Message), true); sentence == "" {
		sentence = v.sentence(received)
	}
	v.Message = ""
	return v, words.Ended(sentence)
}

// shown returns a received value as far as it may be shown, and the words for it.
func shown(received any) (value any, told string) {
	switch v := received.(type) { // not to encode all of a large value for one word
	case []any:
		if v != nil {
			return nil, "a list"
		}
	case map[string]any:
		if v != nil {
			return nil, "an object"
		}
	}
	if isBytes(received) {
		return nil, "binary data"
	}
	if n, ok := received.(json.Number); ok {
		if _, err := n.Float64(); errors.Is(err, strconv.ErrRange) && len(n) <= maxName {
			return nil, words.Line(string(n)) // JSON has no bound, but those who read it have
		}
	}
	switch p := plain(received).(type) {
	case nil:
		return nil, noValue
	case bool, float64, json.Number:
		text, _ := encode(p)
		if len(text) > maxName {
			return nil, "a number of " + strconv.Itoa(len(text)) + " characters"
		}
		return p, text
	case string:
		n := utf8.RuneCountInString(p)
		switch {
		case p == scrub.Unwritable, p == scrub.Unshown, p == scrub.LeftOut:
			return nil, "a value that cannot be shown"
		case n > maxName:
			return nil, "a text of " + strconv.Itoa(n) + " characters"
		}
		p = scrub.Credentials(p) // the caller sent it
		return p, quoted(p)
	case []any:
		return nil, "a list"
	default:
		return nil, "an object"
	}
}

// isBytes reports whether JSON would have v in base64, as a string that no
// scrubber can read.
func isBytes(v any) bool {
	switch v.(type) {
	case nil, json.Marshaler, encoding.TextMarshaler:
		return false
	}
	rv := reflect.Indirect(reflect.ValueOf(v))
	return rv.Kind() == reflect.Slice && rv.Type().Elem().Kind() == reflect.Uint8 && !rv.IsNil()
}

// sentence says of one violation what is wrong. What was received comes in the
// words that clean gave for it.
func (v *Violation) sentence(received string) string {
	missing := v.Rule == "required" && received == noValue
	expected := words.Line(v.Expected)
	text := "Argument " + quoted(v.Field)
	switch {
	case expected == "" && missing:
		return text + " is required."
	case expected == "":
		text += " is not valid"
	case missing:
		return text + " is required: expected " + expected + "."
	default:
		text += " expected " + expected
	}
	if received == "" {
		return text + "; the received value is not shown."
	}
	return text + ", but received " + received + "."
}

func withSuggestion(text, suggestion string) string {
	if suggestion = words.Line(suggestion); suggestion == "" {
		return text
	}
	return text + " " + words.Ended(suggestion)
}

// listing writes a count and one line for each of the first items.
func listing(count int, what string, items []string) string {
	var b words.Builder
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
