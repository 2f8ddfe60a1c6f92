package probe

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/conduct"
	"github.com/mcpchain/mcpchain/internal/words"
)

// The checks of all answers to the others.
func answersChecks() []*Check {
	return []*Check{
		{Name: "only-messages", Title: "The server writes only messages.", Why: "A line of a log between the messages makes clients give up, or is shown as an error."},
		{Name: "answers-once", Title: "A request has one answer.", Why: "Clients take the second answer for that to another request, or end the session."},
		{Name: "answers-only-requests", Title: "Each answer belongs to a request.", Why: "Clients report an unknown ID, and some end the session."},
		{Name: "no-flood", Title: fmt.Sprintf("The server sends fewer than %d messages in a session that nobody asked for.", maxUnneeded), Why: "A client that is asked or told something without end does nothing else, and what it is asked may cost money."},
		{Name: conduct.RuleMessages, Title: "Answers are messages as JSON-RPC and MCP define them.", Why: "A client that checks its input drops such an answer, and its caller waits for ever."},
		{Name: conduct.RuleCodes, Title: "Errors have codes that are not reserved.", Why: "Clients act on codes: a reserved one, or 0, says something else than was meant."},
		{Name: conduct.RuleResultType, Title: "Results of " + conduct.Current + " have a resultType.", Why: "Clients of that version refuse a result without it."},
		{Name: conduct.RuleOneText, Title: "A failed call has one block of text.", Why: "Some clients show the model the first block only, and an empty one tells it nothing."},
		{Name: conduct.RuleStructured, Title: "Structured content fits the tool's output schema.", Why: "Clients that check it throw the answer away, with the text in it."},
		{Name: "says-something", Title: "A failure says what failed.", Why: "A model that reads only \"error\" repeats the call, or makes something up."},
		{Name: "bounded-failures", Title: fmt.Sprintf("A failure is shorter than %d KiB.", maxFailure>>10), Why: "Its text goes into a model's context, which costs money and pushes out what matters."},
		{Name: "leaks-stack", Title: "No failure shows a stack.", Why: "It tells a stranger what the server is made of, and a model nothing."},
		{Name: "leaks-path", Title: "No failure shows a path of the server's machine.", Why: "It shows who runs the server, and where what lies. A model may try to open it."},
		{Name: "leaks-address", Title: "No failure shows a private address.", Why: "It shows a stranger a part of the network."},
		{Name: "failures-told", Title: "A call that failed is marked so, by isError.", Why: "A model, its client and each log take it for a success: nobody tries again, and nobody is told."},
		{Name: "leaks-stderr", Title: "Standard error shows no credential.", Why: "Clients keep it in files, which people put into issues.", over: overStdio},
		{Name: "leaks-environment", Title: "No answer shows a credential of the server's environment.", Why: "What a model reads is kept by its provider, in transcripts and in logs."},
	}
}

// maxFailure is how long a failure may be.
const maxFailure = 16 << 10

// note notes that a passive check had something to look at, and the finding, if what is not "". It keeps the first
// finding of each subject.
func (p *prober) note(check, subject, version, what, sent, got string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[check] = true
	if what == "" {
		return
	}
	weight := weightOf(check)
	if subject == malformed && !strings.HasPrefix(check, "leaks-") {
		weight = Letter
	}
	f := finding(weight, subject, version, what, sent, got)
	same := func(other Finding) bool { return other.Subject == f.Subject && other.Protocol == f.Protocol }
	if all := p.passive[check]; len(all) < maxFindings && !slices.ContainsFunc(all, same) {
		p.passive[check] = append(all, f)
	}
}

// flood notes that a server sends without end. The checks stop then: it would do the same in each.
func (p *prober) flood(c *conn, n int) {
	p.note("no-flood", "", c.version, fmt.Sprintf("The server has sent %d messages that nobody had asked for.", n), "", "")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flooded = true
}

func (p *prober) flooding() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flooded
}

// stopped returns why no more checks run, "" if they do.
func (p *prober) stopped() string {
	switch {
	case p.flooding():
		return "the server sends without end what nobody asked for"
	case time.Since(p.begun) > runLimit:
		return "the checks had taken " + words.Duration(runLimit)
	}
	return ""
}

func (p *prober) message(c *conn, method string, line []byte) { p.environment(c, method, "", line) }

// environment looks for what must not leave the server in any message.
func (p *prober) environment(c *conn, subject, sent string, line []byte) {
	p.note("leaks-environment", "", c.version, "", "", "")
	text := string(line[:min(len(line), 4<<20)])
	if how, around := conduct.Find(text, plantedMark); around != "" {
		p.note("leaks-environment", subject, c.version, "A value of its environment left the server"+how+".", sent, around)
	}
}

