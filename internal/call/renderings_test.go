package call_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/middleware"
)

var update = flag.Bool("update", false, "write testdata/renderings.golden anew")

// rendered are the faults of the golden table: each kind that is known by name, and what
// else changes a rendering.
func renderedFaults() map[string]*fault.Error {
	faults := map[string]*fault.Error{
		"own kind":             fault.New("deployment_in_progress", "a deployment runs").WithCode("E42"),
		"own kind, later":      fault.New("deployment_in_progress", "a deployment runs").After(30 * time.Second),
		"own kind, strange":    fault.New("a/b c\n", "m"),
		"rate limited, wait":   fault.RateLimited("the search API", 90*time.Second),
		"timeout of a write":   fault.Timeout("the payment", time.Minute).WithRetry(fault.Retry{Effect: fault.EffectUnknown}),
		"denied, retry anyway": fault.Denied("delete", "project a").WithRetry(fault.Retry{ShouldRetry: true}),
		"violations":           fault.Violations(fault.Violation{Field: "a[1].b c", Pointer: "/a/1/b c", Rule: "type", Expected: "a string"}, fault.Violation{Field: "x", Rule: "required"}),
		"an endless wait":      fault.New(fault.KindConflict, "m").WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1e300}),
		"rendered by another":  faults.WithReference(fault.Generic(fault.KindServerError), "0198c7f2-9d3e-7c41-9f0a-5b7d6c1e2a34"),
	}
	for kind := range kinds.All {
		faults[kind] = fault.Generic(fault.Kind(kind))
	}
	return faults
}

// TestRenderings compares all kinds in all renderings with a golden table.
func TestRenderings(t *testing.T) {
	faults := renderedFaults()
	names := make([]string, 0, len(faults))
	for name := range faults {
		names = append(names, name)
	}
	slices.Sort(names)
	options := []*middleware.RenderOptions{
		nil, {JSON: true}, {LegacyCodes: true},
	}
	var b strings.Builder
	synctest.Test(t, func(t *testing.T) { // whose clock begins with the year 2000
		for _, name := range names {
			fmt.Fprintf(&b, "# %s\n", name)
			for _, shape := range []harness.Shape{harness.ServerRaw, harness.ServerPrompt} {
				seen := map[string]bool{}
				for _, o := range options {
					got := harness.Call(t, harness.Place{Shape: shape, Era: harness.Current}, harness.Fail(faults[name]), middleware.Render(o))
					for _, line := range renderedLines(t, got) {
						if !seen[line] {
							b.WriteString(line + "\n")
						}
						seen[line] = true
					}
				}
			}
			b.WriteString("\n")
		}
	})
	const golden = "testdata/renderings.golden"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

// renderedLines returns what an answer has of each rendering, but for the machine form
// of our own and IDs that differ from call to call.
func renderedLines(t testing.TB, got harness.Answer) (lines []string) {
	t.Helper()
	var m struct {
		Result struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
		Error *struct {
			Code    int64
			Message string
		}
	}
	require.NoError(t, json.Unmarshal(got.Wire, &m))
	if m.Error != nil {
		lines = append(lines, fmt.Sprintf("code        %d", m.Error.Code))
	} else {
		kind := "text       "
		if strings.HasPrefix(got.Text(), "{") {
			kind = "json       "
		}
		lines = append(lines, kind+" "+strings.ReplaceAll(got.Text(), "\n", "\n            "))
	}
	return lines
}
