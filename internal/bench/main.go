// Bench compares mcpchain with what others do of the same job: a chain that is written by
// hand, the bare SDK and its validator, and mark3labs/mcp-go. It is a module of its own,
// so that nobody who uses mcpchain downloads them.
//
//	go run ./internal/bench         print the tables
//	go run ./internal/bench -write  and write them into docs/load.md
//	go run ./internal/bench -weigh  print what the packages add to a binary, and with -write into docs/packages.md
//
// Everything runs in one process and without a network, in slices that take turns, so that a
// machine that is busy for a while is busy for all of them. The time of a layer is the least of
// many short slices. That of a whole call is the median of longer ones: it allocates so much that
// the garbage collector takes a third of the time, of which the least slice would have nothing. Times
// are told as ratios to one row of their table. Allocations are exact.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func main() {
	write := flag.Bool("write", false, "write the tables into docs/load.md")
	rounds := flag.Int("rounds", 100, "how many slices each cell gets")
	slice := flag.Duration("slice", 300*time.Microsecond, "how long a slice is at least; one of whole calls is 20 times as long")
	weighs := flag.Bool("weigh", false, "build servers, and print what each package adds to them, instead")
	flag.Parse()

	if *weighs {
		programs := weights()
		if err := weigh(context.Background(), programs); err != nil {
			log.Fatal(err)
		}
		show("packages.md", weightTable(programs), weightOpening, weightClosing, *write)
		return
	}
	tables := all()
	allocations(tables)
	measure(tables, *rounds, *slice)
	show("load.md", machine()+markdown(tables), opening, closing, *write)
}

