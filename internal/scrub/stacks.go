package scrub

import "strings"

// line returns the end of the line that i is in.
func (t *text) line(i int) int { return t.ahead(lineEnd, inLine, i) }

// panicked hides the value of a panic, if a stack follows it.
func panicked(t *text, i int) {
	end := t.line(i)
	for range 5 {
		if end >= len(t.s) {
			break
		}
		if next := end + 1; t.has(next, "goroutine ") && t.in(digits, next+len("goroutine ")) {
			t.hide(i, next)
			return
		}
		end = t.line(end + 1)
	}
	t.decided(t.line(i))
}

// goStack hides frames, each a line with a function and an indented one with its place.
func goStack(t *text, i int) {
	switch {
	case t.fold(i, "goroutine "):
		j := i + len("goroutine ")
		end := t.line(j)
		head := t.s[j:min(end, j+200)]
		if n := strings.Index(head, "]:"); t.in(digits, j) && n > 0 && strings.IndexByte(head[:n], '[') > 0 {
			t.hide(i, t.goFrames(j+n+2))
		}
		return
	case t.fold(i, "[signal "):
		if end := t.line(i); strings.IndexByte(t.s[i:min(end, i+300)], ']') > 0 {
			t.hide(i, i+strings.IndexByte(t.s[i:end], ']')+1)
		}
		return
	}
	end := t.goPlace(i)
	if end < 0 {
		return
	}
	start := t.behind(lineStart, inLine, i)
	if t.in(blank, start) && start > 1 { // the place of a frame, whose function stands on the line before
		before := t.behind(lineStart, inLine, start-1)
		if from := t.goFunction(before, start-1); from >= 0 {
			t.hide(from, t.goFrames(end))
			return
		}
	}
	if t.has(end-1, " ") || strings.Contains(t.s[max(i, end-32):end], " +0x") {
		from := i
		for n := 0; from > 0 && n < 256 && placeChars[t.s[from-1]]; n++ {
			from--
		}
		t.work += i - from
		if from < i {
			t.hide(from, end)
		}
	}
}

var (
	placeChars    = chars("^ \t\n\r\f\v\"'(")
	functionChars = chars("A-Za-z0-9_./~@%-")
)

// goFrames goes on from the end of a line over the frames that follow.
func (t *text) goFrames(end int) int {
	for t.at(end) == '\n' || t.has(end, "\r\n") {
		from := end + 1
		if t.at(end) == '\r' {
			from++
		}
		function := t.line(from)
		if t.goFunction(from, function) != from || function >= len(t.s) {
			break
		}
		place := t.skip(blank, function+1)
		last := t.line(place)
		n := strings.LastIndex(t.s[place:last], ".go:")
		if n < 0 {
			n = strings.LastIndex(t.s[place:last], ".s:")
		}
		t.work += (last - place) / 8
		if place == function+1 || n < 0 {
			break
		}
		next := t.goPlace(place + n)
		if next < 0 {
			break
		}
		end = next
	}
	return end
}

// goPlace returns the end of file.go:12 +0x1d, of which i is the dot, or -1.
func (t *text) goPlace(i int) int {
	colon := i + 2
	if t.at(colon) != ':' {
		colon++
	}
	end := t.skip(digits, colon+1)
	if t.at(colon) != ':' || end == colon+1 {
		return -1
	}
	if t.has(end, " +0x") {
		end = t.skip(hexDigit, end+4)
	}
	return end
}

// goFunction returns where the name of a function starts on a line: a package, a dot, a name; -1 for none.
func (t *text) goFunction(from, end int) int {
	i := from
	if t.has(i, "created by ") {
		i += len("created by ")
	}
	for i < end && i < from+400 {
		to := t.skip(functionChars, i)
		to = min(to, end)
		for j := to - 1; j > i; j-- {
			if t.s[j] == '.' && word[t.s[j-1]] {
				if i == from+len("created by ") && t.has(from, "created by ") {
					return from
				}
				return i
			}
		}
		if to < end && (t.s[to] == ')' || t.s[to] == ']') && t.at(to+1) == '.' {
			return i
		}
		i = to + 1
	}
	t.work += i - from
	return -1
}

