// Mcpvet reports mistakes in MCP servers that are written on the official Go SDK. It runs
// alone, where it also applies fixes, or as a tool of go vet:
//
//	mcpvet ./...
//	mcpvet -fix ./...
//	go vet -vettool=$(which mcpvet) ./...
//
// "mcpvet help" lists the checks. Package plugin makes them a linter of golangci-lint.
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/mcpchain/mcpchain/cmd/mcpvet/checks"
)

func main() { multichecker.Main(checks.All()...) }
