package mask_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
)

var errSecret = errors.New(harness.Canary + " is wrong")

// url is what the scrubber knows by its shape.
const url = "postgres://app:hunter2@db.example.com/prod"

func TestMain(m *testing.M) {
	if name := os.Getenv(stdioReader); name != "" {
		if err := serveStdio(name); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	// What is hidden on purpose is nobody's to read.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

var rawAt = harness.Place{Shape: harness.ServerRaw, Era: harness.Current}

// masking returns a mask that records to log.
func masking(log *harness.Log) mcp.Middleware { return mask.New(&mask.Options{Logger: log.Logger()}) }

// rendered are the shapes whose answers the middlewares make.
func rendered() []harness.Shape { return append(harness.Tools(), harness.Others()...) }

// public is an error that says what a caller may know.
type public struct{ message string }

func (public) Error() string           { return harness.Canary }
func (p public) PublicMessage() string { return p.message }

// customer is an error of a program's own.
type customer struct{ name string }

func (c customer) Error() string { return "customer " + c.name + " is blocked" }

func TestWhatTheCallerSees(t *testing.T) {
	missing := func(t *testing.T) error {
		t.Helper()
		_, err := os.Open(filepath.Join(t.TempDir(), harness.Canary))
		return err
	}
	const internal = "Internal error: the server failed unexpectedly."
	cases := []struct {
		name   string
		err    error
		want   string // the first line
		hidden bool
	}{
		{"fault", fault.New(fault.KindConflict, "the invoice is locked"), "Conflict: the invoice is locked.", false},
		{"fault with a cause", fault.New(fault.KindConflict, "the invoice is locked").Because(errSecret), "Conflict: the invoice is locked.", true},
		{"wrapped fault", fmt.Errorf("%s: %w", harness.Canary, fault.New(fault.KindConflict, "the invoice is locked")), "Conflict: the invoice is locked.", true},
		{"fault that says too much", fault.New(fault.KindConflict, "cannot reach "+url), "Conflict: cannot reach postgres://[redacted]", false},
		{"public message", public{"the disk is full"}, "Tool error: the disk is full.", true},
		{"public message that says too much", public{"cannot reach " + url}, "Tool error: cannot reach postgres://[redacted]", true},
		{"missing row", fmt.Errorf("%s: %w", harness.Canary, sql.ErrNoRows), "Not found: the requested item does not exist.", true},
		{"missing file", missing(t), "Internal error: the server failed unexpectedly.", true},
		{"deadline", fmt.Errorf("%s: %w", harness.Canary, context.DeadlineExceeded), "Timeout: the operation did not finish in time.", true},
		{"unknown", errSecret, internal, true},
		{"unknown with a shape", errors.New(url), internal, true},
		{"panic", &fault.PanicError{Value: harness.Canary}, internal, true},
		{"error of the program's own", customer{harness.Canary}, internal, true},
	}
	handlers := map[string]harness.Handler{}
	for _, c := range cases {
		handlers[strings.ReplaceAll(c.name, " ", "-")] = harness.Fail(c.err)
	}
	harness.Each(t, rendered(), func(t *testing.T, at harness.Place) {
		log := harness.NewLog(slog.LevelDebug)
		s := harness.Start(t, at, harness.Setup{Handlers: handlers, Middleware: []mcp.Middleware{masking(log)}})
		for _, c := range cases {
			before := len(log.Records())
			got := s.Call(t, strings.ReplaceAll(c.name, " ", "-"))
			first, _, _ := strings.Cut(got.Text(), "\n")
			if strings.HasSuffix(c.want, "[redacted]") {
				require.Contains(t, first, "redacted", c.name)
			} else {
				require.Equal(t, c.want, first, c.name)
			}
			for _, secret := range []string{harness.Canary, "hunter2"} {
				require.NotContains(t, string(got.Wire), secret, c.name)
			}
			records := log.Records()[before:]
			if !c.hidden {
				require.Empty(t, records, c.name)
				require.Empty(t, got.Reference(), c.name)
				continue
			}
			require.Len(t, records, 1, c.name)
			require.Equal(t, records[0]["reference"], got.Reference(), c.name)
			if _, told := records[0]["fault"]; !told { // which has the text of a fault that is not wrapped
				require.NotEmpty(t, records[0]["error"], c.name)
			}
			require.NotEmpty(t, records[0]["error_types"], c.name)
			require.Contains(t, got.Text(), "\nReference: ", "the log knows more: "+c.name)
		}
	})
}

func TestRules(t *testing.T) {
	locked := errors.New("database is locked")
	a, b := fault.New("a", "rule a").Suggest("Try b."), fault.New("b", "rule b")
	never := func(error) *fault.Error { return nil }
	panics := func(error) *fault.Error { panic(harness.Canary) }
	blocked := mask.As(func(c customer) *fault.Error {
		if c.name == "" {
			return nil
		}
		return fault.Denied("serve", "this customer").WithCode(strings.ToUpper(c.name))
	})
	for _, c := range []struct {
		name  string
		rules []mask.Rule
		err   error
		want  fault.Data
	}{
		{"Is", []mask.Rule{mask.Is(locked, a)}, locked, a.Data()},
		{"Is, wrapped", []mask.Rule{mask.Is(locked, a)}, fmt.Errorf("%s: %w", harness.Canary, locked), a.Data()},
		{"As", []mask.Rule{blocked}, fmt.Errorf("%s: %w", harness.Canary, customer{"bob"}), fault.Denied("serve", "this customer").WithCode("BOB").Data()},
		{"As, left to the next", []mask.Rule{blocked, mask.Contains("blocked", b)}, customer{""}, b.Data()},
		{"Contains", []mask.Rule{mask.Contains("is locked", a)}, fmt.Errorf("%s: %w", harness.Canary, locked), a.Data()},
		{"function", []mask.Rule{func(err error) *fault.Error { return a.WithMessage(fmt.Sprint(len(err.Error()))) }}, locked, a.WithMessage("18").Data()},
		{"the first that knows it", []mask.Rule{never, mask.Is(locked, a), mask.Is(locked, b)}, locked, a.Data()},
		{"a rule that panics is none", []mask.Rule{panics, mask.Is(locked, b)}, locked, b.Data()},
		{"before the standard kinds", []mask.Rule{mask.Is(fs.ErrNotExist, a)}, &fs.PathError{Err: fs.ErrNotExist}, a.Data()},
		{"not for a fault", []mask.Rule{mask.Contains("locked", a)}, fault.New("own", "locked"), fault.New("own", "locked").Data()},
		{"what a rule says is scrubbed", []mask.Rule{mask.Is(locked, fault.New("a", "cannot reach "+url))}, locked, fault.New("a", mask.Scrub("cannot reach "+url)).Data()},
	} {
		t.Run(c.name, func(t *testing.T) {
			shapes := []harness.Shape{harness.ServerTyped, harness.ServerRaw, harness.WrapPrompt}
			harness.Each(t, shapes, func(t *testing.T, at harness.Place) {
				log := harness.NewLog(slog.LevelDebug)
				got := harness.Call(t, at, harness.Fail(c.err), mask.New(&mask.Options{Logger: log.Logger(), Rules: c.rules}))
				d := got.Fault().Data()
				reference := d.ReferenceID
				d.ReferenceID, d.Party = "", ""
				require.Equal(t, c.want, d)
				require.NotContains(t, string(got.Wire), harness.Canary)
				require.NotContains(t, string(got.Wire), "hunter2")
				if c.name != "not for a fault" {
					require.Equal(t, reference, log.Only(t)["reference"], "the original is in the log")
				}
			})
		})
	}
}

// TestRulesOfTwoMasks proves that the inner one, which stands closer to the
// handler, is asked first.
func TestRulesOfTwoMasks(t *testing.T) {
	rule := func(name fault.Kind) mcp.Middleware {
		return mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler), Rules: []mask.Rule{mask.Is(errSecret, fault.New(name, "m"))}})
	}
	require.Equal(t, fault.Kind("inner"), harness.Call(t, rawAt, harness.Fail(errSecret), rule("outer"), rule("inner")).Fault().Kind())
	none := mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)})
	require.Equal(t, fault.Kind("outer"), harness.Call(t, rawAt, harness.Fail(errSecret), rule("outer"), none).Fault().Kind())
	require.Equal(t, fault.Kind("inner"), harness.Call(t, rawAt, harness.Fail(errSecret), none, rule("inner")).Fault().Kind())
}

