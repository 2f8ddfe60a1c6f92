// Package hide replaces the values of secrets in texts, in every form in which programs repeat them:
//
//	hider := hide.New(hide.Secret{Value: "hunter22-of-the-database"})
//	hider.Text("cannot sign in with hunter22%2Dof%2Dthe%2Ddatabase") // "cannot sign in with [redacted]"
//
// It knows values, and not what secrets look like: that is for package mask of the library.
package hide

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Redacted stands where a secret stood.
const Redacted = "[redacted]"

// A Place says where a value is a secret.
type Place int

const (
	// Anywhere is for values that stand in no ordinary text.
	Anywhere Place = iota
	// AsWord is for values so short that ordinary words have them in the middle.
	AsWord
	// Assigned is for values that are ordinary words, too. They are secrets behind the name of one, as in
	// password=postgres, and in the credentials of a URL.
	Assigned
)

// A Secret is a value that texts must not show.
type Secret struct {
	Value string
	Place Place
}

// A Hider hides secrets. It is safe for concurrent use.
type Hider struct{ patterns patterns }

// New returns a Hider of secrets. Empty values are no secrets.
func New(secrets ...Secret) *Hider {
	h := &Hider{}
	for _, secret := range secrets {
		h.patterns.secret(secret)
	}
	return h
}

// Text returns a text with "[redacted]" in the place of each secret, and text itself if it has none. JSON
// stays JSON.
func (h *Hider) Text(text string) string {
	spans := h.find(text)
	if len(spans) == 0 {
		return text
	}
	hidden := replaced(text, spans)
	if !looksLikeJSON(text) || json.Valid([]byte(hidden)) || !json.Valid([]byte(text)) || hidden == Redacted {
		return hidden
	}
	if inside := string(walk([]byte(text), h.Text, false)); len(h.find(inside)) == 0 {
		return inside
	}
	return hidden // it stands in more than one string
}

func looksLikeJSON(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && (text[0] == '{' || text[0] == '[')
}

// A span is a part of a text.
type span struct{ from, to int }

// maxRounds is how many escapes may lie around a secret: those of JSON in a text in JSON, for example.
const maxRounds = 4

// window is how many bytes of a text are searched at once, which bounds what escapes take in memory. It is large
// beside what stands in two of them.
const window = 1 << 20

// find returns where secrets stand in a text, in order and apart from each other.
func (h *Hider) find(text string) []span {
	if h.patterns.none() {
		return nil
	}
	size, overlap := max(window, 2*h.patterns.reach), h.patterns.reach
	var spans []span
	for from := 0; ; from += size - overlap {
		to := min(len(text), from+size)
		for _, s := range h.look(text[from:to], cut{from > 0, to < len(text)}) {
			spans = append(spans, span{from + s.from, from + s.to})
		}
		if to == len(text) {
			return joined(spans)
		}
	}
}

// look looks for secrets in a text as they are, and again behind each round of escapes.
func (h *Hider) look(text string, at cut) (spans []span) {
	var below []marks // from each level to the one below it
	for level := text; ; {
		found := h.patterns.match(level, at)
		plain, next := unescaped(level)
		for _, s := range found {
			s = next.whole(s)
			for _, m := range slices.Backward(below) {
				s = m.source(s)
			}
			spans = append(spans, s)
		}
		if next == nil || len(below) == maxRounds {
			return spans
		}
		level, below = plain, append(below, next)
	}
}

// joined returns spans in order, those that overlap as one.
func joined(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	out := spans[:0]
	for _, s := range spans {
		if last := len(out) - 1; last >= 0 && s.from < out[last].to {
			out[last].to = max(out[last].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

func replaced(text string, spans []span) string {
	var b strings.Builder
	end := 0
	for _, s := range spans {
		b.WriteString(text[end:s.from])
		b.WriteString(Redacted)
		end = s.to
	}
	b.WriteString(text[end:])
	return b.String()
}
