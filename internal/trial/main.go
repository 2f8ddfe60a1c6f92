// Trial asks what models make of failing tools, with the advice of mcpchain and without it. Players are language
// models with one command, t. Behind it stands, for each player, arm and task, a real server on the official SDK, in
// virtual time. Requests, texts and failures are the same in each arm, and players do not know of arms. What became
// of a request is judged by the ground truth of the server and by the player's last words.
//
//	build.sh DIR PROJECT [LABEL]      build DIR/t, its briefs, and trial in DIR/.priv, for the library in PROJECT
//	trial assign 1 bare,line,whole    write the brief of player 1
//	trial score DIR|FILE...           print the tables
//	trial story DIR|FILE...           print each run: read them before any figure is used
//	trial keep FILE DIR...            write the runs that have ended, for internal/trial/runs
//
// The tests need no models: they play an agent that obeys each text to the letter, and one that never does.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func fail(err error) {
	_, _ = fmt.Fprintln(os.Stdout, err) // a player reads one stream
	os.Exit(2)
}

func main() {
	if len(os.Args) < 2 {
		fail(errors.New("see the comment of the program"))
	}
	if err := command(os.Args[1], os.Args[2:]); err != nil {
		fail(err)
	}
}

func command(name string, args []string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	dir := filepath.Dir(exe)
	switch {
	case name == "ask": // by t
		out, err := ask(dir, exe, args)
		if err == nil {
			_, _ = fmt.Fprintln(os.Stdout, strings.TrimRight(out, "\n"))
		}
		return err
	case name == "serve" && len(args) == 2: // by ask
		return serve(dir, args[0], args[1])
	case name == "assign" && len(args) == 3:
		player, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		var dealt []task
		for name := range strings.SplitSeq(args[2], ",") {
			t, ok := taskNamed(name)
			if !ok {
				return errors.New("there is no task " + name)
			}
			dealt = append(dealt, t)
		}
		return seatPlayer(os.Stdout, dir, player, strings.Split(args[1], ","), dealt)
	case name == "keep" && len(args) > 1:
		runs, err := load(args[1:])
		if err != nil {
			return err
		}
		return keep(runs, args[0])
	case name == "score", name == "story":
		runs, err := load(args)
		map[string]func(io.Writer, []run){"score": tables, "story": story}[name](os.Stdout, runs)
		return err
	}
	return errors.New("see the comment of the program")
}
