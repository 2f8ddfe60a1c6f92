// Release checks what a user would get if HEAD were tagged now. It makes a module proxy of the
// commit, with each module that gets a tag in the version that the modules require of each
// other, and uses it from empty folders: the programs that the pages show, every package, every command, and
// the program as npm installs it.
//
//	go run ./internal/release            # what "make release-check" runs
//	go run ./internal/release -dist DIR  # builds the program of the release for each system, and does no more
//
// It needs git, and a module proxy for the dependencies. It keeps what it makes in the
// user's folder for caches, so that a second run downloads and compiles only what has changed; a
// folder of modules inside of the clone would be taken for packages of it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// root is the path of the module that all others are below of.
const root = "github.com/mcpchain/mcpchain"

// tagged are the folders below which each module gets a tag. What is below internal and
// examples is for clones.
var tagged = []string{"contrib", "cmd"}

// systems are those that the program is built for.
const systems = "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"

func main() {
	log.SetFlags(0)
	dist := flag.String("dist", "", "build the program into this `folder`, and do no more")
	chosen := flag.String("systems", systems, "what to build it for")
	tag := flag.String("tag", "", "fail unless the release has this `version`")
	flag.Parse()
	if err := run(context.Background(), *dist, *tag, strings.Fields(*chosen)); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dist, tag string, chosen []string) error {
	top, err := output(ctx, ".", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	changed, err := output(ctx, top, nil, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("not committed, so it would not be in a tag:\n%s", changed)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	r := release{out: os.Stdout, top: top, dir: filepath.Join(cache, "mcpchain-release")}
	if r.modules, err = readModules(top); err != nil {
		return err
	}
	if r.version, err = agreed(r.modules); err != nil {
		return err
	}
	if tag != "" && tag != r.version {
		return fmt.Errorf("the tag is %s, but the modules require %s of each other", tag, r.version)
	}
	if err := r.makeProxy(); err != nil {
		return err
	}
	if dist != "" {
		return r.build(ctx, dist, chosen)
	}
	return r.use(ctx)
}

// A release is what would be tagged.
type release struct {
	out      io.Writer // says how each step went
	top, dir string    // of the clone, and of what is made here
	version  string
	modules  []*modfile.File // the root first
}

// readModules returns the go.mod of each module that gets a tag.
func readModules(top string) ([]*modfile.File, error) {
	files := []string{filepath.Join(top, "go.mod")}
	for _, below := range tagged {
		found, err := filepath.Glob(filepath.Join(top, below, "*", "go.mod"))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	modules := make([]*modfile.File, 0, len(files))
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := modfile.Parse(name, data, nil)
		if err != nil {
			return nil, err
		}
		folder, err := filepath.Rel(top, filepath.Dir(name))
		if err != nil {
			return nil, err
		}
		if want := path.Join(root, filepath.ToSlash(folder)); f.Module.Mod.Path != want {
			return nil, fmt.Errorf("%s is the module %s, and would be found as %s", name, f.Module.Mod.Path, want)
		}
		// A dependency's replacements are ignored, and a command's are refused by "go install".
		if strings.HasPrefix(folder, "cmd") && len(f.Replace) > 0 {
			return nil, fmt.Errorf("%s replaces %s: go install refuses a command whose go.mod does that", name, f.Replace[0].Old.Path)
		}
		modules = append(modules, f)
	}
	return modules, nil
}

// agreed returns the version in which the modules require each other, which has to be one: they
// are tagged at one commit.
func agreed(modules []*modfile.File) (string, error) {
	version := ""
	var by string
	for _, f := range modules {
		for _, r := range f.Require {
			if !below(r.Mod.Path, root) {
				continue
			}
			if version != "" && r.Mod.Version != version {
				return "", fmt.Errorf("%s requires %s, but %s requires %s: all modules are tagged at one commit in one version", f.Syntax.Name, r.Mod, by, version)
			}
			version, by = r.Mod.Version, f.Syntax.Name
		}
	}
	if version == "" {
		return "", errors.New("no module requires another: nothing says which version is next")
	}
	return version, nil
}

func below(pkg, module string) bool { return pkg == module || strings.HasPrefix(pkg, module+"/") }

// folder is that of a module in the clone, with slashes; empty for the root.
func folder(f *modfile.File) string {
	return strings.TrimPrefix(strings.TrimPrefix(f.Module.Mod.Path, root), "/")
}

// makeProxy writes the modules of HEAD as a GOPROXY of files, as https://go.dev/ref/mod#goproxy-protocol
// lays them out.
func (r *release) makeProxy() error {
	// What an earlier run made of an earlier commit, in the cache of modules too: a version
	// never changes, so that the go command would not look again.
	for _, old := range []string{"proxy", "use", "bin", "mod/" + root, "mod/cache/download/" + root} {
		if err := os.RemoveAll(filepath.Join(r.dir, filepath.FromSlash(old))); err != nil {
			return err
		}
	}
	sisters, err := filepath.Glob(filepath.Join(r.dir, "mod", filepath.FromSlash(root)+"@*"))
	if err != nil {
		return err
	}
	for _, old := range sisters {
		if err := os.RemoveAll(old); err != nil {
			return err
		}
	}
	for _, f := range r.modules {
		if err := r.makeModule(f); err != nil {
			return fmt.Errorf("%s: %w", f.Module.Mod.Path, err)
		}
	}
	return nil
}

func (r *release) makeModule(f *modfile.File) error {
	m := module.Version{Path: f.Module.Mod.Path, Version: r.version}
	dir := filepath.Join(r.dir, "proxy", filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": r.version, "Time": time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	gomod, err := os.ReadFile(f.Syntax.Name)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"list": []byte(r.version + "\n"), r.version + ".info": info, r.version + ".mod": gomod} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	packed, err := os.Create(filepath.Join(dir, r.version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromVCS(packed, m, r.top, "HEAD", folder(f)), packed.Close())
}

// environ is that of somebody who has nothing but Go: no workspace, and modules in a cache of
// their own, which the proxy of this release fills.
func (r *release) environ(ctx context.Context) ([]string, error) {
	known, err := output(ctx, r.top, nil, "go", "env", "GOPROXY", "GONOSUMDB")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(known+"\n", "\n")
	return append(os.Environ(),
		"GOWORK=off", "GOFLAGS=-modcacherw",
		"GOMODCACHE="+filepath.Join(r.dir, "mod"),
		"GOBIN="+filepath.Join(r.dir, "bin"),
		"GOPROXY=file://"+filepath.ToSlash(filepath.Join(r.dir, "proxy"))+","+lines[0],
		"GONOSUMDB="+strings.TrimPrefix(lines[1]+","+root, ","), // no checksum is published yet
	), nil
}

// use does what users do, each in a folder that was empty before.
func (r *release) use(ctx context.Context) error {
	env, err := r.environ(ctx)
	if err != nil {
		return err
	}
	at := func(m string) string { return m + "@" + r.version }
	var failed []error
	step := func(name string, do func(dir string) error) {
		dir := filepath.Join(r.dir, "use", strings.ReplaceAll(name, " ", "-"))
		start := time.Now()
		err := os.MkdirAll(dir, 0o750)
		if err == nil {
			err = do(dir)
		}
		verdict := "ok"
		if err != nil {
			verdict = "FAILED"
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
		}
		fmt.Fprintf(r.out, "%-7s %4.0fs  %s\n", verdict, time.Since(start).Seconds(), name)
	}
	commands := func(dir string, lines ...[]string) error {
		for _, line := range lines {
			if _, err := output(ctx, dir, env, line[0], line[1:]...); err != nil {
				return err
			}
		}
		return nil
	}

	fmt.Fprintf(r.out, "%d modules as %s\n", len(r.modules), r.version)
	for _, page := range programPages {
		step("the program of "+path.Base(page), func(dir string) error {
			program, err := pageProgram(filepath.Join(r.top, page))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, "main.go"), program, 0o600); err != nil {
				return err
			}
			return commands(dir, []string{"go", "mod", "init", "example.com/user"}, []string{"go", "get", at(root)},
				[]string{"go", "mod", "tidy"}, []string{"go", "vet", "."}, []string{"go", "build", "-o", os.DevNull, "."})
		})
	}
	for _, f := range r.modules {
		name := f.Module.Mod.Path
		if strings.HasPrefix(folder(f), "cmd/") {
			step("go install "+path.Base(name), func(dir string) error {
				return commands(dir, []string{"go", "install", at(name)})
			})
			continue
		}
		step("every package of "+path.Base(name), func(dir string) error {
			return commands(dir, []string{"go", "mod", "init", "example.com/user"}, []string{"go", "get", at(name + "/...")},
				[]string{"go", "build", name + "/..."})
		})
	}
	step("npx mcpchain", func(dir string) error { return r.npx(ctx, dir) })
	step("go run quickstart", func(dir string) error {
		return commands(dir, []string{"go", "run", at(root + "/examples/quickstart")})
	})
	return errors.Join(failed...)
}

// programPages are the pages with a whole program that users copy.
var programPages = []string{"README.md", "docs/start.md"}

// pageProgram is the whole program of a page.
func pageProgram(name string) ([]byte, error) {
	page, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	block := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(page)
	if block == nil {
		return nil, fmt.Errorf("%s has no block that begins with \"package main\"", name)
	}
	return block[1], nil
}

// output runs a command and returns what it prints, without the last line break; its error has
// what the command said.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, out, said.String())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
