package errbench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain runs the tests, or is an agent in a process of its own.
func TestMain(m *testing.M) {
	switch os.Getenv("ERRBENCH_TEST_AGENT") {
	case "naive":
		lines := bufio.NewReader(os.Stdin)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				os.Exit(0)
			}
			var turn Turn
			if json.Unmarshal(line, &turn) != nil {
				os.Exit(1)
			}
			action, _ := Naive{}.Next(context.Background(), &turn)
			text, _ := json.Marshal(action)
			fmt.Println(string(text))
		}
	case "mute":
		os.Exit(0)
	default:
		os.Exit(m.Run())
	}
}

// TestEvidence holds docs/evidence.md to what is measured, and the corpus to its purpose.
func TestEvidence(t *testing.T) {
	results := Run(t, Agents(), Servers(), Cases())
	_, was, now, err := replaced(Table(results))
	require.NoError(t, err)
	require.Equal(t, now, was, "go run ./internal/errbench/cmd/errbench -write")

	right := map[string][]string{} // the servers on which somebody was right
	for _, r := range results {
		require.LessOrEqual(t, r.Calls, MaxCalls)
		require.Positive(t, r.Tokens)
		if r.Right {
			right[r.Case] = append(right[r.Case], r.Server)
		}
		if r.Server == "mcpchain" {
			require.False(t, r.Secrets, r.Story)
			require.Zero(t, r.Died, r.Story)
		}
	}
	seen, inWords := map[string]bool{}, 0
	for _, c := range Cases() {
		if c.Worded {
			inWords++
		}
		require.False(t, seen[c.Name], "two cases are called %s", c.Name)
		seen[c.Name] = true
		if c.Name != "a loop stops in the middle" { // and nothing says so: nobody can know
			require.NotEmpty(t, right[c.Name], "nobody was right in %s", c.Name)
		}
	}
	require.Contains(t, was, fmt.Sprintf("plays %d tasks", len(seen)))
	require.Contains(t, was, fmt.Sprintf("worded the failure (%d cases)", inWords))
}