// pythonStack hides the frames; a frame may stand alone.
func pythonStack(t *text, i int) {
	if t.has(i, "Traceback") {
		t.hide(i, t.pythonFrames(i+len("Traceback (most recent call last):")))
		return
	}
	before := t.s[max(0, i-300):max(0, i-1)]
	n := strings.LastIndex(before, `File "`)
	t.work += len(before) / 8
	if n < 0 || strings.ContainsAny(before[n+len(`File "`):], "\"\n") {
		return
	}
	if from := i - 1 - len(before) + n; t.pythonFrame(from) > 0 {
		t.hide(from, t.pythonFrames(t.pythonFrame(from)))
	}
}

// pythonFrame returns the end of the frame at i, with the lines of code below it, or 0.
func (t *text) pythonFrame(i int) int {
	if !t.has(i, `File "`) {
		return 0
	}
	j := t.until(i+len(`File "`), '"')
	if !t.has(j, `", line `) || !t.in(digits, j+len(`", line `)) {
		return 0
	}
	end := t.skip(digits, j+len(`", line `))
	if t.has(end, ", in ") {
		end = t.line(end)
	}
	for t.has(end, "\n    ") {
		end = t.line(end + 1)
	}
	return end
}

func (t *text) pythonFrames(end int) int {
	for t.at(end) == '\n' {
		next := t.pythonFrame(t.skip(blank, end+1))
		if next == 0 {
			break
		}
		end = next
	}
	return end
}

// frames hides frames of Java, JavaScript and .NET, one after another.
func frames(t *text, i int) {
	from, end := i+1, 0
	for at := from; ; {
		next := t.frame(at)
		if next == 0 {
			break
		}
		end = next
		if at = t.skip(space, end); at == end || !t.has(at, "at ") {
			break
		}
	}
	if end > 0 {
		t.hide(from, end)
	}
}

// frame returns the end of the frame that begins with "at" at i, or 0.
func (t *text) frame(i int) int {
	j := i + len("at ")
	end := min(t.line(j), j+400)
	s := t.s[j:end]
	t.work += len(s) / 8
	open := strings.IndexByte(s, '(')
	if open > 0 && strings.IndexByte(s[open:], ')') > 0 {
		inside := s[open+1 : open+strings.IndexByte(s[open:], ')')]
		after := j + open + len(inside) + 2
		function := s[:open]
		if strings.IndexByte(function, ' ') < 0 {
			name, n, _ := strings.Cut(inside, ":")
			dot := strings.LastIndexByte(name, '.')
			if inside == "Native Method" || inside == "Unknown Source" || dot > 0 && jvmTypes[name[dot+1:]] && strings.Trim(n, "0123456789") == "" {
				return after
			}
			if rest := t.s[after:end]; strings.HasPrefix(rest, " in ") {
				if n := strings.Index(rest, ":line "); n > 0 {
					return t.skip(digits, after+n+len(":line "))
				}
			}
		}
		if n := scriptPlace(inside); n == len(inside) && n > 0 {
			return after
		}
		if rest := t.s[after:end]; strings.HasPrefix(rest, " in ") {
			if n := strings.Index(rest, ":line "); n > 0 {
				return t.skip(digits, after+n+len(":line "))
			}
		}
		return 0
	}
	if strings.HasPrefix(s, "async ") {
		s = s[len("async "):]
		j += len("async ")
	}
	if n := strings.IndexAny(s, " \t\r"); n >= 0 {
		s = s[:n]
	}
	if n := scriptPlace(s); n > 0 {
		return j + n
	}
	return 0
}

var (
	jvmTypes    = set("java kt scala groovy")
	scriptTypes = set("js ts jsx tsx mjs cjs mts cts")
)

// scriptPlace returns the length of lib.mjs:3:1 at the end of which s may have more, or 0.
func scriptPlace(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] != '.' {
			continue
		}
		j := i + 1
		for j < len(s) && isLower(s[j]) {
			j++
		}
		if !scriptTypes[s[i+1:j]] {
			continue
		}
		parts := 0
		for parts < 2 && j+1 < len(s) && s[j] == ':' && isDigit(s[j+1]) {
			for j++; j < len(s) && isDigit(s[j]); j++ {
			}
			parts++
		}
		if parts == 2 {
			return j
		}
	}
	return 0
}
