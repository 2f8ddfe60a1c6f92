// Mcpvet reports mistakes in MCP servers that are written on the official Go SDK. It runs
// alone, where it also applies fixes, or as a tool of go vet:
//
//	mcpvet ./...
//	mcpvet -fix ./...
//	go vet -vettool=$(which mcpvet) ./...
//
// "mcpvet help" lists the checks. Package plugin makes them a linter of golangci-lint. A
// finding is silenced by a comment on its line, or on a line of its own above it:
//
//	//nolint:mcpvet // the reason
//
// The exit status is 0 if nothing is left to report: with -fix, after the fixes. It is 3 if something is, and 1 if
// nothing could be checked.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis/multichecker"
	"golang.org/x/tools/go/packages"

	"github.com/mcpchain/mcpchain/cmd/mcpvet/checks"
)

func main() {
	// Nothing in a test is reported, and -json would list the package again, as its tests have it.
	os.Args = slices.Insert(os.Args, 1, "-test=false")
	if why := unchecked(patterns(os.Args[1:])); why != "" {
		fmt.Fprintln(os.Stderr, "mcpvet: nothing was checked:", why)
		os.Exit(1) //nolint:forbidigo // a program ends its process
	}
	if os.Getenv(onlyFix) == "" && isSet(os.Args[1:], "fix") {
		if status := fix(); status != 0 {
			os.Exit(status) //nolint:forbidigo // a program ends its process
		}
	}
	all := checks.All()
	for i, check := range all {
		all[i] = withNolint(check)
	}
	multichecker.Main(all...)
}

const (
	sdk   = "github.com/modelcontextprotocol/go-sdk"
	other = "github.com/mark3labs/mcp-go"
)

// unchecked says why the checks find nothing in packages, whatever is wrong there. It is empty if they can in one.
func unchecked(patterns []string) string {
	if len(patterns) == 0 {
		return ""
	}
	all, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports}, patterns...)
	if err != nil {
		return err.Error()
	}
	if len(all) == 0 {
		return "there is no package " + strings.Join(patterns, " ")
	}
	why := "no package uses " + sdk
	for _, p := range all {
		broken, uses := p.Errors, false
		for path, imported := range p.Imports {
			broken = append(broken, imported.Errors...)
			uses = uses || strings.HasPrefix(path, sdk+"/")
			if strings.HasPrefix(path, other+"/") {
				why = "the server is written on " + other + ", and the checks know " + sdk
			}
		}
		switch {
		case len(broken) > 0:
			why = strings.TrimPrefix(broken[0].Error(), "-: ") // it has no place
		case uses:
			return ""
		}
	}
	return why
}

// patterns returns the arguments that name packages, none if the arguments ask for something else.
func patterns(args []string) (names []string) {
	withValue := []string{"c", "cpuprofile", "debug", "memprofile", "tags", "trace"}
	for i := 0; i < len(args); i++ {
		name, _ := flagOf(args[i])
		switch {
		case name == "V" || name == "flags", name == "" && (args[i] == "help" || strings.HasSuffix(args[i], ".cfg")):
			return nil // what go vet asks, or a user
		case slices.Contains(withValue, name) && !strings.Contains(args[i], "="):
			i++
		case name == "":
			names = append(names, args[i])
		}
	}
	return names
}

// onlyFix is set in the environment of the process that applies fixes.
const onlyFix = "MCPVET_ONLY_FIX"

// fix applies the fixes, or shows them, in a process of its own, because the multichecker
// does not print the findings that are left, and ends its process with the status 0. It
// removes the flags of fixing from the arguments, so that this process reports what is
// left. After a failure, which has been printed, it returns the exit status.
func fix() int {
	self, err := os.Executable()
	if err == nil {
		cmd := exec.CommandContext(context.Background(), self, os.Args[1:]...) //nolint:gosec // it is the same program
		cmd.Env = append(os.Environ(), onlyFix+"=1")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		err = cmd.Run()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcpvet:", err)
		return 1
	}
	os.Args = slices.DeleteFunc(os.Args, func(arg string) bool {
		name, _ := flagOf(arg)
		return name == "fix" || name == "diff"
	})
	return 0
}

// isSet reports whether a flag without a value of its own is among the arguments.
func isSet(args []string, flag string) bool {
	set := false
	for _, arg := range args {
		if name, value := flagOf(arg); name == flag {
			on, err := strconv.ParseBool(value)
			set = err == nil && on
		}
	}
	return set
}

// flagOf returns the name and the value of an argument that is a flag.
func flagOf(arg string) (name, value string) {
	flag, ok := strings.CutPrefix(arg, "-")
	if !ok {
		return "", ""
	}
	name, value, ok = strings.Cut(strings.TrimPrefix(flag, "-"), "=")
	if !ok {
		value = "true"
	}
	return name, value
}