// logged looks for credentials at the end of what a server wrote to standard error.
func (p *prober) logged(c *conn, end []byte) {
	for _, secret := range []string{plantedMark, sentMark} {
		if how, around := conduct.Find(string(end), secret); around != "" {
			p.note("leaks-stderr", "", c.version, "A line of standard error shows a credential"+how+".", "", around)
		}
	}
}

func (p *prober) noMessage(c *conn, line []byte, why string) {
	p.environment(c, "a line that is no message", "", line)
	p.note("only-messages", "", c.version, "The server wrote what is no message: "+why+".", "", string(line))
}

func (p *prober) answer(c *conn, x *exchange, r *reply) {
	p.note("only-messages", "", c.version, "", "", "")
	p.note("no-flood", "", c.version, "", "", "")
	p.note("leaks-stderr", "", c.version, "", "", "")
	if x == nil {
		p.note("answers-only-requests", "", c.version, "The server answered what nobody asked.", "", r.show())
		return
	}
	p.note("answers-only-requests", "", c.version, "", "", "")
	subject, sent, again := x.request.String(), string(x.sent), ""
	if x.request.Method == "" {
		subject = malformed
	}
	c.mu.Lock()
	if x.replies > max(1, x.allowed) {
		again = "The same request was answered again."
	}
	c.mu.Unlock()
	p.environment(c, subject, sent, r.raw)
	p.note("answers-once", subject, c.version, again, sent, r.show())
	if x.ignored {
		return
	}
	if r.status == 0 {
		p.legal(c, x, r, subject)
	}
	if r.failed() {
		p.failure(c, x, r, subject)
	}
	if x.tool != nil && r.status == 0 {
		what := ""
		if !r.failed() && tellsFailure(r.text()) {
			what = "The result says that the call failed, and is not marked as a failure."
		}
		p.note("failures-told", x.tool.Name, c.version, what, sent, r.show())
	}
}

// legal looks whether clients understand an answer.
func (p *prober) legal(c *conn, x *exchange, r *reply, subject string) {
	rules := []string{conduct.RuleMessages}
	var fits func(any) error
	switch {
	case r.Error != nil:
		rules = append(rules, conduct.RuleCodes)
	case x.request.Method == "tools/call" && r.result().IsError:
		rules = append(rules, conduct.RuleOneText)
	}
	if c.version == conduct.Current && r.Error == nil {
		rules = append(rules, conduct.RuleResultType)
	}
	if x.tool != nil && x.tool.output != nil {
		rules = append(rules, conduct.RuleStructured)
		fits = x.tool.fits
	}
	for _, rule := range rules {
		p.note(rule, "", c.version, "", "", "")
	}
	for _, wrong := range r.Illegal(c.version, x.request, fits) {
		p.note(wrong.Rule, subject, c.version, words.Capital(wrong.Text)+".", string(x.sent), r.show())
	}
}

// failure looks at what a failure says, and to whom.
func (p *prober) failure(c *conn, x *exchange, r *reply, subject string) {
	note := func(check, what, got string) { p.note(check, subject, c.version, what, string(x.sent), got) }
	what := ""
	if len(r.raw) > maxFailure {
		what = fmt.Sprintf("The failure has %d bytes.", len(r.raw))
	}
	note("bounded-failures", what, r.show())

	text := string(r.raw[:min(len(r.raw), 1<<20)])
	for _, check := range []string{"leaks-stack", "leaks-path", "leaks-address"} {
		note(check, "", "")
	}
	plain := conduct.Unescape(text)
	if at := insides.FindStringIndex(plain); at != nil {
		note("leaks-stack", "The failure shows a place in the program.", around(plain, at))
	}
	sent := conduct.Unescape(string(x.sent[:min(len(x.sent), 256<<10)]))
	if path := p.ownPath(plain, sent); path != nil {
		note("leaks-path", "The failure shows the path "+plain[path[0]:path[1]]+".", around(plain, path))
	}
	if at := p.privateAddress(plain, sent); at != nil {
		note("leaks-address", "The failure shows the address "+plain[at[0]:at[1]]+".", around(plain, at))
	}
	switch x.request.Method {
	case "tools/call", "prompts/get", "resources/read":
		what = ""
		if says := r.text(); r.status == 0 && nothing(says) {
			what = fmt.Sprintf("The failure says only %q.", clip(says, 100))
		}
		note("says-something", what, r.show())
	}
}

func around(text string, at []int) string {
	const margin = 60
	return strings.ToValidUTF8(text[max(0, at[0]-margin):min(len(text), at[1]+margin)], "?")
}

