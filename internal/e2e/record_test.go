package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A recorder has every byte that left a server, in the order in which it arrived.
// Standard output is one stream, and each HTTP response is one.
type recorder struct {
	mu      sync.Mutex
	streams int
	chunks  []chunk
	events  map[int]bool // the streams that are event streams
}

type chunk struct {
	stream int
	head   bool // status and headers of an HTTP response
	data   []byte
}

func (r *recorder) open(events bool) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams++
	if events {
		if r.events == nil {
			r.events = map[int]bool{}
		}
		r.events[r.streams] = true
	}
	return r.streams
}

func (r *recorder) add(stream int, head bool, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chunks = append(r.chunks, chunk{stream, head, bytes.Clone(data)})
}

// mark is where the record stands now.
func (r *recorder) mark() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.chunks)
}

// bytes returns everything since a mark, stream by stream.
func (r *recorder) bytes(mark int) []byte {
	var all []byte
	for _, s := range r.since(mark) {
		all = append(all, s.head...)
		all = append(all, s.data...)
	}
	return all
}

type streamData struct {
	head, data []byte
	events     bool
}

func (r *recorder) since(mark int) []streamData {
	r.mu.Lock()
	defer r.mu.Unlock()
	byStream := map[int]*streamData{}
	var order []int
	for _, c := range r.chunks[mark:] {
		s := byStream[c.stream]
		if s == nil {
			s = &streamData{events: r.events[c.stream]}
			byStream[c.stream] = s
			order = append(order, c.stream)
		}
		if c.head {
			s.head = append(s.head, c.data...)
		} else {
			s.data = append(s.data, c.data...)
		}
	}
	all := make([]streamData, 0, len(order))
	for _, id := range order {
		all = append(all, *byStream[id])
	}
	return all
}

// messages returns the JSON-RPC messages that arrived since a mark, as they are.
func (r *recorder) messages(mark int) []json.RawMessage {
	var all []json.RawMessage
	for _, s := range r.since(mark) {
		if !s.events {
			for line := range bytes.Lines(s.data) {
				if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' {
					all = append(all, slices.Clone(line))
				}
			}
			continue
		}
		for line := range bytes.Lines(s.data) {
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				if data = bytes.TrimSpace(data); len(data) > 0 {
					all = append(all, slices.Clone(data))
				}
			}
		}
	}
	return all
}

// message is a JSON-RPC message, taken apart as little as possible.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	raw    json.RawMessage
}

// answers returns the responses among the messages since a mark.
func (r *recorder) answers(t require.TestingT, mark int) []message {
	var all []message
	for _, raw := range r.messages(mark) {
		m := message{raw: raw}
		require.NoError(t, json.Unmarshal(raw, &m), "%s", raw)
		if m.Method == "" {
			all = append(all, m)
		}
	}
	return all
}

// tee records what is read.
type tee struct {
	io.Reader
	rec    *recorder
	stream int
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if n > 0 {
		t.rec.add(t.stream, false, p[:n])
	}
	return n, err
}

func (t *tee) Close() error {
	if c, ok := t.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// httpTee records HTTP responses, heads and bodies.
type httpTee struct {
	base *http.Transport
	rec  *recorder
}

// CloseIdleConnections is what a client's method of that name looks for.
func (t *httpTee) CloseIdleConnections() { t.base.CloseIdleConnections() }

func (t *httpTee) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	stream := t.rec.open(strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"))
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s\r\n", resp.Status)
	_ = resp.Header.Write(&head)
	t.rec.add(stream, true, head.Bytes())
	resp.Body = &tee{Reader: resp.Body, rec: t.rec, stream: stream}
	return resp, nil
}

// leak returns the form in which a canary stands in what left a server, or "". It
// looks for the text in upper and lower case, with escapes undone, in base64 at
// each of its three alignments, and in hexadecimal.
func leak(b []byte) string {
	lower := bytes.ToLower(b)
	for _, form := range canaryForms() {
		if bytes.Contains(b, []byte(form)) || bytes.Contains(lower, []byte(form)) {
			return form
		}
	}
	if bytes.Contains(b, []byte(`\u00`)) && strings.Contains(strings.ToLower(unescape(string(b))), canaryPrefix) {
		return "escaped " + canaryPrefix
	}
	return ""
}

var canaryForms = sync.OnceValue(func() []string {
	forms := []string{canaryPrefix, hex.EncodeToString([]byte(canaryPrefix))}
	for offset := range 3 {
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			padded := append(bytes.Repeat([]byte{0}, offset), canaryPrefix...)
			text := enc.EncodeToString(padded[:len(padded)/3*3])
			forms = append(forms, text[(offset*8+5)/6:])
		}
	}
	return forms
})

var escape = regexp.MustCompile(`\\u00([0-9a-fA-F]{2})`)

func unescape(text string) string {
	return escape.ReplaceAllStringFunc(text, func(e string) string {
		n, err := strconv.ParseUint(e[4:], 16, 8)
		if err != nil {
			return e
		}
		return string(rune(n))
	})
}

func TestLeakFindsEveryForm(t *testing.T) {
	c := canary("forms")
	require.Empty(t, leak([]byte("zqkanari and nothing more")))
	escaped := ""
	for _, r := range c {
		escaped += fmt.Sprintf(`\u%04x`, r)
	}
	for _, form := range []string{c, "x" + strings.ToUpper(c), escaped, hex.EncodeToString([]byte("ab" + c))} {
		require.NotEmpty(t, leak([]byte("before "+form+" after")), form)
	}
	for before := range 4 {
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
			require.NotEmpty(t, leak([]byte(enc.EncodeToString([]byte(strings.Repeat("~", before)+c+"~~")))), before)
		}
	}
}

// A logFile is the log of a server, as JSON lines.
type logFile string

// size is where the log stands now.
func (f logFile) size(t require.TestingT) int64 {
	info, err := os.Stat(string(f))
	require.NoError(t, err)
	return info.Size()
}

// A logRecord is one line of the log.
type logRecord map[string]any

func (r logRecord) text(key string) string {
	s, _ := r[key].(string)
	return s
}

// all returns all texts of the record, the nested ones too.
func (r logRecord) all() string {
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v)
			b.WriteByte('\n')
		case map[string]any:
			for _, v := range v {
				walk(v)
			}
		case []any:
			for _, v := range v {
				walk(v)
			}
		}
	}
	walk(map[string]any(r))
	return b.String()
}

// since returns the records after a size.
func (f logFile) since(t require.TestingT, size int64) []logRecord {
	file, err := os.Open(string(f))
	require.NoError(t, err)
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, size, 1<<62))
	require.NoError(t, err)
	var all []logRecord
	for line := range bytes.Lines(data) {
		var r logRecord
		require.NoError(t, json.Unmarshal(line, &r))
		all = append(all, r)
	}
	return all
}
