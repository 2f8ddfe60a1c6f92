package mcptest

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The name of the flag is long because a test package may have a flag "update" already. A second
// one would panic.
var update = flag.Bool("mcptest.update", false, "write the files of mcptest.Golden anew")

// reference is a correlation ID as mcpchain makes it.
var reference = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)

// Golden requires that a text equals testdata/NAME.golden, which has REFERENCE instead of
// references. With the flag -mcptest.update it writes the file. It is for texts that
// models read: [Text] of an answer.
func Golden(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	got := strings.TrimRight(reference.ReplaceAllString(text, "REFERENCE"), "\n") + "\n"
	if *update {
		err := os.MkdirAll(filepath.Dir(path), 0o750)
		if err == nil {
			err = os.WriteFile(path, []byte(got), 0o600)
		}
		if err != nil {
			t.Errorf("mcptest.Golden: %v", err)
		}
		return
	}
	const how = "run the test with -mcptest.update to keep the text"
	file, err := os.ReadFile(path) //nolint:gosec // a test names a file of its own
	if errors.Is(err, fs.ErrNotExist) {
		t.Errorf("mcptest.Golden: there is no %s; %s:\n%s", path, how, indent(got))
		return
	} else if err != nil {
		t.Errorf("mcptest.Golden: %v", err)
		return
	}
	want := strings.ReplaceAll(string(file), "\r\n", "\n") // as git may check it out
	if got == want {
		return
	}
	wants, gots := strings.Split(want, "\n"), strings.Split(got, "\n")
	n := 0
	for n < len(wants)-1 && n < len(gots)-1 && wants[n] == gots[n] {
		n++
	}
	t.Errorf("mcptest.Golden: %s, line %d: got %q, want %q; %s:\n%s", path, n+1, gots[n], wants[n], how, indent(got))
}
