package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThePictureIsCurrent draws it again.
func TestThePictureIsCurrent(t *testing.T) {
	drawn, err := draw(t.Context())
	require.NoError(t, err)
	there, err := os.ReadFile("../../../docs/readers.svg")
	require.NoError(t, err)
	require.Equal(t, string(there), string(drawn), "run go generate ./examples/internal/picture")
	decoder := xml.NewDecoder(strings.NewReader(string(drawn)))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.Equal(t, 2, strings.Count(string(drawn), reference[:shown]), "the model and the log have it")
}

// TestWrap loses no word.
func TestWrap(t *testing.T) {
	long := strings.Repeat("word ", 100) + "end"
	for _, text := range []string{"", "one", "two lines\nof text", long} {
		lines := wrap(text, columns)
		for _, line := range lines {
			require.LessOrEqual(t, len(line), columns)
		}
		require.Equal(t, strings.Fields(text), strings.Fields(strings.Join(lines, "\n")))
	}
}
