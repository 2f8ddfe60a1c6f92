package proxy

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// A tail keeps the last lines of a program: they often say why it has ended.
type tail struct {
	lines []string
	above []string // a line that names a cause, and what followed it, if it is not among lines any more
}

const (
	maxTail  = 200 // lines
	recorded = 5   // lines of them that the log has
)

func (t *tail) add(line string) {
	t.lines = append(t.lines, clipped(strings.TrimRight(line, " \t\r\n")))
	if len(t.lines) > maxTail {
		if named(t.lines[0]) { // a dump of many goroutines stands below it
			t.above = slices.Clone(t.lines[:recorded])
		}
		t.lines = t.lines[1:]
	}
}

// An ending is what a program wrote before it ended.
type ending struct {
	cause string // what names the cause, in one line; the last lines if none does
	named bool   // one does
	lines string // those to record, around the cause
}

// ending finds the line that names the cause.
func (t *tail) ending() ending {
	lines := make([]string, len(t.lines))
	for i, line := range t.lines {
		lines[i] = frame.ReplaceAllString(colour.ReplaceAllString(line, ""), "")
	}
	if at := cause(lines, false); at >= 0 {
		return ending{told(lines, at), true, joined(lines[:min(at+recorded, len(lines))], recorded)}
	}
	if t.above != nil {
		return ending{told(t.above, 0), true, joined(t.above, recorded)}
	}
	if at := cause(lines, true); at >= 0 {
		return ending{told(lines, at), true, joined(lines[:min(at+recorded, len(lines))], recorded)}
	}
	var last []string
	for _, line := range slices.Backward(lines) {
		if len(last) < recorded && !indented(line) && !aside(line) {
			last = append(last, line)
		}
	}
	slices.Reverse(last)
	return ending{cmp.Or(joined(last, recorded), joined(lines, 1)), false, joined(lines, recorded)}
}

// Cause returns the line that names why a program ended, of the end of what it wrote. If no line does, it returns the
// last lines, and named is false.
func Cause(text string) (cause string, named bool) {
	var t tail
	for line := range strings.Lines(text) {
		t.add(line)
	}
	end := t.ending()
	return end.cause, end.named
}

// joined returns the last lines that say something, in one.
func joined(lines []string, most int) string {
	var some []string
	for _, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		if line != "" && len(some) < most {
			some = append(some, line)
		}
	}
	slices.Reverse(some)
	return strings.Join(some, between)
}

// between stands between lines that are joined into one.
const between = " / "

var (
	colour = regexp.MustCompile("\x1b\\[[0-9;]*m")
	// frame is drawn before lines: by Python around a group of exceptions, and by uv.
	frame = regexp.MustCompile(`^\s+(?:\+ |\| ?|× |│ ?|╰─▶ |├─▶ )`)

	// names matches how the lines begin that programs of many languages write when they end of an error. All that is
	// anchored is quick.
	names = regexp.MustCompile(`^(?:(?:Uncaught |\(in promise\) |Unhandled exception\. |Exception in thread "[^"]*" |Caused by: )*[\w$.:]*(?:Error|Exception|Rejection|SystemExit)(?: \[\w+\])?(?::|$)` +
		`|(?i:error|fatal|fatal error)(?::|!| -)|Fatal |panic: |thread '[^']*' .{0,20}panicked at|PHP Fatal|\*\* \(|npm (?:error|ERR!) |docker: )`)

	// noise matches how the lines begin that stand around the one that names the cause.
	noise = regexp.MustCompile(`^(?:[^\p{L}]*$|(?:Node\.js|Bun) v\d|exit status \d|npm (?:error|ERR!)(?: +(?:A complete log|Lifecycle|code (?:\d+|ELIFECYCLE)$|errno |syscall |path |dest |workspace |location |command |file |cwd |\d+$|$)|$)` +
		`|npm (?:warn|WARN|notice)|note: |During handling|The above exception|goroutine \d|Run '|See '|For more information|Try '|Require stack|stack backtrace|Emitted '` +
		`|(?:node:|file:///|/)\S+:\d+$|\[notice\]|\(node:\d+\)|\(Use .node)`)

	npm    = regexp.MustCompile(`^npm (?:error|ERR!) ?`)
	goesOn = regexp.MustCompile(`[:\[{(]$|validation errors? for \S+$`)
	stack  = regexp.MustCompile(`^\s+at |^\s*$|^For further information|^\s+For further information|^stack backtrace`)
)

