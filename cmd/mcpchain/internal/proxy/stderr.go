package proxy

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// stderr passes on the standard error of the server in whole lines, without the values of its secrets. So it does
// not mix with the log. It keeps the last lines: they often say why the server has ended.
type stderr struct {
	hide func(string) string
	line func(string) // takes one line

	mu   sync.Mutex
	part []byte
	kept tail
}

const (
	maxLine = 64 << 10 // bytes of a line that are kept together
	overlap = 16 << 10 // bytes behind that which are known before it is cut: a secret may stand there
)

func (s *stderr) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = append(s.part, p...)
	rest := s.part
	for {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 && len(rest) < maxLine+overlap {
			break
		}
		if end == 0 || end > maxLine+overlap {
			end = s.cut(rest)
		}
		s.write(rest[:end])
		rest = rest[end:]
	}
	s.part = append(s.part[:0], rest...)
	return len(p), nil
}

// cut returns where to cut a line that is too long, so that no secret stands on both sides.
func (s *stderr) cut(line []byte) int {
	for back := 0; back <= maxLine/2; back = max(overlap/256, 2*back) {
		at := maxLine - back
		for at > maxLine/2 && !utf8.RuneStart(line[at]) {
			at--
		}
		before, after := string(line[max(0, at-overlap):at]), string(line[at:min(len(line), at+overlap)])
		if s.hide(before+after) == s.hide(before)+s.hide(after) {
			return at
		}
	}
	return maxLine
}

func (s *stderr) write(line []byte) {
	text := s.hide(strings.TrimRight(string(line), "\r\n"))
	s.kept.add(text)
	s.line(text)
}

// last returns the last lines that say something since it was called before, with what has no end yet.
func (s *stderr) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.part) > 0 {
		s.write(s.part)
		s.part = nil
	}
	return s.kept.take()
}

// A tail keeps the last lines of a text, at most maxClip bytes of them. An indented line belongs to the one above
// it, such as a frame of a stack. It is kept only if there is no other line.
type tail struct {
	lines []string
	size  int
	rest  string // the last line that is indented
}

func (t *tail) add(line string) {
	line = strings.TrimRight(line, " \t\r\n")
	if line == "" {
		return
	}
	if line[0] == ' ' || line[0] == '\t' {
		t.rest = line
		return
	}
	t.lines = append(t.lines, line)
	t.size += len(line) + len(between)
	for len(t.lines) > 1 && t.size > maxClip {
		t.size -= len(t.lines[0]) + len(between)
		t.lines = t.lines[1:]
	}
}

// between stands between lines that are joined into one.
const between = " / "

// take returns the lines in one, and forgets them.
func (t *tail) take() string {
	text := strings.Join(t.lines, between)
	if text == "" {
		text = strings.TrimSpace(t.rest)
	}
	*t = tail{}
	return text
}

// Lines returns what writes lines to w, each at once.
func Lines(w io.Writer) func(string) {
	return func(line string) { _, _ = io.WriteString(w, line+"\n") }
}