// show prints a text, and writes it into a page of docs between two marks.
func show(name, text, opening, closing string, write bool) {
	_, _ = fmt.Fprint(os.Stdout, text)
	if !write {
		return
	}
	page, err := findPage(name)
	if err == nil {
		err = writeBlock(page, text, opening, closing)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func all() []*table {
	return []*table{wholeCalls(), manyTools(), calls(), packages(), arguments()} // what is felt first
}

// A table compares rows that do the same jobs.
type table struct {
	title, first, jobs string // jobs heads the columns, separated by |
	note               string
	rows               []*row
	reference          int  // the row whose times are 1
	absolute           bool // all times as ratios to the first cell of that row
	loose              bool // allocations are not exact, because goroutines run beside
}

// A row is one contender.
type row struct {
	name  string
	cells []*cell
	loose bool // allocations are not exact: what it does depends on chance
}

// A cell is one contender at one job. A cell without a function is a job that it does not
// do, or has words.
type cell struct {
	said   string
	run    func()
	allocs float64
	all    []time.Duration // of each slice, with so many times runs
	times  int
	took   time.Duration // what counts of these
}

// add adds a row with a cell for each job, which may be nil, and words behind them.
func (t *table) add(name string, runs []func(), words ...string) *row {
	r := &row{name: name}
	for _, run := range runs {
		r.cells = append(r.cells, &cell{run: run})
	}
	for _, said := range words {
		r.cells = append(r.cells, &cell{said: said})
	}
	t.rows = append(t.rows, r)
	return r
}

func cells(tables []*table) (all []*cell) {
	for _, t := range tables {
		for _, r := range t.rows {
			for _, c := range r.cells {
				if c.run != nil {
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// allocations counts what each cell allocates.
func allocations(tables []*table) {
	for _, c := range cells(tables) {
		runs := 200
		if timed(c.run, 1) > time.Millisecond {
			runs = 5
		}
		c.allocs = testing.AllocsPerRun(runs, c.run)
	}
}

// measure measures the time of each cell, in slices that take turns.
func measure(tables []*table, rounds int, slice time.Duration) {
	var alone []*table // two goroutines that hand over take turns on one processor, or wake each other on two, by chance
	for _, t := range tables {
		if t.loose {
			alone = append(alone, t)
		}
	}
	together := slices.DeleteFunc(slices.Clone(tables), func(t *table) bool { return t.loose })
	turns(cells(together), rounds, slice, slices.Min)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	turns(cells(alone), rounds, 20*slice, median)
}

func median(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
}

// turns measures slices of all cells. counts says which time of the slices counts.
func turns(all []*cell, rounds int, slice time.Duration, counts func([]time.Duration) time.Duration) {
	for _, c := range all {
		// The least of some: a run that was interrupted would make the slices of this
		// cell so short that each begins with cold caches.
		c.times = 1
		for min(timed(c.run, c.times), timed(c.run, c.times), timed(c.run, c.times), timed(c.run, c.times)) < slice/2 {
			c.times *= 2
		}
	}
	runtime.GC()
	for range rounds {
		for _, j := range rand.Perm(len(all)) { // or a collection would meet the same cells in each round
			all[j].all = append(all[j].all, timed(all[j].run, all[j].times))
		}
	}
	for _, c := range all {
		c.took, c.all = counts(c.all), nil
	}
}

func timed(run func(), times int) time.Duration {
	began := time.Now()
	for range times {
		run()
	}
	return time.Since(began)
}

// nanoseconds is what one run takes.
func (c *cell) nanoseconds() float64 { return float64(c.took) / float64(c.times) }

// machine says where the numbers come from.
func machine() string {
	var others []string
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if slices.Contains(peers, d.Path) {
				others = append(others, strings.TrimPrefix(d.Path, "github.com/")+" "+d.Version)
			}
		}
	}
	return fmt.Sprintf("\nMeasured with %s on %s/%s, %d CPUs; %s.\n", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), strings.Join(others, ", "))
}

var peers = []string{
	"github.com/modelcontextprotocol/go-sdk", "github.com/mark3labs/mcp-go",
}

func markdown(tables []*table) string {
	var b strings.Builder
	for _, t := range tables {
		columns := strings.Split(t.jobs, "|")
		fmt.Fprintf(&b, "\n**%s.** %s\n\n| %s |", t.title, t.note, t.first)
		for _, job := range columns {
			fmt.Fprintf(&b, " %s |", strings.TrimSpace(job))
		}
		b.WriteString("\n|" + strings.Repeat("---|", len(columns)+1) + "\n")
		for _, r := range t.rows {
			fmt.Fprintf(&b, "| %s |", r.name)
			for i, c := range r.cells {
				fmt.Fprintf(&b, " %s |", t.text(i, c, r.loose))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// text is what a cell of the column i says: the ratio, and the allocations.
func (t *table) text(i int, c *cell, loose bool) string {
	if c.run == nil {
		return c.said
	}
	if t.absolute {
		i = 0
	}
	return ratio(c.nanoseconds()/t.rows[t.reference].cells[i].nanoseconds()) + ", " + counted(c, t.loose || loose)
}

// counted is how the allocations of a cell are told: exactly, or in tens.
func counted(c *cell, loose bool) string {
	if loose {
		return fmt.Sprintf("about %d", (int(c.allocs)+5)/10*10)
	}
	return strconv.Itoa(int(c.allocs))
}

func ratio(r float64) string {
	switch {
	case r < 1.995:
		return fmt.Sprintf("%.2f", r)
	case r < 9.95:
		return fmt.Sprintf("%.1f", r)
	default:
		return fmt.Sprintf("%.0f", r)
	}
}

const (
	opening = "<!-- bench -->\n"
	closing = "<!-- end of bench -->\n"
)

// findPage finds a page of docs from the root or from internal/bench.
func findPage(name string) (string, error) {
	for _, dir := range []string{".", filepath.Join("..", "..")} {
		page := filepath.Join(dir, "docs", name)
		if _, err := os.Stat(page); err == nil {
			return page, nil
		}
	}
	return "", fmt.Errorf("there is no docs/%s here: run it in the repository", name)
}

// block returns the text of the page before the block, the block, and what follows.
func block(text, opening, closing string) (before, inside, after string, err error) {
	before, rest, ok := strings.Cut(text, opening)
	inside, after, closed := strings.Cut(rest, closing)
	if !ok || !closed {
		return "", "", "", fmt.Errorf("the page has no block between %q and %q", opening, closing)
	}
	return before, inside, after, nil
}

func writeBlock(page, text, opening, closing string) error {
	have, err := os.ReadFile(page) //nolint:gosec // found by findPage
	if err != nil {
		return err
	}
	before, _, after, err := block(string(have), opening, closing)
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(before+opening+text+"\n"+closing+after), 0o644) //nolint:gosec // a document
}
