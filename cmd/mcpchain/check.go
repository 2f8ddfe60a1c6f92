package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/probe"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/config"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hide"
)

func checkCommand() command {
	return command{
		name: "check", usage: "[FLAGS] -- COMMAND ...", short: "see how a server fails",
		run:   runCheck,
		help:  func(w io.Writer) { flags, _ := checkFlags(); flagHelp(w, flags) },
		flags: flagNames(checkFlags()),
	}
}

// flagNames returns the names of flags, for the completion of shells.
func flagNames(flags *flag.FlagSet, _ any) (names []string) {
	flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}

// flagHelp writes a line for each flag, as help of run does.
func flagHelp(w io.Writer, flags *flag.FlagSet) {
	flags.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		if value == "value" { // of [durationFlag]
			value = "TIME"
		}
		fmt.Fprintf(w, "  %-20s %s\n", strings.TrimSpace("-"+f.Name+" "+value), usage)
	})
}

// parsedFlags reads the flags of a command, and reports whether it goes on. If not, the status is that of
// the program.
func parsedFlags(name string, flags *flag.FlagSet, args []string, std streams) (status int, ok bool) {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	switch {
	case err == nil:
		return exitOK, true
	case errors.Is(err, flag.ErrHelp):
		return execute([]string{"help", name}, std), false
	}
	if unknown, is := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); is {
		err = config.UnknownFlag(name, unknown, flagNames(flags, nil))
	}
	fmt.Fprintf(std.err, "mcpchain %s: %v\n", name, err)
	return exitUsage, false
}

// A checkFlag is what the command line of check says.
type checkFlag struct {
	probe.Options

	tools, only, format, baseline, html string
	header                              headerFlag
	noServer                            string // the error if no server is named
	writeBaseline, list, verbose        bool
}

func checkFlags() (*flag.FlagSet, *checkFlag) {
	f := &checkFlag{header: headerFlag{}, noServer: "there is no server: give its command behind --, or its URL with -to"}
	flags := flag.NewFlagSet("mcpchain check", flag.ContinueOnError)
	f.targetFlags(flags)
	flags.StringVar(&f.URL, "to", "", "check the server at this `URL`, over streamable HTTP")
	flags.Var(f.header, "header", "send the `HEADER` 'NAME: VALUE' to -to; may be given several times")
	flags.StringVar(&f.format, "format", "table", "the `FORM` of the report: table, json, junit or sarif (table)")
	flags.StringVar(&f.baseline, "baseline", "", "leave out what this `FILE` has, so that only what is new fails")
	flags.BoolVar(&f.writeBaseline, "write-baseline", false, "write what is found into the file of -baseline, and succeed")
	flags.BoolVar(&f.verbose, "v", false, "show all findings in the table, and whole messages")
	flags.BoolVar(&f.list, "list", false, "list the checks")
	return flags, f
}

// targetFlags are the flags of check and of compare.
func (f *checkFlag) targetFlags(flags *flag.FlagSet) {
	flags.StringVar(&f.tools, "tools", "", "call the tools `A,B`, too, though nothing marks them as reading")
	flags.BoolVar(&f.Writes, "writes", false, "call all tools, those that write too")
	flags.StringVar(&f.only, "only", "", "run only the checks `A,B`; mcpchain check -list lists all")
	flags.StringVar(&f.html, "html", "", "write a page into this `FILE` as well, to send to others")
	f.Limit, f.Start = 5*time.Second, time.Minute
	flags.Func("limit", "how long an answer may take (5s)", durationFlag(&f.Limit))
	flags.Func("start", "how long the server may take to start (1m)", durationFlag(&f.Start))
}

func durationFlag(into *time.Duration) func(string) error {
	return func(value string) error {
		var d config.Duration
		err := d.UnmarshalText([]byte(value))
		*into = time.Duration(d)
		return err
	}
}

// headerFlag collects headers of HTTP.
type headerFlag http.Header

func (h headerFlag) String() string { return "" }

func (h headerFlag) Set(text string) error {
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		name, value = "", "" // which is refused later: an error of a flag would repeat what may be a secret
	}
	http.Header(h).Add(strings.TrimSpace(name), strings.TrimSpace(value))
	return nil
}

