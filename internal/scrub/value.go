package scrub

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/safe"
)

// The bounds of a value on its way to the wire.
const (
	maxDepth = 100
	maxNodes = 10_000
	MaxBytes = 256 << 10 // of its JSON
)

// What stands in the place of what cannot leave.
const (
	Unshown    = "(an error, which is not shown)"             // nobody made its fields for a caller
	Unwritable = "(a value that cannot be written as JSON)"   // a channel, NaN, a method that panicked
	LeftOut    = "(left out: the value is too large or deep)" // past a bound
)

// A Cleaner makes values fit to leave the process: details, parameters, structured content, the data of a protocol error,
// attributes of a log. It may be used concurrently if its functions may.
type Cleaner struct {
	// Text is applied to every text and every key. Nil leaves them as they are.
	Text func(string) string
	// Public returns what may be known of an error that stands in a value. Nil, and a nil result, mean [Unshown], after
	// the error's own PublicMessage.
	Public func(error) any
	// Typed makes a number 0 that is hidden for its name, as [WholeJSON] does, so that every value keeps its type.
	// Otherwise it is [Redacted].
	Typed bool
	// Copy makes Value return plain JSON types that share nothing with its argument, also where nothing changes.
	Copy bool
}

// Value returns v as it may leave. A text or a number under the name of a secret is [Redacted], see [under]. Lists and
// objects keep their shape, errors are their public text, and bytes that hold a secret are hidden. Depth, number and size
// are bounded. It returns v itself when nothing needs to change. Otherwise it returns a copy of maps, lists, texts,
// booleans and numbers, as encoding/json would write v. It never panics.
func (c Cleaner) Value(v any) any { return c.under(under{}, v) }

// Member is Value for a value with a name, which may be that of a secret.
func (c Cleaner) Member(name string, v any) any {
	return c.under(under{}.in(name, SecretName(name) && !declaresValue(v)), v)
}

func (c Cleaner) under(u under, v any) any {
	w := walk{Cleaner: c, at: u}
	out := w.guarded(v)
	if !w.changed && !c.Copy {
		return v
	}
	return out
}

// JSON is Value for a text that holds one JSON value: what a client decodes is cleaned, as by [WholeJSON], and raw itself
// returned when nothing changes. What is not JSON becomes a string, and what is too large is left out.
func (c Cleaner) JSON(raw []byte) []byte {
	switch {
	case len(raw) > MaxBytes:
		return quote(LeftOut)
	case !json.Valid(raw):
		return quote(c.text(string(raw)))
	}
	return CleanJSON(raw, c.text)
}

// text returns a text as it may leave.
func (c Cleaner) text(s string) string {
	if c.Text != nil {
		s = c.Text(s)
	}
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return s
}

type walk struct {
	Cleaner
	nodes, size, depth int
	changed            bool
	at                 under // where the value stands that is looked at
}

func (w *walk) guarded(v any) (out any) {
	defer func() {
		if recover() != nil {
			w.changed = true
			out = Unwritable
		}
	}()
	return w.value(v)
}

func (w *walk) instead(with any) any {
	w.changed = true
	return with
}

