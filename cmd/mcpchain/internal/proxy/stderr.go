package proxy

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// stderr passes on the standard error of the server in whole lines, without the values of its secrets. So it does
// not mix with the log.
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

// ended returns what was written since it was called before, with what has no end yet.
func (s *stderr) ended() tail {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.part) > 0 {
		s.write(s.part)
		s.part = nil
	}
	kept := s.kept
	s.kept = tail{}
	return kept
}

// recent returns what was written until now.
func (s *stderr) recent() tail {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.kept
	kept.lines = slices.Clone(kept.lines)
	return kept
}

// Lines returns what writes lines to w, each at once.
func Lines(w io.Writer) func(string) {
	return func(line string) { _, _ = io.WriteString(w, line+"\n") }
}
