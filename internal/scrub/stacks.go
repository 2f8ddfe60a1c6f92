package scrub

import "strings"

// panicked hides the value of a panic, if a stack follows it.
func panicked(t *text, i int) {
	end := t.line(i)
	for range 5 {
		if t.has(end, "\ngoroutine ") {
			t.hide(i, end+1)
			return
		}
		end = t.line(min(end+1, len(t.s)))
	}
	t.decided(t.line(i))
}

// goStack hides frames, each a line with a function and an indented one with its place.
func goStack(t *text, i int) {
	switch t.at(i) {
	case 'g', 'G':
		if end := t.skip(noSquare, i); t.in(digits, i+len("goroutine ")) && t.has(end, "]:") {
			t.hide(i, t.goFrames(end+len("]:")))
		}
		return
	case '[':
		if end := t.skip(noSquare, i); t.at(end) == ']' {
			t.hide(i, end+1)
		}
		return
	}
	start := t.back(inLine, i)
	if end := t.goPlace(start); end > i && start > 0 {
		if from := t.back(inLine, start-1); t.goFunction(from) {
			t.hide(from, t.goFrames(end))
		}
	}
}

var functionName = chars("A-Za-z0-9_./~@%-")

// goFunction reports whether the line at i names a function: a package, a dot, a name.
func (t *text) goFunction(i int) bool {
	if t.has(i, "created by ") {
		i += len("created by ")
	}
	end := t.skip(functionName, i)
	return strings.IndexByte(t.some(i, min(end-i, 256)), '.') > 0 && (end == len(t.s) || strings.IndexByte("([\r\n ", t.s[end]) >= 0)
}

// goPlace returns the end of the line at i with file.go:12 +0x1d, or -1.
func (t *text) goPlace(i int) int {
	if !t.in(blank, i) {
		return -1
	}
	end := t.line(i)
	line := t.some(i, min(end-i, 400))
	n := max(strings.LastIndex(line, ".go:"), strings.LastIndex(line, ".s:"))
	if n < 0 {
		return -1
	}
	n = t.skip(noColon, i+n) + 1
	if end = t.skip(digits, n); end == n {
		return -1
	}
	if t.has(end, " +0x") {
		end = t.skip(hexDigit, end+4)
	}
	return end
}

// goFrames goes on from the end of a line over the frames that follow.
func (t *text) goFrames(end int) int {
	for {
		line := t.skip(carriage, end)
		if t.at(line) != '\n' || !t.goFunction(line+1) {
			return end
		}
		next := t.goPlace(min(t.line(line+1)+1, len(t.s)))
		if next < 0 {
			return end
		}
		end = next
	}
}

var carriage = chars("\r")

// pythonStack hides the frames; one may stand alone.
func pythonStack(t *text, i int) {
	end := t.pythonFrame(i)
	if t.row == 0 {
		end = i + len("Traceback (most recent call last):")
	}
	if end == 0 {
		return
	}
	for t.at(end) == '\n' {
		next := t.pythonFrame(t.skip(blank, end+1))
		if next == 0 {
			break
		}
		end = next
	}
	t.hide(i, end)
}

// pythonFrame returns the end of the frame at i, with the lines of code below it, or 0.
func (t *text) pythonFrame(i int) int {
	const line = `", line `
	if !t.has(i, `File "`) {
		return 0
	}
	j := t.skip(noQuote, i+len(`File "`))
	end := t.skip(digits, j+len(line))
	if !t.has(j, line) || end == j+len(line) {
		return 0
	}
	if t.has(end, ", in ") {
		end = t.line(end)
	}
	for t.has(end, "\n    ") {
		end = t.line(end + 1)
	}
	return end
}

// frames hides frames of Java, JavaScript and .NET, one after another.
func frames(t *text, i int) {
	if !t.in(space, i-1) {
		return
	}
	end := 0
	for at := i; t.has(at, "at "); at = t.skip(space, end) {
		next := t.frame(at + len("at "))
		if next == 0 {
			break
		}
		end = next
	}
	if end > 0 {
		t.hide(i, end)
	}
}

var (
	noBracket  = chars("^()\n")
	frameTypes = set("java kt scala groovy js ts jsx tsx mjs cjs mts cts")
)

// frame returns the end of the frame at i, or 0: a place, or a function with its place in brackets or behind " in ".
func (t *text) frame(i int) int {
	if t.has(i, "async ") {
		i += len("async ")
	}
	if end := t.skip(solid, i); place(t.some(i, min(end-i, 256))) {
		return end
	}
	open := t.skip(noBracket, i)
	last := t.skip(noBracket, open+1)
	if t.at(open) != '(' || t.at(last) != ')' || last-i > 400 {
		return 0
	}
	if in := t.s[open+1 : last]; place(in) || in == "Native Method" || in == "Unknown Source" {
		return last + 1
	}
	if n := strings.Index(t.some(last+1, min(t.line(last)-last, 256)), ":line "); n > 0 && t.has(last+1, " in ") {
		return t.skip(digits, last+1+n+len(":line "))
	}
	return 0
}

// place reports whether s is like Foo.java:17 or lib.mjs:3:1.
func place(s string) bool {
	name := strings.TrimRight(s, "0123456789:")
	return len(name)+1 < len(s) && s[len(name)] == ':' && frameTypes[name[strings.LastIndexByte(name, '.')+1:]] || len(name) == len(s) && strings.HasSuffix(s, ".java")
}
