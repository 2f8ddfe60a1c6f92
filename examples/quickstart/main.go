// Quickstart shows what mcpchain does, in a few seconds:
//
//	go run ./examples/quickstart
//
// It starts real server processes (this program again), lets their handlers fail in every way that
// handlers fail, and prints what a caller gets without mcpchain, what it gets with it, and what the
// server's log says. It checks what it claims and exits with 1 if anything is not so.
//
// The files, in the order in which they are worth reading:
//
//	server.go    the server, the chain that wraps it, and its transport
//	failures.go  the handlers that fail, and how they are called
//	client.go    starts a server process, calls it and judges the answers
//
// To try the server with a client of your own over stdio, run it alone:
//
//	go run ./examples/quickstart -serve wrapped
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	alone := flag.String("serve", "", "run only the server over stdio: `bare` or wrapped")
	flag.Parse()

	var err error
	if *alone != "" {
		err = serve(*alone == "wrapped")
	} else {
		err = show()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// show provokes all failures and prints what became of them. It fails when mcpchain did not do what it promises.
func show() error {
	ctx, cancel := context.WithTimeout(context.Background(), 14*time.Second)
	defer cancel()
	fmt.Printf("One MCP server fails in %d ways: real processes, without mcpchain and with it.\n", len(failures))
	fmt.Println("You see what the caller got without, what it gets with, and the line in the operator's log that has its reference.")
	before, err := withoutChain(ctx)
	if err != nil {
		return err
	}
	after, log, err := withChain(ctx)
	if err != nil {
		return err
	}

	count, problems := map[ending]int{}, []string(nil)
	for i, f := range failures {
		without, with := before[i], after[i]
		fmt.Printf("\n%2d. %s (%s)\n", i+1, f.what, f.call.target)
		block("without", without.text+remark[without.ending])
		block("with", with.text+remark[with.ending])
		line := lineWith(log, with.reference)
		block("log", shorten(line))

		count[without.ending]++
		if with.ending != told {
			problems = append(problems, fmt.Sprintf("%s: %s: %s", f.what, with.ending, with.text))
		}
		if line == "" {
			problems = append(problems, fmt.Sprintf("%s: the log has no record for reference %q", f.what, with.reference))
		}
	}
	if len(problems) > 0 {
		return errors.New("this is not as it should be:\n  " + strings.Join(problems, "\n  "))
	}
	fmt.Printf("\n%d failures: without mcpchain %d killed the server, %d were never answered, %d leaked private data;\n",
		len(failures), count[died], count[silent], count[leaked])
	fmt.Print("with mcpchain all were answered, none leaked, and each has its record in the log.\n\n" +
		"The difference is the chain and the transport in examples/quickstart/server.go. To wrap a server of your own, read examples/wrapserver;\n" +
		"to find another recipe, examples/README.md. Try: go run ./examples/wrapserver\n")
	return nil
}

// remark is what the text of an answer does not say by itself.
var remark = map[ending]string{leaked: "  <-- leaked", pretends: "  <-- looks like a success"}

// block prints a text beside its label.
func block(label, text string) {
	fmt.Printf("    %-8s%s\n", label, strings.ReplaceAll(text, "\n", "\n            "))
}

func lineWith(log, reference string) string {
	for line := range strings.Lines(log) {
		if reference != "" && strings.Contains(line, "reference="+reference) {
			return strings.TrimSpace(line)
		}
	}
	return ""
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
