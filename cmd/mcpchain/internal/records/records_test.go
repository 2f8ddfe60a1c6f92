package records_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/records"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]string{
		`{"time":"2026-11-29T00:42:33.5Z","level":"INFO","msg":"m","a":1,"b":"two","c":{"d":true,"e":{"f":null}},"g":[1]}`: "INFO m [{a 1} {b two} {c.d true} {c.e.f null} {g [1]}]",
		`{"time":"2026-11-29T00:42:33.5+01:00","level":"WARN+1","msg":"m","msg":"mine","level":"high"}`:                    "WARN+1 m [{msg mine} {level high}]",
		`[{pod}] {"time":"2026-11-29T00:42:33.5Z","level":"ERROR","msg":"m"}`:                                              "ERROR m []",
		`server-1  | {"time":"2026-11-29T00:42:33.5Z","level":"ERROR","msg":"m"}`:                                          "ERROR m []",
		`server-1  | time=2026-11-29T00:42:33.500Z level=INFO msg="two words" a= b="say \"x\"\n" "c d"=1 e.f={`:            "INFO two words [{a } {b say \"x\"\n} {c d 1} {e.f {}]",
		`time=2026-11-29T00:42:33.500Z level=INFO msg={"a":1} b=c`:                                                         "INFO {\"a\":1} [{b c}]",

		"a line with a { and the word time=now":                        "",
		`{"time":"2026-11-29T00:42:33.5Z","level":"INFO"}`:             "",
		`{"time":"2026-11-29T00:42:33.5Z","level":"loud","msg":"m"}`:   "",
		`{"time":"2026-11-29T00:42:33.5Z","level":"INFO","msg":"m"`:    "",
		`{"level":"INFO","msg":"m","time":17}`:                         "",
		`time=2026-11-29T00:42:33.500Z level=INFO msg="never ends b=1`: "",
		"{}": "", "[]": "", `"x"`: "", "{": "", "time=": "",
	} {
		got := ""
		if r := records.Parse([]byte(line)); r != nil {
			got = fmt.Sprint(r.Level, " ", r.Message, " ", r.Attrs)
			require.Equal(t, 33, r.Time.Second())
		}
		require.Equal(t, want, got, line)
	}
}

// The two forms of slog say the same.
func FuzzParse(f *testing.F) {
	f.Add("a message", "key", "a value", "level=INFO")
	f.Add(`{"msg":"x"}`, "time", `"`, "\n\x00\u202e=")
	f.Fuzz(func(t *testing.T, message, key, value, inner string) {
		records.Parse([]byte(message))
		if message == "" {
			return
		}
		var forms [2]bytes.Buffer
		for i, h := range []slog.Handler{slog.NewJSONHandler(&forms[0], nil), slog.NewTextHandler(&forms[1], nil)} {
			r := slog.NewRecord(time.Unix(1764376953, 0), slog.LevelWarn, message, 0)
			r.AddAttrs(slog.String("k"+key, value), slog.Group("g", slog.String("k", inner)))
			require.NoError(t, h.Handle(context.Background(), r))
			line := bytes.TrimSuffix(forms[i].Bytes(), []byte("\n"))
			got := records.Parse(line)
			require.NotNil(t, got, "%s", line)
			if !slices.ContainsFunc([]string{message, key, value, inner}, func(s string) bool { return !utf8.ValidString(s) }) {
				require.Equal(t, message, got.Message)
				require.Equal(t, []records.Attr{{Key: "k" + key, Value: value}, {Key: "g.k", Value: inner}}, got.Attrs, "%s", line)
			}
		}
	})
}

func TestRead(t *testing.T) {
	var got []string
	require.NoError(t, records.Read(strings.NewReader("\n"+`{"time":"2026-11-29T00:42:33Z","level":"INFO","msg":"first"}`+"\r\nno record\n\ntime=2026-11-29T00:42:34Z level=INFO msg=last"), func(r *records.Record) {
		if r == nil {
			got = append(got, "-")
			return
		}
		got = append(got, r.Message)
	}))
	require.Equal(t, []string{"first", "-", "last"}, got)
	for _, line := range []string{"time=" + strings.Repeat("a=b ", 1<<20), strings.Repeat("{\"a\":", 1<<20)} { // in a time that grows as its length
		require.Nil(t, records.Parse([]byte(line)))
	}
}

// One line that is none of a log does not hide the week around it.
func TestALineThatIsTooLongIsLeftOut(t *testing.T) {
	var s records.Summary
	require.NoError(t, records.Read(strings.NewReader(line(1, "INFO", "m", "")+strings.Repeat("y", 17<<20)+"\n"+line(2, "INFO", "m", "")), s.Add))
	require.Equal(t, []int{2, 1}, []int{s.Records, s.Others})
}

