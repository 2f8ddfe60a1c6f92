// Errbench prints what agents make of the failures of four servers, and writes it into
// docs/evidence.md.
//
//	go run ./internal/errbench/cmd/errbench
//	go run ./internal/errbench/cmd/errbench -write
//	go run ./internal/errbench/cmd/errbench -agent 'python3 agent.py' -server mcpchain -story
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/errbench"
)

func main() {
	write := flag.Bool("write", false, "write the tables into docs/evidence.md")
	command := flag.String("agent", "", "a command that is the only agent; it reads turns and writes actions as lines of JSON")
	server := flag.String("server", "", "only this server")
	story := flag.Bool("story", false, "print each step of each case")
	testing.Init() // for the time that stands still
	flag.Parse()

	agents, servers := errbench.Agents(), errbench.Servers()
	if *server != "" {
		servers = slices.DeleteFunc(servers, func(s errbench.Server) bool { return s.Name != *server })
	}
	if *command != "" {
		cmd := exec.Command("sh", "-c", *command) //nolint:gosec,noctx // the user's own command
		cmd.Stderr = os.Stderr
		agent, err := errbench.Start(*command, cmd)
		if err != nil {
			log.Fatal(err)
		}
		agents = []errbench.Agent{agent}
	}
	// testing.Main gives the test that testing/synctest asks for. It ends the process.
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: "errbench", F: func(t *testing.T) {
			results := errbench.Run(t, agents, servers, errbench.Cases())
			if t.Failed() {
				return
			}
			table := errbench.Table(results)
			show(results, *story, table)
			if !*write {
				return
			}
			if *command != "" || *server != "" {
				t.Fatal("-write is for all agents and servers")
			}
			if err := errbench.WriteDocs(table); err != nil {
				t.Fatal(err)
			}
		},
	}}, nil, nil)
}

func show(results []*errbench.Result, stories bool, table string) {
	for _, r := range results {
		if stories {
			steps := strings.ReplaceAll(strings.Join(r.Story, "\n"), "\n", "\n  ")
			_, _ = fmt.Fprintf(os.Stdout, "%s, %s on %s\n  %s\n", r.Case, r.Agent, r.Server, steps)
		}
	}
	_, _ = fmt.Fprint(os.Stdout, table)
}
