// Package words writes the parts of a text that a model reads: clean lines, sentences, lists, plurals, waits.
//
//	words.Sentence("the index is locked\nRetry: yes")      // the index is locked Retry: yes.
//	words.List([]string{"red", "green", "blue"}, "or")     // red, green or blue
//	words.Plural(2, "file")                                // 2 files
//	words.Wait(900*time.Millisecond)                       // 1 s
//
// Each of our own lines begins with a label and a colon. A text from outside passes [Line] or
// [Lines] before it is printed among them. After that it cannot begin such a line, be invisible, or
// change the direction of the text. Every function takes time linear in its argument.
package words

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/kinds"
)

// Line makes a text safe to stand in a line of ours. Line breaks of every kind and tabs become
// spaces, terminal controls and invisible characters are removed, and broken UTF-8 is replaced.
// Spaces at both ends are cut off.
func Line(text string) string { return strings.TrimSpace(clean(text, false)) }

// Lines is Line for a text of several lines. Breaks of every kind become line feeds, and tabs stay.
// A line that could be taken for one of ours, also with letters that only look like ours, is quoted
// with "> ".
func Lines(text string) string {
	lines := strings.Split(Clean(text), "\n")
	for i, line := range lines[1:] { // the first follows a label
		if labelled(line, true) {
			lines[i+1] = "> " + line
		}
	}
	return strings.Join(lines, "\n")
}

// Clean is Lines without the quoting, for a text that is changed before it is shown.
func Clean(text string) string { return strings.TrimSpace(clean(text, true)) }

// Said is Lines for the text of an error. Every line but the first is quoted, so that none can be
// taken for one of ours. If the text is longer than limit bytes, only its first lines stay, and a
// note says that there was more. If the first line alone is longer, half of limit stays.
func Said(text string, limit int) string {
	text = Clean(text)
	note := ""
	if len(text) > limit {
		note = "\n[the rest is left out]"
		if end := strings.LastIndexByte(text[:limit], '\n'); end >= 0 {
			text = strings.TrimRight(text[:end], "\n")
		} else {
			note = " " + note[1:]
			cut := strings.ToValidUTF8(text[:limit/2-len(note)], "") // drops half a rune at the end
			text = text[:unbroken(text, len(cut))]
			if space := strings.LastIndexByte(text, ' '); space > len(text)/2 {
				text = text[:space]
			}
		}
	}
	first, rest, more := strings.Cut(text, "\n")
	if !more {
		return text + note
	}
	var b strings.Builder
	b.WriteString(first)
	for line := range strings.SplitSeq(rest, "\n") {
		b.WriteString("\n>")
		if line != "" {
			b.WriteByte(' ')
			b.WriteString(line)
		}
	}
	return b.String() + note
}

// A Placeholder stands in a value of decoded JSON for a part that is not shown.
type Placeholder string

// AsSent stands in a corrected call for a value that its caller sent and that is not shown.
const AsSent Placeholder = "<as you sent it>"

// ToReport follows the reference of a failure that the server is to blame for. InLog replaces it
// for the operator, who has nobody to report it to.
const (
	ToReport = " (give it to the user to report)"
	InLog    = " (the server's log has the whole error under it)"
)

// Quotes reports whether a text ends with a quoted line.
func Quotes(text string) bool {
	i := strings.LastIndexByte(text, '\n')
	return i >= 0 && strings.HasPrefix(text[i+1:], ">")
}

// Free is Lines for a text without a label in front: its first line is quoted too if it could be
// taken for one of ours. With kinds set, that includes a line that begins with the label of a kind
// of failure.
func Free(text string, kinds bool) string {
	text = Lines(text)
	if line, _, _ := strings.Cut(text, "\n"); labelled(line, kinds) {
		return "> " + text
	}
	return text
}

// Encode is json.Marshal of what always encodes: strings, numbers, raw JSON that was read or written, and
// what is made of them. It panics for anything else.
func Encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("mcpchain: " + err.Error())
	}
	return raw
}

// JSON makes a JSON text safe to stand in a line of ours. It escapes what [Line] would remove, so
// that the text decodes to the same value.
func JSON(text string) string {
	if plain(text, "") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 16)
	for _, r := range text {
		switch {
		case r < ' ': // a space between values, where JSON allows it
			b.WriteByte(' ')
		case Invisible(r):
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plain reports whether text is ASCII without control characters other than the allowed ones.
func plain(text, allowed string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c >= 0x7f) && strings.IndexByte(allowed, c) < 0 {
			return false
		}
	}
	return true
}

