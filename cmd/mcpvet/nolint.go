package main

import (
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// withNolint returns a check that does not report what a comment silences. golangci-lint
// handles these comments itself, and also finds those that silence nothing, so there the
// checks run without it.
func withNolint(check *analysis.Analyzer) *analysis.Analyzer {
	silent := *check
	silent.Run = func(pass *analysis.Pass) (any, error) {
		lines := silenced(pass)
		if len(lines) == 0 {
			return check.Run(pass)
		}
		some := *pass
		some.Report = func(d analysis.Diagnostic) {
			if at := pass.Fset.Position(d.Pos); !lines[line{at.Filename, at.Line}] {
				pass.Report(d)
			}
		}
		return check.Run(&some)
	}
	return &silent
}

type line struct {
	file string
	line int
}

// silenced returns the lines that //nolint:mcpvet silences, alone or among other names: its
// own, and the next one if nothing else stands on its own.
func silenced(pass *analysis.Pass) map[line]bool {
	lines := map[line]bool{}
	for _, file := range pass.Files {
		var code []byte
		for _, group := range file.Comments {
			for _, comment := range group.List {
				if !names(comment.Text) {
					continue
				}
				at := pass.Fset.Position(comment.Pos())
				lines[line{at.Filename, at.Line}] = true
				if code == nil {
					code, _ = pass.ReadFile(pass.Fset.File(file.FileStart).Name())
				}
				if alone(pass.Fset, code, comment.Pos()) {
					lines[line{at.Filename, at.Line + 1}] = true
				}
			}
		}
	}
	return lines
}

// names reports whether a comment silences mcpvet.
func names(comment string) bool {
	list, ok := strings.CutPrefix(comment, "//nolint:")
	if !ok {
		return false
	}
	list, _, _ = strings.Cut(list, " ")
	return slices.Contains(strings.Split(list, ","), "mcpvet")
}

// alone reports whether only blanks stand before a position on its line.
func alone(files *token.FileSet, code []byte, pos token.Pos) bool {
	f := files.File(pos)
	begin, end := f.Offset(f.LineStart(f.Line(pos))), f.Offset(pos)
	return end <= len(code) && strings.TrimSpace(string(code[begin:end])) == ""
}
