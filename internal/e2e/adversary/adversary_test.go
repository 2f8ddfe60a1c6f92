package adversary

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/child"
	"github.com/mcpchain/mcpchain/middleware"
)

const (
	// answerTime is how long an answer may take on a busy machine.
	answerTime = 30 * time.Second
	// workTime is how much processor time one message may cost the server.
	workTime = 700 * time.Millisecond
	// heapGrowth is by how much the heap of a server may grow under attack.
	heapGrowth = 32 << 20
	// maxLine is how long a line of the log may be.
	maxLine = 1 << 20
)

// An attack is one server process with two sessions: the adversary's and the witness's,
// who must notice nothing. Over stdio there is one session, which both share.
type attack struct {
	*child.Process
	shape     shape
	chain     string
	mallory   *client
	witness   *client
	logged    int64
	before    stats
	sent      int
	witnessed int
	listening int // how many subscriptions it may have opened, which last by right
}

func newAttack(t testing.TB, p *child.Process, path string, s shape, chain string) *attack {
	t.Helper()
	a := &attack{Process: p, shape: s, chain: chain}
	if s.piped() {
		shared := newPipe(p.Stdout, p.Stdin)
		a.mallory = &client{wire: shared, version: s.version, prefix: "m"}
		a.witness = &client{wire: shared, version: s.version, prefix: "w"}
	} else {
		a.mallory = &client{wire: newPost(p.URL+path, "mallory", s.version), version: s.version, prefix: "m"}
		a.witness = &client{wire: newPost(p.URL+path, "witness", s.version), version: s.version, prefix: "w"}
		t.Cleanup(a.mallory.close)
		t.Cleanup(a.witness.close)
		a.open(t, a.witness)
	}
	a.open(t, a.mallory)
	return a
}

func (a *attack) open(t require.TestingT, c *client) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	require.NoError(t, c.initialize(ctx), "%s", a.Stderr)
}

