package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/probe"
)

func compareCommand() command {
	return command{
		name: "compare", usage: "[FLAGS] -- COMMAND ...", short: "check a server twice: bare, and behind mcpchain run",
		run:   runCompare,
		help:  func(w io.Writer) { flags, _ := compareFlags(); flagHelp(w, flags) },
		flags: flagNames(compareFlags()),
	}
}

func compareFlags() (*flag.FlagSet, *checkFlag) {
	f := &checkFlag{noServer: "there is no server: give its command behind --"}
	flags := flag.NewFlagSet("mcpchain compare", flag.ContinueOnError)
	f.targetFlags(flags)
	flags.StringVar(&f.format, "format", "table", "the `FORM` of the comparison: table or json (table)")
	return flags, f
}

func runCompare(args []string, std streams) int {
	flags, f := compareFlags()
	if status, ok := parsedFlags("compare", flags, args, std); !ok {
		return status
	}
	o, err := f.options(flags.Args())
	if err == nil && f.format != "table" && f.format != "json" {
		err = fmt.Errorf("-format %s: want table or json", f.format)
	}
	if err == nil {
		err = f.compare(o, std)
	}
	if err != nil {
		fmt.Fprintln(std.err, "mcpchain compare:", err)
		return exitUsage
	}
	return exitOK
}

// self returns the command line of this program. A test replaces it.
var self = func() ([]string, error) {
	path, err := os.Executable()
	return []string{path}, err
}

// compare checks a server bare, then behind this program, and writes both.
func (f *checkFlag) compare(o probe.Options, std streams) error {
	program, err := self()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	bare, err := probed(ctx, o, "bare, ", std.err)
	if err != nil {
		return err
	}
	in := o
	in.Command = append(append(program, "run", "--"), o.Command...)
	behind, err := probed(ctx, in, "behind mcpchain run, ", std.err)
	if err != nil {
		return fmt.Errorf("behind mcpchain run: %w", err)
	}
	if err := f.writeHTMLFile(bare, behind, o); err != nil {
		return err
	}
	if f.format == "json" {
		return indentedJSON(std.out, struct {
			Bare   reportJSON `json:"bare"`
			Behind reportJSON `json:"behind"`
		}{asJSON(bare), asJSON(behind)})
	}
	return writeComparison(std.out, bare, behind)
}

// writeComparison writes what differs, and what both have, for a person.
func writeComparison(w io.Writer, bare, behind *probe.Report) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %d checks, bare and behind mcpchain run\n\n", headline(bare), len(bare.Results))
	of := map[string]probe.Result{}
	for _, result := range behind.Results {
		of[result.Check.Name] = result
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "check\tbare\tbehind mcpchain run")
	all := slices.Clone(bare.Results)
	slices.SortStableFunc(all, func(a, b probe.Result) int {
		return heaviest(a, of[a.Check.Name]) - heaviest(b, of[b.Check.Name])
	})
	for _, result := range all {
		if other := of[result.Check.Name]; len(result.Findings)+len(other.Findings) > 0 {
			fmt.Fprintf(table, "%s\t%s\t%s\n", result.Check.Name, inBrief(result), inBrief(other))
		}
	}
	_ = table.Flush()
	fmt.Fprintf(&b, "\nOf %d checks %d find something in the bare server, %d behind mcpchain run. \"mcpchain check\" shows what was sent, what came back and why it matters.\n",
		len(bare.Results), bare.Found(), behind.Found())
	_, err := b.WriteTo(w)
	return err
}

// heaviest returns the rank of the heaviest finding of a check.
func heaviest(bare, behind probe.Result) int {
	least := len(probe.Weights)
	for _, f := range slices.Concat(bare.Findings, behind.Findings) {
		least = min(least, rank(f))
	}
	return least
}

// inBrief writes a result in a few words.
func inBrief(r probe.Result) string {
	const most = 48
	switch all := merged(r.Findings); {
	case len(all) > 0:
		text := strings.TrimSuffix(all[0].What, ".")
		if len(text) > most {
			text = strings.ToValidUTF8(text[:most], "") + "..."
		}
		if len(all) > 1 {
			text += fmt.Sprintf(" (and %d more)", len(all)-1)
		}
		return text
	case r.NotChecked != "":
		return "not checked"
	default:
		return "-"
	}
}
