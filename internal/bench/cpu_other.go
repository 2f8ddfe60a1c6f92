//go:build !unix

package main

import "time"

// processTime is how long the process has worked, about: nothing here tells it.
func processTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
