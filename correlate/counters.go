package correlate

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/internal/call"
)

// maxSeries is how many combinations of labels [Counters] keep apart.
const maxSeries = 4096

// Counters count calls, for a server without a library for metrics. They are an
// expvar.Var. The program publishes it itself, under a name of its own: package correlate
// does not import expvar, because the import alone adds a handler to
// http.DefaultServeMux. The zero value is ready. It may be used concurrently.
//
//	var calls correlate.Counters
//	expvar.Publish("mcp", &calls)
//	options := &correlate.Options{Observe: calls.Observe, Stats: &calls.Stats}
//
// The value is an object such as
//
//	{"in_flight":2,"stuck":0,"calls":{"tools/call search ok":{"count":17,"seconds":1.7,"attempts":18}},
//	 "parts":{}}
//
// The name of a series is made of method, tool, outcome, kind, party and the package that
// refused the call. What does not apply is left out. After 4096 series, further ones are
// counted as "_other".
type Counters struct {
	// Stats is for Options.Stats.
	Stats Stats

	mu    sync.Mutex
	calls map[string]*series
	parts map[string]*series
}

type series struct {
	Count    int64   `json:"count"`
	Seconds  float64 `json:"seconds"`
	Attempts int64   `json:"attempts"`
}

// Observe counts a call. It is for Options.Observe.
func (c *Counters) Observe(_ context.Context, e Event) {
	labels := make([]string, 0, 6)
	refused := ""
	if e.Refused != "" {
		refused = "refused_by=" + e.Refused
	}
	for _, label := range []string{e.Method, e.Tool, string(e.Outcome), string(e.Kind), string(e.Party), refused} {
		if label != "" {
			labels = append(labels, label)
		}
	}
	name := strings.Join(labels, " ")
	c.mu.Lock()
	defer c.mu.Unlock()
	of := &c.calls
	if e.Part {
		of = &c.parts
	}
	if *of == nil {
		*of = map[string]*series{}
	}
	if (*of)[name] == nil && len(c.calls)+len(c.parts) >= maxSeries {
		name = call.Other
	}
	s := (*of)[name]
	if s == nil {
		s = &series{}
		(*of)[name] = s
	}
	s.Count, s.Seconds, s.Attempts = s.Count+1, s.Seconds+e.Duration.Seconds(), s.Attempts+int64(e.Attempts)
}

// String returns the counters as a JSON object, as an expvar.Var does.
func (c *Counters) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw, err := json.Marshal(map[string]any{
		"in_flight": c.Stats.InFlight.Load(), "stuck": c.Stats.Stuck.Load(), "calls": orEmpty(c.calls), "parts": orEmpty(c.parts),
	})
	if err != nil {
		return "{}" // cannot happen: it holds only texts and numbers
	}
	return string(raw)
}

// orEmpty returns an empty map for a nil one, which JSON would write as null.
func orEmpty(m map[string]*series) map[string]*series {
	if m == nil {
		return map[string]*series{}
	}
	return m
}
