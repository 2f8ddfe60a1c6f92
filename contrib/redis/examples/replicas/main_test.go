package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStory runs the program as a reader does, and compares all that it prints with
// output.golden.
func TestStory(t *testing.T) {
	program := filepath.Join(t.TempDir(), "replicas")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err = exec.CommandContext(ctx, program).CombinedOutput()
	require.NoError(t, err, string(out))
	golden, err := os.ReadFile("output.golden")
	require.NoError(t, err)
	require.Equal(t, string(golden), string(out))
}
