package main

import (
	"os"
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
