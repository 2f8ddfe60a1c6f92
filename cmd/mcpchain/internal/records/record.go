// Package records reads a log: that of "mcpchain run", or that of a server with the library. It counts what failed.
//
//	var s records.Summary
//	err := records.Read(file, s.Add)
//	s.WriteText(os.Stdout)
package records

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// An Attr is an attribute of a record. The name of one in a group begins with that of the group and a dot.
type Attr struct{ Key, Value string }

// A Record is a line of a log.
type Record struct {
	Time    time.Time
	Level   slog.Level
	Message string
	Attrs   []Attr // all others, in their order
}

// Get returns the first attribute that has one of these names and is not empty.
func (r *Record) Get(keys ...string) string {
	for _, key := range keys {
		for _, a := range r.Attrs {
			if a.Key == key && a.Value != "" {
				return a.Value
			}
		}
	}
	return ""
}

// Call reports whether it is the record of a call, or of a part of one, that has ended.
func (r *Record) Call() bool { return r.Message == "mcp call" || r.Message == "mcp part of a call" }

// Failed reports whether it is the record of a call that has failed.
func (r *Record) Failed() bool {
	outcome := r.Get("outcome")
	return r.Call() && outcome != "ok" && outcome != "input_required"
}

// Observed reports whether it says what would have been sent in the place of what was sent.
func (r *Record) Observed() bool { return r.Get("would_send") != "" }

// Name returns what was called.
func (r *Record) Name() string { return r.Get("tool", "prompt", "resource", "method") }

// Kind returns the kind of a failure, and the outcome of another call. A panic is a kind of its own: callers are told
// that it is an internal error.
func (r *Record) Kind() string {
	if outcome := r.Get("outcome"); outcome == "panic" {
		return outcome
	}
	return r.Get("kind", "outcome")
}

// Reference returns the ID of the call that the record is about.
func (r *Record) Reference() string { return r.Get("reference") }

// Text returns what was wrong: first what was written for the caller.
func (r *Record) Text() string { return r.Get("fault.message", "error", "how", "reason", "tool") }

// Took returns how long the call took, zero if the record does not say it.
func (r *Record) Took() time.Duration {
	ms, err := strconv.ParseFloat(r.Get("duration_ms"), 64)
	if err != nil {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond)).Round(time.Microsecond)
}

// longest is the longest line that is read. A record has two texts of 64 KiB and a stack.
const longest = 16 << 20

// Read calls each with every line: with its record, or with nil if it is not one.
func Read(from io.Reader, each func(*Record)) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, longest)
	n := 0
	for ; lines.Scan(); n++ {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			each(Parse(line))
		}
	}
	if lines.Err() == bufio.ErrTooLong { //nolint:errorlint // as it is documented
		return fmt.Errorf("line %d is longer than 16 MiB: this is not a log", n+1)
	}
	return lines.Err()
}

// Parse reads a line that slog has written, as JSON or as text. In front of it may stand what a supervisor adds, such
// as the name of a container. Parse returns nil for any other line.
func Parse(line []byte) *Record {
	r := &Record{}
	if at := bytes.IndexByte(line, '{'); at >= 0 && r.json(line[at:]) || r.text(string(line)) {
		return r
	}
	return nil
}

func (r *Record) json(line []byte) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	r.Attrs = nil
	return r.value(dec, "") == nil && r.head()
}

// value reads a value, and objects in it as groups.
func (r *Record) value(dec *jsontext.Decoder, key string) error {
	switch dec.PeekKind() {
	case '{':
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return err
			}
			in := name.String()
			if key != "" {
				in = key + "." + in
			}
			if err := r.value(dec, in); err != nil {
				return err
			}
		}
		_, err := dec.ReadToken()
		return err
	case '"':
		text, err := dec.ReadToken()
		if err == nil {
			r.Attrs = append(r.Attrs, Attr{key, text.String()})
		}
		return err
	default:
		raw, err := dec.ReadValue()
		if err == nil {
			r.Attrs = append(r.Attrs, Attr{key, string(raw)})
		}
		return err
	}
}

func (r *Record) text(line string) bool {
	begin := strings.Index(line, "time=")
	if begin < 0 {
		return false
	}
	r.Attrs = nil
	for rest := line[begin:]; rest != ""; rest = strings.TrimPrefix(rest, " ") {
		var a Attr
		var ok bool
		if a.Key, rest, ok = part(rest, "="); !ok || !strings.HasPrefix(rest, "=") {
			return false
		}
		if a.Value, rest, ok = part(rest[1:], " "); !ok {
			return false
		}
		r.Attrs = append(r.Attrs, a)
	}
	return r.head()
}

// part returns a text up to a sign, without its quotation marks if it has some.
func part(text, end string) (found, rest string, ok bool) {
	if strings.HasPrefix(text, `"`) {
		quoted, _ := strconv.QuotedPrefix(text)
		found, err := strconv.Unquote(quoted)
		return found, text[len(quoted):], err == nil
	}
	at := strings.Index(text+end, end)
	return text[:at], text[at:], true
}

// head takes the time, the level and the message out of the attributes. It reports whether all were there.
func (r *Record) head() bool {
	at, err := time.Parse(time.RFC3339Nano, r.Get(slog.TimeKey))
	level := r.Level.UnmarshalText([]byte(r.Get(slog.LevelKey)))
	r.Time, r.Message = at, r.Get(slog.MessageKey)
	if err != nil || level != nil || r.Message == "" {
		return false
	}
	head := map[string]bool{slog.TimeKey: true, slog.LevelKey: true, slog.MessageKey: true}
	kept := r.Attrs[:0]
	for _, a := range r.Attrs {
		if head[a.Key] {
			head[a.Key] = false // an attribute of the program may have the same name
			continue
		}
		kept = append(kept, a)
	}
	r.Attrs = kept
	return true
}
