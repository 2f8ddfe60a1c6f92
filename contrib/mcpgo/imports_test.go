package mcpgo_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestImportsOnlyWhatIsPublic: this module has a tag of its own, so that it may meet another version of the
// root, whose internal packages promise nothing.
func TestImportsOnlyWhatIsPublic(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	imported := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			require.NotContains(t, spec.Path.Value, "/internal/", name)
			imported++
		}
	}
	require.Positive(t, imported)
}
