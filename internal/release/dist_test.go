package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// packed makes the packages of npm from files that stand for the programs, each with this content.
func packed(t *testing.T, program string) (dir, version string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the packages are made on Linux")
	}
	modules, err := readModules(top)
	if err != nil {
		t.Fatal(err)
	}
	if version, err = agreed(modules); err != nil {
		t.Fatal(err)
	}
	version = strings.TrimPrefix(version, "v")
	dist := t.TempDir()
	for _, system := range strings.Fields(systems) {
		name := "mcpchain_" + strings.ReplaceAll(system, "/", "_")
		if strings.HasPrefix(system, "windows") {
			name += ".exe"
		}
		if err := os.WriteFile(filepath.Join(dist, name), []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir = t.TempDir()
	if _, err := output(t.Context(), top, nil, "packaging/npm/pack", version, dist, dir); err != nil {
		t.Fatal(err)
	}
	return dir, version
}

// TestNpmVersion: each package of npm has the version of the release, and mcpchain requires exactly the others.
func TestNpmVersion(t *testing.T) {
	dir, version := packed(t, "")
	files, err := filepath.Glob(filepath.Join(dir, "*", "package.json"))
	if err != nil || len(files) != 7 {
		t.Fatal(files, err)
	}
	required := map[string]string{}
	var systemsOf []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var p struct {
			Name, Version        string
			OS, CPU              []string
			OptionalDependencies map[string]string
		}
		if err := json.Unmarshal(data, &p); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if p.Version != version {
			t.Errorf("%s has version %s, the release %s", p.Name, p.Version, version)
		}
		if p.Name == "mcpchain" {
			required = p.OptionalDependencies
			continue
		}
		if want := "@mcpchain/" + p.OS[0] + "-" + p.CPU[0]; p.Name != want {
			t.Errorf("%s is for %s", p.Name, want)
		}
		systemsOf = append(systemsOf, p.Name)
	}
	if len(required) != len(systemsOf) {
		t.Errorf("%v are required, %v are there", required, systemsOf)
	}
	for _, name := range systemsOf {
		if required[name] != version {
			t.Errorf("mcpchain requires %q of %s", required[name], name)
		}
	}
}

// installed returns a command that runs mcpchain.js, beside the package of this system.
func installed(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node")
	}
	dir, _ := packed(t, program)
	platform, err := output(t.Context(), dir, nil, node, "-p", "process.platform + '-' + process.arch")
	if err != nil {
		t.Fatal(err)
	}
	scope := filepath.Join(dir, "mcpchain", "node_modules", "@mcpchain")
	if err := os.MkdirAll(scope, 0o750); err != nil {
		t.Fatal(err)
	}
	if program != "" {
		if err := os.Rename(filepath.Join(dir, platform), filepath.Join(scope, platform)); err != nil {
			t.Fatal(err)
		}
	}
	return exec.CommandContext(t.Context(), node, append([]string{filepath.Join(dir, "mcpchain", "mcpchain.js")}, args...)...)
}

// TestNpmProgram: the script of npm gives the program its arguments, its streams and its signals, and ends as it does.
func TestNpmProgram(t *testing.T) {
	cmd := installed(t, "#!/bin/sh\necho \"$@\"\ncat\necho said >&2\nexit 7\n", "run", "--", "a b")
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader("a line\n"), &said
	out, err := cmd.Output()
	var exit *exec.ExitError
	if string(out) != "run -- a b\na line\n" || said.String() != "said\n" || !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("%q, %q, %v", out, said.String(), err)
	}

	for program, want := range map[string]string{
		"trap 'exit 143' TERM": "exit status 143",
		"":                     "signal: terminated",
	} {
		cmd := installed(t, "#!/bin/sh\n"+program+"\necho ready\nwhile :; do sleep 0.1; done\n")
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := pipe.Read(make([]byte, 9)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || err.Error() != want {
			t.Errorf("%q ended with %v", program, err)
		}
	}
}

// TestNpmWithoutProgram: who has no package for the system is told so.
func TestNpmWithoutProgram(t *testing.T) {
	cmd := installed(t, "")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 127 || !strings.Contains(string(out), "is not installed") {
		t.Errorf("%v\n%s", err, out)
	}
}
