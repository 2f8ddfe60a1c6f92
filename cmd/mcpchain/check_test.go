package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/probe"
)

var updateReports = flag.Bool("update-reports", false, "write the golden reports anew")

// The binary of this test is also the server that is checked, and the program that stands in front of it.
func init() { //nolint:gochecknoinits // before TestMain, which is for the tests of run
	switch {
	case len(os.Args) < 2:
	case os.Args[1] == "bare-server":
		server := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
		type numbers struct {
			A int `json:"a"`
			B int `json:"b"`
		}
		reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
		mcp.AddTool(server, &mcp.Tool{Name: "divide", Annotations: reads}, func(_ context.Context, _ *mcp.CallToolRequest, in numbers) (*mcp.CallToolResult, any, error) {
			return nil, map[string]int{"quotient": in.A / in.B}, nil
		})
		_ = server.Run(context.Background(), &mcp.StdioTransport{})
		os.Exit(0)
	case os.Args[1] == "run":
		main()
	}
}

func bareServer(t *testing.T) []string {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	return []string{"--", exe, "bare-server"}
}

func TestCheckStatus(t *testing.T) {
	server := bareServer(t)
	out, errs, status := executed(t, append([]string{"check", "-only", "unknown-method,no-method"}, server...)...)
	require.Equal(t, exitFailed, status, out+errs)
	require.Contains(t, out, "NO-METHOD")
	require.Contains(t, out, "WHAT A USER NOTICES")
	require.Contains(t, out, "a number: The server ended.")
	require.Contains(t, out, "1 found something, 1 found nothing, 0 could not be checked; -v names them")
	require.Contains(t, out, "tools not called")
	require.Contains(t, out, "    greet")

	out, errs, status = executed(t, append([]string{"check", "-only", "unknown-method"}, server...)...)
	require.Equal(t, exitOK, status, out+errs)
	require.Contains(t, out, "0 found something")

	for _, c := range []struct {
		want string
		args []string
	}{
		{"cannot be checked, because it does not start", []string{"--", filepath.Join(t.TempDir(), "no-such-program")}},
		{"there is no server", nil},
		{`there is no check "no-such"`, append([]string{"-only", "no-such"}, server...)},
		{"want table, json, junit or sarif", append([]string{"-format", "yaml"}, server...)},
	} {
		out, errs, status = executed(t, append([]string{"check"}, c.args...)...)
		require.Equal(t, exitUsage, status, out)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	}
	out, _, status = executed(t, "check", "-list")
	require.Equal(t, exitOK, status)
	require.Equal(t, len(probe.Checks()), strings.Count(out, "\n"))
}

// All commands have one form of help and of what is wrong with a command line. No error repeats a header.
func TestCheckWrongLines(t *testing.T) {
	for line, want := range map[string]string{
		"check -ony x -- a":                  `mcpchain check: there is no flag "-ony"; did you mean "-only"?`,
		"check -quux":                        `mcpchain check: there is no flag "-quux"; "mcpchain help check" lists them`,
		"check -limit 5 -- a":                `mcpchain check: invalid value "5" for flag -limit: "5" has no unit; write "5s" for seconds`,
		"check -header hunter2 -to http://x": `mcpchain check: a header is written as "NAME: VALUE", such as "Authorization: Bearer TOKEN"`,
		"check":                              "mcpchain check: there is no server: give its command behind --, or its URL with -to",
		"compare":                            "mcpchain compare: there is no server: give its command behind --",
		"compare -to http://x":               `mcpchain compare: there is no flag "-to"; "mcpchain help compare" lists them`,
	} {
		out, errs, status := executed(t, strings.Fields(line)...)
		require.Equal(t, exitUsage, status, line)
		require.Empty(t, out, line)
		require.Equal(t, want+"\n", errs, line)
	}
	for _, name := range []string{"check", "compare", "log"} {
		help, _, _ := executed(t, "help", name)
		out, errs, status := executed(t, name, "-h")
		require.Zero(t, status)
		require.Empty(t, errs)
		require.Equal(t, help, out)
		if name == "run" {
			continue // its flags stand in groups
		}
		for _, row := range strings.Split(strings.TrimSpace(help), "\n")[4:] {
			require.Regexp(t, `^  -[a-z-]+( [A-Z,]+)? +[^ ]`, row)
		}
	}
}

