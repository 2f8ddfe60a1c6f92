package hide

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

// JSON returns a message of JSON-RPC whose strings, numbers and names have passed a function that hides secrets.
// It stays JSON, what is not hidden keeps its bytes, and without a secret it is message itself. By its ID and its
// method others know it, so that these stay. What is not JSON passes the function as it is.
func JSON(message []byte, text func(string) string) []byte { return walk(message, text, true) }

// Document is [JSON] for JSON that is no message.
func Document(document []byte, text func(string) string) []byte { return walk(document, text, false) }

// A walker reads JSON, and copies what it has read once something is hidden.
type walker struct {
	in      []byte
	text    func(string) string
	message bool

	out  []byte // nil as long as nothing is hidden
	done int    // how much of in out has

	open []byte // the brackets that are open
	name string // of the member whose value comes
	key  bool   // a name comes next
}

func walk(in []byte, text func(string) string, message bool) []byte {
	w := walker{in: in, text: text, message: message}
	for i := 0; i < len(in); {
		end := i + 1
		switch c := in[i]; {
		case c == '{' || c == '[':
			w.open, w.key = append(w.open, c), c == '{'
			if c == '{' {
				w.name = ""
			}
		case c == '}' || c == ']':
			w.open = w.open[:max(0, len(w.open)-1)]
		case c == ',':
			w.key = len(w.open) > 0 && w.open[len(w.open)-1] == '{'
		case c == ':':
			w.key = false
		case c == '"':
			if end = stringEnd(in, i); end < 0 {
				return []byte(text(string(in)))
			}
			w.string(i, end)
		case c == '-' || isDigit(c):
			for end < len(in) && (isDigit(in[end]) || strings.IndexByte("+-.eE", in[end]) >= 0) {
				end++
			}
			w.number(i, end)
		case isLetter(c):
			for end < len(in) && isLetter(in[end]) {
				end++
			}
			if word := string(in[i:end]); word != "true" && word != "false" && word != "null" {
				return []byte(text(string(in)))
			}
		case strings.IndexByte(" \t\r\n", c) < 0:
			return []byte(text(string(in)))
		}
		i = end
	}
	if w.out == nil {
		return in
	}
	return append(w.out, in[w.done:]...)
}

// stringEnd returns where a string of JSON ends, -1 if it does not.
func stringEnd(in []byte, from int) int {
	for i := from + 1; i < len(in); i++ {
		switch in[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return -1
}

func (w *walker) string(from, to int) {
	text := string(w.in[from+1 : to-1])
	if bytes.IndexByte(w.in[from:to], '\\') >= 0 && json.Unmarshal(w.in[from:to], &text) != nil {
		text = string(w.in[from+1 : to-1]) // odd, and looked at as it is
	}
	if w.key {
		w.name = text
		if w.message && len(w.open) == 1 {
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
	w.put(from, to, quoted(hidden))
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
	case len(w.open) == 1:
		return w.name == "id" || w.name == "jsonrpc" || w.name == "method"
	default:
		return len(w.open) <= 3 && (w.name == "requestId" || w.name == "progressToken")
	}
}

// assigned returns the value of a member as it is hidden behind its name, if that is the name of a secret.
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

// quoted writes a text as JSON.
func quoted(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) //nolint:errchkjson // a text can always be written
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