func TestBadOptionsPanic(t *testing.T) {
	f := fault.New("a", "a")
	for want, bad := range map[string]func(){
		"mask.New: Options.Rules[1] is nil; remove it or give a rule": func() {
			mask.New(&mask.Options{Rules: []mask.Rule{mask.Contains("a", f), nil}})
		},
		"mask.Is: target is nil; give the error that the rule is for":                              func() { mask.Is(nil, f) },
		"mask.Is: the fault is nil; give what the caller may know":                                 func() { mask.Is(errSecret, nil) },
		"mask.As: public is nil; give a function that returns the fault for an error of this type": func() { mask.As[customer](nil) },
		"mask.Contains: text is empty; every error would match":                                    func() { mask.Contains("", f) },
		"mask.Contains: the fault is nil; give what the caller may know":                           func() { mask.Contains("a", nil) },
		"mask.LogHandler: next is nil; give the handler that writes the records":                   func() { mask.LogHandler(nil, nil) },
	} {
		require.PanicsWithValue(t, want, bad)
	}
}

func TestOptionsAreCopied(t *testing.T) {
	rules := []mask.Rule{mask.Is(errSecret, fault.New("a", "a"))}
	options := &mask.Options{Logger: slog.New(slog.DiscardHandler), Rules: rules}
	mw := mask.New(options)
	rules[0] = func(error) *fault.Error { panic("changed") }
	options.Reveal, options.Scrub = true, func(string) string { return "changed" }
	require.Equal(t, "A: a.", strings.Split(harness.Call(t, rawAt, harness.Fail(errSecret), mw).Text(), "\n")[0])
}

