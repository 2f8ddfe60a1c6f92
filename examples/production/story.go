package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/examples/internal/story"
	"github.com/mcpchain/mcpchain/middleware"
)

// replicated is how the servers of the story are started.
var replicated = story.Story{Args: []string{"-http", "127.0.0.1:0", "-deadline", "1500ms", "-lag", "10ms"}}

const auditKey = "known to the servers and the auditor"

func init() {
	story.Tell(story.Story{Stage: play})
	if os.Getenv("REDIS_URL") != "" {
		return
	}
	dir, err := os.MkdirTemp("", "production") // of this server alone
	story.Must(err)
	for _, v := range newWorld().environment(dir) {
		if name, value, _ := strings.Cut(v, "="); os.Getenv(name) == "" {
			story.Must(os.Setenv(name, value))
		}
	}
	fmt.Fprintln(os.Stderr, "To try it: a Redis, a billing service and a Collector in this process. The token is ada-1, the path /mcp.")
}

// A world is what stands around the servers: a Redis, the service behind their tools, and their Collector.
type world struct {
	redis              *miniredis.Miniredis
	service, collector *httptest.Server

	began chan struct{} // closed when a payment has begun that is not answered

	mu   sync.Mutex
	paid map[string]int // how often a payment was made, by its idempotency key
	sent []byte         // all that the Collector got
}

func newWorld() *world {
	w := &world{began: make(chan struct{}), paid: map[string]int{}}
	var err error
	w.redis, err = miniredis.Run()
	story.Must(err)
	go func() {
		for range time.Tick(time.Second) {
			w.redis.FastForward(time.Second)
		}
	}()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /invoices/{id}", invoices)
	mux.HandleFunc("POST /payments", w.pay)
	w.service = httptest.NewServer(mux)
	w.collector = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // less if the server ended while it sent
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sent = append(w.sent, body...)
	}))
	return w
}

// environment is that of a server.
func (w *world) environment(dir string) []string {
	return []string{
		"REDIS_URL=redis://" + w.redis.Addr() + "?max_retries=-1", "TOKENS=" + people(),
		"BILLING_URL=http://billing:hunter2@" + w.service.Listener.Addr().String(), // with a password, as such services have
		"AUDIT_DIR=" + dir + "/audit", "AUDIT_KEY=" + auditKey,
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + w.collector.URL, "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_BLRP_SCHEDULE_DELAY=50",
	}
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

func invoices(w http.ResponseWriter, r *http.Request) {
	switch r.PathValue("id") {
	case "inv-17":
		fmt.Fprint(w, `[{"cents":1200,"currency":"EUR"},{"cents":300,"currency":"EUR"}]`)
	case "inv-empty":
		fmt.Fprint(w, `[]`)
	case "inv-broken":
		fmt.Fprint(w, `<html>the database of invoices is read-only</html>`)
	case "inv-slow":
		<-r.Context().Done()
	case "inv-busy":
		w.Header().Set("Retry-After", "7")
		http.Error(w, "tenant 4711 asks too often", http.StatusTooManyRequests)
	default:
		http.NotFound(w, r)
	}
}

// pay pays once for each idempotency key.
func (w *world) pay(out http.ResponseWriter, r *http.Request) {
	var p payment
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	w.mu.Lock()
	first := key == "" || w.paid[key] == 0
	if first {
		w.paid[key]++
	}
	w.mu.Unlock()
	switch {
	case p.Invoice == "inv-cut":
		panic(http.ErrAbortHandler) // it is paid, and nobody hears of it
	case p.Invoice == "inv-lost" && first:
		close(w.began)
		<-r.Context().Done()
	}
	fmt.Fprintf(out, `{"receipt":"%s is paid"}`, p.Invoice)
}

// A server is one of the two, in a process and a directory of its own.
type server struct {
	dir     string
	cmd     *exec.Cmd
	address string
}

func (w *world) start(ctx context.Context, dir string) *server {
	story.Must(os.Mkdir(dir, 0o700))
	cmd, err := replicated.Command(ctx)
	story.Must(err)
	log, err := os.Create(dir + "/log")
	story.Must(err)
	cmd.Stderr, cmd.Env = log, append(os.Environ(), w.environment(dir)...)
	address, err := story.Start(cmd)
	story.Must(err)
	return &server{dir, cmd, address}
}

// log returns the lines of the server's log that have a text, when there is one.
func (s *server) log(text string) (lines []string) {
	for wait := time.Now().Add(20 * time.Second); time.Now().Before(wait); time.Sleep(time.Millisecond) {
		all, err := os.ReadFile(s.dir + "/log")
		story.Must(err)
		for line := range strings.Lines(string(all)) {
			if strings.Contains(line, text) {
				lines = append(lines, strings.TrimSuffix(line, "\n"))
			}
		}
		if lines != nil {
			return lines
		}
	}
	story.Must(fmt.Errorf("the log has no %s", text))
	return nil
}

// signedIn sends a token with each request.
type signedIn string

func (token signedIn) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

// call makes a call in a session of its own, as a model does that was started anew, and prints what it gets.
func (s *server) call(ctx context.Context, token, tool, key string, args any) (reference string, err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: s.address + "/mcp", MaxRetries: -1, HTTPClient: &http.Client{Transport: signedIn(token)},
	}, nil)
	story.Must(err)
	defer session.Close()
	params := &mcp.CallToolParams{Name: tool, Arguments: args}
	if key != "" {
		params.Meta = mcp.Meta{"io.modelcontextprotocol/idempotencyKey": key}
	}
	res, err := session.CallTool(ctx, params)
	if err != nil {
		show("answer", err.Error())
	} else {
		show("answer", story.Text(res))
	}
	if told, failed := middleware.FaultOf(res, err); failed {
		reference = told.Reference()
	}
	return reference, err
}

