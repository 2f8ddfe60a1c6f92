package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

func versionCommand() command {
	return command{name: "version", short: "print the version", run: func(_ []string, std streams) int {
		fmt.Fprintf(std.out, "mcpchain %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return exitOK
	}}
}

// version returns the version of the program: that of its module, or the commit that it was
// built from in a clone.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	if v := info.Main.Version; v != "" {
		return v
	}
	return "(devel)"
}
