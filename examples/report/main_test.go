package main

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/mcpchain/mcpchain/examples/internal/golden"
)

var update = flag.Bool("update", false, "write what the story prints into output.golden")

// TestStory plays the story with a Redis of its own.
func TestStory(t *testing.T) {
	programs, err := golden.Build("../../bin", ".")
	if err != nil {
		t.Fatal(err)
	}
	golden.Recipe(t, filepath.Join(programs, "report"), "output.golden", *update)
}