// sendAll sends everything in the corpus that has the text in it. A short run sends all
// that did harm once, and of the rest every step-th, beginning with another one for each
// server.
func (a *attack) sendAll(t *testing.T, c *corpus, with string, step, first int) {
	t.Helper()
	messages := maps.Clone(c.found)
	for i, name := range c.order {
		if (i+first)%step == 0 || thorough() {
			messages[name] = c.render(t, name, a.mallory)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(messages)) {
		if !a.dead() && bytes.Contains(messages[name], []byte(with)) {
			t.Run(name, func(t *testing.T) { a.send(t, messages[name]) })
		}
	}
	a.Alive(t)
	a.checkWitness(t)
}

func (a *attack) dead() bool {
	select {
	case <-a.Exited:
		return true
	default:
		return false
	}
}

// send sends a message and requires that it did no harm.
func (a *attack) send(t testing.TB, message []byte) {
	t.Helper()
	id, open := legal(message)
	if a.shape.transport == "stdio" && !open {
		return
	}
	a.sent++
	if bytes.Contains(message, []byte("subscriptions/listen")) {
		a.listening++
	}
	harm := &harm{t: t, message: message}
	worked := a.work()
	patience := answerTime
	if id == "" {
		patience = 20 * time.Millisecond // it need not be answered
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	got, err := a.mallory.exchange(ctx, message, id)
	cancel()
	if errors.Is(err, io.EOF) || errors.Is(err, errEnded) {
		time.Sleep(200 * time.Millisecond) // so that it is known whether the process has died
	}
	a.Alive(harm)
	if id != "" || !errors.Is(err, context.DeadlineExceeded) {
		require.NoError(harm, err, "not answered")
	}
	if spent := a.work() - worked; spent > workTime {
		harm.Errorf("the message cost the server %v", spent)
		harm.FailNow()
	}
	require.Less(harm, got.status, 500, "%s", got.raw)
	if id != "" && got.status < 400 {
		require.Len(harm, got.answers, 1, "%s", got.raw)
		require.JSONEq(harm, id, string(got.answers[0].ID))
	}
	require.Empty(harm, child.Leak(got.raw), "a canary left the server in %s", got.raw)
	if a.chain == everything {
		for i := range got.answers {
			checkForm(harm, &got.answers[i])
		}
	}
	if got.status == 404 { // the session has ended, by right
		a.open(harm, a.mallory)
	}
	if a.chain == everything {
		a.checkWitness(harm)
	}
	a.checkLog(harm)
}

// work returns how much processor time the server has had, where the system says so.
func (a *attack) work() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.Cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	user, _ := strconv.Atoi(string(fields[11]))
	system, _ := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * 10 * time.Millisecond // ticks
}

// checkWitness requires that another session is answered, and rightly.
func (a *attack) checkWitness(t require.TestingT) {
	a.witnessed++
	token := fmt.Sprintf("witness %d", a.witnessed)
	tool := "echo"
	if a.shape.piped() { // the adversary's own connection may be refused the tools that it calls
		tool = "witness"
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	got, err := a.witness.call(ctx, tool, fmt.Sprintf(`{"token":%q}`, token))
	require.NoError(t, err, "the witness is not answered")
	require.False(t, got.failed(), "the witness is refused: %s", got.text())
	require.JSONEq(t, fmt.Sprintf(`{"token":%q}`, token), string(got.Result.StructuredContent))
}

var (
	referenceForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(\.[A-Za-z0-9]+)*$`)
	levels        = []string{"DEBUG", "INFO", "WARN", "ERROR"}
)

// checkForm requires that nothing in an answer passes for a line of ours, or is
// invisible.
func checkForm(t require.TestingT, a *answer) {
	if !a.failed() {
		return
	}
	var meta json.RawMessage
	if a.Error != nil {
		meta = a.Error.Data
	} else {
		meta = a.Result.Meta[middleware.MetaKey]
	}
	var machine struct {
		Type      string `json:"type"`
		Reference string `json:"reference_id"`
	}
	if json.Unmarshal(meta, &machine) != nil || machine.Type == "" {
		return // what the SDK answers before any middleware is not ours
	}
	references := 0
	for line := range strings.Lines(a.text()) {
		if reference, ok := strings.CutPrefix(line, "Reference: "); ok {
			reference, _, _ = strings.Cut(reference, " (") // what it is for
			references++
			require.Equal(t, machine.Reference, strings.TrimSpace(reference))
		}
	}
	require.LessOrEqual(t, references, 1, "%s", a.text())
	for _, r := range a.text() {
		invisible := r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector))
		require.False(t, invisible, "%U in %q", r, a.text())
	}
}

// checkLog requires that the new records are well-formed.
func (a *attack) checkLog(t require.TestingT) {
	size := a.Log.Size(t)
	if size == a.logged {
		return
	}
	require.Less(t, size-a.logged, int64(8*maxLine), "the log of one message")
	records, end := a.Log.Next(t, a.logged)
	a.logged = end // before anything fails, so that it fails once
	for _, r := range records {
		raw, err := json.Marshal(r)
		require.NoError(t, err)
		require.Less(t, len(raw), maxLine, "%.1000s", raw)
		require.Contains(t, levels, r.Text("level"), "%.1000s", raw)
		require.Regexp(t, `^(mcp |mcpchain: |validate: )`, r.Text("msg"), "%.1000s", raw)
		if reference := r.Text("reference"); reference != "" || r.Text("msg") == "mcp call" {
			require.Regexp(t, referenceForm, reference)
		}
	}
}

// checkIdle requires that the server is what it was before.
func (a *attack) checkIdle(t testing.TB) {
	t.Helper()
	var now stats
	for deadline := time.Now().Add(answerTime); ; time.Sleep(20 * time.Millisecond) {
		now = a.stats(t)
		if now.Goroutines <= a.before.Goroutines+10+2*a.listening && now.Heap <= a.before.Heap+heapGrowth {
			return
		}
		if time.Now().After(deadline) {
			stacks, err := a.witness.call(t.Context(), "stats", `{"stacks":true}`)
			require.FailNow(t, "memory or goroutines do not return", "%+v, and before %+v\n%s%v", now, a.before, stacks.text(), err)
		}
	}
}

func (a *attack) stats(t require.TestingT) (s stats) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	got, err := a.witness.call(ctx, "stats", "{}")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(got.text()), &s), "%s", got.text())
	return s
}

// A harm is where a message is kept that makes a check fail.
type harm struct {
	t       testing.TB
	message []byte
}

func (h *harm) Errorf(format string, args ...any) {
	h.t.Helper()
	h.t.Errorf(format, args...)
}

func (h *harm) FailNow() {
	h.t.Helper()
	sum := sha256.Sum256(h.message)
	file := filepath.Join("testdata", "found", hex.EncodeToString(sum[:6])+".json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		h.t.Error(err)
	}
	if err := os.WriteFile(file, append(bytes.Clone(h.message), '\n'), 0o644); err != nil {
		h.t.Error(err)
	}
	h.t.Fatalf("the message is kept in %s: %.300s", file, h.message)
}

// TestAdversary attacks a server with everything on, in every shape.
func TestAdversary(t *testing.T) {
	c := readCorpus(t)
	for i, s := range shapes {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			p := child.Start(t, func(log string) any { return config{Transport: s.transport, Chain: everything, Log: log} })
			if !s.piped() {
				p.ReadURL(t)
			}
			a := newAttack(t, p, "", s, everything)
			a.sendAll(t, c, "", 3, i)
			a.before = a.stats(t)
			seed := rand.Uint64()
			if text := os.Getenv("ADVERSARY_SEED"); text != "" {
				var err error
				seed, err = strconv.ParseUint(text, 10, 64)
				require.NoError(t, err)
			}
			t.Logf("ADVERSARY_SEED=%d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			for deadline := time.Now().Add(attackTime(time.Second / 4)); time.Now().Before(deadline); {
				a.send(t, c.mutate(t, r, c.render(t, c.order[r.IntN(len(c.order))], a.mallory)))
				if a.sent%500 == 0 {
					a.checkIdle(t)
				}
			}
			a.checkIdle(t)
			if s.piped() {
				a.Stop(t)
			}
			t.Logf("%d messages", a.sent)
		})
	}
}

// TestAlone attacks each middleware that stands alone around a server, and each around
// each kind of single handler. A short run takes one era for each.
func TestAlone(t *testing.T) {
	c := readCorpus(t)
	var p *child.Process
	for i, chain := range aloneChains() {
		for j, version := range []string{current, older} {
			if !thorough() && i%2 == j {
				continue
			}
			if p == nil { // the first, or the last one has died
				p = child.Start(t, func(log string) any { return config{Transport: "stateless", Log: log} })
				p.ReadURL(t)
			}
			t.Run(chain+"/"+version, func(t *testing.T) {
				a := newAttack(t, p, "/"+url.PathEscape(chain), shape{"stateless", version}, chain)
				a.logged = a.Log.Size(t)
				defer func() {
					if a.dead() {
						p = nil
					}
				}()
				place, name, _ := strings.Cut(chain, " ")
				step := 6
				if chain == "validate" || name == "validate" { // which looks at all of the arguments
					step = 1
				}
				a.sendAll(t, c, places[place], step, i)
			})
		}
	}
}

// places are the kinds of handlers that can be wrapped alone, and their methods.
var places = map[string]string{
	"tool": "tools/call", "addtool": "tools/call", "resource": "resources/read", "prompt": "prompts/get",
}

// aloneChains returns the names of what stands alone.
func aloneChains() []string {
	var names []string
	for name := range chains(nil) {
		if name == everything {
			continue
		}
		names = append(names, name)
		for place := range places {
			names = append(names, place+" "+name)
		}
	}
	slices.Sort(names)
	return names
}