// TestTextReadsWhatOthersWrite gives the agent sentences of many authors. It is the same
// agent on every server, so it must not know the words of one only.
func TestTextReadsWhatOthersWrite(t *testing.T) {
	tools := []Tool{
		write(nil).Tool, find(&World{}).Tool,
		{Name: "list_orders", ReadOnly: true, InputSchema: object(nil, map[string]any{})},
	}
	again := func(wait float64) Action {
		return Action{Wait: wait, Tool: "place_order", Arguments: orderArguments, Told: true}
	}
	look := Action{Tool: "find_order", Arguments: map[string]any{"order_id": "o-7"}, Told: true}
	for text, want := range map[string]Action{
		"Too many requests. Please retry after 30 seconds.":                                  again(30),
		"rate limit reached, try again in 2 minutes":                                         again(120),
		"Quota exceeded; wait at least 500 ms":                                               again(1),
		"HTTP 429\nRetry-After: 12":                                                          again(12),
		"The service is busy. Try again.":                                                    again(1),
		"This request can be retried.":                                                       again(1),
		"Retry: yes, after 7 s (attempt 2 of 3).":                                            again(7),
		"The card was declined. Do not retry.":                                               {Told: true},
		"Fatal: not retryable":                                                               {Told: true},
		"The same request will fail again.":                                                  {Told: true},
		"The quota is used up. Try again in 3 hours.":                                        {Told: true},
		"Timed out; the order may have been placed.":                                         look,
		"It is unknown whether the order was placed. Check before you try again":             look,
		"Timeout. Use find_order to see what happened.":                                      look,
		`Timeout. Call find_order {"order_id":"o-7"} first.`:                                 look,
		"The order was placed, but the receipt could not be printed.":                        {Done: true, Told: true},
		"place_order: quantity must be an integer":                                           {Tool: "place_order", Arguments: map[string]any{"order_id": "o-7", "quantity": 6}, Told: true},
		`validating "arguments": validating /properties/quantity: type: 5 has type "string"`: {Tool: "place_order", Arguments: map[string]any{"order_id": "o-7", "quantity": 6}, Told: true},
		`Order "o-7" does not exist, did you mean "o-8"?`:                                    {Tool: "place_order", Arguments: map[string]any{"order_id": "o-8", "quantity": 5}, Told: true},
		`Wrong arguments. Corrected call: place_order {"order_id":"o-7","quantity":7}`:       {Tool: "place_order", Arguments: map[string]any{"order_id": "o-7", "quantity": 7.0}, Told: true},
		"internal error":   {Wait: 2, Tool: "place_order", Arguments: orderArguments},
		"something's off":  {Wait: 2, Tool: "place_order", Arguments: orderArguments},
		"no such order 12": {Wait: 2, Tool: "place_order", Arguments: orderArguments},
	} {
		turn := &Turn{
			Tools: tools, Knows: map[string][]any{"quantity": {5, 6}},
			Exchanges: []Exchange{{"place_order", maps.Clone(orderArguments), Answer{Failed: true, Text: text}}},
		}
		got, err := (&Text{}).Next(t.Context(), turn)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
}

// TestExpertKnowsErrors holds what is said of the agent that knows errors: nobody gets less
// than a good reader would make of it.
func TestExpertKnowsErrors(t *testing.T) {
	for text, want := range map[string][2]string{ // for a write, for a read
		"dial tcp 10.0.0.7:5432: connect: connection refused":                  {"again", "again"},
		"context deadline exceeded":                                            {"look", "again"},
		"read tcp 10.0.0.7:5432: read: connection reset by peer":               {"look", "again"},
		"503 Service Unavailable":                                              {"again", "again"},
		"database is locked (5) (SQLITE_BUSY)":                                 {"again", "again"},
		"could not serialize access due to concurrent update (SQLSTATE 40001)": {"again", "again"},
		"401 Unauthorized":                                                     {"stop", "stop"},
		"duplicate key value violates unique constraint":                       {"stop", "stop"},
		"lookup db.internal: no such host":                                     {"stop", "stop"},
		"404 Not Found":                                                        {"list", "list"},
		"MCP error -32000: Connection closed":                                  {"look", "again"},
	} {
		for i, main := range []Tool{write(nil).Tool, report(nil).Tool} {
			first := Exchange{main.Name, orderArguments, Answer{Failed: true, Text: text}}
			if i == 1 {
				first.Arguments = reportArguments
			}
			tools := []Tool{main, find(&World{}).Tool, {Name: "list_orders", ReadOnly: true, InputSchema: object(nil, map[string]any{})}}
			got, err := (&Text{Expert: true}).Next(t.Context(), &Turn{Tools: tools, Exchanges: []Exchange{first}})
			require.NoError(t, err)
			said := map[string]string{main.Name: "again", "find_order": "look", "list_orders": "list", "": "stop"}[got.Tool]
			require.Equal(t, want[i], said, "%s, %s", main.Name, text)
			require.False(t, got.Told, text)
		}
	}
}

func TestMisled(t *testing.T) {
	turn := &Turn{Tools: []Tool{{Name: "do"}, {Name: "look"}}, Exchanges: []Exchange{{"do", nil, Answer{Failed: true}}}}
	repeat, halt := Action{Tool: "do", Told: true}, Action{Told: true}
	for kind, want := range map[truthKind][2]bool{fix: {true, false}, again: {false, true}, check: {true, false}, stop: {true, false}, either: {false, false}} {
		w := &World{truth: truth{kind: kind, at: time.Now()}}
		require.Equal(t, want[0], w.wrong(turn, repeat), "%v: repeat", kind)
		require.Equal(t, want[1], w.wrong(turn, halt), "%v: stop", kind)
		own := repeat
		own.Told = false
		require.False(t, w.wrong(turn, own), "its own idea")
	}
	w := &World{truth: truth{kind: again, at: time.Now().Add(time.Minute)}}
	require.True(t, w.wrong(turn, repeat), "too early")
	repeat.Wait = 61
	require.False(t, w.wrong(turn, repeat))
	w.truth.at = time.Now().Add(time.Hour)
	require.False(t, w.wrong(turn, halt), "nobody waits for an hour")
	done := Action{Done: true, Told: true}
	require.True(t, w.wrong(turn, done), "it is not done")
	require.False(t, (&World{Effects: 1}).wrong(turn, done))
	require.True(t, w.wrong(turn, Action{Tool: "gone", Told: true}), "there is no such tool")
	require.False(t, w.wrong(turn, Action{Tool: "look", Told: true}))
}

// TestWitness holds what a witness buys: a loop that stops in the middle is told so. Who reads it finishes the loop, and
// a program, which cannot look by its own wits, does not take it for done.
func TestWitness(t *testing.T) {
	cases := slices.DeleteFunc(Cases(), func(c *Case) bool { return c.Name != "a loop stops in the middle, witnessed" })
	servers := slices.DeleteFunc(Servers(), func(s Server) bool { return s.Name != "mcpchain" })
	for _, r := range Run(t, Agents()[:4], servers, cases) {
		require.Zero(t, r.Misled, r.Story)
		require.Zero(t, r.Twice, r.Story)
		require.Equal(t, r.Agent != "machine form", r.Right, r.Story)
	}
}

// TestCommand plays the corpus with an agent in a process of its own, which does the same
// as the one in this process.
func TestCommand(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "ERRBENCH_TEST_AGENT=naive")
	agent, err := Start("repeats", command)
	require.NoError(t, err)
	servers, cases := Servers()[3:], Cases()[:8]
	there := Run(t, []Agent{agent}, servers, cases)
	require.NoError(t, agent.Close())
	here := Run(t, []Agent{Naive{}}, servers, Cases()[:8])
	require.Equal(t, Table(here), Table(there))

	command = exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "ERRBENCH_TEST_AGENT=mute")
	agent, err = Start("mute", command)
	require.NoError(t, err)
	_, err = agent.Next(t.Context(), &Turn{})
	require.ErrorContains(t, err, "mute does not")
	_ = agent.Close()
}

// TestServersAreEqual proves that a tool that succeeds says the same on every server.
func TestServersAreEqual(t *testing.T) {
	var once sync.Once
	for _, r := range Run(t, []Agent{Naive{}}, Servers(), []*Case{reading("", "fine", false, func(w *World) handler { return w.readIt })}) {
		require.True(t, r.Right, r.Server)
		require.Equal(t, 1, r.Calls, r.Server)
		once.Do(func() {
			require.True(t, slices.ContainsFunc(r.Story, func(s string) bool { return strings.Contains(s, "Sunny") }))
		})
	}
}
