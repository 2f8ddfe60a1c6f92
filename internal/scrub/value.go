package scrub

import (
	"bytes"
	"encoding"
	"encoding/base64"
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
	maxBytes = 256 << 10
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
	// Copy makes Value return plain JSON types that share nothing with its argument, also where nothing changes.
	Copy bool
}

// Value returns v as it may leave: a text under a name that says secret is [Redacted], and so is everything else under
// it but null, true and false; errors are their public text; bytes that hold a secret are hidden before they become
// base64; depth, number and size are bounded. It returns v itself when nothing needs to change, and else a copy of maps,
// lists, texts, booleans and numbers, as encoding/json would write v. It never panics.
func (c Cleaner) Value(v any) any {
	w := walk{Cleaner: c}
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
	case len(raw) > maxBytes:
		return quote(LeftOut)
	case !json.Valid(raw):
		return quote(c.text(string(raw)))
	}
	r := rewriting{s: string(raw), clean: c.text}
	return r.rewritten(raw)
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
	if w.nodes++; w.nodes > maxNodes || w.depth > maxDepth || w.size > maxBytes {
		return w.instead(LeftOut)
	}
	w.depth++
	defer func() { w.depth-- }()
	switch v := v.(type) {
	case nil, bool, int, int64, int32, uint64, uint32:
		return v
	case string:
		return w.text(v)
	case json.Number:
		if v == "" {
			return w.instead(0.0) // as encoding/json has it
		}
		if !json.Valid([]byte(v)) {
			return w.instead(Unwritable)
		}
		return v
	case json.RawMessage:
		if v == nil {
			return nil
		}
		return w.raw(v)
	case map[string]any:
		if v == nil {
			return nil
		}
		return w.object(maps.All(v))
	case error:
		return w.err(v)
	default:
		return w.reflected(reflect.ValueOf(v))
	}
}

func (w *walk) object(members iter.Seq2[string, any]) any {
	out := make(map[string]any)
	for name, v := range members {
		if w.member(out, name, v); w.full() {
			break
		}
	}
	return out
}

// full reports that nothing more is taken, and that something was left out.
func (w *walk) full() bool {
	full := w.nodes > maxNodes || w.size > maxBytes
	w.changed = w.changed || full
	return full
}

// member sets a member of an object. The name says what may be known of the value.
func (w *walk) member(out map[string]any, name string, v any) {
	if w.nodes++; SecretMember(name, v) {
		if v != any(redacted) {
			w.changed = true
		}
		v = redacted
	} else {
		v = w.value(v)
	}
	clean := w.text(name)
	for n := 2; ; n++ {
		if _, taken := out[clean]; !taken || clean == name {
			break
		}
		clean = fmt.Sprintf("%s (%d)", w.text(name), n)
	}
	out[clean] = v
}

// SecretMember reports whether a member is hidden for its name. A yes or no is not the secret itself, nor is a count of
// tokens, nor what declares a member of that name in a schema.
func SecretMember(name string, v any) bool {
	if v == nil || !SecretName(name) {
		return false
	}
	if object, ok := v.(map[string]any); ok {
		if _, referred := object["$ref"].(string); referred || schemaType(object["type"]) {
			return false
		}
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Bool:
		return false
	case reflect.Struct, reflect.Array:
		return true
	case reflect.String:
		return rv.Len() > 0
	default:
		return !rv.IsZero() && !numbered(name, fmt.Sprint(v))
	}
}

func (w *walk) text(s string) string {
	w.size += len(s)
	clean := w.Cleaner.text(s)
	w.changed = w.changed || clean != s
	return clean
}

func (w *walk) raw(raw []byte) any {
	if len(raw) > maxBytes {
		return w.instead(LeftOut)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return w.instead(Unwritable)
	}
	return w.value(v)
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
			return w.text(text)
		}
	}
	return Unshown
}

