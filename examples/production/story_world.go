package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	collectorlogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

// Here is what stands around the servers of the story: the service behind their tools, the way to
// their Redis, their Collector, and the load balancer in front of them.

// A service knows the invoices, and pays once for each idempotency key.
type service struct {
	*httptest.Server

	began chan struct{} // a payment that is not answered

	mu   sync.Mutex
	paid map[string]int // how often a payment was made, by its key
}

func newService() *service {
	s := &service{began: make(chan struct{}), paid: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /invoices/{id}", func(w http.ResponseWriter, r *http.Request) {
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
	})
	mux.HandleFunc("POST /payments", func(w http.ResponseWriter, r *http.Request) {
		var p payment
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		key := r.Header.Get("Idempotency-Key")
		s.mu.Lock()
		first := key == "" || s.paid[key] == 0
		if first {
			s.paid[key]++
		}
		s.mu.Unlock()
		switch {
		case p.Invoice == "inv-cut":
			panic(http.ErrAbortHandler) // it is paid, and nobody hears of it
		case p.Invoice == "inv-lost" && first:
			close(s.began)
			<-r.Context().Done()
		}
		fmt.Fprintf(w, `{"receipt":"%s is paid"}`, p.Invoice)
	})
	s.Server = httptest.NewServer(mux)
	return s
}

// address has a password, as such services do.
func (s *service) address() string {
	return "http://billing:hunter2@" + s.Listener.Addr().String()
}

func (s *service) payments(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paid[key]
}

// A relay leads connections to Redis, until it is cut.
type relay struct {
	address, to string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func newRelay(to string) *relay {
	r := &relay{address: "127.0.0.1:0", to: to}
	r.mend()
	r.address = r.listener.Addr().String()
	return r
}

func (r *relay) mend() {
	listener, err := net.Listen("tcp", r.address)
	story.Must(err)
	r.mu.Lock()
	r.listener = listener
	r.mu.Unlock()
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", r.to)
			if err != nil {
				_ = from.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, from, to)
			r.mu.Unlock()
			for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
				go func() {
					_, _ = io.Copy(way[0], way[1])
					_, _ = from.Close(), to.Close()
				}()
			}
		}
	}()
}

func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.listener.Close()
	for _, conn := range r.conns {
		_ = conn.Close()
	}
	r.conns = nil
}

// A collector keeps what arrives by OTLP over HTTP.
type collector struct {
	*httptest.Server

	mu      sync.Mutex
	spans   []*trace.Span
	records []*logs.LogRecord
	points  []point
}

// A point is a measurement of one server.
type point struct {
	*metrics.HistogramDataPoint

	name, instance string
}

func newCollector() *collector {
	c := &collector{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(_ http.ResponseWriter, r *http.Request) {
		all := &collectortrace.ExportTraceServiceRequest{}
		c.receive(r, all, func() {
			for _, of := range all.GetResourceSpans() {
				for _, in := range of.GetScopeSpans() {
					c.spans = append(c.spans, in.GetSpans()...)
				}
			}
		})
	})
	mux.HandleFunc("POST /v1/logs", func(_ http.ResponseWriter, r *http.Request) {
		all := &collectorlogs.ExportLogsServiceRequest{}
		c.receive(r, all, func() {
			for _, of := range all.GetResourceLogs() {
				for _, in := range of.GetScopeLogs() {
					c.records = append(c.records, in.GetLogRecords()...)
				}
			}
		})
	})
	mux.HandleFunc("POST /v1/metrics", func(_ http.ResponseWriter, r *http.Request) {
		all := &collectormetrics.ExportMetricsServiceRequest{}
		c.receive(r, all, func() {
			for _, of := range all.GetResourceMetrics() {
				instance := attributes(of.GetResource().GetAttributes())["service.instance.id"]
				for _, in := range of.GetScopeMetrics() {
					for _, m := range in.GetMetrics() {
						for _, p := range m.GetHistogram().GetDataPoints() {
							c.points = append(c.points, point{p, m.GetName(), instance})
						}
					}
				}
			}
		})
	})
	c.Server = httptest.NewServer(mux)
	return c
}

// receive reads a message, and calls keep with it.
func (c *collector) receive(r *http.Request, all proto.Message, keep func()) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, all)
	}
	if err != nil {
		return // the server ended while it sent
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	keep()
}

// attributes returns them as texts.
func attributes(all []*common.KeyValue) map[string]string {
	texts := map[string]string{}
	for _, a := range all {
		texts[a.GetKey()] = a.GetValue().GetStringValue() // the others are of no interest here
	}
	return texts
}

