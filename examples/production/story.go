package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/examples/internal/story"
	"github.com/mcpchain/mcpchain/middleware"
)

// replicated is how the servers of the story are started.
var replicated = story.Story{Args: []string{"-http", "127.0.0.1:0", "-deadline", "1500ms", "-lag", "300ms"}}

const auditKey = "known to the servers and the auditor"

func init() {
	story.Tell(story.Story{Stage: play})
	if os.Getenv("REDIS_URL") != "" {
		return
	}
	mini, _ := startRedis()
	dir, err := os.MkdirTemp("", "audit")
	story.Must(err)
	for name, value := range map[string]string{
		"REDIS_URL": "redis://" + mini, "BILLING_URL": newService().address(), "TOKENS": people(),
		"AUDIT_DIR": dir, "AUDIT_KEY": auditKey, "OTEL_EXPORTER_OTLP_ENDPOINT": newCollector().URL,
	} {
		if os.Getenv(name) == "" {
			story.Must(os.Setenv(name, value))
		}
	}
	fmt.Fprintln(os.Stderr, "To try it: a Redis, a billing service and a Collector in this process. The token is ada-1, the path /mcp.")
}

// people are Ada and Eve, who may pay, and Bob, who may not.
func people() string {
	hash := func(token string) string {
		sum := sha256.Sum256([]byte(token))
		return hex.EncodeToString(sum[:])
	}
	return fmt.Sprintf(`{"%s":{"UserID":"ada","Scopes":["pay"]},"%s":{"UserID":"bob"},"%s":{"UserID":"eve","Scopes":["pay"]}}`,
		hash("ada-1"), hash("bob-2"), hash("eve-3"))
}

// startRedis starts a Redis in this process. Time passes in it, and with forward faster.
func startRedis() (address string, forward func(time.Duration)) {
	mini, err := miniredis.Run()
	story.Must(err)
	go func() {
		for range time.Tick(time.Second) {
			mini.FastForward(time.Second)
		}
	}()
	return mini.Addr(), mini.FastForward
}

// A stage is all that runs.
type stage struct {
	ctx       context.Context //nolint:containedctx // a stage is played once
	between   *balancer
	service   *service
	collector *collector
	journal   *journal
	answers   strings.Builder // all that clients got
	start     func(i int)
}

func play(ctx context.Context) {
	address, forward := os.Getenv("REDIS_ADDR"), time.Sleep // a real one keeps its own time
	if address == "" {
		address, forward = startRedis()
	}
	prefix := fmt.Sprintf("production:%d:", time.Now().UnixNano())
	way := newRelay(address)
	s := &stage{ctx: ctx, between: newBalancer(ctx), service: newService(), collector: newCollector(), journal: &journal{}}
	s.start = func(i int) {
		cmd, err := replicated.Command(ctx)
		story.Must(err)
		cmd.Stderr = s.journal
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OTEL_") }),
			"REDIS_URL=redis://"+way.address+"?max_retries=-1", "REDIS_PREFIX="+prefix, "BILLING_URL="+s.service.address(), "TOKENS="+people(),
			fmt.Sprintf("AUDIT_DIR=audit-%d", i), "AUDIT_KEY="+auditKey, "OTEL_EXPORTER_OTLP_ENDPOINT="+s.collector.URL,
			"OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_BLRP_SCHEDULE_DELAY=50", "OTEL_METRIC_EXPORT_INTERVAL=100")
		s.between.start(i, cmd)
	}
	s.start(0)
	s.start(1)

	s.strangers()
	s.failures()
	s.outage(way)
	s.death(forward)
	s.rolling()
	var ended sync.WaitGroup
	for _, r := range s.between.all() {
		ended.Go(func() { s.between.stop(r) })
	}
	ended.Wait()
	s.audited()
	s.private()
}

// signedIn sends a token with each request.
type signedIn string

func (token signedIn) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