// A terminal says once that it ends, and then waits again.
func TestTheEndIsReadOnce(t *testing.T) {
	for _, text := range []string{"", "x", "xy", "x\ny"} {
		lines := 0
		require.NoError(t, records.Read(&terminal{text}, func(*records.Record) { lines++ }))
		require.Len(t, strings.Fields(text), lines)
	}
}

type terminal struct{ text string }

func (r *terminal) Read(p []byte) (int, error) {
	switch n := copy(p, r.text); {
	case n > 0:
		r.text = r.text[n:]
		return n, nil
	case r.text == "":
		r.text = "what is typed next"
		return 0, io.EOF
	}
	panic("never")
}

func TestALogThatWasRotatedIsCompressed(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, log())
	require.NoError(t, err)
	require.NoError(t, w.Close())
	half := bytes.NewReader(b.Bytes()[:b.Len()/2])
	var s records.Summary
	require.NoError(t, records.Read(&b, s.Add))
	require.Equal(t, 4, s.Failures)
	require.ErrorIs(t, records.Read(half, s.Add), io.ErrUnexpectedEOF)
}

// What servers of two zones write is shown in one of them, which is named.
func TestTimesAreOfOneZone(t *testing.T) {
	var s records.Summary
	for _, at := range []string{"2026-11-29T10:00:00-03:30", "2026-11-29T14:00:00Z", "2026-11-29T13:00:00Z"} {
		s.Add(records.Parse([]byte(`{"time":"` + at + `","level":"WARN","msg":"mcp call","tool":"x","outcome":"timeout"}`)))
	}
	require.Contains(t, s.Headline(), "2026-11-29 09:30:00 to 2026-11-29 10:30:00 -03:30: 3 calls")
	require.Equal(t, 10, s.Newest[0].Time.Hour())
}

// A call of which two items failed is one call.
func TestPartsAreNoCalls(t *testing.T) {
	var s records.Summary
	part := `,"tool":"batch","outcome":"tool_error","reference":"id-1.0"`
	require.NoError(t, records.Read(strings.NewReader(line(1, "INFO", "mcp part of a call", part)+line(1, "INFO", "mcp part of a call", part)+
		call(2, "DEBUG", "batch", "ok", "", 1, "")+call(3, "WARN", "batch", "timeout", "timeout", 1, "")), s.Add))
	require.Contains(t, s.Headline(), "1 call and 2 parts of calls failed, 1 succeeded.")
	require.Empty(t, s.Newest[0].Text, "the name is no cause")
	var b bytes.Buffer
	require.NoError(t, s.WritePage(&b, "x"))
	require.Contains(t, b.String(), "<dt>calls</dt><dd>2</dd>")
	require.Contains(t, b.String(), "<dt>failed parts of calls</dt><dd>2</dd>")
	require.Contains(t, b.String(), "(the record says no more)")
}

// A line of a server may look like a record, and have any depth.
func TestDeepGroupsAreOneValue(t *testing.T) {
	r := records.Parse([]byte(`{"time":"2026-11-29T00:42:33Z","level":"INFO","msg":"m","a":` + strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 41)))
	require.NotNil(t, r)
	require.Equal(t, []records.Attr{{Key: strings.Repeat(".a", 33)[1:], Value: strings.Repeat(`{"a":`, 8) + "1" + strings.Repeat("}", 8)}}, r.Attrs)
}

func line(at int, level, message, attrs string) string {
	return fmt.Sprintf(`{"time":"2026-11-29T10:00:%02dZ","level":%q,"msg":%q%s}`+"\n", at, level, message, attrs)
}

func call(at int, level, tool, outcome, kind string, ms float64, more string) string {
	return line(at, level, "mcp call", fmt.Sprintf(`,"method":"tools/call","tool":%q,"outcome":%q,"kind":%q,"duration_ms":%v,"reference":"id-%d"%s`, tool, outcome, kind, ms, at, more))
}

// log is one in which the newest records stand first, as in files that were rotated and are read as a shell sorts them.
func log() string {
	return call(30, "ERROR", "pay", "panic", "internal_error", 2, `,"error":"panic: index out of range","effect":"unknown"`) +
		call(20, "INFO", "pay", "validation", "validation_error", 1, `,"error":"why","fault":{"message":"Argument 'cents' is required: expected a number."}`) +
		line(20, "INFO", "mcpchain: observed: a failure was sent as it came", `,"tool":"pay","reference":"id-20","sent":"missing properties:\n[cents]","would_send":"Validation Error: Argument 'cents' is required: expected a number.\nRetry: only with corrected arguments."`) +
		"a line of the server\n" +
		call(10, "DEBUG", "search", "ok", "", 1500, "") +
		call(11, "DEBUG", "ask", "input_required", "", 0, "") +
		call(12, "WARN", "search", "timeout", "timeout", 2500, `,"error":"the service did not answer"`) +
		call(13, "WARN", "search", "timeout", "timeout", 2600, `,"error":"the service did\u001b[31m not answer"`) +
		line(14, "ERROR", "the server ended, and is started again", `,"how":"signal: killed"`) +
		line(15, "INFO", "the server runs", `,"pid":17`)
}

