// Package frozen_test holds the answers and the records of the library still. It runs a table
// of failures through real servers and clients, and writes down what went over the wire and
// into the log. Whoever changes the inside of the library compares before and after:
//
//	go test ./internal/frozen                              # the readable core: testdata/golden.txt
//	go test ./internal/frozen -run TestGolden -update      # after a change that was meant
//	go test ./internal/frozen -run TestDump -dump new.txt  # all cases, some thousands
//	go test ./internal/frozen -run TestCompare -v -old old.txt -new new.txt
//
// A file is a paragraph a case, sorted by name, so diff shows what has changed. TestCompare
// groups the differences by the first line that differs, and fails unless each of them is
// approved: -approved names a file with a pattern of names a line, * for any text, and a
// reason behind "#".
//
// Both files of a comparison are to come from the same corpus, with the same Go and on the same
// system, because words of the standard library stand in them: copy this directory.
//
// What differs from run to run is replaced: IDs, cursors and handles by their number in the
// paragraph, the frames of a stack but for their functions. Time is that of a bubble.
package frozen_test

import (
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/speak"
)

var (
	update   = flag.Bool("update", false, "write testdata/golden.txt anew")
	dump     = flag.String("dump", "", "write all cases into this `file`")
	only     = flag.String("only", "", "dump the cases whose names match this `pattern`")
	oldFile  = flag.String("old", "", "compare this `file`, a dump of before")
	newFile  = flag.String("new", "", "compare this `file`, a dump of after")
	approved = flag.String("approved", "", "a `file` with the names of cases that may differ")
)

const golden = "testdata/golden.txt"

func TestMain(m *testing.M) {
	time.Local = time.UTC
	debug.SetGCPercent(400) // thousands of short-lived servers
	os.Exit(m.Run())
}

// A scenario is one case.
type scenario struct {
	name string
	core bool // it stands in the golden file
	run  func(w *world)
}

// scenarios returns all cases, sorted by their names.
func scenarios(t *testing.T) []scenario {
	t.Helper()
	all := slices.Concat(singles(), errorTables(), throughChains(), arguments(t), sequences(), drawn())
	slices.SortFunc(all, func(a, b scenario) int { return strings.Compare(a.name, b.name) })
	for i := range all[1:] {
		require.NotEqual(t, all[i].name, all[i+1].name, "two cases have one name")
	}
	return all
}

// TestGolden compares the core with what was approved.
func TestGolden(t *testing.T) {
	if speak.Oldest {
		t.Skip("the answers are those with go-sdk v1.8, which says some things in other words")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the numbers of the system's errors, and their words, are those of Linux")
	}
	var now bytes.Buffer
	for _, s := range scenarios(t) {
		if s.core {
			now.WriteString(play(t, s))
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, now.Bytes(), 0o600))
	}
	was, err := os.ReadFile(golden)
	require.NoError(t, err)
	if differences := compare(string(was), now.String()); len(differences) > 0 {
		t.Errorf("answers or records have changed; if that was meant: go test ./internal/frozen -run TestGolden -update\n%s", report(differences))
	}
}

// TestDump writes all cases into the file of -dump.
func TestDump(t *testing.T) {
	if *dump == "" {
		t.Skip("no -dump")
	}
	wanted, err := regexp.Compile(*only)
	require.NoError(t, err)
	out, err := os.Create(*dump)
	require.NoError(t, err)
	for _, s := range scenarios(t) {
		if wanted.MatchString(s.name) {
			_, err = out.WriteString(play(t, s)) // at once: a case that ends the process is the one after the last
			require.NoError(t, err)
		}
	}
	require.NoError(t, out.Close())
}

// TestCompare compares the files of -old and -new.
func TestCompare(t *testing.T) {
	if *oldFile == "" || *newFile == "" {
		t.Skip("no -old and -new")
	}
	before, err := os.ReadFile(*oldFile)
	require.NoError(t, err)
	after, err := os.ReadFile(*newFile)
	require.NoError(t, err)
	var allowed []byte
	if *approved != "" {
		allowed, err = os.ReadFile(*approved)
		require.NoError(t, err)
	}
	rest, unused := disapproved(compare(string(before), string(after)), string(allowed))
	for _, pattern := range unused {
		t.Errorf("nothing differs under the approved name %q", pattern)
	}
	if len(rest) > 0 {
		t.Errorf("%s", report(rest))
	}
}

// play runs a case in a bubble and returns its paragraph.
func play(t *testing.T, s scenario) string {
	t.Helper()
	text := ""
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		before := slog.Default()
		slog.SetDefault(slog.New(w.log.handler("default ")))
		t.Cleanup(func() { slog.SetDefault(before) })
		s.run(w)
		text = w.String()
	})
	require.NotContains(t, text, "\n== ", s.name)
	return fmt.Sprintf("== %s\n%s\n", s.name, text)
}