// connect begins a session of the user with this token.
func (s *stage) connect(token string) *mcp.ClientSession {
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil)
	session, err := client.Connect(s.ctx, &mcp.StreamableClientTransport{
		Endpoint: s.between.URL + "/mcp", MaxRetries: -1, HTTPClient: &http.Client{Transport: signedIn(token)},
	}, nil)
	story.Must(err)
	return session
}

// An answer is what a client got.
type answer struct {
	text, reference string
}

// call makes a call in a session of its own, as a model that was started anew does.
func (s *stage) call(token, tool, key string, args any) (answer, error) {
	session := s.connect(token)
	defer session.Close()
	params := &mcp.CallToolParams{Name: tool, Arguments: args}
	if key != "" {
		params.Meta = mcp.Meta{"io.modelcontextprotocol/idempotencyKey": key}
	}
	res, err := session.CallTool(s.ctx, params)
	got := answer{}
	if told, failed := middleware.FaultOf(res, err); failed {
		got.reference = told.Reference()
	}
	switch {
	case err != nil:
		got.text = err.Error()
	default:
		got.text = story.Text(res)
	}
	s.answers.WriteString(got.text)
	if raw, err := json.Marshal(res); err == nil {
		s.answers.Write(raw)
	}
	return got, err
}

// differing is what each run has alone, and what stands in its place.
var differing = []struct {
	found *regexp.Regexp
	shown string
}{
	{regexp.MustCompile(`"time":"[^"]*",|,"duration_ms":[0-9.e-]+|,"stack":"(?:[^"\\]|\\.)*"`), ""},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:port"},
	{regexp.MustCompile(`after [12] s \(attempt`), "after 2 s (attempt"}, // made a little different by chance
	{regexp.MustCompile(`after \d+ s\. Nothing was changed by this call\.$`), "after 12 s. Nothing was changed by this call."},
	{regexp.MustCompile(`"retry_after_seconds":[\d]+\.[\d]+`), `"retry_after_seconds":12`},
}

// show prints a text beside its label, without what each run has alone.
func show(label, text string) {
	for _, d := range differing {
		text = d.found.ReplaceAllString(text, d.shown)
	}
	fmt.Printf("%-8s %s\n", label, strings.ReplaceAll(text, "\n", "\n         "))
}

// await returns the lines of the log that have a text, when there is one.
func (s *stage) await(text string) []string {
	for wait := time.Now().Add(20 * time.Second); time.Now().Before(wait); time.Sleep(time.Millisecond) {
		if lines := s.journal.find(text); len(lines) > 0 {
			return lines
		}
	}
	story.Must(fmt.Errorf("the log has no %s", text))
	return nil
}

// fails makes a call that fails, and prints what each reader gets.
func (s *stage) fails(what, token, tool, key string, args any) {
	given, err := json.Marshal(args)
	story.Must(err)
	fmt.Printf("\n== %s: %s %s\n", what, tool, given)
	got, _ := s.call(token, tool, key, args)
	show("answer", got.text)
	if got.reference == "" {
		story.Must(errors.New("the answer has no reference"))
	}
	s.readers(got.reference)
}

// readers prints what log, metric and trace have of a call.
func (s *stage) readers(reference string) {
	for wait := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		lines := s.journal.find(`"reference":"` + reference + `"`)
		span, record, measured := s.collector.find(reference)
		if len(lines) == 0 || span == nil || record == nil || measured == nil {
			if time.Now().After(wait) {
				story.Must(fmt.Errorf("of %s there is: in the log %d, a record %v, a span %v, a measurement %v", reference, len(lines), record, span, measured))
			}
			continue
		}
		for _, line := range lines {
			show("log", line)
		}
		whole := struct{ Error string }{}
		story.Must(json.Unmarshal([]byte(lines[0]), &whole))
		if sent := attributes(record.GetAttributes())["error"]; sent != whole.Error {
			show("", "to the Collector with error="+fmt.Sprintf("%q", sent))
		}
		show("metric", measured.name+chosen(attributes(measured.GetAttributes()), "gen_ai.tool.name", "error.type", "mcpchain.kind", "mcpchain.party"))
		show("trace", span.GetName()+", status "+strings.ToLower(strings.TrimPrefix(span.GetStatus().GetCode().String(), "STATUS_CODE_"))+
			chosen(attributes(span.GetAttributes()), "mcpchain.kind", "mcpchain.effect", "mcpchain.reference"))
		return
	}
}

