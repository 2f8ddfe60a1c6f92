// Package probe measures how an MCP server fails, for "mcpchain check".
//
// [Run] runs the [Checks] against a server, which it starts as often as it has to, or reaches over HTTP.
// It speaks JSON-RPC byte by byte: a correct client cannot send most of what servers get wrong.
package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/conduct"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Options say which server is checked, and how.
type Options struct {
	// Command starts the server, which speaks over its standard input and output.
	Command []string
	// URL is where a server is reached over streamable HTTP, instead of Command; Header is sent with each
	// request to it.
	URL    string
	Header http.Header
	// Tools are called though nothing marks them as reading. With Writes all are.
	Tools  []string
	Writes bool
	// Limit is how long an answer may take. Zero means 5 s.
	Limit time.Duration
	// Start is how long the server may take to start. Zero means a minute: npx may have to download it.
	Start time.Duration
	// Only are the names of the checks that run and are reported. None means all. If all that are named look
	// at the answers to others, all run.
	Only []string
	// Hide takes out of what a server sends and writes what no report may show. Nil takes out nothing.
	Hide func(text []byte) []byte
	// Progress is called before each check. Nil means that nobody wants to know.
	Progress func(done, all int, name string)
}

// A Check is one question about a server.
type Check struct {
	Name  string // in kebab-case
	Title string // what is so if nothing is found
	Why   string // why it matters
	// both is whether it runs in each version of the protocol that the server speaks.
	both bool
	// run asks. It is nil for a check of all answers to the others.
	run func(*trial)
	// over names the transport that it is for, "" for all.
	over string
}

// A Finding is what a check found.
type Finding struct {
	Weight   Weight `json:"weight"`
	Subject  string `json:"subject,omitempty"` // the tool, or which of several ways
	Protocol string `json:"protocol"`          // in which version
	What     string `json:"what"`
	Sent     string `json:"sent,omitempty"`
	Got      string `json:"got,omitempty"`
	Because  string `json:"because,omitempty"` // the check with the finding that explains this one

	none reason // why there was no answer, if that is what was found
}

// A Result is the outcome of a check. Without findings it is passed, unless NotChecked says why it
// was not checked.
type Result struct {
	Check      *Check
	Findings   []Finding
	NotChecked string
}

// A Report is the outcome of all checks.
type Report struct {
	Server    string   // its name and version, as it says
	Protocols []string // that it speaks
	Transport string   // "stdio" or "http"
	Results   []Result
	NotCalled []string // tools
	Took      time.Duration
}

// Found returns how many checks found something.
func (r *Report) Found() int {
	n := 0
	for _, result := range r.Results {
		if len(result.Findings) > 0 {
			n++
		}
	}
	return n
}

const (
	maxFindings = 200              // of a check
	checkLimit  = 20 * time.Second // for a check
	runLimit    = 20 * time.Minute // for all checks: after it no more begin
)

// planted are credentials in the environment of the server. No server needs them, and none may send them.
var planted = []string{
	"MCPCHAIN_CHECK_API_KEY=" + plantedKey,
	"MCPCHAIN_CHECK_DATABASE_URL=postgres://check:" + plantedPassword + "@db.invalid/check",
}

const (
	plantedKey      = "sk-proj-" + plantedMark + "4Jt8Wm2Rb7Xc1Vd9Lf3Hg6Np"
	plantedPassword = plantedMark + "Pass5Kd0"
	plantedMark     = "zqkanarieEnv" // stands in both
	//nolint:gosec // invented
	sentSecret = "ghp_" + sentMark + "7Rt2Yw9Lm4Nc6Bx1Vz8Kj3Hd5" // a caller sends it in arguments
	sentMark   = "zqkanarieArg"
)

