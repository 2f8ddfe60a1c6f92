package validate

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// violation returns the violation of a rule at a place.
func violation(at path, value any, rule, expected string) fault.Violation {
	return fault.Violation{Field: at.field(), Pointer: at.pointer(), Rule: rule, Expected: expected, Received: value}
}

// typeCheck is for a value that does not fit into a Go type. It is about the
// arguments when they have such a value at this place that does not fit, of which
// the schema does not say that it is what is wanted: the answers of others that a
// handler decodes have the same names often.
func typeCheck(e *json.UnmarshalTypeError) check {
	return func(p *places, marked bool) (fault.Violation, bool) {
		if e.Field == "" || e.Type == nil {
			return fault.Violation{}, false
		}
		var found path
		var received any
		at(p.args, strings.Split(e.Field, "."), nil, func(at path, value any) bool {
			if fitsType(value, e.Type) || !isCalled(value, e.Value) {
				return true
			}
			if !marked && !kindsFit(value, e.Type) && p.declares(at, value) {
				return true
			}
			found, received = append(path(nil), at...), value
			return false
		})
		if found == nil {
			return fault.Violation{}, false
		}
		return violation(found, received, "type", typeWords(e.Type, received)), true
	}
}

// at visits the values under names, of which those of arrays' indexes may be left
// out, as encoding/json does. It reports false when visit did.
func at(v any, names []string, here path, visit func(path, any) bool) bool {
	if list, ok := v.([]any); ok {
		if len(names) > 0 {
			if i, err := strconv.Atoi(names[0]); err == nil {
				return i < 0 || i >= len(list) || at(list[i], names[1:], append(here, i), visit)
			}
		}
		for i, item := range list {
			if !at(item, names, append(here, i), visit) {
				return false
			}
		}
		if len(names) > 0 {
			return true
		}
	}
	if len(names) == 0 {
		return visit(here, v)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return true
	}
	// A name may have dots in it.
	for n := 1; n <= len(names); n++ {
		name, ok := sameName(strings.Join(names[:n], "."), object)
		if ok && !at(object[name], names[n:], append(here, name), visit) {
			return false
		}
	}
	return true
}

// syntaxCheck is for text that is no JSON. It is about the arguments when a string
// in them fails in the same way: their own syntax was checked before. One that does
// not even begin like JSON fails like any other text, such as the error page of
// somebody else's server, and says nothing.
func syntaxCheck(e *json.SyntaxError) check {
	return func(p *places, marked bool) (fault.Violation, bool) {
		want := safe.Error(e)
		var received any
		found := p.find(func(scalar any) bool {
			text, ok := scalar.(string)
			if !ok || !marked && strings.IndexAny(strings.TrimSpace(text), "{[\"") != 0 {
				return false
			}
			var syntax *json.SyntaxError
			var v any
			if !errors.As(json.Unmarshal([]byte(text), &v), &syntax) || syntax.Offset != e.Offset || syntax.Error() != want {
				return false
			}
			received = text
			return true
		})
		if found == nil {
			return fault.Violation{}, false
		}
		v := violation(found, received, "json", "valid JSON")
		v.Suggestion = "It stops being JSON at character " + strconv.FormatInt(max(1, e.Offset), 10) + "."
		return v, true
	}
}

// numberCheck is for text that is no number or boolean, which must stand in the
// arguments as it is.
func numberCheck(e *strconv.NumError) check {
	return func(p *places, marked bool) (fault.Violation, bool) {
		found, received := p.only(e.Num, marked)
		if found == nil {
			return fault.Violation{}, false
		}
		expected := "a number"
		switch {
		case strings.Contains(e.Func, "Int"), e.Func == "Atoi":
			expected = "an integer"
		case e.Func == "ParseUint":
			expected = "an integer, 0 or greater"
		case e.Func == "ParseBool":
			expected = "true or false"
		}
		if errors.Is(e.Err, strconv.ErrRange) {
			return violation(found, received, "range", expected+" that is not that large"), true
		}
		return violation(found, received, "type", expected), true
	}
}

// timeCheck is for text that is no time, which must stand in the arguments as it is.
func timeCheck(e *time.ParseError) check {
	return func(p *places, marked bool) (fault.Violation, bool) {
		found, received := p.only(strings.Trim(e.Value, `"`), marked)
		if found == nil {
			return fault.Violation{}, false
		}
		return violation(found, received, "format", timeWords(strings.Trim(e.Layout, `"`))), true
	}
}

// timeWords shows by an example how a time is written in a layout of package time.
func timeWords(layout string) string {
	if layout == "" {
		return "a date or time"
	}
	return "a date or time such as '" + exampleTime.Format(layout) + "'"
}

// exampleTime has no two parts that are the same, so that it shows which is which.
var exampleTime = time.Date(2026, time.July, 28, 15, 4, 5, 0, time.UTC)

// only returns the only place where a string or number is written like this. An
// empty text is found everywhere, and says nothing unless the error is marked.
func (p *places) only(written string, marked bool) (at path, received any) {
	if written == "" && !marked {
		return nil, nil
	}
	at = p.find(func(scalar any) bool {
		switch v := scalar.(type) {
		case string:
			if v == written {
				received = v
				return true
			}
		case json.Number:
			if v.String() == written {
				received = v
				return true
			}
		}
		return false
	})
	return at, received
}