// options checks what the flags say, and what follows them.
func (f *checkFlag) options(args []string) (probe.Options, error) {
	o := f.Options
	o.Command, o.Header = args, http.Header(f.header)
	o.Tools, o.Only = listed(f.tools), listed(f.only)
	for _, name := range o.Only {
		if !slices.ContainsFunc(probe.Checks(), func(c *probe.Check) bool { return c.Name == name }) {
			return o, fmt.Errorf("there is no check %q; \"mcpchain check -list\" lists them", name)
		}
	}
	switch {
	case len(o.Header.Values("")) > 0:
		return o, errors.New(`a header is written as "NAME: VALUE", such as "Authorization: Bearer TOKEN"`)
	case o.URL == "" && len(args) == 0:
		return o, errors.New(f.noServer)
	case o.URL != "" && len(args) > 0:
		return o, errors.New("say either -to or a command")
	case f.writeBaseline && f.baseline == "":
		return o, errors.New("-write-baseline needs -baseline FILE")
	case f.format != "" && reportFormats[f.format] == nil:
		return o, fmt.Errorf("-format %s: want table, json, junit or sarif", f.format)
	}
	return o, writable(f.html)
}

func listed(text string) []string {
	return slices.DeleteFunc(strings.Split(text, ","), func(s string) bool { return s == "" })
}

func runCheck(args []string, std streams) int {
	flags, f := checkFlags()
	if status, ok := parsedFlags("check", flags, args, std); !ok {
		return status
	}
	if f.list {
		for _, c := range probe.Checks() {
			fmt.Fprintf(std.out, "%-24s %s\n", c.Name, c.Title)
		}
		return exitOK
	}
	o, err := f.options(flags.Args())
	if err == nil {
		var known []string
		if f.baseline != "" && !f.writeBaseline {
			known, err = readBaseline(f.baseline)
		}
		if err == nil {
			return f.check(o, known, std)
		}
	}
	fmt.Fprintln(std.err, "mcpchain check:", err)
	return exitUsage
}

// check runs the checks and writes their report.
func (f *checkFlag) check(o probe.Options, known []string, std streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := probed(ctx, o, "", std.err)
	if err == nil && f.writeBaseline {
		err = cmp.Or(f.writeHTMLFile(report, nil, o), writeBaseline(f.baseline, report))
		if err == nil {
			fmt.Fprintf(std.err, "mcpchain check: %s has what %d checks found\n", f.baseline, report.Found())
			return exitOK
		}
	}
	old := 0
	if err == nil {
		old = leaveOut(report, known)
		write := reportFormats[f.format]
		if f.verbose && f.format == "table" {
			write = func(w io.Writer, r *probe.Report) error { return writeTable(w, r, -1, paintOf(w)) }
		}
		if f.format == "sarif" {
			write = func(w io.Writer, r *probe.Report) error { return writeSARIF(w, r, placeOf(o.Command)) }
		}
		err = cmp.Or(f.writeHTMLFile(report, nil, o), write(std.out, report))
	}
	switch {
	case err != nil:
		fmt.Fprintln(std.err, "mcpchain check:", err)
		return exitUsage
	case old > 0:
		fmt.Fprintf(std.err, "mcpchain check: %d findings stand in %s and are left out\n", old, f.baseline)
	}
	if report.Found() > 0 {
		return exitFailed
	}
	return exitOK
}

// hider returns a function that takes the secrets of the environment and of the command line out of a text.
func hider(o probe.Options) func(text string) string {
	return config.Hider(os.Environ(), o.Command, nil, config.RemoteSecrets(o.URL, o.Header)...)
}

// probed runs the checks. What is checked is shown where it takes longer than two seconds.
func probed(ctx context.Context, o probe.Options, what string, errs io.Writer) (*probe.Report, error) {
	show, done := progress(errs, isTerminal(errs), what)
	defer done()
	o.Progress = show
	text := hider(o)
	o.Hide = func(message []byte) []byte { return hide.JSON(message, text) }
	report, err := probe.Run(ctx, o)
	if err != nil {
		return nil, errors.New(text(err.Error()))
	}
	return report, nil
}
