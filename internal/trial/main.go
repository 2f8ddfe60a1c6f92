// Trial asks what models make of failing tools, with the advice of mcpchain and without it. Players are language
// models with one command, t. Behind it stands, for each player, arm and task, a real server on the official SDK, in
// virtual time. Requests, texts and failures are the same in each arm, and players do not know of arms. What became
// of a request is judged by the ground truth of the server and by the player's last words.
//
//	build.sh DIR PROJECT [LABEL]            build DIR/t, its briefs, and trial in DIR/.priv, for the library in PROJECT
//	trial assign -arms bare,line,whole 1    write the brief of player 1
//	trial score [-story] DIR|FILE...        print the tables, or each run: read them before any figure is used
//	trial keep -to FILE DIR...              write the runs that have ended, for internal/trial/runs
//
// The tests need no models: they play an agent that obeys each text to the letter, and one that never does.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func fail(err error) {
	_, _ = fmt.Fprintln(os.Stderr, "trial:", err)
	os.Exit(2)
}

func main() {
	if err := command(os.Args[1:]); err != nil {
		fail(err)
	}
}

func command(args []string) error {
	if len(args) == 0 {
		return errors.New("serve, known, assign, score or keep")
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	dir := flags.String("dir", filepath.Dir(exe), "where the logs and the assignments of the players are")
	of := flags.String("arms", "bare,line,whole", "the arms, for assign")
	stories := flags.Bool("story", false, "print each run, for score")
	label := flags.String("label", "", "the set of runs that have none, for score and keep")
	to := flags.String("to", "", "the file, for keep")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch rest := flags.Args(); {
	case args[0] == "serve" && len(rest) == 2:
		return serve(*dir, rest[0], rest[1])
	case args[0] == "known" && len(rest) == 2: // for t
		_, err := seatOf(*dir, rest[0], rest[1])
		return err
	case args[0] == "assign" && len(rest) == 1:
		player, err := strconv.Atoi(rest[0])
		if err != nil || player < 1 {
			return cmp.Or(err, errors.New("players are numbered from 1"))
		}
		return seatPlayer(os.Stdout, *dir, player, strings.Split(*of, ","))
	case args[0] == "score" && len(rest) > 0, args[0] == "keep" && len(rest) > 0 && *to != "":
		var runs []run
		for _, path := range rest {
			more, open, err := load(path)
			if err != nil {
				return err
			}
			if len(open) > 0 {
				_, _ = fmt.Fprintln(os.Stderr, "not ended:", strings.Join(open, " "))
			}
			for _, r := range more {
				r.Set = cmp.Or(r.Set, *label)
				runs = append(runs, r)
			}
		}
		switch {
		case args[0] == "keep":
			return keep(runs, *to)
		case *stories:
			story(os.Stdout, runs)
		default:
			tables(os.Stdout, runs)
		}
		return nil
	}
	return errors.New("see the comment of the program")
}
