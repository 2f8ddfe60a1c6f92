package failure

import (
	"errors"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

const (
	// maxSaid bounds how much of an error's text is shown: some hundred lines of a compiler.
	maxSaid = 8 << 10
	// maxSearched bounds how much of it is searched.
	maxSearched = 64 << 10
	// severity opens the text of an error of PostgreSQL.
	severity = "ERROR: "
)

// spoken returns the fault for a reader who may read errors. It has the whole text of the error
// under the label of its kind. The text of the driver or service that caused the error follows, if
// the error's text lacks it. spoken returns nil for an error that stays hidden: a panic, a bug that
// the runtime found, and an error without text.
func (r *Reader) spoken(s *Seen) *fault.Error {
	if private(s.Err) {
		return nil
	}
	known := s.Found.Fault
	if s.Found.Origin == classify.Unknown && s.Found.Says.By <= classify.ByStatus {
		known = fault.Generic(fault.KindTool).Suggest(known.Suggestion()) // no party is known to be to blame
	}
	said, code, hint := s.Found.Spoken()
	text := cleaned(safe.Error(s.Err), maxSearched)
	said = missing(text, cleaned(said, 2*maxSaid)) // before the label is left out, which the service may have said, too
	if rest, ok := strings.CutPrefix(text, known.Kind().Label()+": "); ok {
		text = rest
	} else if rest, ok = strings.CutPrefix(text, severity); ok && strings.HasSuffix(known.Kind().Label(), " error") && strings.HasPrefix(code, "SQLSTATE") {
		text = rest // the label says it
	}
	if wordless(text) {
		text = ""
	}
	text = with(text, ": ", said)
	if code != "" && !strings.Contains(text, code[strings.LastIndexByte(code, ' ')+1:]) {
		text = with(text, " ", "("+code+")")
	}
	if hint = missing(text, cleaned(hint, maxSaid)); hint != "" {
		text = with(text, ". ", "HINT: "+hint) // as PostgreSQL's own client shows it
	}
	if s.Found.Says.By == classify.Cut { // the error does not know that its caller gave up
		text = with(text, ": ", known.Message())
	}
	if text = r.scrubbed(text, s); wordless(text) || text == "("+code+")" {
		return nil
	}
	public := known.WithMessage(words.Said(text, maxSaid))
	if !s.Found.Hinted && s.Found.Words != classify.OfSentence {
		public = public.Suggest("") // the kind's general suggestion adds nothing to the error's own text
	}
	return public
}

func wordless(text string) bool { return strings.Trim(text, " .:\n") == "" }

// namesSecret reports whether a word of an error's text is the name of a secret, because the SDK
// repeats the whole value of an argument that it refuses, which may be a password.
func namesSecret(err error) bool {
	return slices.ContainsFunc(strings.FieldsFunc(begin(safe.Error(err), maxSearched), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
	}), scrub.SecretName)
}

// around returns a fault with the text that wraps it in front, as in fmt.Errorf("deploying app:
// %w", fault), and the texts of errors that were joined to it below.
func (r *Reader) around(s *Seen) *fault.Error {
	known := s.Found.Fault
	message, more := known.Message(), ""
	text, own := safe.Error(s.Err), known.Error()
	switch before, after, ok := strings.Cut(beforeSecret(begin(text, maxSearched), len(text) > maxSearched), own); {
	case text == own || private(s.Err):
		return known
	case ok:
		if line := before[strings.LastIndexByte(before, '\n')+1:]; line != "" {
			message = words.Line(begin(r.scrubbed(words.Clean(line), s), maxSaid/2)) + " " + message
			before = before[:len(before)-len(line)]
		}
		more = before + after
	default: // several faults, which the classifier has joined
		for _, part := range safe.Unwrap(s.Err) {
			if _, worded := safe.As[*fault.Error](part); !worded && len(more) < maxSearched {
				more += cleaned(safe.Error(part), maxSearched) + "\n"
			}
		}
	}
	if more = words.Clean(more); more != "" {
		message = words.Ended(message) + "\n> " + words.Said(r.scrubbed(more, s), maxSaid)
	}
	return known.WithMessage(message)
}

// maxSecret is how much is left out at the end of a cut text, because half of a secret may stand
// there, which would not be recognised.
const maxSecret = 1 << 10

// cleaned returns the beginning of a text, at most so many bytes, without invisible characters.
func cleaned(text string, most int) string {
	return beforeSecret(words.Clean(begin(text, most)), len(text) > most)
}

