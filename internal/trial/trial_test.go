package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var handles = regexp.MustCompile(`task_result \{"id":"(\w+)"\}`)

// surveyed is what a player does with a call that lasts, if the answer is a handle.
var surveyed = []request{call("survey_room", `{"room":"depot 4"}`), wait(120), call("task_result", `{"id":"HANDLE"}`), call("task_result", `{"id":"HANDLE"}`), end("DONE: 14, and the worst is F-2033.")}

// played runs ops as a player, in one arm, and returns the run.
func played(t *testing.T, arm, task string, ops ...request) *run {
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		requests := make(chan request)
		go func() {
			defer close(requests)
			id := "none"
			for _, r := range ops {
				r.reply = make(chan string, 1)
				r.Args = json.RawMessage(strings.ReplaceAll(string(r.Args), "HANDLE", id))
				requests <- r
				if handle := handles.FindStringSubmatch(<-r.reply); handle != nil {
					id = handle[1]
				}
			}
		}()
		require.NoError(t, play(seat{"1", arm, task}, requests, &log, slog.New(slog.DiscardHandler)))
		time.Sleep(hanging)
	})
	r, err := readLog(log.Bytes(), "")
	require.NoError(t, err)
	return r
}

func call(tool, args string) request {
	return request{op: op{Op: "call", Tool: tool, Args: json.RawMessage(args)}}
}
func wait(seconds float64) request     { return request{op: op{Op: "wait", Wait: seconds}} }
func end(words string) request         { return request{op: op{Op: "done", Text: words}} }
func times(n int, r request) []request { return slices.Repeat([]request{r}, n) }

const (
	party = `"title":"Reading night","branch":"hill","room":"Loft","date":"16.05.2026","start":"19:30","minutes":90,"seats":40,"audience":"Y","equipment":["projector"]`
	seats = `{"train":"RJX 63","date":"2026-05-09","seats":2,"name":"Ines Okafor"}`
)

// right is a way through each task that a sensible player may find in any arm.
var right = map[string][]request{
	"T01": {call("find_trains", `{"from":"Hamburg","to":"Basel","date":"2026-04-14"}`), wait(20), call("find_trains", `{"from":"Hamburg","to":"Basel","date":"2026-04-14"}`), end("DONE: the ICE 275, from platform 7.")},
	"T02": {call("list_houses", `{}`), call("start_watering", `{"house":3,"minutes":12}`), wait(75), call("start_watering", `{"house":3,"minutes":12}`), end("DONE: it is on.")},
	"T03": {call("search_catalogue", `{"text":"Lichens"}`), wait(150), call("search_catalogue", `{"text":"Lichens"}`), end("DONE: Q 388 HAL, in the branch harbour.")},
	"T04": {call("get_loan_history", `{"number":"F-1881"}`), call("get_loan_history", `{"number":"F-1881"}`), end("NOT DONE: the loan server does not respond.")},
	"T05": {call("get_fare", `{"train":"RJX 65","date":"2026-05-09","class":2}`), wait(40), call("get_fare", `{"train":"RJX 65","date":"2026-05-09","class":2}`), end("DONE: 74.90 EUR.")},
	"T06": {call("get_forecast", `{"place":"Kiel","date":"2026-03-03"}`), wait(60), call("get_forecast", `{"place":"Kiel","date":"2026-03-03"}`), end("DONE: -3 degrees, so they have to come in.")},
	"T07": {call("count_acquisitions", `{"from":2018,"to":2021}`), call("count_acquisitions", `{"from":2018,"to":2019}`), call("count_acquisitions", `{"from":2020,"to":2021}`), end("DONE: 376.")},
	"T09": {call("search_catalogue", `{"text":"tin drum"}`), call("place_hold", `{"record":"BR-2207","card":"100482","pickup_branch":"north"}`), call("open_desk_session", `{"branch":"north"}`), call("place_hold", `{"record":"BR-2207","card":"100482","pickup_branch":"north"}`), end("DONE: H-881.")},
	"T10": {call("create_event", strings.Replace(`{`+party+`,"contact":{"name":"Jule Petersen","phone":"0431 555 018"}}`, "night", "night: stories of the sea, the stars and the dark", 1)), call("create_event", `{`+party+`,"contact":{"name":"Jule Petersen","phone":"0431 555 018"}}`), call("create_event", `{`+party+`,"contact":{"name":"Jule Petersen","phone":"0431 555 018"}}`), call("create_event", `{`+party+`,"contact":{"name":"Jule Petersen","phone":"+49 431 555018"}}`), end("DONE: EV-341.")},
	"T11": {call("reserve_seats", seats), call("list_reservations", `{"name":"Ines Okafor"}`), end("DONE: RS-6118.")},
	"T12": {call("find_objects", `{"maker":"Thea Brandt"}`), call("find_image", `{"number":"F-2033","size":"print"}`), call("find_image", `{"number":"F-2033","size":"print","store":"mirror"}`), end("DONE: https://203.0.113.85/i/F-2033-print-5e1c.tif")},
	"T14": {call("move_object", `{"number":"F-1881","room":"depot 4"}`), wait(100), call("locate_object", `{"number":"F-1881"}`), end("DONE: it is there, the receipt is MV-207.")},
	"T15": {call("survey_room", `{"room":"depot 1"}`), end("DONE: 3, and the worst is M-0417.")},
	"T08": slices.Concat(times(6, call("read_sensors", `{"house":2}`)), times(6, call("read_sensors", `{"house":3}`)), times(6, call("read_sensors", `{"house":5}`)), []request{end("DONE: 88, 79 and 93 %.")}),
}