// chosen returns some attributes, in this order.
func chosen(all map[string]string, keys ...string) string {
	var text strings.Builder
	for _, key := range keys {
		if all[key] != "" {
			fmt.Fprintf(&text, " %s=%s", key, all[key])
		}
	}
	return text.String()
}

// strangers have no token that is known.
func (s *stage) strangers() {
	fmt.Println("== A token that nobody knows")
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.between.URL+"/mcp", strings.NewReader("{}"))
	story.Must(err)
	resp, err := signedIn("mallory-9").RoundTrip(req)
	story.Must(err)
	_ = resp.Body.Close()
	show("answer", resp.Status+", WWW-Authenticate: "+resp.Header.Get("WWW-Authenticate"))
	for _, line := range s.await(`"status":401`) {
		show("log", line)
	}
}

func (s *stage) failures() {
	get := func(what, id string) { s.fails(what, "ada-1", "get_invoice", "", which{id}) }
	s.fails("The arguments are wrong", "ada-1", "pay_invoice", "", map[string]any{"invoice": "inv-17", "cents": "all"})
	s.fails("The token has not the scope", "bob-2", "pay_invoice", "", payment{"inv-17", 1500})
	get("There is no such invoice", "inv-99")
	get("The service asks to wait", "inv-busy")
	get("The service is slow", "inv-slow")
	get("The service answers nonsense", "inv-broken")
	get("A handler panics", "inv-empty")
	s.fails("The service hangs up after a payment", "ada-1", "pay_invoice", "", payment{"inv-cut", 700})
	for range 5 {
		_, err := s.call("eve-3", "pay_invoice", "", payment{"inv-17", 1500})
		story.Must(err)
	}
	s.fails("Too many payments", "eve-3", "pay_invoice", "", payment{"inv-17", 1500})
}

// outage takes Redis away.
func (s *stage) outage(way *relay) {
	way.cut()
	s.fails("Redis is away, and the call has an idempotency key", "ada-1", "pay_invoice", "key-1", payment{"inv-17", 1500})
	fmt.Println("\n== Redis is away: get_invoice {\"invoice\":\"inv-17\"}")
	got, err := s.call("ada-1", "get_invoice", "", which{"inv-17"})
	story.Must(err)
	show("answer", got.text)
	show("log", s.await("the shared store of package limit")[0])
	way.mend()
}

// death kills a server in the middle of a payment.
func (s *stage) death(forward func(time.Duration)) {
	bought := payment{"inv-lost", 900}
	fmt.Println("\n== A server is killed in the middle of a payment: pay_invoice {\"invoice\":\"inv-lost\",\"cents\":900}")
	before, dead := s.settled("pay_invoice"), make(chan int)
	go func() {
		<-s.service.began
		dead <- s.between.kill()
	}()
	got, err := s.call("ada-1", "pay_invoice", "key-2", bought)
	if err == nil {
		story.Must(errors.New("it was answered"))
	}
	killed := <-dead
	show("answer", got.text)
	show("log", "nothing: the record is written when a call ends")
	show("metric", "nothing: a call is measured when it ends")
	show("trace", "nothing: a span is sent when it has ended")
	for _, begun := range withoutEnd(killed) {
		show("audit", begun)
	}

	fmt.Println("\n== The client sends it again, with the same key")
	forward(16 * time.Second) // until the lease of the dead server is over
	got, err = s.call("ada-1", "pay_invoice", "key-2", bought)
	story.Must(err)
	show("answer", got.text)
	show("service", fmt.Sprintf("was asked twice with this key, and paid %d time", s.service.payments("key-2")))
	one := [3]int{before[0] + 1, before[1] + 1, before[2] + 1} // of two calls
	for wait := time.Now().Add(20 * time.Second); s.collector.ended("pay_invoice") != one; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(wait) {
			story.Must(fmt.Errorf("spans, records and measurements were %d and are %d", before, s.collector.ended("pay_invoice")))
		}
	}
	s.start(killed)
}