func TestReveal(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	mw := mask.New(&mask.Options{Logger: log.Logger(), Reveal: true})
	warning := log.Only(t)
	require.Equal(t, "WARN", warning["level"])
	require.Contains(t, warning["msg"], "Reveal")

	const secret = "cannot reach " + url
	harness.Each(t, rendered(), func(t *testing.T, at harness.Place) {
		for _, err := range []error{
			errors.New(secret), fault.New("own", secret), &fault.PanicError{Value: secret}, public{secret}, &jsonrpc.Error{Code: 1, Message: secret},
		} {
			require.Contains(t, harness.Call(t, at, harness.Fail(err), mw).Text(), url, "%T", err)
		}
	})
	require.Contains(t, harness.Call(t, rawAt, harness.Return(func() *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: secret}}}
	}), mw).Text(), url)
	require.Equal(t, url, harness.Call(t, rawAt, harness.Return(func() *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: url}}}
	}), mw, mask.Successes()).Text())
	// A mask that does not reveal still masks.
	for _, chain := range [][]mcp.Middleware{{mw, mask.New(nil)}, {mask.New(nil), mw}} {
		require.NotContains(t, string(harness.Call(t, rawAt, harness.Fail(errSecret), chain...).Wire), harness.Canary)
	}
}

func TestRevealWarnsInTheDefaultLog(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	before := slog.Default()
	slog.SetDefault(log.Logger())
	defer slog.SetDefault(before)
	mask.New(&mask.Options{Reveal: true})
	require.Equal(t, "WARN", log.Only(t)["level"])
}

