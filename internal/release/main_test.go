package main

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

const top = "../.."

// TestModulesAgree: the modules can be tagged as they are. It is the part of a release's check
// that takes no time.
func TestModulesAgree(t *testing.T) {
	modules, err := readModules(top)
	if err != nil {
		t.Fatal(err)
	}
	if len(modules) < 5 || modules[0].Module.Mod.Path != root {
		t.Fatalf("%d modules, the first of which is %s", len(modules), modules[0].Module.Mod.Path)
	}
	if _, err := agreed(modules); err != nil {
		t.Fatal(err)
	}
	for _, page := range programPages {
		if _, err := pageProgram(filepath.Join(top, page)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDisagreement: a module that was forgotten is named, with what it requires.
func TestDisagreement(t *testing.T) {
	module := func(name, version string) *modfile.File {
		f, err := modfile.Parse(name, []byte("module "+root+"/"+name+"\n\nrequire "+root+" "+version+"\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	_, err := agreed([]*modfile.File{module("contrib/a", "v0.1.0"), module("contrib/b", "v0.2.0")})
	if err == nil || !strings.Contains(err.Error(), "contrib/b requires "+root+"@v0.2.0, but contrib/a requires v0.1.0") {
		t.Fatal(err)
	}
	if _, err := agreed(nil); err == nil {
		t.Fatal("a version out of nothing")
	}
}
