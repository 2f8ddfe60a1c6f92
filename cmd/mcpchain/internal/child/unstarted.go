package child

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcpchain/mcpchain/internal/near"
)

// An UnstartedError says that a command cannot be started.
type UnstartedError struct {
	Why string // in a sentence without the path of the command
	Err error
}

func (e *UnstartedError) Error() string { return e.Err.Error() + ": " + e.Why }

func (e *UnstartedError) Unwrap() error { return e.Err }

// Look returns why a command cannot be started, nil if its program is there.
func Look(args []string) error {
	if _, err := exec.LookPath(args[0]); err != nil {
		return unstarted(args, err)
	}
	return nil
}

func unstarted(args []string, err error) error {
	name := filepath.Base(args[0])
	quoted := strconv.Quote(name)
	path := name != args[0]
	is := func(target error) bool { return errors.Is(err, target) }
	var why string
	switch {
	case args[0] == "":
		why = "its name is empty"
	case strings.HasPrefix(args[0], "~") || strings.Contains(args[0], "$"):
		why = "no shell replaces \"~\" and \"$\" in its name: write the whole path"
	case is(exec.ErrDot):
		why = quoted + " is in the working directory, which is not searched: write ." + string(filepath.Separator) + name // as it has to be typed
	case is(exec.ErrNotFound), is(fs.ErrNotExist):
		why = missing(args[0], name, path)
	case is(syscall.ENOEXEC):
		why = quoted + " is not a program of this machine. A script needs a first line such as \"#!/bin/sh\""
	case is(fs.ErrPermission):
		why = quoted + " may not be executed"
		if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
			why = quoted + " is a directory"
		}
	default:
		why = quoted + " cannot be started"
	}
	return &UnstartedError{why, err}
}

// missing says why there is no such program.
func missing(command, name string, path bool) string {
	quoted := strconv.Quote(name)
	if first, _, more := strings.Cut(command, " "); more {
		if _, err := exec.LookPath(first); err == nil || filepath.Base(first) == first {
			return "the program and its arguments stand in one text: each argument has to be a text of its own"
		}
	}
	dirs, where := filepath.SplitList(os.Getenv("PATH")), "in PATH"
	if path {
		if _, err := os.Stat(command); err == nil {
			return quoted + " is there, but not what it is started with: the program in its first line, or the loader of its libraries"
		}
		dirs, where = []string{filepath.Dir(command)}, "in its directory"
	}
	why := "there is no program " + quoted + " " + where
	if nearest := nearest(name, dirs); nearest != "" {
		return why + ". Did you mean " + strconv.Quote(nearest) + "?"
	}
	if !path {
		why += ". A client may have another PATH than a terminal: write the whole path of the program"
	}
	return why
}

// maxCompared bounds the names that are compared at once, as near does.
const maxCompared = 1024

// nearest returns the name of a program in the directories that is near, "" if none is.
func nearest(name string, dirs []string) string {
	var found []string
	for _, dir := range dirs {
		files, _ := os.ReadDir(dir) // some do not exist
		for some := range slices.Chunk(files, maxCompared) {
			var programs []string
			for _, file := range some {
				programs = append(programs, file.Name())
			}
			for _, match := range near.Matches(name, programs) {
				if _, err := exec.LookPath(filepath.Join(dir, match)); err == nil {
					found = append(found, match)
				}
			}
		}
	}
	if found = near.Matches(name, found); len(found) > 0 {
		return found[0]
	}
	return ""
}
