package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

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

// take returns everything and forgets it.
func (r *recorder) take() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []byte
	for _, c := range r.chunks {
		all = append(all, c.data...)
	}
	r.chunks, r.events = nil, nil
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
