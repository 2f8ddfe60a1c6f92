// Package golden compares what a recipe prints with its output.golden.
package golden

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Build compiles the programs of packages, such as "./...", into the directory recipes below bin, where
// they stay: to link takes most of the time, and go build links only what has changed since. It
// looks at their sources too, so that go test caches no result of other sources: what the programs
// are made of it knows only by what a test that runs has looked at.
func Build(bin, packages string) (dir string, err error) {
	if dir, err = filepath.Abs(filepath.Join(bin, "recipes")); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), packages).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	const ours = `{{with .Module}}{{if .Main}}{{range $.GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`
	files, err := exec.Command("go", "list", "-deps", "-f", ours, packages).Output()
	for _, file := range strings.FieldsFunc(string(files), func(r rune) bool { return r == '\n' }) {
		_, failed := os.Stat(file)
		err = errors.Join(err, failed)
	}
	return dir, err
}

// Run runs a program in an empty directory, without a terminal or an input, and returns
// what it prints.
func Run(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute) // a story ends itself, and its servers, before
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = t.TempDir()
	cmd.WaitDelay = 10 * time.Second // for a server that a story left behind
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return string(out)
}

// Recipe plays the story of a recipe, over stdio and over HTTP, and compares what it prints
// with a file, which it writes anew if update is set. If there is a file of the same name with
// ".http" before its end, what it prints over HTTP is compared with that.
func Recipe(t *testing.T, program, file string, update bool) {
	t.Helper()
	overHTTP := strings.TrimSuffix(file, ".golden") + ".http.golden"
	if _, err := os.Stat(overHTTP); err != nil {
		overHTTP = file
	}
	for _, of := range []struct {
		how, file string
		args      []string
	}{{"stdio", file, []string{"-story"}}, {"http", overHTTP, []string{"-story", "http"}}} {
		if update && (of.how == "stdio" || of.file != file) {
			if err := os.WriteFile(of.file, []byte(steady(Run(t, program, of.args...))), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(of.file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(of.how, func(t *testing.T) {
			t.Parallel()
			if got := steady(Run(t, program, of.args...)); got != string(want) || got == "" {
				t.Errorf("%s over %s differs from %s; it prints\n%s", filepath.Base(program), of.how, of.file, got)
			}
		})
	}
}

// differs is what logs have of each run alone. References become call-1, call-2 and so on.
var (
	differs   = regexp.MustCompile(`time=\S+ | (?:duration_ms|late_ms|session)=\S+| stack="(?:\\.|[^"\\])*"`)
	overStdio = regexp.MustCompile(`(?m)^.*mask\.Options\.Reader.*\n`)               // what a server's log has over stdio alone
	lasted    = regexp.MustCompile(`((?:still running after|has failed for) )\d+ s`) // a slow machine takes longer
	reference = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

// steady returns what a run printed without what differs in each.
func steady(out string) string {
	numbers := map[string]string{}
	out = differs.ReplaceAllString(overStdio.ReplaceAllString(out, ""), "")
	out = lasted.ReplaceAllString(out, "${1}N s")
	return reference.ReplaceAllStringFunc(out, func(id string) string {
		if numbers[id] == "" {
			numbers[id] = fmt.Sprintf("call-%d", len(numbers)+1)
		}
		return numbers[id]
	})
}
