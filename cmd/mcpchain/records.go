package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/page"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/records"
)

func logCommand() command {
	return command{
		name: "log", usage: "[FLAGS] [FILE ...]", short: "say what failed, by a log of run or of a server with the library",
		run:   runLog,
		help:  func(w io.Writer) { flags, _ := logFlags(); flagHelp(w, flags) },
		flags: flagNames(logFlags()),
	}
}

// A logFlag is what the command line of log says.
type logFlag struct {
	html, reference string
}

func logFlags() (*flag.FlagSet, *logFlag) {
	f := &logFlag{}
	flags := flag.NewFlagSet("mcpchain log", flag.ContinueOnError)
	flags.StringVar(&f.html, "html", "", "write a page for a browser into this `FILE`, too")
	flags.StringVar(&f.reference, "reference", "", "show all records of the call with this `ID`, and no others")
	return flags, f
}

func runLog(args []string, std streams) int {
	flags, f := logFlags()
	var files []string
	for { // flags may stand behind the files
		status, ok := parsedFlags("log", flags, args, std)
		if !ok {
			return status
		}
		if flags.NArg() == 0 {
			break
		}
		files, args = append(files, flags.Arg(0)), flags.Args()[1:]
	}
	if len(files) == 0 {
		files = []string{"-"}
		if isTerminal(std.in) {
			fmt.Fprintln(std.err, "mcpchain log: reading standard input; name a file to read that")
		}
	}
	if f.reference != "" && f.html != "" {
		fmt.Fprintln(std.err, "mcpchain log: say either -reference or -html")
		return exitUsage
	}
	out := bufio.NewWriter(std.out)
	err := f.log(files, std.in, out)
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		fmt.Fprintln(std.err, "mcpchain log:", err)
		return exitFailed
	}
	return exitOK
}

// log reads the files, and writes what they say.
func (f *logFlag) log(files []string, in io.Reader, out io.Writer) error {
	if err := f.replaces(); err != nil {
		return err
	}
	var s records.Summary
	found := 0
	for _, name := range files {
		if err := read(name, in, func(r *records.Record) {
			s.Add(r)
			if f.reference != "" && r != nil && r.About(f.reference) {
				found++
				r.WriteWhole(out)
			}
		}); err != nil {
			return err
		}
	}
	switch {
	case s.Records == 0:
		return errors.New("no line is a record of slog, as JSON or as text: is it the log of mcpchain run, or of a server with the library?")
	case f.reference != "" && found == 0:
		return fmt.Errorf("no record has the reference %q; the log goes from %s to %s", f.reference, s.From.Format(time.DateTime), s.To.Format(time.DateTime))
	case f.reference != "":
		return nil
	}
	s.WriteText(out)
	if f.html == "" {
		return nil
	}
	var text bytes.Buffer
	name := filepath.Base(files[0])
	if files[0] == "-" {
		name = "standard input"
	}
	if err := s.WritePage(&text, name); err != nil {
		return err
	}
	return os.WriteFile(f.html, text.Bytes(), 0o600)
}

// read passes on the records of a file, or of in if its name is "-".
func read(name string, in io.Reader, add func(*records.Record)) error {
	if name != "-" {
		file, err := os.Open(name) //nolint:gosec // the user names it
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	if err := records.Read(in, add); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// replaces refuses to write over a file that is no page: with "-html *.log" the first log stands behind -html.
func (f *logFlag) replaces() error {
	if is, err := os.Stat(f.html); f.html == "" || err != nil || !is.Mode().IsRegular() {
		return nil // what cannot be written is said when it is written
	}
	file, err := os.Open(f.html)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	begin := make([]byte, len(page.Begin))
	if n, _ := io.ReadFull(file, begin); n > 0 && string(begin[:n]) != page.Begin {
		return fmt.Errorf("%s is there, and is no page: behind -html stands the name of the page, and behind that the logs", f.html)
	}
	return nil
}
