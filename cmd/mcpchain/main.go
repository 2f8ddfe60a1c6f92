// Mcpchain stands in front of an MCP server, in whatever language that is written:
//
//	mcpchain run -- npx -y @modelcontextprotocol/server-everything
//
// "mcpchain help" lists the commands, "mcpchain help COMMAND" the flags of one.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mcpchain/mcpchain/internal/words"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/config"
)

// A command is one row of the program. A file of this package adds its command to the table of
// [commands] and has everything else of it.
type command struct {
	name  string
	usage string // what follows the name on a command line
	short string // what it does, in one line of help

	// run executes the command and returns the exit status of the process.
	run func(args []string, std streams) int

	// help writes what "mcpchain help NAME" shows. Nil means usage and short alone.
	help func(w io.Writer)

	flags []string // the names of its flags, for the completion of shells
}

// streams are what a command reads and writes: those of the process, or those of a test.
type streams struct {
	in       io.ReadCloser
	out, err io.WriteCloser
}

// The exit statuses of the program itself. "mcpchain run" has those of its server besides.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// commands returns the table, in the order in which help shows it.
func commands() []command {
	return []command{
		runCommand(),
		configCommand(),
		checkCommand(),
		compareCommand(),
		logCommand(),
		versionCommand(),
		completionCommand(),
		helpCommand(),
	}
}

func main() {
	std := streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	os.Exit(execute(os.Args[1:], std)) //nolint:forbidigo // a program ends its process
}

var helps = []string{"-h", "-help", "--help"}

// execute runs the command that the arguments name and returns the exit status.
func execute(args []string, std streams) int {
	if len(args) == 0 {
		help(std.err)
		return exitUsage
	}
	name, args := args[0], args[1:]
	if len(args) > 0 && slices.Contains(helps, args[0]) {
		name, args = "help", []string{name}
	}
	switch name { // as other programs are asked
	case helps[0], helps[1], helps[2]:
		name = "help"
	case "-version", "--version":
		name = "version"
	}
	c, err := commandOf(name)
	if err != nil {
		fmt.Fprintln(std.err, "mcpchain:", err)
		return exitUsage
	}
	return c.run(args, std)
}

func commandOf(name string) (command, error) {
	var names []string
	for _, c := range commands() {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	return command{}, config.UnknownCommand(name, names)
}

func helpCommand() command {
	return command{name: "help", usage: "[COMMAND]", short: "show this, or the flags of a command", run: func(args []string, std streams) int {
		if len(args) == 0 {
			help(std.out)
			return exitOK
		}
		c, err := commandOf(args[0])
		if err != nil {
			fmt.Fprintln(std.err, "mcpchain help:", err)
			return exitUsage
		}
		fmt.Fprintf(std.out, "usage: mcpchain %s\n\n%s.\n", strings.TrimSpace(c.name+" "+c.usage), words.Capital(c.short))
		if c.help != nil {
			fmt.Fprintln(std.out)
			c.help(std.out)
		}
		return exitOK
	}}
}

// help writes the table of the commands.
func help(w io.Writer) {
	fmt.Fprint(w, "mcpchain stands in front of an MCP server, in whatever language that is written.\n\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(table, "  mcpchain %s %s\t%s\n", c.name, c.usage, c.short)
	}
	_ = table.Flush()
	fmt.Fprint(w, "\n\"mcpchain help run\" lists the flags of run, and has examples. The shortest:\n\n  mcpchain run -- npx -y some-server\n")
}
