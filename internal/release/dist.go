package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// build writes the program for each system to the folder, as "go install" makes it of the tag: with the
// version, and without the workspace, whose other modules raise the versions of dependencies.
func (r *release) build(ctx context.Context, dist string, chosen []string) error {
	env, err := r.environ(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o750); err != nil {
		return err
	}
	for _, system := range chosen {
		goos, goarch, _ := strings.Cut(system, "/")
		// Where go install puts what is for another system, it puts nothing that GOBIN names.
		dir := filepath.Join(r.dir, "dist", goos+"_"+goarch)
		env := append(env, "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOBIN=", "GOPATH="+dir)
		if _, err := output(ctx, r.dir, env, "go", "install", "-trimpath", "-ldflags=-s -w", root+"/cmd/mcpchain@"+r.version); err != nil {
			return fmt.Errorf("%s: %w", system, err)
		}
		from := filepath.Join(dir, "bin")
		if system != runtime.GOOS+"/"+runtime.GOARCH {
			from = filepath.Join(from, goos+"_"+goarch)
		}
		exe := ""
		if goos == "windows" {
			exe = ".exe"
		}
		program, err := os.ReadFile(filepath.Join(from, "mcpchain"+exe))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dist, "mcpchain_"+goos+"_"+goarch+exe), program, 0o755); err != nil { //nolint:gosec // programs are for everybody
			return err
		}
	}
	return nil
}

// greeted is what a client begins with, for a server that answers what it likes.
const greeted = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"release","version":"1"}}}` + "\n"

// npx builds the program for this system, packs its packages of npm, installs them from these files alone,
// and has npx run the program in front of a server. Step cross of .ci/run compiles it for other systems.
func (r *release) npx(ctx context.Context, dir string) error {
	dist, packages := filepath.Join(dir, "dist"), filepath.Join(dir, "packages")
	if err := r.build(ctx, dist, []string{runtime.GOOS + "/" + runtime.GOARCH}); err != nil {
		return err
	}
	if _, err := output(ctx, r.top, nil, "packaging/npm/pack", strings.TrimPrefix(r.version, "v"), dist, packages); err != nil {
		return err
	}
	user := filepath.Join(dir, "user")
	if err := os.MkdirAll(user, 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(user, "server.js"), []byte(npxServer), 0o600); err != nil {
		return err
	}
	platform, err := output(ctx, dir, nil, "node", "-p", "process.platform + '-' + process.arch")
	if err != nil {
		return err
	}
	install := []string{"install", "--offline", "--no-audit", "--no-fund"}
	for _, name := range []string{"mcpchain", platform} {
		file, err := output(ctx, dir, nil, "npm", "pack", "--silent", "--pack-destination", dir, filepath.Join(packages, name))
		if err != nil {
			return err
		}
		install = append(install, filepath.Join(dir, file))
	}
	if _, err := output(ctx, user, nil, "npm", install...); err != nil {
		return err
	}
	is, err := output(ctx, user, nil, "npx", "-y", "mcpchain", "version")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(is, "mcpchain "+r.version+" ") {
		return fmt.Errorf("npx mcpchain is %q, not %s", is, r.version)
	}
	cmd := exec.CommandContext(ctx, "npx", "-y", "mcpchain", "run", "--", "node", "server.js")
	cmd.Dir, cmd.Stdin = user, strings.NewReader(greeted)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"serverInfo":{"name":"behind npx"`) {
		return fmt.Errorf("npx mcpchain run: %w\n%s", err, out)
	}
	return nil
}

// npxServer answers each request as if it were the first.
const npxServer = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "behind npx", version: "1" } } }));
});
`