// find returns what arrived of the call with this reference. What is missing is nil.
func (c *collector) find(reference string) (span *trace.Span, record *logs.LogRecord, measured *point) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if attributes(s.GetAttributes())["mcpchain.reference"] == reference {
			span = s
		}
	}
	for _, r := range c.records {
		if attributes(r.GetAttributes())["reference"] == reference {
			record = r
		}
	}
	for _, p := range c.points {
		for _, exemplar := range p.GetExemplars() { // leads to the span of a call
			if bytes.Equal(exemplar.GetSpanId(), span.GetSpanId()) {
				measured = &p
			}
		}
	}
	return span, record, measured
}

// has reports whether a text arrived.
func (c *collector) has(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all strings.Builder
	for _, s := range c.spans {
		fmt.Fprintln(&all, s)
	}
	for _, r := range c.records {
		fmt.Fprintln(&all, r)
	}
	for _, p := range c.points {
		fmt.Fprintln(&all, p.HistogramDataPoint)
	}
	return strings.Contains(all.String(), text)
}

// ended returns how many calls of a tool there are in traces, records and measurements.
func (c *collector) ended(tool string) (all [3]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.GetName() == "tools/call "+tool {
			all[0]++
		}
	}
	for _, r := range c.records {
		if r.GetBody().GetStringValue() == "mcp call" && attributes(r.GetAttributes())["tool"] == tool {
			all[1]++
		}
	}
	last := map[string]int{} // each point has the count of all before it
	for _, p := range c.points {
		if of := attributes(p.GetAttributes()); of["gen_ai.tool.name"] == tool {
			last[p.instance+fmt.Sprint(of)] = int(p.GetCount())
		}
	}
	for _, n := range last {
		all[2] += n
	}
	return all
}

// A replica is one of the servers, in a process of its own.
type replica struct {
	cmd     *exec.Cmd
	address string
	proxy   *httputil.ReverseProxy
	ready   bool
}

// A balancer leads requests to replicas in turn, as long as they are ready.
type balancer struct {
	*httptest.Server

	mu       sync.Mutex
	replicas []*replica
	turn     int
	last     *replica // the last request was led to
}

func newBalancer(ctx context.Context) *balancer {
	b := &balancer{}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		var to *replica
		for range b.replicas {
			b.turn++
			if next := b.replicas[b.turn%len(b.replicas)]; next.ready {
				to = next
				break
			}
		}
		b.last = to
		b.mu.Unlock()
		if to == nil {
			http.Error(w, "no server is ready", http.StatusServiceUnavailable)
			return
		}
		to.proxy.ServeHTTP(w, r)
	}))
	go func() {
		for ctx.Err() == nil {
			b.look()
			time.Sleep(10 * time.Millisecond)
		}
	}()
	return b
}

// look asks each replica whether it is ready.
func (b *balancer) look() {
	for _, r := range b.all() {
		resp, err := http.Get(r.address + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
		}
		b.mu.Lock()
		r.ready = err == nil && resp.StatusCode == http.StatusOK
		b.mu.Unlock()
	}
}

func (b *balancer) all() []*replica {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.replicas)
}

// start starts a server in the place of the replica at index i, and returns when requests are led to it.
func (b *balancer) start(i int, cmd *exec.Cmd) {
	address, err := story.Start(cmd)
	story.Must(err)
	to, err := url.Parse(address)
	story.Must(err)
	r := &replica{cmd: cmd, address: address, proxy: httputil.NewSingleHostReverseProxy(to)}
	r.proxy.ErrorLog = log.New(io.Discard, "", 0)
	b.mu.Lock()
	if i < len(b.replicas) {
		b.replicas[i] = r
	} else {
		b.replicas = append(b.replicas, r)
	}
	b.mu.Unlock()
	b.await(r, true)
}

// await returns when the balancer knows that a replica is ready, or that it is not.
func (b *balancer) await(r *replica, ready bool) {
	for known := !ready; known != ready; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		known = r.ready
		b.mu.Unlock()
	}
}

// kill ends the replica that the last request was led to, as a lack of memory does. It returns which
// one it was.
func (b *balancer) kill() int {
	b.mu.Lock()
	r := b.last
	b.mu.Unlock()
	story.Must(r.cmd.Process.Kill())
	_ = r.cmd.Wait()
	b.await(r, false)
	return slices.Index(b.all(), r)
}

// stop asks a replica to end, and returns when it has.
func (b *balancer) stop(r *replica) {
	story.Must(r.cmd.Process.Signal(syscall.SIGTERM))
	story.Must(r.cmd.Wait())
}

// A journal keeps the lines of the servers' standard error.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// find returns the lines that have a text.
func (j *journal) find(text string) (found []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range bytes.Lines(j.text.Bytes()) {
		if bytes.Contains(line, []byte(text)) {
			found = append(found, string(bytes.TrimSpace(line)))
		}
	}
	return found
}