// fails makes a call that fails, and prints what each reader gets.
func (s *server) fails(ctx context.Context, what, token, tool, key string, args any) {
	title(what, tool, args)
	reference, _ := s.call(ctx, token, tool, key, args)
	for _, line := range s.log(`"reference":"` + cmp.Or(reference, "none") + `"`) {
		show("log", line)
	}
}

func title(what, tool string, args any) {
	given, err := json.Marshal(args)
	story.Must(err)
	fmt.Printf("\n== %s: %s %s\n", what, tool, given)
}

// differing is what each run has alone, and what stands in its place.
var differing = []struct {
	found *regexp.Regexp
	shown string
}{
	{regexp.MustCompile(`"time":"[^"]*",|,"duration_ms":[0-9.e-]+|,"stack":"(?:[^"\\]|\\.)*"`), ""},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:port"},
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

func play(ctx context.Context) {
	w := newWorld()
	one, other := w.start(ctx, "one"), w.start(ctx, "other")

	fmt.Println("== A token that nobody knows")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, one.address+"/mcp", strings.NewReader("{}"))
	story.Must(err)
	resp, err := signedIn("mallory-9").RoundTrip(req)
	story.Must(err)
	_ = resp.Body.Close()
	show("answer", resp.Status+", WWW-Authenticate: "+resp.Header.Get("WWW-Authenticate"))
	show("log", one.log(`"status":401`)[0])

	get := func(what, id string) { one.fails(ctx, what, "ada-1", "get_invoice", "", which{id}) }
	one.fails(ctx, "The arguments are wrong", "ada-1", "pay_invoice", "", map[string]any{"invoice": "inv-17", "cents": "all"})
	one.fails(ctx, "The token has not the scope", "bob-2", "pay_invoice", "", payment{"inv-17", 1500})
	get("There is no such invoice", "inv-99")
	get("The service is slow", "inv-slow")
	get("The service asks to wait", "inv-busy")
	get("The service answers nonsense", "inv-broken")
	get("A handler panics", "inv-empty")
	one.fails(ctx, "The service hangs up after a payment", "ada-1", "pay_invoice", "", payment{"inv-cut", 700})
	title("Five payments, one after the other", "pay_invoice", payment{"inv-17", 1500})
	for _, s := range []*server{one, other, one, other, one} {
		_, err := s.call(ctx, "eve-3", "pay_invoice", "", payment{"inv-17", 1500})
		story.Must(err)
	}
	other.fails(ctx, "And a sixth", "eve-3", "pay_invoice", "", payment{"inv-17", 1500})

	w.redis.Close()
	one.fails(ctx, "Redis is away, and the call has an idempotency key", "ada-1", "pay_invoice", "key-1", payment{"inv-17", 1500})
	title("Redis is away", "get_invoice", which{"inv-17"})
	_, err = one.call(ctx, "ada-1", "get_invoice", "", which{"inv-17"})
	story.Must(err)
	show("log", one.log("the shared store of package limit")[0])
	story.Must(w.redis.Restart())

	w.death(ctx, one, other)
	w.audited(one, other)
	w.private(one, other)
}

