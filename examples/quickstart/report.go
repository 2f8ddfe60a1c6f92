package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// width is how many characters a line may have. The margin is where texts begin.
const (
	width  = 116
	margin = 12
)

// A printer writes the report, in colour when that makes sense.
type printer struct {
	w io.Writer
	// Terminal sequences, or nothing.
	bold, dim, red, green, mark, no string
}

func newPrinter(out *os.File) *printer {
	p := &printer{w: out}
	info, err := out.Stat()
	if err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		p.bold, p.dim, p.red, p.green, p.mark, p.no = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[0m"
	}
	return p
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

func (p *printer) head() {
	p.printf("%sOne MCP server fails in %d ways: real processes, over stdio and over HTTP, without mcpchain and with it.%s\n",
		p.bold, len(failures), p.no)
	p.printf("You see what the caller got without, what it gets with, and the line in the operator's log that has its reference.\n")
}

// details prints every failure in full.
func (p *printer) details(c *comparison) {
	p.printf("\n%sOver %s%s\n", p.bold, c.transport, p.no)
	for i, f := range failures {
		without, with := c.without[i], c.with[i]
		p.printf("\n%s%2d. %s%s (%s)\n", p.bold, i+1, f.what, p.no, f.call.target)
		p.block(p.red, "without", without.text+remark[without.ending], private...)
		p.block(p.green, "with", with.text+remark[with.ending], with.reference)
		if !strings.Contains(with.text, with.reference) {
			// What a program reads; the text of a failure that was told on purpose has no reference.
			p.block(p.green, with.where, strings.ReplaceAll(with.machine, `,"`, `, "`), with.reference)
		}
		p.block(p.dim, "log", shorten(with.log), with.reference)
	}
}

// remark is what the text of an answer does not say by itself.
var remark = map[ending]string{leaked: "  <-- leaked", pretends: "  <-- looks like a success"}

// block prints a text beside its label. The words to mark are in colour.
func (p *printer) block(colour, label, text string, marks ...string) {
	mark := p.mark
	if colour == p.red {
		mark = p.red
	}
	for i, line := range wrap(text, width-margin) {
		if i > 0 {
			label = ""
		}
		for _, m := range marks {
			if m != "" && p.no != "" {
				line = strings.ReplaceAll(line, m, mark+m+p.no)
			}
		}
		p.printf("    %s%-*s%s%s\n", colour, margin-4, label, p.no, line)
	}
}

// shorten leaves out of a log line what a reader of the report does not need: the
// time, and all of a stack but its first frame.
func shorten(line string) string {
	if strings.HasPrefix(line, "time=") {
		_, line, _ = strings.Cut(line, " ")
	}
	head, stack, found := strings.Cut(line, ` stack="`)
	if !found {
		return line
	}
	function, rest, _ := strings.Cut(stack, `\n`)
	place, _, _ := strings.Cut(rest, `\n`)
	return head + ` stack="` + function + `\n` + place + `\n..."`
}

// table prints how the calls over another transport ended.
func (p *printer) table(c, first *comparison) {
	p.printf("\n%sOver %s, the same in short%s\n\n", p.bold, c.transport, p.no)
	p.printf("    %-34s%s%-42s%s%s%s\n", "", p.red, "without", p.green, "with", p.no)
	for i, f := range failures {
		without, with := c.without[i], c.with[i]
		result := string(with.ending)
		if sameText(with, first.with[i]) {
			result += ", with the same text"
		}
		if with.log != "" {
			result += ", logged"
		}
		p.printf("%2d. %-34s%-42s%s\n", i+1, f.what, inShort(without), result)
	}
}

func inShort(a answer) string {
	switch a.ending {
	case died, silent:
		return a.text
	case pretends:
		return "looks like a success"
	default:
		return string(a.ending)
	}
}

// wait is what a text says of the time to wait, in which there is some chance.
var wait = regexp.MustCompile(`after [0-9.]+ m?s`)

func sameText(a, b answer) bool {
	return wait.ReplaceAllString(strings.ReplaceAll(a.text, a.reference, ""), "") ==
		wait.ReplaceAllString(strings.ReplaceAll(b.text, b.reference, ""), "")
}

// summary prints in one sentence what happened. It fails when mcpchain did not do
// what it promises.
func (p *printer) summary(all ...*comparison) error {
	calls, count := 0, map[ending]int{}
	var problems []string
	for _, c := range all {
		for _, a := range c.without {
			calls++
			count[a.ending]++
		}
		problems = append(problems, c.problems...)
	}
	if len(problems) > 0 {
		return errors.New("this is not as it should be:\n  " + strings.Join(problems, "\n  "))
	}
	p.printf("\n%s%d failures: without mcpchain %d killed the server, %d were never answered, %d leaked private data, %d looked like a success;\n",
		p.bold, calls, count[died], count[silent], count[leaked], count[pretends])
	p.printf("with mcpchain all were answered, none leaked, and each has its record in the log.%s\n\n", p.no)
	p.printf("The difference is the chain and the transport in examples/quickstart/server.go. To wrap a server of your own, read examples/wrapserver;\n")
	p.printf("to find another recipe, examples/README.md. Try: go run ./examples/wrapserver\n")
	return nil
}

// wrap breaks a text into lines of at most n characters, at spaces where it can.
func wrap(text string, n int) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		for len(line) > n {
			cut := strings.LastIndexByte(line[:n], ' ')
			if cut < n/2 {
				cut = n
			}
			lines = append(lines, strings.TrimRight(line[:cut], " "))
			line = strings.TrimLeft(line[cut:], " ")
		}
		lines = append(lines, line)
	}
	return lines
}
