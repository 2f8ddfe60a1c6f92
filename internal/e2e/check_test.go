package e2e

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/child"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/middleware"
)

var referenceForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// codes are the JSON-RPC codes of the kinds, as docs/wire.md has them. A kind of the
// program's own has 409, or 503 where the call may be repeated.
var codes = map[fault.Kind]int64{
	fault.KindValidation: -32602, fault.KindNotFound: -32602, fault.KindClientError: -32602,
	fault.KindPermissionDenied: 403, fault.KindUnauthenticated: 403,
	fault.KindAlreadyExists: 409, fault.KindConflict: 409, fault.KindPreconditionFailed: 409,
	fault.KindRateLimited: 429, fault.KindCancelled: 499, fault.KindTimeout: 504,
	fault.KindConnectionFailed: 503, fault.KindServiceUnavailable: 503, fault.KindServerError: 503,
	fault.KindInternal: -32603, fault.KindTool: -32603,
}

// parties says whose fault a kind is, where the kind alone tells.
var parties = map[fault.Kind]fault.Party{
	fault.KindValidation: fault.PartyCaller, fault.KindNotFound: fault.PartyCaller, fault.KindAlreadyExists: fault.PartyCaller,
	fault.KindUnauthenticated: fault.PartyCaller, fault.KindPermissionDenied: fault.PartyCaller,
	fault.KindConnectionFailed: fault.PartyUpstream, fault.KindServiceUnavailable: fault.PartyUpstream, fault.KindServerError: fault.PartyUpstream,
	fault.KindInternal: fault.PartyServer,
}

// levels are the levels of the outcomes.
var levels = map[string]string{
	"timeout": "WARN", "unavailable": "WARN", "internal_error": "ERROR", "panic": "ERROR",
}

// members returns the names in a JSON object, sorted.
func members(t require.TestingT, raw json.RawMessage) []string {
	var object map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &object), "%s", raw)
	var names []string
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func member(t require.TestingT, raw json.RawMessage, name string) json.RawMessage {
	var object map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &object), "%s", raw)
	return object[name]
}

// answer is what a caller gets of a failure.
type answer struct {
	texts     []string
	machine   json.RawMessage // nil if there is none
	reference string
}

// readTool takes a failed tool call apart and requires that it is legal.
func readTool(t require.TestingT, version string, result json.RawMessage) answer {
	want := []string{"_meta", "content", "isError"}
	if version >= version2026 {
		want = append(want, "resultType")
	}
	require.Equal(t, want, members(t, result), "%s", result)
	var res struct {
		Meta    map[string]json.RawMessage `json:"_meta"`
		Content []struct {
			Type string
			Text string
		}
		IsError    bool
		ResultType string
	}
	require.NoError(t, json.Unmarshal(result, &res))
	require.True(t, res.IsError)
	if version >= version2026 {
		require.Equal(t, "complete", res.ResultType)
	}
	a := answer{machine: res.Meta[middleware.MetaKey]}
	for _, block := range res.Content {
		a.texts = append(a.texts, block.Text)
	}
	for name := range res.Meta {
		require.Contains(t, []string{middleware.MetaKey, correlate.ReferenceKey, "io.modelcontextprotocol/serverInfo"}, name)
	}
	_, info := res.Meta["io.modelcontextprotocol/serverInfo"]
	require.Equal(t, version >= version2026, info, "%s", result)
	a.readMachine(t)
	if raw := res.Meta[correlate.ReferenceKey]; raw != nil { // what a tool worded itself has it alone
		require.Nil(t, a.machine)
		require.NoError(t, json.Unmarshal(raw, &a.reference))
	}
	return a
}

// readError takes a failed method apart and requires that it is legal.
func readError(t require.TestingT, raw json.RawMessage) (code int64, a answer) {
	var wire struct {
		Code    int64
		Message string
		Data    json.RawMessage
	}
	require.NoError(t, json.Unmarshal(raw, &wire))
	a = answer{texts: []string{wire.Message}, machine: wire.Data}
	a.readMachine(t)
	return wire.Code, a
}

func (a *answer) readMachine(t require.TestingT) {
	if a.machine == nil {
		return
	}
	require.NotRegexp(t, `[:\[,]null`, string(a.machine), "absent means absent")
	var m struct {
		Reference string `json:"reference_id"`
	}
	if json.Unmarshal(a.machine, &m) == nil {
		a.reference = m.Reference
	}
}