// A prober runs the checks against one server.
type prober struct {
	Options

	main      string // the version of the protocol that most checks speak
	protocols []string
	conns     map[string]*conn // one for each version, used by one check after the other
	started   time.Duration    // how long a start took
	begun     time.Time
	wrong     map[string][]attempt

	mu       sync.Mutex
	wires    []wire // that are open
	ended    bool
	flooded  bool // a session was ended because it brought too much
	server   string
	caps     map[string]json.RawMessage
	tools    map[string]*tool // as they were listed
	names    []string         // of the tools, in order
	passive  map[string][]Finding
	seen     map[string]bool // names of passive checks that had something to look at
	listWhy  string          // why the tools are not known
	callable []*tool
}

// Run checks a server. The error says why it could not: it did not start.
func Run(ctx context.Context, o Options) (*Report, error) {
	begun := time.Now()
	if o.Limit <= 0 {
		o.Limit = 5 * time.Second
	}
	if o.Start <= 0 {
		o.Start = time.Minute
	}
	p := &prober{
		Options: o, conns: map[string]*conn{}, passive: map[string][]Finding{}, seen: map[string]bool{},
		tools: map[string]*tool{}, wrong: map[string][]attempt{}, begun: begun,
	}
	defer p.end()
	defer context.AfterFunc(ctx, p.end)() // all waits end with the servers
	if err := p.meet(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	p.listTools()
	for _, name := range o.Tools {
		if p.tools[name] == nil {
			return nil, fmt.Errorf("the server lists no tool %q", name)
		}
	}
	r := &Report{Server: p.server, Protocols: p.protocols, Transport: p.transport()}
	named := func(c *Check) bool { return len(o.Only) == 0 || slices.Contains(o.Only, c.Name) }
	runs := func(c *Check) bool { return c.run != nil && named(c) }
	checks := Checks()
	if !slices.ContainsFunc(checks, runs) { // what is named looks at the answers to all others
		runs = func(c *Check) bool { return c.run != nil }
	}
	checks = slices.DeleteFunc(checks, func(c *Check) bool { return !runs(c) && !named(c) })
	for i, check := range checks {
		if o.Progress != nil {
			o.Progress(i, len(checks), check.Name)
		}
		if check.run != nil {
			if result := p.check(ctx, check); named(check) {
				r.Results = append(r.Results, result)
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
	}
	p.end()
	for _, check := range checks { // last, when all answers are known
		if check.run == nil {
			r.Results = append(r.Results, p.resultOf(check))
		}
	}
	order := map[*Check]int{}
	for i, check := range checks {
		order[check] = i
	}
	slices.SortStableFunc(r.Results, func(a, b Result) int { return order[a.Check] - order[b.Check] })
	for _, name := range p.names {
		if !slices.Contains(p.callable, p.tools[name]) {
			r.NotCalled = append(r.NotCalled, plain(name, 100))
		}
	}
	r.Explain()
	r.Took = time.Since(begun)
	return r, nil
}

func (p *prober) transport() string {
	if p.URL != "" {
		return "http"
	}
	return "stdio"
}

// check runs one check, in each version of the protocol that it is for.
func (p *prober) check(ctx context.Context, check *Check) Result {
	result := Result{Check: check}
	if check.over != "" && check.over != p.transport() {
		result.NotChecked = "it is for servers over " + check.over
		return result
	}
	if why := p.stopped(); why != "" {
		result.NotChecked = why
		return result
	}
	versions := []string{p.main}
	if check.both {
		versions = p.protocols
	}
	skipped := ""
	for _, version := range versions {
		ctx, cancel := context.WithTimeout(ctx, checkLimit)
		t := &trial{prober: p, ctx: ctx, version: version, about: check}
		t.run(check)
		cancel()
		if p.flooding() { // what was not answered was not waited for
			return Result{Check: check, NotChecked: p.stopped()}
		}
		result.Findings = append(result.Findings, t.findings...)
		if t.skipped != "" && !t.asked {
			skipped = t.skipped
		} else {
			skipped = "-" // it was checked in one version
		}
	}
	if len(result.Findings) == 0 && skipped != "-" {
		result.NotChecked = skipped
	}
	result.Findings = bounded(result.Findings)
	return result
}

// resultOf returns what was found in the answers to all checks.
func (p *prober) resultOf(check *Check) Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	result := Result{Check: check}
	switch {
	case check.Name == conduct.RuleResultType && !slices.Contains(p.protocols, conduct.Current):
		result.NotChecked = "the server does not speak " + conduct.Current // though it may answer the question whether it does
	case p.seen[check.Name]:
		result.Findings = bounded(p.passive[check.Name])
	default:
		result.NotChecked = "no answer was of the kind that it is about"
	}
	return result
}

func bounded(all []Finding) []Finding {
	if len(all) > maxFindings {
		return all[:maxFindings]
	}
	return all
}

// end ends all servers, and lets none start any more.
func (p *prober) end() {
	p.mu.Lock()
	wires := p.wires
	p.wires, p.ended = nil, true
	p.mu.Unlock()
	for _, w := range wires {
		w.kill()
	}
}

// close ends one server.
func (p *prober) close(c *conn) {
	c.wire.kill()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wires = slices.DeleteFunc(p.wires, func(w wire) bool { return w == c.wire })
}

// A trial is one check in one version of the protocol.
type trial struct {
	*prober

	ctx      context.Context //nolint:containedctx // a trial is the call that the context is for
	about    *Check
	version  string
	findings []Finding
	skipped  string
	asked    bool // something was checked
}

// errNoServer ends a trial for which there is no server.
var errNoServer = errors.New("the server did not start again")

func (t *trial) run(check *Check) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case errNoServer:
		default:
			panic(p)
		}
	}()
	check.run(t)
}

