package proxy

import (
	"bytes"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/internal/call"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// instead is what a run has written that is not an answer to what it was asked.
type instead struct {
	mu   sync.Mutex
	seen [kindsOfOdd]struct {
		at   int64  // when it came last, see now
		says string // "" if it never did
	}
}

// odd is a kind of it. The first ones say more than the last ones.
type odd uint8

const (
	oddFrame odd = iota
	oddEcho
	oddCode
	oddID
	oddMessage
	oddAddress
	oddLog
	kindsOfOdd
)

func (o *instead) add(kind odd, says string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[kind].at, o.seen[kind].says = now(), says
}

// since says what came since then, "" if nothing did. Zero is the start of the run.
func (o *instead) since(then int64) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range o.seen {
		if one.says != "" && (then == 0 || one.at >= then) {
			return one.says
		}
	}
	return ""
}

// address matches what servers write that serve HTTP.
var address = regexp.MustCompile(`(?i)(?:listen|running|start|serv|available|ready).*\bhttps?://[\w.*\[]`)

// serves reports whether a line says that the server serves HTTP.
func serves(line string) bool { return strings.Contains(line, "://") && address.MatchString(line) }

const listens = "it says that it serves HTTP: it may have a flag for standard input and output, or -to may reach it"

// odd notes a line that is not a message.
func (u *upstream) odd(line *rpc.RefusedError) {
	text := line.Line[:min(len(line.Line), maxClip)]
	noJSON, message := line.Code == jsonrpc.CodeParseError, bytes.Contains(line.Line, []byte(`"jsonrpc"`))
	switch {
	case bytes.HasPrefix(bytes.ToLower(text), []byte("content-length:")):
		u.instead.add(oddFrame, `its lines begin with "Content-Length", as those of language servers do`)
	case bytes.IndexByte(text, 0) >= 0 || bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		u.instead.add(oddCode, "it does not write UTF-8")
	case noJSON && message && bytes.IndexByte(line.Line, '\n') >= 0:
		u.instead.add(oddMessage, "it wrote an answer of many lines that is not JSON")
	case noJSON && message:
		u.instead.add(oddMessage, "it wrote a line that has a message and something else")
	case line.ID != nil, line.Method, !noJSON && bytes.HasPrefix(text, []byte{'['}):
		u.instead.add(oddMessage, "it wrote a message that is not legal: "+line.Reason)
	case serves(string(text)):
		u.instead.add(oddAddress, listens)
	default:
		u.instead.add(oddLog, "it writes logs to standard output")
	}
}

// echoes reports whether a message is a request that waits, written back.
func (u *upstream) echoes(m *rpc.Message) bool {
	u.mu.Lock()
	w := u.waiting[m.ID.Key()]
	u.mu.Unlock()
	if w == nil || w.method != m.Method || m.Method == "ping" || known[m.Method] == nil { // others may be its own
		return false
	}
	u.mends("a request that it writes back")
	u.instead.add(oddEcho, "it writes back what it reads, as a terminal does")
	return true
}

// notAsked notes an answer to what was not asked.
func (u *upstream) notAsked(id rpc.ID) {
	given := u.proxy.clip(id)
	for _, w := range u.asked() {
		if id.Key() == "n"+strings.TrimPrefix(w.id.Key(), "s") {
			u.instead.add(oddID, "it answered the ID "+string(w.id)+" as "+given)
			return
		}
	}
	u.instead.add(oddID, "it answered the ID "+given+", under which nothing was asked")
}

// came says what came instead of an answer since then, "" if nothing did. Zero is the start of the run.
func (u *upstream) came(then int64) string {
	if open, ok := u.process.(interface{ Open() bool }); ok && open.Open() {
		return "it began an answer of many lines that does not end"
	}
	if says := u.instead.since(then); says != "" || u.answered.Load() {
		return says
	}
	if lines := u.proxy.stderr.recent(); slices.ContainsFunc(lines.lines, serves) {
		return listens
	}
	if u.wrote.Load() == 0 {
		return "it has written nothing to standard output"
	}
	return ""
}

// numbered returns an answer under the ID that it was asked by, if that is a number and the answer spells it as a
// text. Where such texts are IDs, too, that would be a guess: "5" may be the second answer to "5".
func (u *upstream) numbered(m *rpc.Message) *rpc.Message {
	number := m.ID.Spelled()
	if number == nil {
		return m
	}
	u.mu.Lock()
	key := number.Key()
	mends := !u.spelled && (u.waiting[key] != nil || u.late[key] != nil)
	u.mu.Unlock()
	if !mends {
		return m
	}
	u.mends("a text for the number of an ID")
	return m.With(number, "id")
}

// mends records once that something of the kind is mended. Only read calls it.
func (u *upstream) mends(what string) {
	if u.mended == nil {
		u.mended = map[string]bool{}
	}
	if !u.mended[what] {
		u.mended[what] = true
		u.proxy.Logger.Warn("what the server writes is mended: not every client can read it", slog.String("what", what))
	}
}

// starts reports whether a process has not answered anything since its start.
func (u *upstream) starts() bool { return u.ours && !u.answered.Load() }

// soonAnswered is how long an answer may take until it is recorded what came instead.
const soonAnswered = 10 * time.Second

// tell records, once for the start of a run and once for its calls, that somebody has waited for long while something
// else came.
func (u *upstream) tell(at int64) {
	starts := !u.answered.Load()
	if told := &u.told[0]; starts && !*told {
		for _, w := range u.asked() {
			if time.Duration(at-w.at) >= soonAnswered {
				*told = true
				attrs := []any{slog.String("method", w.method), slog.Duration("waited", time.Duration(at-w.at).Round(time.Second))}
				if came := u.came(0); came != "" {
					attrs = append(attrs, slog.String("instead", came))
				}
				lines := u.proxy.stderr.recent()
				if wrote := lines.ending().lines; wrote != "" {
					attrs = append(attrs, slog.String("wrote", wrote))
				}
				u.proxy.Logger.Warn("the server has not answered anything yet, and is waited for", attrs...)
				return
			}
		}
	}
	if told := &u.told[1]; !starts && !*told {
		for _, w := range u.asked() {
			if time.Duration(at-w.at) < soonAnswered || w.method == call.MethodListen {
				continue
			}
			if came := u.came(w.at); came != "" {
				*told = true
				u.proxy.Logger.Warn("the server has not answered a request yet, and wrote something else", slog.String("method", w.method),
					slog.Duration("waited", time.Duration(at-w.at).Round(time.Second)), slog.String("instead", came))
				return
			}
		}
	}
}

// asks is a request that is not answered.
type asks struct {
	id     rpc.ID
	method string
	at     int64 // see now
}

// asked returns the requests that are not answered.
func (u *upstream) asked() []asks {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make([]asks, 0, len(u.waiting))
	for _, w := range u.waiting {
		all = append(all, w.asks)
	}
	return all
}