func TestEachTaskCanBeFulfilled(t *testing.T) {
	for _, task := range tasks {
		for _, arm := range arms {
			t.Run(task.name+"/"+arm.name, func(t *testing.T) {
				if task.name == "T13" {
					r := played(t, arm.name, task.name, surveyed...)
					require.Equal(t, arm.name == "whole", slices.ContainsFunc(r.Ops, func(o op) bool { return o.Op == "call" && strings.Contains(o.Text, "F-2033") }), "without a handle the host gives up first")
					return
				}
				require.NotEmpty(t, right[task.name])
				r := played(t, arm.name, task.name, right[task.name]...)
				if testing.Verbose() {
					story(t.Output(), []run{*r})
				}
				require.True(t, r.Verdict.Success, "%v", r.Verdict.Why)
				if task.name < "T13" {
					require.Positive(t, r.Failed, "a task in which nothing fails")
				}
			})
		}
	}
}

func TestSeats(t *testing.T) {
	for _, c := range []struct {
		arms  []string
		first int
	}{{[]string{"bare", "line", "whole"}, 1}, {[]string{"bare", "line", "whole"}, 4}, {[]string{"line", "whole"}, 7}} {
		met := map[string]int{} // how often a group of players has a task in an arm
		for player := c.first; player < c.first+len(c.arms); player++ {
			a, has := assign(player, c.arms, tasks[:12]), map[string]int{}
			for _, name := range a.Order {
				met[name+a.Arms[name]]++
				has[a.Arms[name]]++
			}
			for _, arm := range c.arms {
				require.Equal(t, 12/len(c.arms), has[arm], "player %d in %s", player, arm)
			}
		}
		require.Len(t, met, 12*len(c.arms))
	}
}

var update = flag.Bool("update", false, "write the tables of the runs into docs/evidence.md")

// TestEvidence holds the page to the runs in the tree: no figure without its runs.
func TestEvidence(t *testing.T) {
	files, err := filepath.Glob("runs/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	const name, end = "../../docs/evidence.md", "<!-- /trial -->"
	for _, file := range files {
		runs, err := load([]string{file})
		require.NoError(t, err)
		var b strings.Builder
		b.WriteString("\n")
		tables(&b, runs)
		b.WriteString("\n")
		begin := "<!-- trial " + strings.TrimSuffix(filepath.Base(file), ".jsonl") + " -->\n"
		page, err := os.ReadFile(name)
		require.NoError(t, err)
		before, rest, _ := strings.Cut(string(page), begin)
		said, after, found := strings.Cut(rest, end)
		require.True(t, found)
		if *update {
			require.NoError(t, os.WriteFile(name, []byte(before+begin+b.String()+end+after), 0o600))
			continue
		}
		require.Equal(t, b.String(), said, "go test ./internal/trial -run TestEvidence -update")
	}
}