// death kills a server in the middle of a payment, as a lack of memory does.
func (w *world) death(ctx context.Context, one, other *server) {
	bought := payment{"inv-lost", 900}
	title("A server is killed in the middle of a payment", "pay_invoice", bought)
	go func() {
		<-w.began
		story.Must(one.cmd.Process.Kill())
	}()
	if _, err := one.call(ctx, "ada-1", "pay_invoice", "key-2", bought); err == nil {
		story.Must(errors.New("it was answered"))
	}
	_ = one.cmd.Wait()
	show("log", "nothing: the record is written when a call ends")

	fmt.Println("\n== The client sends it again to the other one, with the same key")
	w.redis.FastForward(16 * time.Second) // until the lease of the dead server is over
	_, err := other.call(ctx, "ada-1", "pay_invoice", "key-2", bought)
	story.Must(err)
	w.mu.Lock()
	show("service", fmt.Sprintf("was asked twice with this key, and paid %d time", w.paid["key-2"]))
	w.mu.Unlock()
}

// audited ends the other server, and prints which calls have no end in the records of both. It verifies
// the latter with the heads that the log has.
func (w *world) audited(one, other *server) {
	story.Must(other.cmd.Process.Signal(syscall.SIGTERM))
	story.Must(other.cmd.Wait())
	fmt.Println("\n== The audits of both servers, afterwards")
	lines := other.log(`"dir":"other/audit"`)
	heads := make([]audit.Head, 0, len(lines))
	for _, line := range lines {
		var head audit.Head
		story.Must(json.Unmarshal([]byte(line), &head))
		heads = append(heads, head)
	}
	_, err := audit.Verifier{Key: []byte(auditKey), Heads: heads}.Dir("other/audit")
	story.Must(err)
	for _, s := range []*server{one, other} {
		names, err := audit.Files(s.dir + "/audit")
		story.Must(err)
		text, err := os.ReadFile(names[len(names)-1])
		story.Must(err)
		begun := map[uint64]audit.Record{}
		for r, err := range (audit.Verifier{Key: []byte(auditKey)}).Records(bytes.NewReader(text)) {
			story.Must(err)
			if begun[r.Seq] = r; r.Event != "begin" {
				delete(begun, r.Seq)
				delete(begun, r.Begin)
			}
		}
		show("audit", fmt.Sprintf("%s: nothing was altered; calls without an end: %d", s.dir, len(begun)))
		for _, r := range begun {
			show("", fmt.Sprintf("%s began %s %s", r.Owner, r.Target, r.Arguments))
		}
	}
}

// private fails if a token left, or the password of the service for anything but the servers' own log.
func (w *world) private(servers ...*server) {
	logs := slices.Concat(servers[0].log(""), servers[1].log(""))
	has := func(text string) bool { return strings.Contains(strings.Join(logs, "\n"), text) }
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, token := range []string{"ada-1", "bob-2", "eve-3", "mallory-9"} {
		if has(token) || bytes.Contains(w.sent, []byte(token)) {
			story.Must(errors.New("a token left: " + token))
		}
	}
	if !has("hunter2") || bytes.Contains(w.sent, []byte("hunter2")) {
		story.Must(errors.New("the password of the service is where it should not be"))
	}
	if !bytes.Contains(w.sent, []byte("mcp call")) || !bytes.Contains(w.sent, []byte("tools/call pay_invoice")) {
		story.Must(errors.New("the Collector has no record, or no span"))
	}
}