var (
	errorType    = reflect.TypeFor[error]()
	marshaler    = reflect.TypeFor[json.Marshaler]()
	textMarshals = reflect.TypeFor[encoding.TextMarshaler]()
)

// reflected is value for types of the program.
func (w *walk) reflected(rv reflect.Value) any {
	t := rv.Type()
	if (t.Kind() == reflect.Pointer || t.Kind() == reflect.Map || t.Kind() == reflect.Slice) && rv.IsNil() {
		return nil
	}
	if t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(errorType) { // a url.Error, whose pointer is the error
		p := reflect.New(t)
		p.Elem().Set(rv)
		if err, ok := reflect.TypeAssert[error](p); ok {
			return w.err(err)
		}
	}
	if t.Implements(marshaler) || t.Implements(textMarshals) || rv.CanAddr() && reflect.PointerTo(t).Implements(marshaler) {
		raw, err := safe.JSON(rv.Interface())
		if err != nil {
			return w.instead(Unwritable)
		}
		return w.raw(raw)
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return w.value(rv.Elem().Interface())
	case t.Kind() == reflect.Bool:
		return rv.Bool()
	case t.Kind() == reflect.String:
		return w.text(rv.String())
	case rv.CanInt():
		return rv.Int()
	case rv.CanUint():
		return rv.Uint()
	case rv.CanFloat():
		f, err := strconv.ParseFloat(strconv.FormatFloat(rv.Float(), 'g', -1, t.Bits()), 64) // a float32 has its own digits
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return w.instead(Unwritable)
		}
		return f
	case t.Kind() == reflect.Struct:
		out := make(map[string]any)
		w.fields(out, rv)
		return out
	case t.Kind() == reflect.Map:
		return w.object(func(yield func(string, any) bool) {
			for k, v := range rv.Seq2() {
				if !yield(key(k), v.Interface()) {
					return
				}
			}
		})
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return w.binary(rv.Bytes())
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		out := make([]any, 0, min(rv.Len(), maxNodes))
		for i := 0; i < rv.Len() && !w.full(); i++ {
			out = append(out, w.value(rv.Index(i).Interface()))
		}
		return out
	default:
		return w.instead(Unwritable)
	}
}

// key writes the key of a map as encoding/json does.
func key(k reflect.Value) string {
	if k.Kind() == reflect.String {
		return k.String()
	}
	if m, ok := reflect.TypeAssert[encoding.TextMarshaler](k); ok {
		if text, err := m.MarshalText(); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(k.Interface())
}

// binary looks into bytes before they become base64, which nobody else can.
func (w *walk) binary(b []byte) any {
	if w.size += len(b); w.size > maxBytes {
		return w.instead(LeftOut)
	}
	clean := w.Text
	if clean == nil {
		clean = Credentials
	}
	if clean(string(b)) != string(b) {
		return w.instead(redacted)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// fields sets the members that encoding/json would write of a struct.
func (w *walk) fields(out map[string]any, rv reflect.Value) {
	t := rv.Type()
	for i := 0; i < t.NumField() && !w.full(); i++ {
		f, v := t.Field(i), rv.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			if v.Kind() == reflect.Pointer && !v.IsNil() && f.IsExported() {
				v = v.Elem()
			}
			if v.Kind() == reflect.Struct && !v.Type().Implements(errorType) && !reflect.PointerTo(v.Type()).Implements(errorType) {
				w.fields(out, v)
				continue
			}
		}
		if !f.IsExported() || f.Tag.Get("json") == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if strings.Contains(options, "omitempty") && empty(v) || strings.Contains(options, "omitzero") && v.IsZero() {
			continue
		}
		if v.Kind() == reflect.Interface && v.IsNil() {
			out[name] = nil
			continue
		}
		if _, taken := out[name]; !taken || !f.Anonymous {
			delete(out, name)
			w.member(out, name, v.Interface())
		}
	}
}

func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}