func (w *walk) value(v any) any {
	if w.nodes++; w.nodes > maxNodes || w.depth > maxDepth || w.size > MaxBytes {
		return w.instead(LeftOut)
	}
	w.depth++
	defer func() { w.depth-- }()
	switch v := v.(type) {
	case nil, bool:
		return v
	case int, int64, int32, uint64, uint32:
		return w.number(v)
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return w.number(v)
		}
	case string:
		return w.leaf(w.text(v))
	case json.Number:
		if json.Valid([]byte(v)) {
			return w.number(v)
		}
	case error:
		return w.err(v)
	case map[string]any: // reflection would allocate for each member
		if v != nil {
			return w.object(maps.All(v))
		}
	}
	rv := reflect.ValueOf(v)
	switch kind := rv.Kind(); {
	case (kind == reflect.Pointer || kind == reflect.Map || kind == reflect.Slice) && rv.IsNil():
		return nil
	case writesItself(rv):
		return w.written(v)
	case kind == reflect.Pointer:
		return w.value(rv.Elem().Interface())
	case kind == reflect.Map && rv.Type().Key().Kind() == reflect.String:
		return w.object(func(yield func(string, any) bool) {
			for name, member := range rv.Seq2() {
				if !yield(name.String(), member.Interface()) {
					return
				}
			}
		})
	case kind == reflect.Slice && rv.Type().Elem().Kind() != reflect.Uint8 || kind == reflect.Array:
		out := make([]any, 0, min(rv.Len(), maxNodes))
		for i := 0; i < rv.Len() && !w.full(); i++ {
			out = append(out, w.value(rv.Index(i).Interface()))
		}
		return out
	default:
		left := MaxBytes
		switch err := errorIn(rv, maxDepth, &left); {
		case left < 0:
			return w.tooLarge()
		case err != nil:
			return w.err(err)
		}
		return w.written(v)
	}
}

func (w *walk) object(members iter.Seq2[string, any]) any {
	out, of := make(map[string]any), ""
	for name, member := range members {
		if text, ok := member.(string); ok && of == "" {
			of = namedBy(name, text)
		}
		if w.member(out, name, member); w.full() {
			break
		}
	}
	for name, member := range out {
		if text, ok := member.(string); ok && of != "" && valueOf(name, text) {
			out[name] = w.instead(redacted)
		}
	}
	return out
}

