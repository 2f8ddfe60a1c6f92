package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDocs holds docs/load.md to what is measured: each row stands there, and where it
// was measured with this Go, with the same allocations. Times are not compared.
func TestDocs(t *testing.T) {
	page, err := findPage("load.md")
	require.NoError(t, err)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, inside, _, err := block(string(text), opening, closing)
	require.NoError(t, err)
	tables := all()
	allocations(tables)
	release := regexp.MustCompile(`^go\d+\.\d+`).FindString(runtime.Version())
	same := regexp.MustCompile("^\nMeasured with "+regexp.QuoteMeta(release)+`[. ].* on \w+/`+runtime.GOARCH+",").MatchString(inside) && !racing
	if !same {
		t.Logf("measured with another Go: the allocations are not compared")
	}
	rest := inside
	for _, b := range tables {
		_, after, found := strings.Cut(rest, "\n**"+b.title+".** ")
		require.True(t, found, "%s is not in %s: go run ./internal/bench -write", b.title, page)
		rest = after
		jobs := strings.Split(b.jobs, " | ")
		for _, r := range b.rows {
			line := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(r.name) + ` \|(.*)\|$`).FindStringSubmatch(rest)
			require.NotNil(t, line, "%s of %s is not in %s: go run ./internal/bench -write", r.name, b.title, page)
			said := strings.Split(line[1], "|")
			require.Len(t, said, len(r.cells), r.name)
			for i, c := range r.cells {
				if text := strings.TrimSpace(said[i]); c.run == nil {
					require.Equal(t, c.said, text, r.name)
				} else {
					r.compare(t, b, c, text, same, strings.HasPrefix(jobs[i], "panic"))
				}
			}
		}
	}
}

// TestReadme holds the two numbers of the README.
func TestReadme(t *testing.T) {
	page, err := findPage("load.md")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(page), "..", "README.md"))
	require.NoError(t, err)
	said := regexp.MustCompile(`A masked failure with its log record: (\d+) allocations; a panic, with its stack: about (\d+)\.`).FindStringSubmatch(string(text))
	require.NotNil(t, said)
	b := calls()
	allocations([]*table{b})
	for _, r := range b.rows {
		if r.name == "`Standard`" {
			for i, job := range []int{failureRecorded, panicked} {
				n, err := strconv.Atoi(said[i+1])
				require.NoError(t, err)
				require.InDelta(t, n, r.cells[job].allocs, 5, "as other Go versions and other paths count")
			}
		}
	}
}

// compare compares what the docs say of a cell with its allocations.
func (r *row) compare(t *testing.T, b *table, c *cell, said string, same, stack bool) {
	t.Helper()
	m := regexp.MustCompile(`^\d+(\.\d+)?, (about )?(\d+)$`).FindStringSubmatch(said)
	require.NotNil(t, m, "%s: %q", r.name, said)
	loose := b.loose || r.loose
	require.Equal(t, loose, m[2] != "", r.name)
	if !same || loose {
		return
	}
	documented, err := strconv.Atoi(m[3])
	require.NoError(t, err)
	delta := float64(documented) / 50 // a patch of Go or a collection in the middle may cost some of hundreds
	if stack {
		delta = 5 // how often its text grows depends on the paths of the files
	}
	require.InDelta(t, documented, c.allocs, delta, "%s of %s: go run ./internal/bench -write", r.name, b.title)
}

// TestRatios is all of the program but its patience.
func TestRatios(t *testing.T) {
	tables := []*table{calls(), arguments()}
	allocations(tables)
	measure(tables, 1, 10*time.Microsecond)
	text := markdown(tables)
	require.NotContains(t, text, "NaN")
	for _, b := range tables {
		require.Contains(t, text, "\n| "+b.rows[0].name+" | ")
	}
	require.Contains(t, machine(), runtime.Version())
}

func TestBlock(t *testing.T) {
	page := t.TempDir() + "/costs.md"
	require.NoError(t, os.WriteFile(page, []byte("a\n"+opening+"old\n"+closing+"b\n"), 0o600))
	require.NoError(t, writeBlock(page, "\nnew\n", opening, closing))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, "a\n"+opening+"\nnew\n\n"+closing+"b\n", string(text))
	require.NoError(t, os.WriteFile(page, []byte("a\n"), 0o600))
	require.Error(t, writeBlock(page, "\nnew\n", opening, closing))
}

// TestCallsEnd keeps the comparison of calls honest: nothing escapes the layers.
func TestCallsEnd(t *testing.T) {
	for _, b := range []*table{calls(), packages(), arguments()} {
		for _, r := range b.rows {
			for _, c := range r.cells {
				if c.run != nil {
					require.NotPanics(t, c.run, r.name)
				}
			}
		}
	}
}

// TestManyTools: what a failing call allocates does not grow with the number of tools, but for the names that
// an unknown one is compared with: at most two allocations for each of 1,024.
func TestManyTools(t *testing.T) {
	table := manyTools()
	for _, r := range table.rows {
		for i := 0; i < len(r.cells); i += 3 {
			few := testing.AllocsPerRun(20, r.cells[i].run)
			more := 40.0
			if i == 6 { // an unknown tool
				more += 2 * 1024
			}
			for _, c := range r.cells[i+1 : i+3] {
				require.InDelta(t, few, testing.AllocsPerRun(20, c.run), more, "%s, column %d", r.name, i)
			}
		}
	}
}

// TestWeight builds three of the servers that docs/packages.md weighs: they weigh what it says, and link
// the modules that it names.
func TestWeight(t *testing.T) {
	if testing.Short() || racing {
		t.Skip("builds programs")
	}
	page, err := findPage("packages.md")
	require.NoError(t, err)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, inside, _, err := block(string(text), weightOpening, weightClosing)
	require.NoError(t, err)
	all := weights()
	require.Equal(t, len(all), strings.Count(inside, "\n| ")-1, "a row each: go run ./internal/bench -weigh -write")
	built := []*weight{all[0]}
	for _, w := range all {
		if w.name == "`Standard`" || w.name == "`recover`" {
			built = append(built, w)
		}
	}
	require.NoError(t, weigh(t.Context(), built))
	slack := 0.15 // another Go writes larger or smaller programs
	if strings.HasPrefix(inside, "\nBuilt with "+runtime.Version()+" ") {
		slack = 0.03
	}
	for _, w := range built[1:] {
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(w.name) + ` \| ([\d.]+) \| (\d): .*\|$`).FindStringSubmatch(inside)
		require.NotNil(t, row, w.name)
		said, err := strconv.ParseFloat(row[1], 64)
		require.NoError(t, err)
		require.InEpsilon(t, said, mb(w.bytes-built[0].bytes), slack, "%s: go run ./internal/bench -weigh -write", w.name)
		require.Equal(t, row[2], strconv.Itoa(len(w.modules)), w.name)
	}
	readme, err := os.ReadFile(filepath.Join(filepath.Dir(page), "..", "README.md"))
	require.NoError(t, err)
	said := regexp.MustCompile(`\x60Standard\x60 adds ([\d.]+) MB and (\d) modules .* about ([\d.]+) MB and one module`).FindStringSubmatch(string(readme))
	require.NotNil(t, said)
	for i, w := range built[1:] {
		mega, err := strconv.ParseFloat(said[1+2*i], 64)
		require.NoError(t, err)
		require.InDelta(t, mega, mb(w.bytes-built[0].bytes), 0.15, "%s in the README", w.name)
	}
	require.Equal(t, said[2], strconv.Itoa(len(built[1].modules)))
	require.Len(t, built[2].modules, 1)
}
