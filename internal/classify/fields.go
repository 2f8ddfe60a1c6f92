package classify

import (
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
)

// The names of fields that follow a convention, in lower case and without underscores. Of an answer and a
// header the types count.
var (
	responseNames = []string{"*http.Response"}
	headerNames   = []string{"http.Header"}
	// Fields that hold an HTTP status, if their value is a number from 400 to 599, the most
	// reliable first.
	statusNames = []string{"statuscode", "httpstatuscode", "httpstatus", "httpcode", "status", "code"}
	wordNames   = []string{"status", "code", "errorcode", "type", "err"} // a code that is a word
	waitNames   = []string{                                              // a wait; the last of them are when a limit ends
		"retryafter", "retryafterseconds", "retryaftersecs", "retryaftersec", "reset", "resetat", "resettime", "ratelimitreset",
	}
	stateNames  = []string{"sqlstate"}
	reasonNames = []string{"errors"} // a list of structures with a Reason, as Google has it

	fieldNames = slices.Concat(statusNames, wordNames, waitNames, stateNames, reasonNames)

	// Fields that hold a structure with more such fields.
	holderNames = []string{
		"response", "rawresponse", "httpresponse", "responseerror", "errorresponse",
		"rate", "ratelimit", "responseparameters", "parameters", "details",
	}
)

// fields are the positions of the fields of a type that follow a convention.
type fields struct {
	named   map[string][][]int
	limited bool // the type's name says that a limit was reached
}

// maxDepth bounds how deep nested structures are searched.
const maxDepth = 3

func byFields(t reflect.Type) reader {
	if f := fieldsOf(t); f != nil {
		return f.read
	}
	return nil
}

func fieldsOf(t reflect.Type) *fields {
	if t = named(t); t.Kind() != reflect.Struct || t.PkgPath() == "net/textproto" { // textproto has the codes of mail
		return nil
	}
	f := &fields{named: map[string][][]int{}}
	f.limited = slices.ContainsFunc([]string{"RateLimit", "TooManyRequests", "Throttl"}, func(word string) bool {
		return strings.Contains(t.Name(), word)
	})
	f.scan(t, nil)
	if !f.limited && len(f.named) == 0 {
		return nil
	}
	return f
}

func usual(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

func (f *fields) scan(t reflect.Type, at []int) {
	for i := range t.NumField() {
		field := t.Field(i)
		target := named(field.Type)
		if !field.IsExported() && !(field.Anonymous && field.Type.Kind() == reflect.Struct) {
			continue
		}
		index := append(slices.Clone(at), i)
		name := usual(field.Name)
		switch {
		case field.Type == reflect.TypeFor[*http.Response](), field.Type == reflect.TypeFor[http.Header]():
			typ := field.Type.String()
			f.named[typ] = append(f.named[typ], index)
		case target.Kind() == reflect.Struct && target != reflect.TypeFor[time.Time]() && (field.Anonymous || slices.Contains(holderNames, name)):
			if len(at) < maxDepth {
				f.scan(target, index)
			}
		case name == "code" && target.Kind() != reflect.String && target.PkgPath() != "": // no HTTP status
		case slices.Contains(fieldNames, name):
			f.named[name] = append(f.named[name], index)
		}
	}
}

func (f *fields) read(err error) clue {
	c := f.of(reflect.ValueOf(err))
	if c.status == 0 && (c.kind == fault.KindClientError || c.kind == fault.KindServerError) {
		// Prometheus has one word for all of 4xx and another for 5xx. The text has the status.
		if said := ofWholeText(err.Error()); said.status != 0 {
			return said
		}
	}
	return c
}

func (f *fields) of(v reflect.Value) clue {
	if v = reflect.Indirect(v); !v.IsValid() {
		return clue{}
	}
	status, header := f.answer(v)
	wait := f.wait(v)
	switch {
	case IsFailure(status):
		c := ofResponse(status, header, f.limited || f.overQuota(v), wait)
		if status == http.StatusBadRequest {
			c.retry, c.reason = fault.RetryUnknown, nil // see withStatus
		}
		return c
	case f.limited:
		c := limited
		c.after = wait
		return c
	case wait > 0:
		return ofWait(wait)
	}
	for state := range f.all(v, stateNames) {
		if c := ofSQLState(stateOf(state)); c != (clue{}) {
			return c
		}
	}
	for word := range f.all(v, wordNames) {
		if word.Kind() != reflect.String {
			continue
		}
		if c := ofWord(word.String()); c != (clue{}) {
			return c
		}
	}
	return clue{}
}

// all yields the fields with one of the names, with pointers dereferenced.
func (f *fields) all(v reflect.Value, names []string) iter.Seq[reflect.Value] {
	return func(yield func(reflect.Value) bool) {
		for _, name := range names {
			for _, index := range f.named[name] {
				found, err := v.FieldByIndexErr(index) // fails below a nil pointer
				if found = reflect.Indirect(found); err == nil && found.IsValid() && !yield(found) {
					return
				}
			}
		}
	}
}

func (f *fields) answer(v reflect.Value) (status int, header http.Header) {
	if resp := f.response(v); resp != nil && IsFailure(resp.StatusCode) { //nolint:bodyclose // its owner closes it
		return resp.StatusCode, resp.Header
	}
	for field := range f.all(v, headerNames) {
		if len(header) == 0 {
			header, _ = reflect.TypeAssert[http.Header](field)
		}
	}
	for field := range f.all(v, statusNames) {
		if status := int(numberOf(field)); IsFailure(status) {
			return status, header
		}
	}
	return 0, header
}

func (f *fields) response(v reflect.Value) *http.Response {
	for field := range f.all(v, responseNames) {
		resp, _ := reflect.TypeAssert[*http.Response](field.Addr()) //nolint:bodyclose // its owner closes it
		return resp
	}
	return nil
}

// numberOf returns a number; of a text it reads the first three digits.
func numberOf(v reflect.Value) float64 {
	switch {
	case !v.IsValid():
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	case v.CanFloat():
		return v.Float()
	case v.Kind() == reflect.String:
		if text, _, _ := strings.Cut(v.String(), " "); len(text) == 3 {
			n, _ := strconv.Atoi(text)
			return float64(n)
		}
	}
	return 0
}

// wait returns the first wait that has not passed.
func (f *fields) wait(v reflect.Value) time.Duration {
	for field := range f.all(v, waitNames) {
		if d := durationOf(field, time.Now()); d > 0 {
			return d
		}
	}
	return 0
}

// durationOf reads a duration, a number of seconds, a point in time, or a structure around
// one of these. It returns zero for a wait that has passed, and for anything else.
func durationOf(v reflect.Value, now time.Time) time.Duration {
	if d, ok := reflect.TypeAssert[time.Duration](v); ok {
		return Bounded(d)
	}
	inner := v
	if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]() && v.NumField() > 0 {
		inner = v.Field(0)
	}
	if at, ok := reflect.TypeAssert[time.Time](inner); ok && !at.IsZero() {
		return Bounded(at.Sub(now))
	}
	return until(numberOf(v), now)
}

// overQuota reports whether the reasons next to the status name a limit, as Google's do.
func (f *fields) overQuota(v reflect.Value) bool {
	for list := range f.all(v, reasonNames) {
		if list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Struct {
			continue
		}
		for i := range min(list.Len(), maxDetails) {
			reason := list.Index(i).FieldByName("Reason")
			if reason.Kind() != reflect.String {
				break
			}
			if text := strings.ToLower(reason.String()); strings.Contains(text, "ratelimit") || strings.Contains(text, "quota") {
				return true
			}
		}
	}
	return false
}
