package probe

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is said about checks is said about checks that there are, once.
func TestWeightsAreOfChecks(t *testing.T) {
	var names []string
	for _, c := range Checks() {
		names = append(names, c.Name)
	}
	require.Subset(t, names, userChecks)
	require.Subset(t, names, modelChecks)
	require.Subset(t, names, brokenChecks)
	all := slices.Concat(userChecks, modelChecks)
	slices.Sort(all)
	require.Len(t, slices.Compact(slices.Clone(all)), len(all))
	for _, c := range causes {
		require.Contains(t, names, c.cause)
		require.Subset(t, names, strings.Fields(c.effects))
	}
}

func TestWeightOfSilence(t *testing.T) {
	for _, c := range []struct {
		check string
		none  reason
		want  Weight
	}{
		{"no-json", silent, Letter},
		{"no-json", lost, User},
		{"no-json", dead, User},
		{"unknown-method", silent, User},
	} {
		tr := &trial{about: &Check{Name: c.check}, prober: &prober{}}
		tr.answered("x", outcome{exchange: &exchange{}, none: c.none})
		require.Equal(t, c.want, tr.findings[0].Weight, c)
	}
	tr, answer := &trial{about: &Check{Name: "unknown-tool"}}, &reply{}
	require.NoError(t, json.Unmarshal([]byte(`{"error":{"code":-32603,"message":"x"}}`), &answer.Message))
	tr.coded("", outcome{exchange: &exchange{}, reply: answer}, codeInvalidParams)
	require.Equal(t, Letter, tr.findings[0].Weight, "a code alone ends nobody's work")
}

// No finding blames a server for what another finding explains.
func TestExplained(t *testing.T) {
	is := func(name string, all ...Finding) Result { return Result{Check: &Check{Name: name}, Findings: all} }
	f := func(subject, what string, none reason) Finding {
		return Finding{Subject: subject, What: what, none: none}
	}
	ended := func(subject string) Finding { return f(subject, "The server ended.", dead) }
	r := &Report{Results: []Result{
		is("fitting-arguments", f("slow", "It is never answered.", silent)),
		is("ends-with-input", f("", "The server still runs.", replied)),
		is("ends-unread", f("", "The server still runs.", replied)),
		is("no-json", ended("a text")),
		is("batch", ended("of one"), f("of none", "It is never answered.", silent)),
		is("unknown-method", f("", "The server does not start again after what was sent before.", noReturn)),
		is("argument-missing", f("slow a", "It is never answered.", silent), f("divide a", "It is answered as if nothing were wrong.", replied)),
		is("wrong-argument-named", f("divide", "The failure does not say.", replied), f("greet", "The failure does not say.", replied)),
		is("choices-named", f("divide", "The failure does not say.", replied)),
		is("says-something", f("tools/call greet", "The failure says only x.", replied)),
		is("leaks-stack", f("tools/call divide", "The failure shows a place.", replied)),
		is("leaks-path", f("tools/call divide", "The failure shows the path.", replied), f("tools/call greet", "The failure shows the path.", replied)),
	}}
	r.Explain()
	var because []string
	for _, result := range r.Results {
		for _, f := range result.Findings {
			because = append(because, result.Check.Name+" "+f.Subject+" <- "+f.Because)
		}
	}
	require.Equal(t, []string{
		"fitting-arguments slow <- ",
		"ends-with-input  <- ",
		"ends-unread  <- ends-with-input",
		"no-json a text <- ",
		"batch of one <- no-json",
		"batch of none <- ",
		"unknown-method  <- no-json",
		"argument-missing slow a <- fitting-arguments",
		"argument-missing divide a <- ",
		"wrong-argument-named divide <- ",
		"wrong-argument-named greet <- says-something",
		"choices-named divide <- wrong-argument-named",
		"says-something tools/call greet <- ",
		"leaks-stack tools/call divide <- ",
		"leaks-path tools/call divide <- leaks-stack",
		"leaks-path tools/call greet <- ",
	}, because)
	r.Results[3].Findings = nil // it is known
	r.Explain()
	require.Empty(t, r.Results[4].Findings[0].Because)
}

func TestTellsFailure(t *testing.T) {
	for _, text := range []string{
		"Error: no such user", "error executing tool: x", "Failed to fetch the page", "❌ not found", "ValueError: x", "Tool error: x", "Database error: locked",
		`{"error":"no such row"}`, `{"success":false,"message":"x"}`, `{"status":"error"}`, "Traceback (most recent call last):\n x", "Error 404",
	} {
		require.True(t, tellsFailure(text), text)
	}
	for _, text := range []string{
		"", "5", "Errors are rare.", "No error was found.", `{"error":null}`, `{"error":"","success":true}`, `{"status":"done"}`, "The error rate is 3 %.", "error_log.txt", "{broken",
	} {
		require.False(t, tellsFailure(text), text)
	}
}