func TestCheckOverHTTP(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" {
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	out, errs, status := executed(t, "check", "-to", web.URL, "-header", "Authorization: Bearer good", "-only", "http-method,unknown-method")
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, out, "bare 1 over http")

	_, errs, status = executed(t, "check", "-to", web.URL)
	require.Equal(t, exitUsage, status)
	require.Contains(t, errs, "HTTP 401 sign in")
}

func TestBaseline(t *testing.T) {
	server, file := bareServer(t), filepath.Join(t.TempDir(), "baseline.json")
	check := func(args ...string) (errs string, status int) {
		_, errs, status = executed(t, append(append([]string{"check", "-baseline", file}, args...), server...)...)
		return errs, status
	}
	errs, status := check("-only", "no-method", "-write-baseline")
	require.Equal(t, exitOK, status, errs)
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(raw), "\nno-method|2025-11-25|none\n")

	errs, status = check("-only", "no-method")
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, errs, "are left out")

	_, status = check("-only", "no-method,no-json")
	require.Equal(t, exitFailed, status, "what is new fails")

	require.NoError(t, os.WriteFile(file, []byte("# a comment\n\nx\n"), 0o600))
	errs, status = check()
	require.Equal(t, exitUsage, status)
	require.Contains(t, errs, `is not a baseline: its line 3 is "x", not CHECK|VERSION|SUBJECT; -write-baseline makes it anew`)
}

// TestBaselineByHand: any line may be deleted, and then its finding alone is new; how lines end does not
// matter.
func TestBaselineByHand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "baseline.txt")
	all := leaveOut(sampleReport(), nil)
	require.Zero(t, all)
	require.NoError(t, writeBaseline(file, sampleReport()))
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	lines := strings.SplitAfter(strings.TrimSuffix(string(raw), "\n"), "\n")
	require.Len(t, lines, 7, "a comment, and each finding")
	leftOut := func(text string) int {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		known, err := readBaseline(file)
		require.NoError(t, err, text)
		return leaveOut(sampleReport(), known)
	}
	for i := range lines {
		some := slices.Delete(slices.Clone(lines), i, i+1)
		want := 5
		if i == 0 { // the comment
			want = 6
		}
		require.Equal(t, want, leftOut(strings.Join(some, "")), i)
	}
	require.Equal(t, 0, leftOut(""))
	require.Equal(t, 0, leftOut("\n# nothing\n"))
	require.Equal(t, 6, leftOut("\ufeff"+strings.ReplaceAll(string(raw), "\n", "\r\n")))
	require.Equal(t, 6, leftOut("  "+strings.ReplaceAll(string(raw), "\n", "  \n\n# and\n")))
}

// TestPlaceOfFindings: code scanning shows a finding at a file of the repository, if the command names one.
func TestPlaceOfFindings(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("dist", 0o700))
	require.NoError(t, os.WriteFile("dist/my server.js", nil, 0o600))
	require.Equal(t, "dist/my server.js", placeOf([]string{"node", "./dist/my server.js", "dist"}))
	require.Equal(t, "mcpchain-check", placeOf([]string{os.Args[0], "../x"}))
	require.Equal(t, "mcpchain-check", placeOf(nil))
}

func TestCompare(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	before := self
	self = func() ([]string, error) { return []string{exe}, nil }
	t.Cleanup(func() { self = before })
	const some = "no-json,no-object,batch,deep-nesting,unknown-method,unknown-tool,near-tool-named,argument-missing,wrong-argument-named,all-wrong-named,nasty-arguments"
	out, errs, status := executed(t, append([]string{"compare", "-only", some}, bareServer(t)...)...)
	require.Equal(t, exitOK, status, errs)
	golden := filepath.Join("testdata", "compare.golden") // docs/check.md shows it
	if *updateReports {
		require.NoError(t, os.WriteFile(golden, []byte(out), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), out)

	// The table of check, of the same server.
	out, _, status = executed(t, append([]string{"check", "-only", "deep-nesting,near-tool-named,unknown-tool,unknown-prompt"}, bareServer(t)...)...)
	require.Equal(t, exitFailed, status)
	out = regexp.MustCompile(`checks in \S+`).ReplaceAllString(out, "checks in 100ms")
	golden = filepath.Join("testdata", "check.golden") // docs/check.md shows it
	if *updateReports {
		require.NoError(t, os.WriteFile(golden, []byte(out), 0o600))
	}
	want, err = os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), out)

	file := filepath.Join(t.TempDir(), "page.html")
	out, errs, status = executed(t, append([]string{"compare", "-html", file, "-format", "json", "-only", "no-json"}, bareServer(t)...)...)
	require.Equal(t, exitOK, status, errs)
	shown, err := os.ReadFile(file)
	require.NoError(t, err)
	inOrder(t, string(shown), "How bare 1 fails, bare and behind mcpchain run", `class="pair"`, "The server ended.", "nothing is found", "mcpchain check -only no-json --", "mcpchain compare -only no-json --")
	var both struct{ Bare, Behind reportJSON }
	require.NoError(t, json.Unmarshal([]byte(out), &both))
	require.Equal(t, "found", both.Bare.Checks[0].Outcome)
	require.Equal(t, "passed", both.Behind.Checks[0].Outcome)

	_, errs, status = executed(t, append([]string{"compare", "-format", "sarif"}, bareServer(t)...)...)
	require.Equal(t, exitUsage, status)
	require.Contains(t, errs, "want table or json")
}

