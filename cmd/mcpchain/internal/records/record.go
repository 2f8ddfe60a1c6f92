// Package records reads a log: that of "mcpchain run", or that of a server with the library. It counts what failed.
//
//	var s records.Summary
//	err := records.Read(file, s.Add)
//	s.WriteText(os.Stdout)
package records

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// An Attr is an attribute of a record. The name of one in a group begins with that of the group and a dot.
type Attr struct{ Key, Value string }

// A Record is a line of a log. What it does not say is zero.
type Record struct {
	Time    time.Time
	Level   slog.Level
	Message string
	Attrs   []Attr // all others, in their order

	Call      bool   // it says how a call, or a part of one, has ended
	Part      bool   // it is about a part of a call
	Failed    bool   // that has failed
	Observed  bool   // it says what would have been sent in the place of what was sent
	Name      string // what was called
	Kind      string // of a failure, and the outcome of another call
	Reference string
	Text      string // what was wrong: first what was written for the caller
	Took      time.Duration
}

// Get returns the first attribute of the first of these names that has one.
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

// longest is the longest line that can be a record. One has two texts of 64 KiB and a stack.
const longest = 16 << 20

// Read calls each with every line: with its record, or with nil if it is not one. A log that was rotated may be
// compressed with gzip.
func Read(from io.Reader, each func(*Record)) error {
	lines := bufio.NewReaderSize(from, 64<<10)
	magic, err := lines.Peek(2)
	switch {
	case err == io.EOF:
		lines = bufio.NewReader(bytes.NewReader(magic)) // a terminal says only once that it ends
	case string(magic) == "\x1f\x8b":
		plain, err := gzip.NewReader(lines)
		if err != nil {
			return err
		}
		lines = bufio.NewReaderSize(plain, 64<<10)
	}
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		if len(line) <= longest { // of a longer one the rest need not be kept
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		switch record := bytes.TrimSpace(line); {
		case len(line) > longest:
			each(nil)
		case len(record) > 0:
			each(Parse(record))
		}
		line = line[:0]
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// Parse reads a line that slog has written, as JSON or as text. In front of it may stand what a supervisor adds, such
// as the name of a container. Parse returns nil for any other line.
func Parse(line []byte) *Record {
	r := &Record{}
	if at := bytes.Index(line, []byte(`{"`)); at >= 0 && r.json(line[at:]) || r.text(string(line)) {
		return r
	}
	return nil
}

func (r *Record) json(line []byte) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	r.Attrs = nil
	return r.value(dec, "") == nil && r.head()
}

// deepest is how many groups are read in each other. What is deeper stays as it is: the name of a group has those of all
// around it.
const deepest = 32

// value reads a value, and objects as groups.
func (r *Record) value(dec *jsontext.Decoder, key string) error {
	if dec.PeekKind() != '{' || dec.StackDepth() > deepest {
		raw, err := dec.ReadValue()
		text, other := jsontext.AppendUnquote(nil, raw)
		if other != nil { // than a string
			text = raw
		}
		r.Attrs = append(r.Attrs, Attr{strings.TrimPrefix(key, "."), string(text)})
		return err
	}
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() == '"' {
		var name jsontext.Token
		if name, err = dec.ReadToken(); err == nil {
			err = r.value(dec, key+"."+name.String())
		}
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	return err
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
	found, _, _ = strings.Cut(text, end)
	return found, text[len(found):], true
}

// head reads what has a field. It reports whether a time, a level and a message were there.
func (r *Record) head() bool {
	at, err := time.Parse(time.RFC3339Nano, r.Get(slog.TimeKey))
	level := r.Level.UnmarshalText([]byte(r.Get(slog.LevelKey)))
	r.Time, r.Message = at, r.Get(slog.MessageKey)
	if err != nil || level != nil || r.Message == "" {
		return false
	}
	for _, key := range []string{slog.TimeKey, slog.LevelKey, slog.MessageKey} { // an attribute of the program may have the same name
		i := slices.IndexFunc(r.Attrs, func(a Attr) bool { return a.Key == key })
		r.Attrs = slices.Delete(r.Attrs, i, i+1)
	}
	outcome := r.Get("outcome")
	r.Part = r.Message == "mcp part of a call"
	r.Call = r.Message == "mcp call" || r.Part
	r.Failed = r.Call && outcome != "ok" && outcome != "input_required"
	r.Observed = r.Get("would_send") != ""
	r.Name, r.Reference = r.Get("tool", "prompt", "resource", "method"), r.Get("reference")
	if r.Text = r.Get("fault.message", "error", "how", "reason"); r.Text == "" && !r.Call {
		r.Text = r.Get("tool")
	}
	if r.Kind = r.Get("kind", "outcome"); outcome == "panic" { // callers are told that it is an internal error
		r.Kind = outcome
	}
	ms, _ := strconv.ParseFloat(r.Get("duration_ms"), 64)
	r.Took = time.Duration(math.Round(ms)) * time.Millisecond
	return true
}
