//go:build unix

package main

import (
	"syscall"
	"time"
)

// processTime is how long the process has worked.
func processTime() time.Duration {
	var use syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
