package checks

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// TestChecks runs each check over the packages of testdata that are named after it, whose
// comments say what is reported, and whose .golden files what the fixes make of them.
func TestChecks(t *testing.T) {
	more := map[string][]string{"errtext": {"errtext/results", "errtext/bare"}, "unknownstep": {"elsewhere"}, "annotations": {"annotations/some", "annotations/one", "annotations/bodies"}, "promptargs": {"promptargs/strict"}, "stdout": {"stdout/tools", "stdout/web"}, "rawerror": {"rawerror/tools", "rawerror/chained"}}
	for _, a := range All() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), a, append(more[a.Name], a.Name)...)
		})
	}
}

func TestValid(t *testing.T) {
	require.NoError(t, analysis.Validate(All()))
	for _, a := range All() {
		require.Equal(t, chainPathURL+"#"+a.Name, a.URL)
	}
}