// beforeSecret returns the text, without its end if it was cut.
func beforeSecret(text string, cut bool) string {
	if !cut {
		return text
	}
	return begin(text, max(0, len(text)-maxSecret))
}

// begin returns at most the first bytes of a text, and only whole characters.
func begin(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// maxErrors bounds the walk through an error: a list of errors may be long.
const maxErrors = 4096

// private reports whether an error holds a panic or a bug that the runtime found, or is too large
// to be searched.
func private(err error) bool {
	if _, panicked := safe.As[*fault.PanicError](err); panicked {
		return true
	}
	if _, bug := safe.As[runtime.Error](err); bug {
		return true
	}
	found := false
	_, panicked := safe.Call(func() {
		left := maxErrors
		found = holdsPrivate(err, &left) || left <= 0
	}, nil)
	return found || panicked
}

func holdsPrivate(err error, left *int) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if *left--; *left <= 0 {
			return true
		}
		switch err.(type) {
		case *fault.PanicError, runtime.Error:
			return true
		}
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			return slices.ContainsFunc(several.Unwrap(), func(err error) bool { return holdsPrivate(err, left) })
		}
	}
	return false
}

// with appends more to a text that lacks it: in the same line, or in a line of its own if either
// has several lines.
func with(text, before, more string) string {
	switch more = missing(text, more); {
	case more == "":
		return text
	case text == "":
		return more
	case strings.IndexByte(text, '\n') >= 0 || strings.IndexByte(more, '\n') >= 0:
		return text + "\n" + more
	case words.End(text) == "":
		return text + " " + more
	default:
		return text + before + more
	}
}

// missing returns more, or "" if a text has it.
func missing(text, more string) string {
	if bare := strings.TrimRight(more, " .\n"); bare == "" || contains(text, bare) {
		return ""
	}
	return more
}

// contains reports whether a text contains another one. It ignores spaces, the case of letters and
// the escapes of JSON.
func contains(text, said string) bool {
	usual := func(s string) string {
		return strings.Join(strings.Fields(strings.ToLower(strings.ReplaceAll(s, `\`, ""))), " ")
	}
	return strings.Contains(usual(text), usual(said))
}

// scrubbed returns an error's text as the reader may read it. What the caller itself sent is shown,
// unless it is a credential.
func (r *Reader) scrubbed(text string, s *Seen) string {
	if r.Trust == Operator {
		return scrub.ForOperator(text)
	}
	sent := func(string) bool { return false }
	if s.Request != nil {
		sent = s.Request.Sent()
	}
	asked := map[string]bool{} // an error may name a file many times
	theirs := func(fragment string) bool {
		yes, known := asked[fragment]
		if !known {
			yes = sent(fragment) || strings.HasPrefix(fragment, fileScheme) && sent(fragment[len(fileScheme):])
			asked[fragment] = yes
		}
		return yes
	}
	return scrub.ForTrusted(relative(text, theirs), theirs)
}

// fileScheme is the scheme of a path that the caller sent without it.
const fileScheme = "file://"

// absolute matches the absolute path of a file, which a server makes of the relative one that it
// got. It also matches any other URL, so that the path in it is not taken for a file.
var absolute = sync.OnceValue(func() *regexp.Regexp {
	const path = `/(?:[\w.@+-]+/)+[\w.@+-]+`
	return regexp.MustCompile(fileScheme + path + "|[A-Za-z][\\w+.-]*://[^\\s\"'<>`]*|" + path)
})

const (
	maxPaths = 16 // how many different paths of a text are made relative again
	minPath  = 3  // in bytes; shorter paths are in every text
)

// relative replaces an absolute path by the relative path that the caller sent, if it ends with
// that: the caller knows the file by that name, and the directories before it are the server's.
func relative(text string, sent func(fragment string) bool) string {
	seen := map[string]string{}
	return absolute().ReplaceAllStringFunc(text, func(path string) string {
		if strings.Contains(path, "://") && !strings.HasPrefix(path, fileScheme) {
			return path
		}
		short, known := seen[path]
		if !known && len(seen) < maxPaths {
			short = shortened(path, sent)
			seen[path] = short
		} else if !known {
			return path
		}
		return short
	})
}

func shortened(path string, sent func(fragment string) bool) string {
	rest := strings.TrimPrefix(path, fileScheme)
	if sent(rest) {
		return path
	}
	for {
		_, after, found := strings.Cut(rest, "/")
		if !found {
			return path
		}
		if rest = after; len(rest) >= minPath && sent(rest) {
			return rest
		}
	}
}