// TestRecordedOnce proves that what is hidden stands in one log, in that of
// correlate where there is one.
func TestRecordedOnce(t *testing.T) {
	passing := func(next mcp.MethodHandler) mcp.MethodHandler { return next }
	for _, c := range []struct {
		name  string
		chain func(masks, calls *harness.Log) []mcp.Middleware
		calls bool
	}{
		{"alone", func(m, _ *harness.Log) []mcp.Middleware { return []mcp.Middleware{masking(m)} }, false},
		{"twice", func(m, _ *harness.Log) []mcp.Middleware { return []mcp.Middleware{masking(m), passing, masking(m)} }, false},
		{"correlate outside", func(m, c *harness.Log) []mcp.Middleware { return []mcp.Middleware{calls(c), masking(m)} }, true},
		{"correlate inside", func(m, c *harness.Log) []mcp.Middleware { return []mcp.Middleware{masking(m), calls(c)} }, true},
		{"correlate between", func(m, c *harness.Log) []mcp.Middleware { return []mcp.Middleware{masking(m), calls(c), masking(m)} }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			harness.Each(t, rendered(), func(t *testing.T, at harness.Place) {
				masks, calls := harness.NewLog(slog.LevelInfo), harness.NewLog(slog.LevelInfo)
				s := harness.Start(t, at, harness.Setup{
					Handlers:   map[string]harness.Handler{"unknown": harness.Fail(errSecret), "caused": harness.Fail(fault.New("own", "m").Because(errSecret))},
					Middleware: c.chain(masks, calls),
				})
				full, empty := masks, calls
				if c.calls {
					full, empty = calls, masks
				}
				for i, name := range []string{"unknown", "caused"} {
					got := s.Call(t, name)
					require.Empty(t, empty.Records(), name)
					require.Len(t, full.Records(), i+1, name)
					require.Equal(t, got.Reference(), full.Records()[i]["reference"], name)
					require.Contains(t, full.String(), harness.Canary)
					require.NotContains(t, string(got.Wire), harness.Canary)
				}
			})
		})
	}
}

func calls(log *harness.Log) mcp.Middleware {
	return correlate.New(&correlate.Options{Logger: log.Logger()})
}

// TestHiddenBeforeCorrelateIsReached proves that a middleware of the user's that
// answers by itself is masked and recorded, although correlate never saw the call.
func TestHiddenBeforeCorrelateIsReached(t *testing.T) {
	for _, after := range []bool{false, true} {
		refuses := func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method != middleware.MethodCallTool {
					return next(ctx, method, req)
				}
				if after {
					_, _ = next(ctx, method, req)
				}
				return nil, errSecret
			}
		}
		log := harness.NewLog(slog.LevelInfo)
		got := harness.Call(t, rawAt, harness.Succeed(), masking(log), refuses, calls(log))
		require.NotContains(t, string(got.Wire), harness.Canary)
		require.Equal(t, got.Reference(), log.Only(t)["reference"])
	}
}

func TestOwnScrub(t *testing.T) {
	shout := mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler), Scrub: strings.ToUpper})
	harness.Each(t, rendered(), func(t *testing.T, at harness.Place) {
		text := func(err error) string {
			first, _, _ := strings.Cut(harness.Call(t, at, harness.Fail(err), shout).Text(), "\n")
			return first
		}
		require.Equal(t, "Own: WHAT THE PROGRAM SAYS.", text(fault.New("own", "what the program says")))
		require.Equal(t, "THE CLIENT'S FAULT", text(&jsonrpc.Error{Code: 1, Message: "the client's fault"}))
		require.Equal(t, "Tool error: FROM AN ERROR.", text(public{"from an error"}))
		require.Equal(t, "Internal error: the server failed unexpectedly.", text(errSecret), "what mcpchain says is not scrubbed")
		got := harness.Call(t, at, harness.Fail(fault.New("own", "m").Suggest("s").With("k", "v").WithCode("c").Step("a", "tool", map[string]any{"p": "q"})), shout)
		d := got.Fault().Data()
		require.Equal(t, "S", d.Suggestion)
		require.Equal(t, map[string]any{"K": "V"}, d.Details)
		require.Equal(t, "A", d.RecoverySteps[0].Action)
		require.Equal(t, fault.Kind("own"), d.Type)
	})
	// Those of two masks are applied one after the other.
	dots := mask.New(&mask.Options{Scrub: func(s string) string { return strings.ReplaceAll(s, "A", ".") }})
	require.Equal(t, "Own: B.R.", harness.Call(t, rawAt, harness.Fail(fault.New("own", "bar")), dots, shout).Text())
}

func TestScrub(t *testing.T) {
	require.NotContains(t, mask.Scrub("cannot reach "+url), "hunter2")
	require.Equal(t, "an ordinary sentence", mask.Scrub("an ordinary sentence"))
}
