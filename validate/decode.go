package validate

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/failure"
)

// undecodable makes a fault of the error with which the SDK says that arguments that pass the tool's
// schema do not fit into the type of its handler: a time.Time of which the schema says "string", or a
// number that is too large. The SDK gives it as it gives a handler's own error. It is believed only if
// it comes bare, names a field of the arguments, and has the value that stands there.
func (v *validator) undecodable(f *failure.Failure, args []byte, schema func() *explain.Schema) *fault.Error {
	e, ok := f.Err().(*json.UnmarshalTypeError)
	if !ok || e == nil || f.Result() == nil || !f.Explainable() {
		return nil
	}
	return guarded(func() *fault.Error {
		c := v.checks(args, schema())
		at, known := c.resolve(split(e.Field))
		if !known || !isAbout(e, explain.ValueAt(c.args, at)) {
			return nil
		}
		return faultOf(&explain.Report{Violations: []fault.Violation{c.violation(at, "type", typeWords(e.Type))}}, "")
	})
}

// isAbout reports whether the SDK's decoding error e is about value. e.Value is a piece of the text of
// the arguments that begins with the value. Mostly it is quoted, and "..." stands where it was cut.
func isAbout(e *json.UnmarshalTypeError, value any) bool {
	text, err := strconv.Unquote(e.Value)
	if number, ok := value.(json.Number); ok && (err != nil || e.Type != reflect.TypeFor[time.Time]()) {
		return isAboutNumber(e, number)
	}
	if err != nil || value == nil || e.Type != reflect.TypeFor[time.Time]() {
		return false
	}
	var begins any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&begins) == nil {
		return reflect.DeepEqual(begins, value)
	}
	cut, isCut := strings.CutSuffix(text, "...")
	whole, isText := value.(string)
	if !isCut || !isText {
		return false
	}
	escaped, _ := json.Marshal(whole) //nolint:errchkjson // every text is JSON
	var plain strings.Builder
	w := json.NewEncoder(&plain)
	w.SetEscapeHTML(false)
	_ = w.Encode(whole) //nolint:errchkjson // as above
	return strings.HasPrefix(string(escaped), cut) || strings.HasPrefix(plain.String(), cut)
}

// isAboutNumber reports whether e says that this number does not fit into its Go type. The SDK reads a
// number as a float64 and writes it anew, so the values are compared and not the texts.
func isAboutNumber(e *json.UnmarshalTypeError, number json.Number) bool {
	text, refused := strings.CutPrefix(e.Value, "number ")
	if refused {
		refused = strings.HasSuffix(text, " overflows")
	} else if quoted, err := strconv.Unquote(e.Value); err == nil && e.Type != nil { // written with an exponent
		text, refused = quoted, reflect.Int <= e.Type.Kind() && e.Type.Kind() <= reflect.Float64
	}
	if !refused {
		return false
	}
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("+-.eE0123456789", r) })
	if end >= 0 {
		text = text[:end]
	}
	sent, err := number.Float64()
	reported, err2 := strconv.ParseFloat(text, 64)
	return err == nil && err2 == nil && sent == reported
}
