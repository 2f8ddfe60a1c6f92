package frozen_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

// A world is what a case has: a server, a client, a log, and the paragraph that it writes.
type world struct {
	t       *testing.T
	log     *records
	session *harness.Session
	level   slog.Level

	// Unordered says that what runs at the same time writes records, in any order.
	unordered bool

	out strings.Builder
	ids map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Cleanup(func() { time.Sleep(24 * time.Hour) }) // until what was left behind has ended
	return &world{t: t, log: &records{}, ids: map[string]string{}, level: slog.LevelDebug}
}

// logger returns the logger for the options of middlewares.
func (w *world) logger() *slog.Logger { return slog.New(leveled{w.log.handler(""), w.level}) }

// leveled is a handler that takes records of a level and above.
type leveled struct {
	slog.Handler
	level slog.Level
}

func (l leveled) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }
func (l leveled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return leveled{l.Handler.WithAttrs(attrs), l.level}
}
func (l leveled) WithGroup(name string) slog.Handler {
	return leveled{l.Handler.WithGroup(name), l.level}
}

// start starts the server and the client. Records of the start below Info are not written
// down: they are the same for every case.
func (w *world) start(at harness.Place, s harness.Setup) {
	w.session = harness.Start(w.t, at, s)
	synctest.Wait()
	for _, r := range w.log.take() {
		if r.level >= slog.LevelInfo {
			w.record(r)
		}
	}
}

// call calls what is there under a name, with arguments if it is a tool.
func (w *world) call(name, args string) harness.Answer {
	return w.callWith(w.t.Context(), name, args, nil)
}

// callWith is call with a context and a _meta.
func (w *world) callWith(ctx context.Context, name, args string, meta mcp.Meta) harness.Answer {
	heading := "call " + name
	if args != "" {
		heading += " " + args
	}
	if meta != nil {
		heading += " _meta " + string(must(json.Marshal(meta)))
	}
	return w.step(heading, func() harness.Answer {
		if !w.session.Place.Shape.Tool() {
			return w.session.CallContext(ctx, name)
		}
		params := &mcp.CallToolParams{Name: name, Meta: meta}
		if args != "" {
			params.Arguments = json.RawMessage(args)
		}
		res, err := w.session.Client.CallTool(ctx, params)
		return answer(res, err)
	})
}

// answer is what a method of a client returned.
func answer[R interface {
	comparable
	mcp.Result
}](res R, err error) harness.Answer {
	var none R
	if res == none {
		return harness.Answer{Err: err}
	}
	return harness.Answer{Result: res, Err: err}
}

// step does something with the session, and writes down what the server sent meanwhile, what
// the client makes of the answer, and the records.
func (w *world) step(heading string, do func() harness.Answer) harness.Answer {
	w.linef("%s", heading)
	from := len(w.session.Sent())
	got := do()
	synctest.Wait()
	for message := range strings.Lines(w.session.Sent()[from:]) {
		w.block("> ", show(w.normal(strings.TrimSuffix(message, "\n"))))
	}
	if f, failed := middleware.FaultOf(got.Result, got.Err); failed {
		w.linef("client reads %s, hint %s", f.Kind(), hint(f))
	}
	if got.Err != nil && got.Protocol() == nil {
		w.linef("client gets %s", w.normal(got.Err.Error()))
	}
	w.records()
	return got
}

// records writes down the records since the last time.
func (w *world) records() {
	all := w.log.take()
	if !w.unordered {
		for _, r := range all {
			w.record(r)
		}
		return
	}
	for i := range all {
		all[i].text = known(w.ids, all[i].text)
	}
	sortBy(all, func(r record) string { return r.text })
	for _, r := range all {
		w.record(r)
	}
}

func (w *world) record(r record) { w.block("| ", shownAs(r, w.normal(r.text))) }

// shownAs breaks the record of a logger into lines; a note is one.
func shownAs(r record, text string) string {
	if r.note {
		return text
	}
	return show(text)
}

func (w *world) linef(format string, args ...any) {
	fmt.Fprintf(&w.out, format, args...)
	w.out.WriteByte('\n')
}

// block writes lines with something in front.
func (w *world) block(front, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		w.out.WriteString(strings.TrimRight(front+line, " ") + "\n")
	}
}

// String returns the paragraph.
func (w *world) String() string { return w.out.String() }