// check requires that the answer and the record are what the scenario wants.
func (s *scenario) check(t require.TestingT, p *peer, m message, res mcp.Result, err error, records []child.Record) {
	tool := s.method == middleware.MethodCallTool
	if s.want.wire != nil {
		s.checkWire(t, m, err)
		s.checkRecord(t, p, records, "")
		return
	}
	unrecorded := s.unrecorded(p, records)
	var a answer
	if tool {
		require.NoError(t, err)
		require.Nil(t, m.Error, "%s", m.raw)
		a = s.readResult(t, p, m.Result)
	} else {
		require.Error(t, err)
		require.Nil(t, m.Result, "%s", m.raw)
		var code int64
		code, a = readError(t, m.Error)
		want, known := codes[s.want.public.Kind()]
		if !known {
			want = 409
			if retry, _ := guided(t, s.want.public, a.machine).Retry(); retry.ShouldRetry {
				want = 503
			}
		}
		require.Equal(t, want, code, "%s", m.raw)
	}
	if unrecorded {
		require.Empty(t, a.reference, "it leads nowhere")
	} else if a.machine != nil || !s.want.worded {
		require.Regexp(t, referenceForm, a.reference)
	}
	s.checkAnswer(t, p, a)
	if s.kind != "subscription" {
		f, failed := middleware.FaultOf(res, err)
		require.True(t, failed)
		if s.want.public != nil && a.machine != nil {
			require.Equal(t, s.want.public.Kind(), f.Kind())
			require.Equal(t, a.reference, f.Reference())
		}
	}
	s.checkRecord(t, p, records, a.reference)
}

// readResult reads a failed tool call. Where the tool made it itself, more may be
// in it.
func (s *scenario) readResult(t require.TestingT, p *peer, result json.RawMessage) answer {
	if s.want.structured != "" { // the tool's own, without what is secret in it
		require.JSONEq(t, s.want.structured, string(member(t, result, "structuredContent")))
		result = withoutMember(t, result, "structuredContent")
	}
	a := readTool(t, p.version, result)
	if s.want.own == nil {
		require.Len(t, a.texts, 1)
		require.NotNil(t, a.machine)
	}
	return a
}

// checkWire requires that a protocol error arrived as it was meant.
func (s *scenario) checkWire(t require.TestingT, m message, err error) {
	require.Error(t, err)
	want, jsonErr := json.Marshal(s.want.wire)
	require.NoError(t, jsonErr)
	require.JSONEq(t, string(want), string(m.Error))
	require.Nil(t, m.Result)
}

func (s *scenario) checkAnswer(t require.TestingT, p *peer, a answer) {
	if s.want.own != nil {
		require.Len(t, a.texts, len(s.want.own))
		for i, text := range s.want.own {
			if text != "" {
				require.Equal(t, text, a.texts[i])
			}
		}
	} else {
		require.NotNil(t, a.machine, "no machine form")
		public := faults.WithReference(guided(t, s.want.public, a.machine), a.reference)
		if public.Party() == "" {
			public = public.WithParty(cmp.Or(s.want.party, parties[public.Kind()]))
		}
		text := public.Error()
		if s.want.whole {
			text = public.Text()
		}
		require.Equal(t, []string{text}, a.texts)
		require.NotRegexp(t, `[\x00-\x08\x0b-\x1f\x7f]`, text, "control characters")
		want, err := json.Marshal(public)
		require.NoError(t, err)
		machine := a.machine
		if s.method == middleware.MethodReadResource && public.Kind() == fault.KindNotFound {
			_, uri := s.target(s.name)
			require.JSONEq(t, quote(uri), string(member(t, machine, "uri")))
			machine = withoutMember(t, machine, "uri")
		}
		require.JSONEq(t, string(want), string(machine))
	}
}

// says reports whether a failure has the words that are wanted, behind which it says what became of the step that failed.
// Of a connection there are more words than one: it was not made, it broke, or something ended early.
func says(got, want *fault.Error) bool {
	begins := func(words string) bool { return strings.HasPrefix(got.Message(), words) }
	return begins(want.Message()) || got.Kind() == fault.KindConnectionFailed &&
		(begins("the connection to a service that is needed broke") || begins("what was read, from a service or a file, ended"))
}