// written is value for what encoding/json writes of v.
func (w *walk) written(v any) any {
	raw, err := safe.JSON(v)
	if len(raw) > MaxBytes {
		return w.tooLarge()
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var plain any
	if err != nil || dec.Decode(&plain) != nil {
		return w.instead(Unwritable)
	}
	return w.value(plain)
}

var errorType, marshaler, textMarshaler = reflect.TypeFor[error](), reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()

func writesItself(rv reflect.Value) bool {
	return rv.Type().Implements(marshaler) || rv.Type().Implements(textMarshaler)
}

// errorIn returns an error that stands in what encoding/json writes of a value, whose fields would be written. It takes
// from left what it looks at, and makes it negative if that, or how deep it is, is more than may leave.
func errorIn(rv reflect.Value, depth int, left *int) (found error) {
	if *left--; *left < 0 || depth < 0 {
		*left = -1
		return nil
	}
	each := func(v reflect.Value) {
		if found == nil {
			found = errorIn(v, depth-1, left)
		}
	}
	switch kind := rv.Kind(); {
	case kind == reflect.Invalid:
	case rv.CanInterface() && reflect.PointerTo(rv.Type()).Implements(errorType) && kind != reflect.Interface: // also a url.Error, whose pointer is the error
		if !rv.Type().Implements(errorType) {
			p := reflect.New(rv.Type())
			p.Elem().Set(rv)
			rv = p
		}
		found, _ = reflect.TypeAssert[error](rv)
	case writesItself(rv):
	case kind == reflect.Pointer || kind == reflect.Interface:
		each(rv.Elem())
	case kind == reflect.Struct:
		for i := range rv.NumField() {
			if f := rv.Type().Field(i); (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" {
				each(rv.Field(i))
			}
		}
	case kind == reflect.String, kind == reflect.Slice && rv.Type().Elem().Kind() == reflect.Uint8:
		*left -= rv.Len()
	case kind == reflect.Slice || kind == reflect.Array:
		for i := 0; i < rv.Len() && *left >= 0; i++ {
			each(rv.Index(i))
		}
	case kind == reflect.Map:
		for it := rv.MapRange(); *left >= 0 && it.Next(); {
			each(it.Value())
		}
	}
	return found
}

// tooLarge leaves a value out that had to be looked at to see it. A list of thousands of them would take minutes.
func (w *walk) tooLarge() any {
	const most = 8
	w.size += MaxBytes / most
	return w.instead(LeftOut)
}

// full reports that nothing more is taken, and that something was left out.
func (w *walk) full() bool {
	full := w.nodes > maxNodes || w.size > MaxBytes
	w.changed = w.changed || full
	return full
}

// member sets a member of an object. The name says what may be known of the value.
func (w *walk) member(out map[string]any, name string, v any) {
	at := w.at
	w.nodes++
	w.at = at.in(name, SecretName(name) && !declaresValue(v))
	v = w.value(v)
	w.at = at
	clean := w.text(name)
	if at.hidesName(name) {
		clean, w.changed = redacted, true
	}
	for first, n := clean, 2; ; n++ {
		if _, taken := out[clean]; !taken || clean == name {
			break
		}
		clean = fmt.Sprintf("%s (%d)", first, n)
	}
	out[clean] = v
}

// namedBy returns the text of a member that names another one, if it is the name of a secret:
// {"name": "DB_PASSWORD", "value": "..."}.
func namedBy(name, text string) string {
	switch strings.ToLower(name[:min(len(name), 8)]) {
	case "name", "key", "field", "header", "variable":
		if len(text) <= 128 && SecretName(text) {
			return text
		}
	}
	return ""
}

// valueOf reports whether a member is the value of the one that [namedBy] found.
func valueOf(name, text string) bool {
	return strings.EqualFold(name, "value") && text != redacted && text != "" && !harmless(text, false)
}

// declaresValue reports whether a value is the schema of one.
func declaresValue(v any) bool {
	object, ok := v.(map[string]any)
	return ok && declares(object)
}

// leaf returns the text, or a placeholder if its member is secret.
func (w *walk) leaf(text string) any {
	if text != redacted && w.at.hidesText(text) {
		return w.instead(redacted)
	}
	return text
}

// number is leaf for a number.
func (w *walk) number(v any) any {
	switch {
	case !w.at.hidesNumber(written(v)):
		return v
	case w.Typed:
		return w.instead(0)
	default:
		return w.instead(redacted)
	}
}

// written returns a number as JSON has it: 4821930, not 4.82193e+06.
func written(number any) string {
	if f, ok := number.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(number)
}

// SecretMember reports whether an attribute of a log is hidden whole for its name. A boolean, a count of tokens and the
// schema of a secret are not secret themselves.
func SecretMember(name string, v any) bool {
	if v == nil || !SecretName(name) || declaresValue(v) {
		return false
	}
	rv := reflect.ValueOf(v)
	switch _, number := v.(json.Number); {
	case number || rv.CanInt() || rv.CanUint() || rv.CanFloat():
		return secretNumber(name, fmt.Sprint(v))
	case rv.Kind() == reflect.String || rv.Kind() == reflect.Slice || rv.Kind() == reflect.Map:
		return rv.Len() > 0
	case rv.Kind() == reflect.Struct || rv.Kind() == reflect.Array:
		return true
	default:
		return rv.Kind() != reflect.Bool && !rv.IsZero()
	}
}

// secretNumber reports whether a number is hidden for the name of a secret. 0 is not, and 512 tokens are not.
func secretNumber(name, number string) bool {
	return strings.ContainsAny(number, "123456789") && !numbered(name, number)
}

// text returns a text as it may leave, also if it is the base64 of one: that is how bytes are written.
func (w *walk) text(s string) string {
	w.size += len(s)
	clean, hide := w.Cleaner.text(s), w.Text
	if hide == nil {
		hide = Credentials
	}
	if raw := fromBase64(s); hide(raw) != raw { // also if base64 was cut, whose beginning is left
		clean = redacted
	}
	w.changed = w.changed || clean != s
	return clean
}

// err returns what may be known of an error.
func (w *walk) err(err error) any {
	w.changed = true
	if rv := reflect.ValueOf(err); rv.Kind() == reflect.Pointer && rv.IsNil() {
		return nil
	}
	if w.Public != nil {
		if v := w.Public(err); v != nil {
			if _, again := v.(error); !again {
				return w.value(v)
			}
		}
	}
	if p, ok := err.(interface{ PublicMessage() string }); ok {
		if text := safe.Text(p.PublicMessage); text != "" {
			return w.leaf(w.text(text))
		}
	}
	return w.leaf(Unshown)
}