// settled returns how many calls of a tool there are at the Collector, when no more arrive.
func (s *stage) settled(tool string) [3]int {
	last := s.collector.ended(tool)
	for wait := time.Now().Add(20 * time.Second); time.Now().Before(wait); {
		time.Sleep(300 * time.Millisecond) // three times as long as the servers collect
		now := s.collector.ended(tool)
		if now == last && now[0] == now[1] && now[1] == now[2] {
			return now
		}
		last = now
	}
	story.Must(fmt.Errorf("spans, records and measurements differ: %d", last))
	return last
}

// withoutEnd returns the calls that began on a server and of which nobody knows how they ended.
func withoutEnd(i int) []string {
	names, err := audit.Files(fmt.Sprintf("audit-%d", i))
	story.Must(err)
	text, err := os.ReadFile(names[len(names)-1])
	story.Must(err)
	begun := map[uint64]string{}
	for r, err := range (audit.Verifier{Key: []byte(auditKey)}).Records(bytes.NewReader(text)) {
		story.Must(err)
		switch r.Event {
		case "begin":
			begun[r.Seq] = fmt.Sprintf("%s began %s %s, which has no end", r.Owner, r.Target, r.Arguments)
		case "end":
			delete(begun, r.Begin)
		}
	}
	return slices.Sorted(maps.Values(begun))
}

// rolling replaces both servers, under load.
func (s *stage) rolling() {
	var callers sync.WaitGroup
	var made, lost atomic.Int64
	ctx, end := context.WithCancel(s.ctx)
	for range 4 {
		session := s.connect("ada-1")
		callers.Go(func() {
			for ctx.Err() == nil {
				res, err := session.CallTool(s.ctx, &mcp.CallToolParams{Name: "get_invoice", Arguments: which{"inv-17"}})
				if err != nil || res.IsError {
					lost.Add(1)
				}
				made.Add(1)
				time.Sleep(10 * time.Millisecond)
			}
			_ = session.Close()
		})
	}
	for i, r := range s.between.all() {
		for before := made.Load(); made.Load() < before+20; {
			time.Sleep(time.Millisecond)
		}
		s.between.stop(r)
		s.start(i)
	}
	end()
	callers.Wait()
	fmt.Println("\n== Both servers are replaced, one after the other, while four clients call")
	show("answers", fmt.Sprintf("%d calls got none", lost.Load()))
	if made.Load() < 40 {
		story.Must(fmt.Errorf("only %d calls were made", made.Load()))
	}
}

// audited verifies the records of both servers, when they have ended, with the heads that the log has.
func (s *stage) audited() {
	fmt.Println("\n== The audits of both servers, afterwards")
	open := 0
	for i := range s.between.all() {
		dir := fmt.Sprintf("audit-%d", i)
		var kept []audit.Head
		for _, line := range s.await(`"dir":"` + dir + `"`) {
			var head audit.Head
			story.Must(json.Unmarshal([]byte(line), &head))
			kept = append(kept, head)
		}
		_, err := audit.Verifier{Key: []byte(auditKey), Heads: kept}.Dir(dir)
		story.Must(err)
		open += len(withoutEnd(i))
	}
	show("audit", fmt.Sprintf("nothing was altered; %d call has no end", open))
}

// private fails if a secret left: the password of the service for anything but the servers' own log, and a
// token for that too.
func (s *stage) private() {
	for _, token := range []string{"ada-1", "bob-2", "eve-3", "mallory-9"} {
		if len(s.journal.find(token)) > 0 || s.collector.has(token) || strings.Contains(s.answers.String(), token) {
			story.Must(errors.New("a token left: " + token))
		}
	}
	if len(s.journal.find("hunter2")) == 0 || s.collector.has("hunter2") || strings.Contains(s.answers.String(), "hunter2") {
		story.Must(errors.New("the password of the service is where it should not be"))
	}
}
