// Quickstart shows what mcpchain does, in a few seconds:
//
//	go run ./examples/quickstart
//
// It starts real server processes (this program again), over stdio and over
// streamable HTTP, lets their handlers fail in every way that handlers fail, and
// prints what a caller gets without mcpchain, what it gets with it, and what the
// server's log says. It checks what it claims and exits with 1 if anything is not
// so.
//
// The files, in the order in which they are worth reading:
//
//	server.go    the server, the chain that wraps it, and its transports
//	failures.go  the handlers that fail, and how they are called
//	client.go    starts a server process, calls it and judges the answers
//	report.go    prints
//
// To try the server with a client of your own, run it alone:
//
//	go run ./examples/quickstart -serve http -wrap
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	transport := flag.String("serve", "", "run only the server, over `stdio` or http")
	wrap := flag.Bool("wrap", false, "with -serve: wrap the server in mcpchain")
	flag.Parse()

	var err error
	if *transport != "" {
		err = serve(*transport, *wrap)
	} else {
		err = show()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// show runs everything and prints it.
func show() error {
	ctx, cancel := context.WithTimeout(context.Background(), 14*time.Second)
	defer cancel()

	out := newPrinter(os.Stdout)
	out.head()
	// Both transports at once, because most of the time is spent waiting for
	// answers that never come.
	overHTTP := make(chan *comparison, 1)
	go func() { overHTTP <- compare(ctx, "http") }()

	stdio := compare(ctx, "stdio")
	out.details(stdio)
	http := <-overHTTP
	out.table(http, stdio)
	return out.summary(stdio, http)
}
