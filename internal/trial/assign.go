package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// letters stand for arms, so that a player does not know them.
const letters = "KMRTVX"

// An assignment is what one player plays, in which order, and which letter means which arm.
type assignment struct {
	Order   []string          `json:"order"`   // of tasks
	Arms    map[string]string `json:"arms"`    // by task
	Letters map[string]string `json:"letters"` // by arm
}

// assign deals out tasks and arms in Latin squares. Players stand in groups of as many as there are arms: a player
// has each task once and each arm equally often, and a group has each task in each arm once. The order of tasks and
// the letters are each player's own. The tasks are as many as a multiple of the arms.
func assign(player int, arms []string, tasks []task) assignment {
	seed := uint64(20261129)
	group := rand.New(rand.NewPCG(seed, uint64((player-1)/len(arms))))
	own := rand.New(rand.NewPCG(seed+1, uint64(player)))
	a := assignment{Arms: map[string]string{}, Letters: map[string]string{}}
	shift := group.Perm(len(tasks))
	for i, t := range tasks {
		a.Order = append(a.Order, t.name)
		a.Arms[t.name] = arms[(player-1+shift[i])%len(arms)]
	}
	own.Shuffle(len(a.Order), func(i, j int) { a.Order[i], a.Order[j] = a.Order[j], a.Order[i] })
	letter := own.Perm(len(letters))
	for i, arm := range arms {
		a.Letters[arm] = letters[letter[i] : letter[i]+1]
	}
	return a
}

func assignmentFile(dir, player string) string {
	return filepath.Join(dir, "players", player+".json")
}

// seatOf finds what a player's token and task mean. A player sits only where the assignment says. The player 0 tries
// the command itself: K0, M0 and R0 are the arms in their order, with all tasks, and no figure counts them.
func seatOf(dir, token, name string) (seat, error) {
	none := errors.New("there is no such task for this letter: look at your list")
	if len(token) < 2 {
		return seat{}, none
	}
	letter, player := token[:1], token[1:]
	if _, ok := taskNamed(name); !ok {
		return seat{}, none
	}
	if i := strings.Index(letters, letter); player == "0" && i >= 0 && i < len(arms) {
		return seat{player, arms[i].name, name}, nil
	}
	if _, err := strconv.ParseUint(player, 10, 16); err != nil {
		return seat{}, none
	}
	raw, err := os.ReadFile(assignmentFile(dir, player))
	if err != nil {
		return seat{}, none
	}
	var a assignment
	if err := json.Unmarshal(raw, &a); err != nil {
		return seat{}, err
	}
	if arm := a.Arms[name]; a.Letters[arm] == letter {
		return seat{player, arm, name}, nil
	}
	return seat{}, none
}

//go:embed rules.txt
var rules string

// brief writes what a player is told.
func (a assignment) brief(w io.Writer, player int, command string) {
	_, _ = io.WriteString(w, strings.NewReplacer("COMMAND", command, "TASKS", strconv.Itoa(len(a.Order))).Replace(rules))
	for _, name := range a.Order {
		t, _ := taskNamed(name)
		_, _ = fmt.Fprintf(w, "%s%d %s: %s\n\n", a.Letters[a.Arms[name]], player, name, t.text)
	}
}

// seatPlayer keeps the assignment of a player in the directory, and writes the brief.
func seatPlayer(w io.Writer, dir string, player int, names []string, tasks []task) error {
	for _, name := range names {
		if !slices.ContainsFunc(arms, func(a arm) bool { return a.name == name }) {
			return errors.New("there is no arm " + name)
		}
	}
	a := assign(player, names, tasks)
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := os.WriteFile(assignmentFile(dir, strconv.Itoa(player)), raw, 0o600); err != nil {
		return err
	}
	a.brief(w, player, filepath.Join(filepath.Dir(dir), "t"))
	return nil
}
