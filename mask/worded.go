package mask

import (
	"io"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Show says what a caller sees of an error that nobody made for the caller.
type Show int

const (
	// Nothing hides it whole: the caller reads what kind of failure it was. It is for
	// servers whose callers are not trusted.
	Nothing Show = iota

	// Worded shows the words of a plain Go error, as errors.New, fmt.Errorf and the
	// error types of the program's own module make them, under the label of their
	// kind, scrubbed by [Scrub] and cut at 1,000 bytes. If nothing but its words is known of
	// an error, its kind is tool_error, because the words may tell of a mistake of the
	// caller. Panics stay hidden. So does what the runtime, the standard library or a driver
	// wrote, unless the program put words of its own around it. It is for servers whose
	// errors were written to be read.
	Worded
)

const maxWorded = 1000

// fileScheme stands before a path that was sent without it.
const fileScheme = "file://"

// worded words an error where Options.Show is Worded. known is what is known of it. What
// the caller sent itself is shown back, unless it is a credential.
func worded(err error, known *fault.Error, sent func(fragment string) bool) *fault.Error {
	if _, panicked := safe.As[*classify.PanicError](err); panicked || !spoken(err, known.Kind(), maxSpoken) {
		return nil
	}
	text := words.Line(scrub.TextBut(relative(safe.Error(err), sent), func(fragment string) bool {
		return sent(fragment) || strings.HasPrefix(fragment, fileScheme) && sent(fragment[len(fileScheme):])
	}))
	if strings.Trim(text, " .:") == "" {
		return nil
	}
	return known.WithMessage(words.Clip(text, maxWorded))
}

// absolute matches a path of a file, as a server makes one of the relative one that it got, and any other URL, whose path
// is none.
var absolute = sync.OnceValue(func() *regexp.Regexp {
	const path = `/(?:[\w.@+-]+/)+[\w.@+-]+`
	return regexp.MustCompile(fileScheme + path + "|[A-Za-z][\\w+.-]*://[^\\s\"'<>`]*|" + path)
})

const (
	maxPaths = 16 // of a text that are made relative again
	minPath  = 3  // bytes; a shorter one stands in every text
)

// relative puts what the caller sent in the place of a longer path that ends with it: the
// caller knows the file by that name, and the directories before it are the server's.
func relative(text string, sent func(fragment string) bool) string {
	left := maxPaths
	return absolute().ReplaceAllStringFunc(text, func(path string) string {
		if strings.Contains(path, "://") && !strings.HasPrefix(path, fileScheme) {
			return path
		}
		if left--; left < 0 || sent(strings.TrimPrefix(path, fileScheme)) {
			return path
		}
		for rest := strings.TrimPrefix(path, fileScheme); ; {
			_, after, found := strings.Cut(rest, "/")
			if !found {
				return path
			}
			if rest = after; len(rest) >= minPath && sent(rest) {
				return rest
			}
		}
	})
}

// maxSpoken bounds the walk through an error.
const maxSpoken = 64

// spoken reports whether the program's own words stand in err.
func spoken(err error, kind fault.Kind, left int) bool {
	if left == 0 || safe.Nil(err) {
		return false
	}
	if _, ok := err.(runtime.Error); ok {
		return false
	}
	inner := safe.Unwrap(err)
	switch origin := packageOf(err); {
	case origin == "fmt", wrappers[origin]:
		text := safe.Error(err)
		for _, e := range inner {
			text = strings.Replace(text, safe.Error(e), "", 1)
		}
		if strings.Trim(text, " :;,.()[]\n") != "" {
			return true
		}
	case origin == "errors" && len(inner) == 0:
		// One with a meaning of its own is the standard library's, and so is the end of a file.
		return (kind == fault.KindInternal || kind == fault.KindTool) && err != io.EOF && err != io.ErrUnexpectedEOF
	case origin == "errors": // errors.Join
	default:
		return origin == "main" || own() != "" && (origin == own() || strings.HasPrefix(origin, own()+"/") || strings.HasPrefix(origin, own()+"_"))
	}
	for _, e := range inner {
		if spoken(e, kind, left-1) {
			return true
		}
	}
	return false
}

// wrappers are packages that put words around errors, as fmt does.
var wrappers = map[string]bool{"github.com/pkg/errors": true, "github.com/cockroachdb/errors": true, "golang.org/x/xerrors": true}

func packageOf(err error) string {
	t := reflect.TypeOf(err)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}

// own returns the path of the program's module.
var own = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Path
	}
	return ""
})