// guided returns a fault with what guidance said about it on its way, as far as it
// passed it. What guidance says is for the tests of package retry; here the text has
// to say the same as the machine form.
func guided(t require.TestingT, want *fault.Error, machine json.RawMessage) *fault.Error {
	var got fault.Error
	require.NoError(t, json.Unmarshal(machine, &got))
	if says(&got, want) {
		want = want.WithMessage(got.Message())
	}
	if got.Party() != "" {
		want = want.WithParty(got.Party())
	}
	want = want.Suggest(got.Suggestion())
	if retry, said := got.Retry(); said {
		want = want.WithRetry(retry)
	}
	return want
}

// unrecorded reports whether there is rightly no record: subscriptions/listen,
// which lasts as long as its caller, has one only where something was hidden.
func (s *scenario) unrecorded(p *peer, records []child.Record) bool {
	return s.listens(p) && len(records) == 0 && (s.want.worded || s.want.wire != nil)
}

func (s *scenario) listens(p *peer) bool { return s.kind == "subscription" && p.version >= version2026 }

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func withoutMember(t require.TestingT, raw json.RawMessage, name string) json.RawMessage {
	var object map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &object))
	delete(object, name)
	b, err := json.Marshal(object)
	require.NoError(t, err)
	return b
}

// checkRecord requires that the log has exactly one record of the call, with the
// whole error and the reference that the caller has.
func (s *scenario) checkRecord(t require.TestingT, p *peer, records []child.Record, reference string) {
	if s.unrecorded(p, records) {
		return
	}
	records = slices.DeleteFunc(slices.Clone(records), func(r child.Record) bool { // once, of the first call
		return strings.HasPrefix(r.Text("msg"), "mcpchain: a step of a failure names a call")
	})
	if s.want.before != "" {
		require.NotEmpty(t, records)
		first := records[0]
		require.Equal(t, s.want.before, first.Text("msg"))
		require.Contains(t, first.Text("error"), canaryPrefix)
		require.Contains(t, first.Text("stack"), "internal/e2e")
		records = records[1:]
		require.Equal(t, records[0].Text("reference"), first.Text("reference"))
	}
	require.Len(t, records, 1, "records of one call")
	r := records[0]
	require.Equal(t, "mcp call", r.Text("msg"))
	require.Equal(t, s.want.outcome, r.Text("outcome"), "%v", r.All())
	level := cmp.Or(s.want.level, levels[s.want.outcome], "INFO")
	require.Equal(t, level, r.Text("level"))
	method := s.method
	if s.kind == "custom" || s.kind == "notification" {
		method += s.name
	}
	listens := s.listens(p)
	if listens {
		method = "subscriptions/listen"
	}
	require.Equal(t, method, r.Text("method"))
	if key, value := s.target(s.name); key != "" && !listens {
		require.Equal(t, scrub.Credentials(value), r.Text(key))
	}
	require.Regexp(t, referenceForm, r.Text("reference"))
	if reference != "" {
		require.Equal(t, reference, r.Text("reference"))
	}
	if !listens {
		require.Contains(t, r, "duration_ms")
	}
	if p.cfg.Transport != "stateless" || p.version >= version2026 {
		require.Equal(t, "e2e-client", strings.Replace(r.Text("client"), "raw", "e2e-client", 1))
	}
	all := r.All()
	for _, text := range s.want.log {
		require.Contains(t, all, text)
	}
	if s.want.err != nil {
		text := s.want.err.Error()
		if logged, _, clipped := strings.Cut(r.Text("error"), " ["); clipped && len(text) > maxLogged {
			require.GreaterOrEqual(t, len(logged), maxLogged/2)
			require.True(t, strings.HasPrefix(throughJSON(text), logged), "another text")
			require.True(t, strings.HasSuffix(r.Text("error"), " more characters left out]"), "not said")
		} else {
			require.Equal(t, throughJSON(text), r.Text("error"))
		}
	}
	if s.want.stack {
		require.Contains(t, r.Text("stack"), cmp.Or(s.want.frame, "internal/e2e"))
	} else {
		require.NotContains(t, r, "stack")
	}
}

// maxLogged is how much of an error's text a record has.
const maxLogged = 64 << 10

// throughJSON returns a text as JSON has it: broken UTF-8 is replaced.
func throughJSON(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		panic(err)
	}
	return s
}
