package hide

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/internal/jsons"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

// JSON returns a message of JSON-RPC whose strings, numbers and names have passed a function that hides secrets.
// It stays JSON, what is not hidden keeps its bytes, and without a secret it is message itself. By its ID and its
// method others know it, so that these stay. What is not JSON passes the function as it is.
func JSON(message []byte, text func(string) string) []byte { return walk(message, text, true) }

// Document is [JSON] for JSON that is not a message.
func Document(document []byte, text func(string) string) []byte { return walk(document, text, false) }

// A walker reads JSON, and copies what it has read once something is hidden.
type walker struct {
	in      []byte
	text    func(string) string
	message bool

	out  []byte // nil as long as nothing is hidden
	done int    // how much of in out has

	depth int    // of what is read
	name  string // of the member that is read
	key   bool   // it is the name itself
}

func walk(in []byte, text func(string) string, message bool) []byte {
	w := walker{in: in, text: text, message: message}
	dec := jsontext.NewDecoder(bytes.NewBuffer(in), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		kind := dec.PeekKind()
		switch kind {
		case '"', '0':
			raw, err := dec.ReadValue()
			if err != nil {
				return []byte(text(string(in)))
			}
			end := int(dec.InputOffset())
			w.depth = dec.StackDepth()
			of, length := dec.StackIndex(w.depth)
			w.key = of == '{' && length%2 == 1
			w.read(end-len(raw), end)
		default:
			if _, err := dec.ReadToken(); errors.Is(err, io.EOF) {
				if w.out == nil {
					return in
				}
				return append(w.out, w.in[w.done:]...)
			} else if err != nil {
				return []byte(text(string(in)))
			}
			if kind == '{' {
				w.name = ""
			}
		}
	}
}

func (w *walker) read(from, to int) {
	if w.in[from] == '"' {
		w.string(from, to)
	} else {
		w.number(from, to)
	}
}

func (w *walker) string(from, to int) {
	text := decoded(w.in[from:to])
	if w.key {
		w.name = text
		if w.message && w.depth == 1 {
			return
		}
	} else if w.kept() {
		return
	}
	hidden := w.text(text)
	if hidden == text && !w.key {
		hidden = w.assigned(text)
	}
	switch {
	case hidden == text:
		return
	case !w.key && (w.name == "blob" || w.name == "data") && isBytes(text):
		hidden = base64.StdEncoding.EncodeToString([]byte(Redacted))
	}
	w.put(from, to, string(jsons.Quoted(hidden)))
}

// decoded returns what a text of JSON says. Bytes that are not UTF-8 stay, because a secret may be written in Latin-1.
func decoded(raw []byte) string {
	var out strings.Builder
	for raw = raw[1 : len(raw)-1]; len(raw) > 0; {
		end := bytes.IndexRune(raw, utf8.RuneError)
		switch {
		case end == 0:
			out.WriteByte(raw[0])
			raw = raw[1:]
			continue
		case end < 0:
			end = len(raw)
		}
		part, _ := jsons.Text(slices.Concat([]byte{'"'}, raw[:end], []byte{'"'})) // it is valid: no escape has such a byte
		out.WriteString(part)
		raw = raw[end:]
	}
	return out.String()
}

func (w *walker) number(from, to int) {
	text := string(w.in[from:to])
	if !w.kept() && (w.text(text) == Redacted || w.assigned(text) == Redacted) {
		w.put(from, to, "0") // which has the same type
	}
}

// kept reports whether the value that comes is one by which a message is known.
func (w *walker) kept() bool {
	switch {
	case !w.message:
		return false
	case w.depth == 1:
		return w.name == "id" || w.name == "jsonrpc" || w.name == "method"
	default:
		return w.depth <= 3 && (w.name == "requestId" || w.name == "progressToken")
	}
}

// assigned hides the value of a member with a secret name, as it is hidden behind that name in a text. Other values
// stay.
func (w *walker) assigned(text string) string {
	const most = 128 // ordinary words are shorter
	if w.name == "" || len(text) > most || !scrub.SecretName(w.name) {
		return text
	}
	if line := "secret=" + text; w.text(line) == "secret="+Redacted {
		return Redacted
	}
	return text
}

func (w *walker) put(from, to int, text string) {
	w.out = append(append(w.out, w.in[w.done:from]...), text...)
	w.done = to
}

func isBytes(text string) bool {
	_, err := base64.StdEncoding.DecodeString(text)
	return err == nil
}