// sampleReport has one of everything.
func sampleReport() *probe.Report {
	check := func(name, title string) *probe.Check {
		return &probe.Check{Name: name, Title: title, Why: "A reason."}
	}
	finding := func(subject, protocol, what string) probe.Finding {
		return probe.Finding{Weight: probe.User, Subject: subject, Protocol: protocol, What: what, Sent: `{"sent":"<&>"}`, Got: strings.Repeat("a long answer, ", 20)}
	}
	return &probe.Report{
		Server: "sample 1.0", Protocols: []string{"2025-11-25", "2026-07-28"}, Transport: "stdio", Took: 12345 * time.Millisecond,
		NotCalled: []string{"delete_all", "send_mail"},
		Results: []probe.Result{
			{Check: check("no-json", "A line that is no JSON is answered."), Findings: []probe.Finding{
				finding("a text", "2025-11-25", "It is never answered."), finding("a text", "2026-07-28", "It is never answered."),
				finding("b", "2025-11-25", "The server ended."), finding("c", "2025-11-25", "The server ended."), finding("d", "2025-11-25", "The server ended."),
			}},
			{Check: check("unknown-tool", "An unknown tool is refused."), Findings: []probe.Finding{{Weight: probe.Letter, Protocol: "2025-11-25", What: "The code is 0."}}},
			{Check: check("batch", "A batch is answered.")},
			{Check: check("unknown-prompt", "An unknown prompt is refused."), NotChecked: "the server has no prompts"},
		},
	}
}

func TestReports(t *testing.T) {
	formats := map[string]string{"table": "table.txt", "json": "report.json", "junit": "junit.xml", "sarif": "report.sarif"}
	for format, name := range formats {
		t.Run(format, func(t *testing.T) {
			var b strings.Builder
			require.NoError(t, reportFormats[format](&b, sampleReport()))
			got := strings.ReplaceAll(b.String(), version(), "VERSION")
			golden := filepath.Join("testdata", name)
			if *updateReports {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
			switch format {
			case "json", "sarif":
				require.True(t, json.Valid([]byte(got)))
			case "junit":
				require.NoError(t, xml.Unmarshal([]byte(got), &struct {
					XMLName xml.Name `xml:"testsuite"`
				}{}))
			}
		})
	}
	var all strings.Builder
	require.NoError(t, writeTable(&all, sampleReport(), -1, false))
	require.Contains(t, all.String(), strings.Repeat("a long answer, ", 20))
	require.NotContains(t, all.String(), "-v ")
	require.Contains(t, all.String(), "found nothing:\n    batch\nnot checked, because the server has no prompts:\n    unknown-prompt\n")
	require.Contains(t, all.String(), "THE LETTER OF THE PROTOCOL\n\nUNKNOWN-TOOL")
}

// TestDocumented proves that the page about the checks has each of them, and none besides.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/check.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(page), "## The checks")
	table, _, _ = strings.Cut(table, "The last group")
	var documented, names []string
	for _, m := range regexp.MustCompile("`([a-z0-9-]+)`").FindAllStringSubmatch(table, -1) {
		documented = append(documented, m[1])
	}
	for _, c := range probe.Checks() {
		names = append(names, c.Name)
		require.NotEmpty(t, c.Title, c.Name)
		require.NotEmpty(t, c.Why, c.Name)
	}
	require.ElementsMatch(t, names, documented)

	changes, err := os.ReadFile("../../CHANGELOG.md")
	require.NoError(t, err)
	require.Contains(t, string(changes), fmt.Sprintf("by %d checks", len(names)))
}