// docs/program.md shows it.
func TestWriteText(t *testing.T) {
	var s records.Summary
	require.NoError(t, records.Read(strings.NewReader(log()), s.Add))
	var b bytes.Buffer
	s.WriteText(&b)
	want, err := os.ReadFile("../../testdata/log.golden")
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

// However many names callers invent, and however long a log is, what is kept of it is bounded.
func TestASummaryIsBounded(t *testing.T) {
	var s records.Summary
	for i := range 2000 {
		s.Add(records.Parse([]byte(call(i%60, "INFO", fmt.Sprint("tool-", i), "tool_error", "tool_error", 1, ""))))
	}
	sorted := s.Failed.Sorted()
	require.Len(t, sorted, 501)
	require.Equal(t, "(others)", sorted[0].Name)
	require.Equal(t, 1500, sorted[0].Count)
	require.Len(t, sorted[0].Newest, 3)
	require.Equal(t, 59, sorted[0].Last().Time.Second())
	require.Len(t, s.Newest, 10)
	require.Len(t, s.Slowest, 10)
	var b bytes.Buffer
	s.WriteText(&b)
	require.Contains(t, b.String(), "and 481 more, which the page of -html has")
}

func TestWritePage(t *testing.T) {
	var s records.Summary
	require.NoError(t, records.Read(strings.NewReader(log()+call(31, "INFO", "<b>bold</b>", "tool_error", "tool_error", 1, `,"error":"</pre><script>alert(1)</script>"`)), s.Add))
	var b bytes.Buffer
	require.NoError(t, s.WritePage(&b, "week.log"))
	out := b.String()
	require.Contains(t, out, "<title>What failed: week.log</title>")
	require.Contains(t, out, "&lt;b&gt;bold&lt;/b&gt;")
	require.Contains(t, out, "<pre>missing properties:\n[cents]</pre>")
	require.Contains(t, out, "<pre>Argument &#39;cents&#39; is required: expected a number.</pre>\n<pre>why</pre>", "what the caller read, and its cause")
	require.Contains(t, out, `<span class="mark bad">panic</span>`)
	require.NotContains(t, out, "<script")
	require.NotContains(t, out, "\x1b")
	require.NotContains(t, out, "ZgotmplZ", "a value that the template refuses")
}

// A summary and a page are sent to others. What a record has in whole, -reference shows.
func TestASummaryHasNoCredentials(t *testing.T) {
	const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	var s records.Summary
	text := call(1, "WARN", token, "timeout", "timeout", 1, `,"error":"refused `+token+`"`) +
		line(1, "INFO", "observed", `,"sent":"`+token+`","would_send":"`+strings.Repeat("no ", 1000)+token+`"`) + line(1, "WARN", token, `,"how":"`+token+`"`)
	require.NoError(t, records.Read(strings.NewReader(text), s.Add))
	var b bytes.Buffer
	s.WriteText(&b)
	require.NoError(t, s.WritePage(&b, "x"))
	require.NotContains(t, b.String(), token)
	require.Contains(t, b.String(), "refused [redacted]")
	b.Reset()
	s.Newest[0].WriteWhole(&b)
	require.Contains(t, b.String(), "refused "+token)
}

// What the library writes is what this package reads: with Observe, too.
func TestTheLogOfAServerWithTheLibrary(t *testing.T) {
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"JSON": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return nil, nil, errors.New("no such file: /srv/db")
			})
			server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: slog.New(handler(&b)), Observe: true}))
			to, from := mcp.NewInMemoryTransports()
			running, err := server.Connect(t.Context(), to, nil)
			require.NoError(t, err)
			session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), from, nil)
			require.NoError(t, err)
			for range 2 {
				_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay"})
				require.NoError(t, err)
			}
			require.NoError(t, session.Close())
			_ = running.Wait()
			var s records.Summary
			require.NoError(t, records.Read(&b, s.Add))
			require.Zero(t, s.Others)
			require.Equal(t, 2, s.Failures)
			failed, observed := s.Failed.Sorted(), s.Observed.Sorted()
			require.Len(t, failed, 1)
			require.Len(t, observed, 1)
			require.Equal(t, []any{"pay", "internal_error", 2}, []any{failed[0].Name, failed[0].Kind, failed[0].Count})
			require.Equal(t, []any{"pay", "internal_error", 2}, []any{observed[0].Name, observed[0].Kind, observed[0].Count})
			require.Equal(t, "no such file: /srv/db", observed[0].Last().Get("sent"))
			require.Contains(t, observed[0].Last().Get("would_send"), "Internal error: ")
			require.Equal(t, failed[0].Last().Reference, observed[0].Last().Reference)
		})
	}
}
