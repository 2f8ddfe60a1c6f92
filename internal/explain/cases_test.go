package explain_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

var update = flag.Bool("update", false, "write the texts in testdata/cases.txt anew")

// TestCases compares every text of the table. It also proves that the texts are
// the same each time, one line a violation, and left alone by the scrubber.
func TestCases(t *testing.T) {
	const name = "testdata/cases.txt"
	have, err := os.ReadFile(name)
	require.NoError(t, err)
	var want bytes.Buffer
	var schema *explain.Schema
	cases := 0
	lines := bufio.NewScanner(bytes.NewReader(have))
	for lines.Scan() {
		line := lines.Text()
		kind, text, _ := strings.Cut(line, " ")
		if kind == ">" {
			continue
		}
		want.WriteString(line + "\n")
		switch kind {
		case "S":
			schema, err = explain.Compile([]byte(text))
			require.NoError(t, err, line)
		case "A":
			cases++
			for _, told := range tell(t, schema, text) {
				want.WriteString("> " + told + "\n")
			}
		}
	}
	require.NoError(t, lines.Err())
	require.GreaterOrEqual(t, cases, 200)
	if *update {
		require.NoError(t, os.WriteFile(name, want.Bytes(), 0o600))
	}
	require.Equal(t, want.String(), string(have))
}

func tell(t *testing.T, schema *explain.Schema, args string) []string {
	t.Helper()
	report := schema.Explain([]byte(args), false)
	if report == nil {
		return []string{"valid"}
	}
	text := report.Text()
	require.Equal(t, text, scrub.Text(text), "the scrubber finds something in what is said of %s", args)
	require.Equal(t, text, schema.Explain([]byte(args), false).Text())
	told := strings.Split(text, "\n")
	if report.Corrected != nil {
		require.True(t, schema.Valid(report.Corrected), "the correction %s is not valid", report.Corrected)
		told = append(told, "Corrected: "+string(report.Corrected))
	}
	if report.Withheld != nil {
		told = append(told, fmt.Sprint("Withheld: ", report.Withheld))
	}
	return told
}