// found notes a finding.
func (t *trial) found(subject, what, sent, got string) {
	t.weighed(weightOf(t.about.Name), replied, subject, what, sent, got)
}

func (t *trial) weighed(weight Weight, none reason, subject, what, sent, got string) {
	t.asked = true
	f := finding(weight, subject, t.version, what, sent, got)
	f.none = none
	t.findings = append(t.findings, f)
}

// noReturn notes that the server did not start again: something before may have been too much for it.
func (t *trial) noReturn(err error) {
	t.weighed(User, noReturn, "", "The server does not start again after what was sent before.", "", err.Error())
}

func finding(weight Weight, subject, version, what, sent, got string) Finding {
	return Finding{
		Weight: weight, Subject: plain(subject, 100), Protocol: version, What: plain(what, 600),
		Sent: plain(sent, maxShown), Got: plain(got, maxShown+400),
	}
}

// plain makes one line of what a server sent, without what a terminal would obey.
func plain(text string, most int) string {
	return words.Line(strings.ToValidUTF8(clip(text, most), "?"))
}

// skip notes why there is nothing to check.
func (t *trial) skip(why string) { t.skipped = plain(why, maxShown) }

// late reports whether the check has taken its time.
func (t *trial) late() bool { return t.ctx.Err() != nil }

// conn returns a session in the version of the trial. It ends the trial if there is none.
func (t *trial) conn() *conn {
	c, err := t.session(t.version)
	if err != nil {
		t.noReturn(err)
		panic(errNoServer)
	}
	return c
}

// session returns a session that can be used, and starts a server if there is none.
func (p *prober) session(version string) (*conn, error) {
	if c := p.conns[version]; c != nil {
		if c.usable() {
			return c, nil
		}
		p.close(c)
		delete(p.conns, version)
	}
	c, err := p.open(version)
	if err != nil {
		return nil, err
	}
	p.conns[version] = c
	return c, nil
}