func indented(line string) bool { return line == "" || line[0] == ' ' || line[0] == '\t' }

// cause returns the index of the line that names the cause, -1 if none does. Of several it is the last: programs
// write on after an error that does not end them. maybe takes lines that only may.
func cause(lines []string, maybe bool) int {
	found, traced := -1, false // traced: in a traceback of Python, which ends with its exception
	for i, line := range lines {
		switch {
		case strings.Contains(line, traceback):
			traced = true
		case !indented(line) && (traced || named(line) || maybe && says(line)) && !aside(line):
			if found < 0 || !npm.MatchString(line) || !npm.MatchString(lines[found]) { // npm begins with it
				found = i
			}
			traced = false
		}
	}
	return found
}

// named reports whether a line names a cause.
func named(line string) bool {
	has := func(part string) bool { return strings.Contains(line, part) }
	ends := func(part string) bool { return strings.HasSuffix(line, part) }
	return names.MatchString(line) || ends(": not found") || ends("No such file or directory") || ends("Error)") ||
		has("command not found") || has("Error response from daemon") || has("the Docker daemon")
}

// aside reports whether a line stands around the one that names the cause.
func aside(line string) bool {
	end := strings.ToLower(line[max(0, len(line)-20):])
	return noise.MatchString(line) || strings.Contains(end, "exiting") || strings.Contains(end, "shutting down") || strings.Contains(line, traceback)
}

const traceback = "Traceback (most recent call last)"

// says reports whether a line may name a cause: one of these words stands in it.
func says(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc(causes, func(word string) bool {
		for rest := line; ; {
			at := strings.Index(rest, word)
			if at < 0 {
				return false
			}
			before, after := rest[:at], rest[at+len(word):]
			if (before == "" || !letter(before[len(before)-1])) && (after == "" || !letter(after[0])) {
				return true
			}
			rest = after
		}
	})
}

func letter(b byte) bool { return 'a' <= b && b <= 'z' }

// causes are words of lines that may name a cause.
var causes = []string{
	"error", "errors", "fatal", "fail", "fails", "failed", "failure", "exception", "panic", "segmentation fault", "killed", "cannot", "can't", "could not", "couldn't", "unable",
	"missing", "must", "require", "requires", "required", "refused", "denied", "invalid", "unknown", "unsupported", "unauthorized", "forbidden", "expired", "timed out",
	"in use", "no such", "no module", "not found", "not set", "not installed", "not supported", "not allowed", "not provided", "not defined", "not configured",
	"not a", "not available", "not exist", "not recognized",
}

// told returns a line that names a cause, with what belongs to it.
func told(lines []string, at int) string {
	text := strings.TrimLeft(strings.TrimSpace(lines[at]), "}]) ")
	rest := lines[at+1:]
	if code := npm.FindString(text); code != "" && strings.HasPrefix(text[len(code):], "code ") {
		for _, line := range rest { // the code says little
			if npm.MatchString(line) && !noise.MatchString(line) {
				return clipped(text + between + line)
			}
		}
	}
	for len(rest) > 0 && rest[0] == "" {
		rest = rest[1:]
	}
	if len(rest) > 0 && rest[0] == "Caused by:" { // of programs in Rust
		text, rest = text+between+rest[0], rest[1:]
	}
	if !goesOn.MatchString(text) {
		return clipped(text)
	}
	for _, line := range rest {
		if stack.MatchString(line) || len(text) > maxClip {
			break
		}
		text += " " + strings.TrimSpace(line)
	}
	return clipped(text)
}

func clipped(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxClip)], "") }
