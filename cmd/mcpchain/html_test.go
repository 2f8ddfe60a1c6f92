package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/probe"
)

func pageOf(t *testing.T, bare, behind *probe.Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, writeHTML(&b, bare, behind, func(command string, only []string) string {
		return "mcpchain " + command + " " + strings.Join(only, ",")
	}, time.Date(2026, 11, 29, 1, 2, 3, 0, time.UTC)))
	return b.String()
}

// inOrder proves that texts stand in a page, one after the other.
func inOrder(t *testing.T, page string, texts ...string) {
	t.Helper()
	rest := page
	for _, text := range texts {
		_, after, ok := strings.Cut(rest, text)
		require.True(t, ok, "%q is missing in its place in\n%s", text, page)
		rest = after
	}
}

func TestPage(t *testing.T) {
	r := sampleReport()
	r.Results[2].Findings = []probe.Finding{{Weight: probe.User, Protocol: "2025-11-25", What: "The server ended.", Because: "no-json"}}
	page := pageOf(t, r, nil)
	inOrder(t, page, "<h1>How sample 1.0 fails</h1>", "Of 4 checks, 2 find something.", `<div class="bad"><dt>what a user notices</dt><dd>1</dd>`,
		`<div class="good"><dt>what a model cannot act on</dt><dd>0</dd>`, "<h2>What a user notices", `<details class="bad">`, "a text: It is never answered.",
		"Expected: A line that is no JSON is answered.", "A reason.", "MCP 2025-11-25, 2026-07-28", `<pre>{&#34;sent&#34;:&#34;&lt;&amp;&gt;&#34;}</pre>`,
		"For the same reason, these checks find something: batch.",
		`<pre class="copy">sample 1.0 (MCP 2025-11-25, 2026-07-28 over stdio): a text: It is never answered. Expected: A line that is no JSON is answered.`,
		"Sent:", "Got:", "mcpchain check no-json\n", "<h2>The letter of the protocol", `<details class="note">`, "The code is 0.",
		"<h2>How to repeat it</h2>\n<pre class=\"copy\">mcpchain check no-json,unknown-tool,batch,unknown-prompt</pre>", "29 November 2026 01:02 UTC", "Checks that find nothing: 0",
		"The server has no prompts: unknown-prompt.", "delete_all, send_mail")
	require.NotContains(t, page, "<h2>What a model cannot act on", "nothing of that is found")
	require.Equal(t, 1, strings.Count(page, "The server has no prompts"))
	require.NotContains(t, page, `class="pair"`)
}

// The page of a comparison has both beside each other, and what mcpchain run alone is to blame for.
func TestPageOfComparison(t *testing.T) {
	bare, behind := sampleReport(), sampleReport()
	behind.Results[0].Findings = behind.Results[0].Findings[2:3]
	behind.Results[1].Findings, behind.Results[1].NotChecked = nil, "the server has no tools"
	behind.Results[2].Findings = []probe.Finding{{Weight: probe.Model, Protocol: "2025-11-25", What: "It is new."}}
	page := pageOf(t, bare, behind)
	inOrder(t, page, "fails, bare and behind mcpchain run</h1>", "Of 4 checks, 2 find something in the bare server, and 2 behind mcpchain run.", "<dd>1 → 1</dd>", "<dd>0 → 1</dd>", "<dd>1 → 0</dd>",
		`class="pair"`, "<h3>bare</h3>", "It is never answered.", "<h3>behind mcpchain run</h3>", "<code>b</code> The server ended.", "For an issue of the server",
		"<h2>What a model cannot act on", "It is new.", "<h3>bare</h3>", "nothing is found", "<h3>behind mcpchain run</h3>", "It is new.",
		"<h2>The letter of the protocol", "The code is 0.", "not checked: the server has no tools")
	require.Equal(t, 2, strings.Count(page, "For an issue of the server"), "none blames a server for what is new behind")
}

// What a server sends is text, in a page that loads nothing.
func TestPageOfHostileServer(t *testing.T) {
	const evil = `</pre><script>alert(1)</script><img src="https://evil.example/x">`
	r := sampleReport()
	r.Server, r.NotCalled = evil, []string{evil}
	for i := range r.Results {
		r.Results[i].NotChecked = evil
		for j := range r.Results[i].Findings {
			f := &r.Results[i].Findings[j]
			f.Subject, f.What, f.Sent, f.Got = evil, evil, evil, evil
		}
	}
	page := pageOf(t, r, r)
	require.Contains(t, page, "&lt;script&gt;")
	require.Empty(t, regexp.MustCompile(`<(?:script|img|link|iframe|object)\b|\son\w+=|(?:src|href)=`).FindAllString(strings.ReplaceAll(page, `src=&#34;`, ""), -1))
}

func TestCommandLine(t *testing.T) {
	hide := func(text string) string { return strings.ReplaceAll(text, "hunter2", "[redacted]") }
	for want, o := range map[string]probe.Options{
		`mcpchain check -only no-json -tools a,b -writes -- node 'my server.js' '--token=[redacted]' 'it'\''s'`: {Tools: []string{"a", "b"}, Writes: true, Command: []string{"node", "my server.js", "--token=hunter2", "it's"}},
		`mcpchain check -to https://a.example/mcp -header 'Authorization: ...'`:                                 {URL: "https://a.example/mcp", Header: http.Header{"Authorization": {"Bearer x"}}},
	} {
		require.Equal(t, want, commandLine("check", map[bool][]string{true: {"no-json"}}[o.Writes], o, hide))
	}
}

func TestPageOfCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	server := bareServer(t)
	out, errs, status := executed(t, append([]string{"check", "-html", file, "-only", "no-method,unknown-method"}, server...)...)
	require.Equal(t, exitFailed, status, errs)
	require.Contains(t, out, "NO-METHOD")
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	inOrder(t, string(page), "How bare 1 fails", "What a user notices", "The server ended.", "bare-server")

	out, errs, status = executed(t, append([]string{"check", "-html", filepath.Join(file, "x")}, server...)...)
	require.Equal(t, exitUsage, status)
	require.Contains(t, errs, "page.html/x")
	require.Empty(t, out, "it is refused before the checks")
}
