package mcptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/conduct"
	"github.com/mcpchain/mcpchain/middleware"
)

// varying matches what may differ between answers that say the same.
var varying = regexp.MustCompile(`'[^']*'|"[^"]*"|[0-9]+|[\[{].*`)

// A report has at most so many different answers of a tool, and lines of each.
const (
	maxAnswers = 15
	maxLines   = 6
)

// Survey calls every tool of a server with its [Nasty] arguments. It logs and returns a
// report of what a model reads: for each tool the different answers, how often each was
// given, and arguments that led to it. Failures of the same kind, of the same arguments
// against the same rules, count as one answer. An exclamation mark marks internal errors,
// to which arguments should not lead. The report is the same for the same answers, so
// [Golden] can keep it.
//
// Survey requires that every call is answered, that no answer shows a stack or a place in
// the program, and that all are [Legal]. The calls are real: survey a server on test data.
// A middleware that refuses callers after many failures hides the later answers: give
// retry.Options.Owner a function that returns "", and set no limits.
func Survey(t testing.TB, s *Session) string {
	t.Helper()
	tools, err := s.tools()
	if err != nil {
		t.Fatalf("mcptest.Survey: %v", err)
	}
	var report strings.Builder
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		alive := surveyTool(t, s, tools[name], &report)
		if !alive {
			t.Log("mcptest.Survey: the server is gone; so far:\n" + report.String())
			return report.String()
		}
	}
	Legal(t, s)
	t.Log("mcptest.Survey:\n" + report.String())
	return report.String()
}

// An answer is what a tool answered, perhaps several times.
type answer struct {
	text      string
	arguments json.RawMessage // the first arguments that led to it
	times     int
	internal  bool // the server calls it an internal error
}

// surveyTool surveys one tool. It returns false if the server is gone.
func surveyTool(t testing.TB, s *Session, tool *mcp.Tool, report *strings.Builder) bool {
	t.Helper()
	found := map[string]*answer{}
	calls, alive := 0, true
	for _, arguments := range Nasty(tool.InputSchema) {
		calls++
		res, err := s.Call(tool.Name, arguments)
		if !answered(err) {
			t.Errorf("mcptest.Survey: %s does not answer %s: %v", tool.Name, compact(arguments), err)
			alive = !errors.Is(err, mcp.ErrConnectionClosed)
			break // the next call would not be answered either, and each wait takes long
		}
		text := reference.ReplaceAllString(Text(res, err), "REFERENCE")
		if at := conduct.Insides.FindString(text); at != "" {
			t.Errorf("mcptest.Survey: %s shows %q to who sends %s:\n%s", tool.Name, at, compact(arguments), indent(clip(text, 500)))
		}
		a := &answer{text: text, arguments: arguments}
		key := varying.ReplaceAllString(text, "_")
		if f, failed := middleware.FaultOf(res, err); !failed {
			a.text, key = "(a success)", ""
		} else {
			a.internal = f.Kind() == fault.KindInternal
			if wrong := violations(f); len(wrong) > 0 {
				key = string(f.Kind()) + " " + pairs(wrong)
			}
		}
		if found[key] == nil {
			found[key] = a
		}
		found[key].times++
	}
	fmt.Fprintf(report, "%s: %d calls, %d different answers\n", tool.Name, calls, len(found))
	answers := slices.SortedFunc(maps.Values(found), func(a, b *answer) int {
		if a.times != b.times {
			return b.times - a.times
		}
		return strings.Compare(a.text, b.text)
	})
	for i, a := range answers {
		if i == maxAnswers {
			fmt.Fprintf(report, "      and %d more\n", len(answers)-i)
			break
		}
		mark := " "
		if a.internal {
			mark = "!"
		}
		lines := strings.Split(clip(a.text, 600), "\n")
		if len(lines) > maxLines {
			lines = append(lines[:maxLines], "...")
		}
		fmt.Fprintf(report, "%4d%s %s\n      <- %s\n", a.times, mark, strings.Join(lines, "\n      "), clip(string(a.arguments), 80))
	}
	return alive
}
