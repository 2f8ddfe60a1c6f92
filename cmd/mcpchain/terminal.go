package main

import "os"

// isTerminal reports whether a person sits at the other end of a stream. The null device looks like a terminal, and is
// what supervisors give.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	is, err := file.Stat()
	if err != nil || is.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(is, null)
}
