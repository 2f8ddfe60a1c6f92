package whole_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// surface returns every exported name of the module as a page would write it: "mask.New",
// "mask.Options.Reader", "drain.Drain.Shutdown". The list of the surface is a golden file, so that it
// is what the packages export.
func surface(t *testing.T) (names, packages map[string]bool) {
	t.Helper()
	text, err := os.ReadFile("internal/frozen/testdata/surface.txt")
	require.NoError(t, err)
	names, packages = map[string]bool{}, map[string]bool{}
	var (
		declared = regexp.MustCompile(`^(?:func|type|const|var) (\w+)`)
		method   = regexp.MustCompile(`^func \(\w+ \*?(\w+)(?:\[\w+\])?\) (\w+)`)
		field    = regexp.MustCompile(`^\s(\w+(?:, \w+)*)`)
		pkg, typ string
	)
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "package "):
			pkg, typ = path.Base(strings.TrimSpace(strings.TrimPrefix(line, "package "))), ""
			if pkg == "recover" { // as programs import it
				pkg = "mcprecover"
			}
			packages[pkg] = true
		case method.MatchString(line):
			m := method.FindStringSubmatch(line)
			names[pkg+"."+m[1]+"."+m[2]] = true
		case declared.MatchString(line):
			typ = declared.FindStringSubmatch(line)[1]
			names[pkg+"."+typ] = true
		case field.MatchString(line):
			for name := range strings.SplitSeq(field.FindStringSubmatch(line)[1], ", ") {
				names[pkg+"."+typ+"."+name] = true
			}
		}
	}
	return names, packages
}

// TestNamesInPages holds what the pages say in running text to what the packages export, as TestReadme
// does for their blocks of code: `mask.Options.Reader`, and `Options.Reader` where some package has it.
func TestNamesInPages(t *testing.T) {
	names, packages := surface(t)
	options := map[string]bool{} // "Options", "Options.Reader"
	for name := range names {
		_, short, _ := strings.Cut(name, ".")
		options[short] = true
	}
	require.True(t, names["mask.Options.Reader"] && names["drain.Drain.Shutdown"] && names["fault.KindNotFound"])

	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	code := regexp.MustCompile("`([^`\n]+)`")
	named := regexp.MustCompile(`\b([a-z]\w+)\.([A-Z]\w*)((?:\.[A-Z]\w*)*)`)
	option := regexp.MustCompile(`(?:^|[^.\w])((?:\w*Options|Advanced|Limits)\.[A-Z]\w*)`)
	checked := 0
	for _, file := range append(pages, "README.md", "SECURITY.md", "VERSIONING.md", "CONTRIBUTING.md", "examples/README.md") {
		page, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, span := range code.FindAllStringSubmatch(withoutCode(string(page)), -1) {
			for _, m := range named.FindAllStringSubmatch(span[1], -1) {
				if !packages[m[1]] {
					continue // of another module
				}
				if !names[m[0]] {
					t.Errorf("%s names %s, which there is not", file, m[0])
				}
				checked++
			}
			for _, m := range option.FindAllStringSubmatch(span[1], -1) {
				if typ, _, _ := strings.Cut(m[1], "."); options[typ] && !options[m[1]] {
					t.Errorf("%s names %s, which no package has", file, m[1])
				}
				checked++
			}
		}
	}
	require.Greater(t, checked, 150)
}

// TestCountsInPages holds the number of libraries in the README to the rows of the table that it leads to.
func TestCountsInPages(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	said := regexp.MustCompile(`those of (\d+) real client libraries`).FindStringSubmatch(string(readme))
	require.NotNil(t, said)
	page, err := os.ReadFile("docs/libraries.md")
	require.NoError(t, err)
	rows := 0
	for _, part := range []string{"web", "data", "cloud"} {
		_, table, found := strings.Cut(string(page), "<!-- "+part+" -->")
		require.True(t, found, part)
		table, _, _ = strings.Cut(table, "<!-- end of "+part+" -->")
		rows += strings.Count(table, "\n| ") - 2 // the heading and the rule below it
	}
	require.Equal(t, said[1], strconv.Itoa(rows))
}