// connect starts a server, without a word to it.
func (p *prober) connect(version string, hold <-chan struct{}) (*conn, error) {
	c := &conn{version: version, limit: p.Limit, judge: p, asked: map[string]*exchange{}}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, errEnded
	}
	if p.URL != "" {
		c.wire = newWeb(&p.Options, version, p.hiding(c.receive))
	} else {
		child, err := startChild(&p.Options, p.hiding(c.receive), func(text []byte) { p.logged(c, text) }, hold)
		if err != nil {
			return nil, err
		}
		c.wire = child
	}
	p.wires = append(p.wires, c.wire)
	return c, nil
}

// hiding returns receive for what has passed Hide: what is shown of it is cut later, and a part is not known.
func (o *Options) hiding(receive func([]byte)) func([]byte) {
	return func(line []byte) { receive(o.hidden(line)) }
}

func (o *Options) hidden(text []byte) []byte {
	if o.Hide == nil {
		return text
	}
	return o.Hide(text)
}

var errEnded = errors.New("the checks were ended")

// open starts a server and greets it.
func (p *prober) open(version string) (*conn, error) {
	begun := time.Now()
	c, err := p.connect(version, nil)
	if err != nil {
		return nil, err
	}
	if err := p.greet(c); err != nil {
		p.close(c)
		return nil, err
	}
	p.started = max(p.started, time.Since(begun))
	return c, nil
}

type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

const initializeParams = `{"protocolVersion":"` + conduct.Older + `","capabilities":{},"clientInfo":` + clientInfo + `}`

// greet begins a session.
func (p *prober) greet(c *conn) error {
	method, params := "initialize", initializeParams
	if c.version == conduct.Current {
		method, params = "server/discover", "{}"
	}
	id := c.id()
	o := c.await(c.begin(c.line(id, method, params), id), p.Start)
	if o.none != replied {
		return fmt.Errorf("%s: %s", method, plain(o.why, maxShown))
	}
	if o.failed() {
		return fmt.Errorf("%s: %s", method, plain(o.reply.show(), maxShown))
	}
	var greeting struct {
		ServerInfo        serverInfo                 `json:"serverInfo"`
		Meta              map[string]json.RawMessage `json:"_meta"`
		Capabilities      map[string]json.RawMessage `json:"capabilities"`
		SupportedVersions []string                   `json:"supportedVersions"`
	}
	if err := json.Unmarshal(o.Result, &greeting); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if c.version == conduct.Current && !slices.Contains(greeting.SupportedVersions, conduct.Current) {
		return fmt.Errorf("server/discover: the server does not support %s", conduct.Current)
	}
	_ = json.Unmarshal(greeting.Meta["io.modelcontextprotocol/serverInfo"], &greeting.ServerInfo) // where it stands today
	c.info, c.caps = greeting.ServerInfo, greeting.Capabilities
	if c.version != conduct.Current {
		c.wire.send(c.line("", "notifications/initialized", "{}"), func(int, []byte) {})
	}
	return nil
}

// meet finds out which versions of the protocol the server speaks.
func (p *prober) meet() error {
	c, whyOlder := p.session(conduct.Older)
	if whyOlder == nil {
		p.protocols = append(p.protocols, conduct.Older)
		p.server, p.caps = strings.TrimSpace(c.info.Name+" "+c.info.Version), c.caps
	}
	// A server that does not know server/discover may be silent: it has as long as a start took.
	patience := p.Start
	if whyOlder == nil {
		p.Start = min(patience, 3*p.started+2*time.Second)
	}
	c, whyCurrent := p.session(conduct.Current)
	p.Start = patience
	if whyCurrent == nil {
		p.protocols = append(p.protocols, conduct.Current)
		if p.server == "" {
			p.server, p.caps = strings.TrimSpace(c.info.Name+" "+c.info.Version), c.caps
		}
	}
	if len(p.protocols) == 0 {
		return fmt.Errorf("the server cannot be checked, because it does not start: %w; and in %s: %w", whyOlder, conduct.Current, whyCurrent)
	}
	p.main = p.protocols[0]
	p.server = plain(p.server, 100)
	return nil
}
