package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsTerminal(t *testing.T) {
	require.False(t, isTerminal(&buffer{}))
	for _, name := range []string{os.DevNull, "main.go"} {
		file, err := os.Open(name)
		require.NoError(t, err)
		require.False(t, isTerminal(file), name)
		require.NoError(t, file.Close())
		require.False(t, isTerminal(file), "closed")
	}
}

// Started by hand, the program says why nothing happens; where a client starts it, it does not.
func TestAProgramThatWaitsSaysSo(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there is no terminal:", err)
	}
	defer terminal.Close()
	defer slog.SetDefault(slog.Default())
	for in, waits := range map[io.ReadCloser]bool{terminal: true, io.NopCloser(strings.NewReader("")): false} {
		var out, errs buffer
		execute([]string{"run", "-log", filepath.Join(t.TempDir(), "log"), "--", "/there/is/no/server"}, streams{in: in, out: &out, err: &errs})
		require.Equal(t, waits, strings.Contains(errs.String(), "waiting for a client"), errs.String())
	}
}