// hint returns what an error says about a second try, whatever members it has.
func hint(err error) string {
	v := reflect.ValueOf(middleware.HintOf(err))
	var parts []string
	for i := range v.NumField() {
		if field := v.Field(i); !field.IsZero() {
			parts = append(parts, fmt.Sprintf("%s=%v", strings.ToLower(v.Type().Field(i).Name), field))
		}
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// What is different in each run: UUIDs, cursors and other random texts, handles of package
// state, hashes of the audit, addresses.
var (
	random    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[A-Z2-7]{26}\b|\b[a-z2-7]{26}-\d+\b|\b[0-9a-f]{64}\b`)
	addresses = regexp.MustCompile(`0x[0-9a-f]{5,}`)
)

// normal replaces what is different in each run by what number it is in the paragraph.
func (w *world) normal(text string) string {
	text = random.ReplaceAllStringFunc(text, func(id string) string {
		name, ok := w.ids[id]
		if !ok {
			name = "<id " + strconv.Itoa(len(w.ids)+1) + ">"
			w.ids[id] = name
		}
		return name
	})
	text = strings.ReplaceAll(text, serverInfo, `"server":0`)
	return addresses.ReplaceAllString(text, "<address>")
}

// serverInfo is what the SDK adds to every result of 2026-07-28. It stands for itself in short.
const serverInfo = `"io.modelcontextprotocol/serverInfo":{"name":"harness-server","version":""}`

// known replaces the IDs that have a number, and the others by one word.
func known(ids map[string]string, text string) string {
	return random.ReplaceAllStringFunc(text, func(id string) string {
		if name, ok := ids[id]; ok {
			return name
		}
		return "<id>"
	})
}

// records keeps what is logged, a record a line of JSON.
type records struct {
	mu  sync.Mutex
	all []record
}

type record struct {
	level slog.Level
	text  string
	note  bool // not of a logger
}

func (r *records) take() []record {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

func (r *records) add(one record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

// note adds a line that is no record of a logger: of an audit, for example.
func (r *records) note(text string) { r.add(record{slog.LevelDebug, text, true}) }

// handler returns a handler that keeps records behind a prefix.
func (r *records) handler(prefix string) slog.Handler {
	return keeping{prefix: prefix, to: r, with: func(h slog.Handler) slog.Handler { return h }}
}

// keeping is a handler that writes each record with a JSON handler of its own.
type keeping struct {
	prefix string
	to     *records
	with   func(slog.Handler) slog.Handler
}

func (k keeping) Enabled(context.Context, slog.Level) bool { return true }

func (k keeping) Handle(ctx context.Context, r slog.Record) error {
	var buf bytes.Buffer
	h := k.with(slog.NewJSONHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: replaceAttr}))
	err := h.Handle(ctx, r)
	k.to.add(record{r.Level, k.prefix + strings.TrimSpace(buf.String()), false})
	return err
}

func (k keeping) WithAttrs(attrs []slog.Attr) slog.Handler {
	inner := k.with
	k.with = func(h slog.Handler) slog.Handler { return inner(h).WithAttrs(attrs) }
	return k
}

func (k keeping) WithGroup(name string) slog.Handler {
	inner := k.with
	k.with = func(h slog.Handler) slog.Handler { return inner(h).WithGroup(name) }
	return k
}

// replaceAttr leaves out the time, rounds durations, because back-offs are drawn in
// microseconds, and shortens stacks.
func replaceAttr(groups []string, a slog.Attr) slog.Attr {
	switch {
	case a.Key == slog.TimeKey && len(groups) == 0:
		return slog.Attr{}
	case strings.HasSuffix(a.Key, "_ms") && a.Value.Resolve().Kind() == slog.KindFloat64:
		return slog.Float64(a.Key, math.Round(a.Value.Resolve().Float64()))
	}
	if v := a.Value.Resolve(); v.Kind() == slog.KindString && strings.Contains(v.String(), ".go:") {
		return slog.String(a.Key, stack(v.String()))
	}
	return a
}

var (
	frame   = regexp.MustCompile(`(?m)^\t\S+\.go:\d+( \+0x[0-9a-f]+)?\n?`)
	corpus  = regexp.MustCompile(`^github\.com/mcpchain/mcpchain/internal/(frozen|harness)`)
	library = regexp.MustCompile(`^github\.com/mcpchain/mcpchain`)
	within  = regexp.MustCompile(`^[^(]*/|\..*$`)
)

// stack returns in which packages the functions of a stack are, each once in a row. The library
// is one package, and so is this corpus: their functions are what may change.
func stack(text string) string {
	var all []string
	for line := range strings.Lines(frame.ReplaceAllString(text, "")) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case corpus.MatchString(line):
			line = "the corpus"
		case library.MatchString(line):
			line = "the library"
		case strings.HasSuffix(line, ")"):
			line = within.ReplaceAllString(line, "")
		}
		if len(all) == 0 || all[len(all)-1] != line {
			all = append(all, line)
		}
	}
	return "in " + strings.Join(all, ", ")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