// clean is for [Line] and, with line feeds and tabs, for [Lines].
func clean(text string, lines bool) string {
	if plain(text, "") || lines && plain(text, "\n\t") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		if n := Unseen(text[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		switch {
		case r == '\n' && lines, r == '\t' && lines:
			b.WriteRune(r)
		case broken(r):
			switch {
			case r == '\r' && i < len(text) && text[i] == '\n': // one break
			case lines:
				b.WriteByte('\n')
			default:
				b.WriteByte(' ')
			}
		case r == '\t':
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Visible returns a text without what [Line] removes: terminal controls and invisible characters.
// Line breaks, tabs and broken bytes stay.
func Visible(text string) string {
	if plain(text, "\n\t") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if n := Unseen(text[i:]); n > 0 {
			i += n - 1
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// Unseen returns how many bytes [Line] removes at the beginning of a text: those of an invisible
// character, or of a terminal control. It returns 0 if the text begins with anything else.
func Unseen(text string) int {
	if text == "" || ' ' <= text[0] && text[0] < 0x7f {
		return 0
	}
	r, n := utf8.DecodeRuneInString(text)
	switch {
	case r == '\x1b' || 0x90 <= r && r <= 0x9f && introducers[r] != 0:
		return escape(text, r, n)
	case r == '\t' || broken(r) || !Invisible(r):
		return 0
	}
	return n
}

// broken reports whether r is a line break.
func broken(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// maxEscape bounds the length of a terminal control sequence; a longer one is not taken for one.
const maxEscape = 64

// escape returns the length of the terminal control sequence at the beginning of a text. r is its
// first character, of n bytes; the sequence includes its end, if it has one.
func escape(text string, r rune, n int) int {
	at, kind := n, introducers[r]
	if r == '\x1b' && at < len(text) {
		kind = text[at]
		at++
	}
	rest := text[at:min(len(text), max(at, maxEscape))]
	switch kind {
	case '[':
		if i := strings.IndexFunc(rest, func(r rune) bool { return r < ' ' || r > '?' }); i >= 0 && '@' <= rest[i] && rest[i] <= '~' {
			return at + i + 1
		}
	case ']', 'P', '^', '_', 'X':
		if i := strings.IndexAny(rest, "\a\n\x1b\u009c"); i >= 0 {
			for _, end := range []string{"\a", "\x1b\\", "\u009c"} {
				if strings.HasPrefix(rest[i:], end) {
					return at + i + len(end)
				}
			}
		}
	case '#', '%', '(', ')', '*', '+': // selects a character set, as "(B" does
		if rest != "" && '0' <= rest[0] && rest[0] <= 'Z' {
			return at + 1
		}
	}
	return n
}

// introducers are single control characters, with the letter that follows ESC in their
// two-character form.
var introducers = map[rune]byte{0x90: 'P', 0x98: 'X', 0x9b: '[', 0x9d: ']', 0x9e: '^', 0x9f: '_'}

// Invisible reports whether r controls something, changes the direction of the text, or is visible
// to a model but not to a person. Line breaks and tabs are among these characters.
func Invisible(r rune) bool {
	switch {
	case r < ' ', 0x7f <= r && r <= 0x9f, r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, 0x17b4 <= r && r <= 0x17b5,
		0x180b <= r && r <= 0x180f, 0x200b <= r && r <= 0x200f, 0x2028 <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f, r == 0x3164,
		0xfe00 <= r && r <= 0xfe0f, r == 0xfeff, r == 0xffa0, 0xfff0 <= r && r <= 0xfffb, 0x1bca0 <= r && r <= 0x1bca3,
		0x13430 <= r && r <= 0x1343f, r == 0x1d159, 0x1d173 <= r && r <= 0x1d17a, 0xe0000 <= r && r <= 0xe0fff,
		0xfdd0 <= r && r <= 0xfdef, r == 0xfffe, r == 0xffff: // no characters at all
		return true
	}
	return false
}

// lineLabels begin the lines of our answers. kindLabels begin the first line, and an item in a list
// of failures.
var (
	lineLabels = labels("Retry", "Next", "Reference", "References", "Suggestion", "Details", "Try", "Required permission", "Impact", "Part", "Parts", "Note",
		"Partial answer", "Failed", "Results", "Send again (retry_items)", "Check first (check_items)", "System", "User", "Assistant", "Human")
	kindLabels = func() map[string]bool {
		var all []string
		for _, row := range kinds.All {
			all = append(all, row.Label)
		}
		return labels(all...)
	}()
)

// labels returns a set of the labels, each reduced to its letters.
func labels(all ...string) map[string]bool {
	m := make(map[string]bool, len(all))
	for _, l := range all {
		m[strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, l)] = true
	}
	return m
}

const maxLabel = 40

// labelled reports whether a line begins like one of ours, whatever other characters stand before
// or in the label. The label of a kind counts if kinds is set, but not in an item of a list, where
// it is ours.
func labelled(text string, kinds bool) bool {
	text = strings.TrimLeft(text, " \t")
	kinds = kinds && !strings.HasPrefix(text, "- ")
	if strings.HasPrefix(text, ">") {
		return false // quoted
	}
	var room [maxLabel + utf8.UTFMax]byte
	label := room[:0]
	for _, r := range text {
		switch r = ascii(r); {
		case r == ':':
			return lineLabels[string(label)] || kinds && kindLabels[string(label)]
		case unicode.IsLetter(r):
			label = utf8.AppendRune(label, unicode.ToLower(r))
		}
		if len(label) > maxLabel {
			return false
		}
	}
	return false
}

// ascii returns the ASCII letter that looks like r.
func ascii(r rune) rune {
	switch {
	case r < 0x80:
		return r
	case 0xff01 <= r && r <= 0xff5e: // full width
		return r - 0xff01 + '!'
	case 0x1d400 <= r && r <= 0x1d6a3: // mathematical
		n := (r - 0x1d400) % 52
		if n < 26 {
			return 'A' + n
		}
		return 'a' + n - 26
	case 0x24b6 <= r && r <= 0x24e9: // in circles
		if r < 0x24d0 {
			return r - 0x24b6 + 'A'
		}
		return r - 0x24d0 + 'a'
	}
	if like, ok := alike[r]; ok {
		return like
	}
	return r
}

// alike are letters of other scripts that look like ours.
var alike = func() map[rune]rune {
	m := make(map[rune]rune)
	for pair := range strings.FieldsSeq(`а:a е:e о:o р:p с:c у:y х:x і:i ѕ:s ј:j ԁ:d һ:h ո:n т:t п:n г:r А:A В:B Е:E К:K М:M Н:H О:O Р:P С:C Т:T У:Y Х:X І:I Ѕ:S Ј:J
		Ԍ:G Ԛ:Q Ԝ:W ԛ:q ԝ:w α:a ο:o ρ:p ν:v υ:u ι:i κ:k τ:t χ:x γ:y Α:A Β:B Ε:E Ζ:Z Η:H Ι:I Κ:K Μ:M Ν:N Ο:O Ρ:P Τ:T Υ:Y Χ:X ı:i ɩ:i ɡ:g ɑ:a ʀ:R ɴ:N ᴇ:e ᴛ:t ʏ:y ᴏ:o ʜ:h ɪ:i
		ѡ:w ꭱ:R Ꭱ:R Ꭲ:T Ꮢ:R Ꭼ:E Ꮯ:C Ꮪ:S Ꮲ:P Ꮤ:W ⅼ:l ⅰ:i ⅽ:c ⅾ:d ℝ:R ℕ:N ℜ:R ℓ:l ℯ:e ℴ:o`) {
		runes := []rune(pair)
		m[runes[0]] = runes[2]
	}
	for _, r := range []rune{0x2d0, 0x2d8, 0x2236, 0xa789, 0xfe30, 0xfe55, 0x5c3, 0x589, 0x703, 0x704, 0x1365, 0x205a, 0xfe13, 0x16ec} {
		m[r] = ':'
	}
	return m
}()

// Cut is [Line] for a name or a value that is repeated: at most limit characters, and "..." for the
// rest. It keeps spaces at its ends.
func Cut(text string, limit int) string {
	text = clean(text[:min(len(text), 16*limit+maxEscape)], false)
	if len(text) <= limit {
		return text
	}
	n := 0
	for i := range text {
		if n == limit {
			return text[:unbroken(text, i)] + "..."
		}
		n++
	}
	return text
}

// unbroken returns n, or the beginning of a placeholder such as [redacted] that n would cut in two.
// Half of a placeholder after the name of a secret would look like a secret.
func unbroken(text string, n int) int {
	const longest = len("[redacted]")
	i := strings.LastIndexByte(text[:n], '[')
	if i < 0 || n-i >= longest {
		return n
	}
	if word, _, ended := strings.Cut(text[i+1:min(len(text), i+longest)], "]"); ended && i+1+len(word) >= n && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" {
		return i
	}
	return n
}

// Quote returns at most limit characters of a name or a value in quotation marks. Its content
// cannot end the quotation.
func Quote(text string, limit int) string {
	text = Cut(text, limit)
	switch {
	case strings.IndexByte(text, '\'') < 0:
		return "'" + text + "'"
	case strings.IndexByte(text, '"') < 0:
		return `"` + text + `"`
	default:
		return "'" + strings.ReplaceAll(text, "'", "’") + "'"
	}
}

// Clip returns at most limit bytes of a text, cut at the end of a sentence or else of a word, with
// a note of how much is left out. It cleans nothing.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := text[:limit]
	for i := 0; i < utf8.UTFMax && len(cut) > 0 && !utf8.RuneStart(text[len(cut)]); i++ {
		cut = cut[:len(cut)-1]
	}
	cut = cut[:unbroken(text, len(cut))]
	half := cut[len(cut)/2:]
	if i := max(strings.LastIndex(half, ". "), strings.LastIndex(half, ".\n"), strings.LastIndex(half, "! "), strings.LastIndex(half, "? ")); i >= 0 {
		cut = cut[:len(cut)-len(half)+i+1]
	} else if i := strings.LastIndexAny(half, " \n"); i >= 0 {
		cut = cut[:len(cut)-len(half)+i]
	}
	return strings.TrimRight(cut, " \n") + " [" + Plural(utf8.RuneCountInString(text[len(cut):]), "more character") + " left out]"
}

// Sentence is [Line] with a full stop at the end if the text needs one, and "" for an empty text.
func Sentence(text string) string {
	if text = Line(text); text == "" {
		return ""
	}
	return Ended(text)
}

// Ended returns text with a full stop if it needs one.
func Ended(text string) string { return text + End(text) }

// End returns the full stop that a text needs, "" if it needs none. A path or a URL at the end gets
// none, because its reader would copy it.
func End(text string) string {
	r, _ := utf8.DecodeLastRuneInString(text)
	last := text[strings.LastIndexAny(text, " \n")+1:]
	if strings.ContainsRune(".!?:。！？…：", r) || strings.ContainsAny(last, `/\`) && !strings.ContainsRune("'\"`)]>}’", r) {
		return ""
	}
	return "."
}

// Capital returns text with its first letter in upper case.
func Capital(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	if upper := unicode.ToUpper(r); upper != r {
		return string(upper) + text[n:]
	}
	return text
}

// List writes "a, b or c".
func List(items []string, last string) string {
	switch n := len(items); n {
	case 0:
		return ""
	case 1:
		return items[0]
	default:
		return strings.Join(items[:n-1], ", ") + " " + last + " " + items[n-1]
	}
}

// The bounds of [Listed].
const (
	maxListed     = 20  // of them
	maxListedSize = 300 // bytes
)

// Listed is [List] for a list that may be long, such as the values of an enumeration: "a, b or 7
// others".
func Listed[T any](list []T, write func(T) string, last string) string {
	var texts []string
	size := 0
	for i, item := range list {
		text := write(item)
		if size += len(text) + 2; i > 0 && (i == maxListed || size > maxListedSize) && len(list)-i > 1 {
			return strings.Join(texts, ", ") + " " + last + " " + strconv.Itoa(len(list)-i) + " others"
		}
		texts = append(texts, text)
	}
	return List(texts, last)
}

// Plural writes a count with its noun: 1 file, 2 files. Pass the plural of a noun that needs more
// than an s.
func Plural(n int, noun string, plural ...string) string {
	switch {
	case n == 1:
	case len(plural) > 0:
		noun = plural[0]
	default:
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// Wait writes how long to wait: whole seconds, rounded up so that the caller does not come back too
// early, then minutes and hours: 1 s, 90 s, 5 min, 1 h 30 min.
func Wait(d time.Duration) string {
	const century = 100 * 365 * 24 * time.Hour
	d = min(max(d, time.Second), century)
	switch d = up(d, time.Second); {
	case d < 2*time.Minute:
		return strconv.FormatInt(int64(d/time.Second), 10) + " s"
	case d < time.Hour:
		return units(d, time.Minute, "min", time.Second, "s")
	default:
		return units(up(d, time.Minute), time.Hour, "h", time.Minute, "min")
	}
}

// LongestWait is the longest wait in seconds that a text asks for. A chat does not wait longer.
const LongestWait = 120

// Since writes how long something has lasted: whole seconds, and from two minutes on whole minutes.
func Since(d time.Duration) string {
	if d >= 2*time.Minute {
		d = d.Truncate(time.Minute)
	}
	if d >= time.Second {
		d = d.Truncate(time.Second)
	}
	return Duration(d)
}

// Duration writes a given duration, such as a limit: 300 ms, 2 s, 5 min.
func Duration(d time.Duration) string {
	if ms := up(min(d, time.Second), time.Millisecond); 0 < d && ms < time.Second {
		return strconv.FormatInt(int64(ms/time.Millisecond), 10) + " ms"
	}
	return Wait(d)
}

// Seconds is [Wait] for a number of seconds from outside. A value that is not a positive number is
// written as the shortest wait.
func Seconds(s float64) string {
	const century = 100 * 365 * 24 * 3600
	if !(s > 0) { // also NaN
		s = 0
	}
	return Wait(time.Duration(min(s, century) * float64(time.Second)))
}

func up(d, unit time.Duration) time.Duration { return (d + unit - 1).Truncate(unit) }

func units(d, unit time.Duration, name string, smaller time.Duration, smallerName string) string {
	text := strconv.FormatInt(int64(d/unit), 10) + " " + name
	if m := d % unit / smaller; m > 0 {
		text += " " + strconv.FormatInt(int64(m), 10) + " " + smallerName
	}
	return text
}
