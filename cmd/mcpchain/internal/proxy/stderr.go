package proxy

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// stderr passes on what the server writes to its standard error, in whole lines and without the
// values of its secrets, so that it does not mix with the log. It keeps the last line: that often
// says why the server has ended.
type stderr struct {
	hide func(string) string
	line func(string) // takes one line

	mu   sync.Mutex
	part []byte
	text string
}

// maxLine is how many bytes of a line are kept together.
const maxLine = 64 << 10

func (s *stderr) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = append(s.part, p...)
	for {
		end := bytes.IndexByte(s.part, '\n')
		if end < 0 && len(s.part) < maxLine {
			return len(p), nil
		}
		if end < 0 {
			end = len(s.part) - 1
		}
		s.write(s.part[:end+1])
		s.part = append(s.part[:0], s.part[end+1:]...)
	}
}

func (s *stderr) write(line []byte) {
	text := s.hide(strings.TrimRight(string(line), "\r\n"))
	if strings.TrimSpace(text) != "" {
		s.text = text
	}
	s.line(text)
}

// last returns the last line that says something, with what has no end yet.
func (s *stderr) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.part) > 0 {
		s.write(s.part)
		s.part = nil
	}
	text := s.text
	s.text = ""
	return text
}

// Lines returns what writes lines to w, each at once.
func Lines(w io.Writer) func(string) {
	return func(line string) { _, _ = io.WriteString(w, line+"\n") }
}