// failureWords begin a text that tells of a failure.
var failureWords = regexp.MustCompile(`^(?:❌|✗|✘)|^(?i:(?:an )?(?:[\w ]{1,30} )?error(?::| (?:occurred|while|when|during|executing|calling|fetching|reading|writing|creating|updating|deleting)\b)|error \d{3}\b|failed to |(?:tool |call |request )?failed:|exception:|traceback \(most)|^[A-Z]\w*(?:Error|Exception):`)

// tellsFailure reports whether the text of a result tells of a failure, in words or as JSON does.
func tellsFailure(text string) bool {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		return failureWords.MatchString(text)
	}
	var said struct {
		Error       any
		Success, OK *bool
		IsError     bool
		Status      any
	}
	if json.Unmarshal([]byte(text), &said) != nil {
		return false
	}
	none := func(b *bool) bool { return b != nil && !*b }
	return said.Error != nil && said.Error != "" && said.Error != false || said.IsError || none(said.Success) || none(said.OK) || said.Status == "error" || said.Status == "failed"
}

// emptyWords are texts of failures that name nothing.
var emptyWords = regexp.MustCompile(`(?i)^(?:mcp error -?\d+:? *)?(?:an? )?(?:(?:internal|unknown|unexpected|server|general|internal server|execution|tool|request|validation)? ?(?:error|failure|exception)` +
	`|failed|undefined|null|none|nil|eof|invalid(?: request| params| arguments?| parameters| request parameters| input)?|bad request` +
	`|(?:an? )?(?:\w+ )?error (?:has )?(?:occurred|happened)|something went wrong|\d+)?$`)

// nothing reports whether a text says nothing that can be acted on.
func nothing(text string) bool {
	text = strings.Trim(strings.TrimSpace(text), ".!:\"' ")
	return emptyWords.MatchString(text) || strings.Contains(text, "[object Object]")
}

var (
	paths     = regexp.MustCompile(`(?:^|[\s"'` + "`" + `(=:,\[<])((?:file://)?(?:/[\w.@+~-]+){2,}|[A-Za-z]:\\{1,2}[\w.$~-]+(?:\\{1,2}[\w.$ ~-]+)+)`)
	addresses = regexp.MustCompile(`\b(?:10\.\d{1,3}|127\.\d{1,3}|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.?\d{0,3}(?::\d+)?\b|\blocalhost:\d+\b`)
)

// rootPlaces are the first parts of paths, as there are on other machines.
var rootPlaces = strings.Fields("Applications Users Volumes app bin dev etc home lib mnt nix opt private proc root run sbin snap srv sys tmp usr var workspace")

// ownPath returns the place of the first absolute path in a text that was not sent, nil if there is none.
func (p *prober) ownPath(text, sent string) []int {
	for _, at := range paths.FindAllStringSubmatchIndex(text, 50) {
		found := text[at[2]:at[3]]
		path := strings.TrimPrefix(found, "file://")
		if strings.Contains(sent, path) {
			continue
		}
		if !strings.HasPrefix(path, "/") {
			return at[2:4] // of Windows
		}
		first, _, _ := strings.Cut(path[1:], "/")
		_, err := os.Lstat(filepath.Join("/", first))
		if slices.Contains(rootPlaces, first) || p.URL == "" && err == nil {
			return at[2:4]
		}
	}
	return nil
}

// privateAddress returns the place of the first address in text that nobody reaches from outside, such
// as 10.0.0.7. Addresses that stand in sent or are the server's own do not count. It returns nil if
// there is none.
func (p *prober) privateAddress(text, sent string) []int {
	host := ""
	if u, err := url.Parse(p.URL); err == nil {
		host = u.Host
	}
	for _, at := range addresses.FindAllStringIndex(text, 50) {
		found := text[at[0]:at[1]]
		bare, _, err := net.SplitHostPort(found)
		if err != nil {
			bare = found
		}
		if bare != "localhost" && net.ParseIP(bare) == nil || strings.Contains(sent, found) || host != "" && strings.Contains(host, found) {
			continue
		}
		return at
	}
	return nil
}

// insides matches what no answer may show: a stack, a place in a program, a panic of the runtime of
// Go, and the stacks of Node.js, Python, Java, Rust, Ruby and .NET.
var insides = regexp.MustCompile(`goroutine \d+ \[|\.go:\d+|runtime error: ` +
	`|\bat (?:async )?(?:[\w.$<>\[\] ]+ \()?(?:file://|node:|/|[A-Za-z]:\\)[^\s()]+:\d+:\d+` +
	`|Traceback \(most recent call last\)|File \\?"[^"]+", line \d+` +
	`|\bat [\w.$]+\([\w$]+\.(?:java|kt|scala):\d+\)` +
	`|panicked at |stack backtrace:` +
	`|\.rb:\d+:in ` +
	`|\bat [\w.<>]+\(.*\) in .+\.cs:line \d+`)
