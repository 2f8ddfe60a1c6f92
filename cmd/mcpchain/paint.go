package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/probe"
)

// clearLine empties the line of a terminal in which the cursor stands.
const clearLine = "\r\x1b[K"

// progress returns a function that shows how far the checks are, if they take longer than two seconds: on a terminal in
// one line that moves, else in a line a second. done is for the end.
func progress(errs io.Writer, terminal bool, what string) (show func(done, all int, name string), done func()) {
	begun, shown := time.Now(), time.Time{}
	before, after, every := "", "\n", time.Second
	if terminal {
		before, after, every = clearLine, "", 0
	}
	show = func(done, all int, name string) {
		if now := time.Now(); now.Sub(begun) > 2*time.Second && now.Sub(shown) > every {
			shown = now
			fmt.Fprintf(errs, "%smcpchain: %scheck %d of %d, %s%s", before, what, done+1, all, name, after)
		}
	}
	return show, func() {
		if terminal && !shown.IsZero() {
			fmt.Fprint(errs, clearLine)
		}
	}
}

// A paint writes in colours, or not.
type paint bool

// paintOf returns the paint for what is written: none where no terminal is, and none for those that want none
// (no-color.org).
func paintOf(w io.Writer) paint { return paint(isTerminal(w) && os.Getenv("NO_COLOR") == "") }

func (p paint) in(style, text string) string {
	if !p {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (p paint) bold(text string) string  { return p.in("1", text) }
func (p paint) quiet(text string) string { return p.in("2", text) }

// weight writes in red, yellow or blue.
func (p paint) weight(w probe.Weight, text string) string {
	return p.in(map[probe.Weight]string{probe.User: "1;31", probe.Model: "1;33", probe.Letter: "1;34"}[w], text)
}
