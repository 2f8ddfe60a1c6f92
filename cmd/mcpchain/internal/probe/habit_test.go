package probe_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/probe"
)

// serveHabit is a server of 2025-11-25 with one habit, which is right or wrong by the specification.
func serveHabit(habit string) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method any
			Result json.RawMessage
			Error  json.RawMessage
		}
		id := "null"
		if err = json.Unmarshal(line, &m); err == nil && len(m.ID) > 0 {
			id = string(m.ID)
		}
		odd := slices.Contains([]byte("{[tf"), id[0])
		switch {
		case err == nil && (m.Result != nil || m.Error != nil) && habit == "asks-again":
			fmt.Println(`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}`)
			continue
		case m.Method == nil && m.ID == nil && json.Valid(line), id == "null" && m.Method != nil:
			continue
		case odd && habit != "odd-ids-kept":
			id = "null"
		case habit == "ids-spelled":
			id = spelled(id)
		case habit == "ids-texts" && id[0] != '"':
			id = strconv.Quote(id)
		case habit == "id-zero":
			id = "0"
		}
		answer := func(text string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", id, text) }
		switch {
		case !json.Valid(line):
			answer(`"error":{"code":-32700,"message":"That is not JSON."}`)
		case odd || m.Method == nil:
			answer(`"error":{"code":-32600,"message":"That is no request."}`)
		case m.Method == "initialize":
			answer(`"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"habit","version":"1"}}`)
			flood(habit)
		case m.Method == "tools/list":
			if habit == "half-a-line" {
				fmt.Print(`{"jsonrpc":"2.0","id":`)
				time.Sleep(time.Hour)
			}
			answer(`"result":{"tools":[]}`)
		case m.Method == "ping":
			answer(`"result":{}`)
		default:
			answer(`"error":{"code":-32601,"message":"There is no such method."}`)
		}
	}
}

// spelled writes an ID in another way.
func spelled(id string) string {
	if id[0] != '"' {
		return id + ".0"
	}
	var b strings.Builder
	var text string
	_ = json.Unmarshal([]byte(id), &text)
	for _, r := range text {
		fmt.Fprintf(&b, `\u%04X`, r)
	}
	return `"` + b.String() + `"`
}

// flood writes without an end, in the background, where that is the habit.
func flood(habit string) {
	text := map[string]string{
		"asks":     `{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}`,
		"notifies": `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`,
		"answers":  `{"jsonrpc":"2.0","id":"no-such","result":{}}`,
		"logs":     "still here",
	}[habit]
	if habit == "asks-again" {
		fmt.Println(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
	}
	if habit == "asks-often" { // and not without end
		go func() {
			for range 2_000 {
				fmt.Println(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
				time.Sleep(time.Millisecond)
			}
		}()
	}
	if text == "" {
		return
	}
	many := bytes.Repeat([]byte(text+"\n"), 20)
	go func() {
		for {
			if _, err := os.Stdout.Write(many); err != nil {
				return
			}
		}
	}()
}

// TestFlood proves that the checks end with a server that sends without end, and say so.
func TestFlood(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	require.NoError(t, err)
	for _, habit := range []string{"asks", "asks-again", "notifies", "answers", "logs"} {
		t.Run(habit, func(t *testing.T) {
			t.Parallel()
			report, err := probe.Run(t.Context(), probe.Options{Command: []string{exe, "serve", habit}, Limit: 10 * time.Second})
			require.NoError(t, err)
			require.Less(t, report.Took, time.Minute)
			left := 0
			for _, r := range report.Results {
				if r.NotChecked == "the server sends without end what nobody asked for" {
					left++
				}
				switch {
				case r.Check.Name == "no-flood":
					require.Len(t, r.Findings, 1)
					require.Equal(t, "The server has sent 10000 messages that nobody had asked for.", r.Findings[0].What)
				case !r.Check.Looks() && habit != "asks-again": // which begins later
					require.Empty(t, r.Findings, r.Check.Name)
				}
			}
			require.Positive(t, left)
		})
	}
}

// TestCutLine proves that a line that a check itself has cut, by ending a server that hangs, is no finding.
func TestCutLine(t *testing.T) {
	t.Parallel()
	report := checked(t, "half-a-line", 200*time.Millisecond, "unknown-cursor", "unknown-method", "only-messages")
	require.Equal(t, []string{"unknown-cursor"}, found(report))
}

// TestAnswerInALine proves that what the check answers never stands in the middle of what it sends.
func TestAnswerInALine(t *testing.T) {
	t.Parallel()
	require.Empty(t, found(checked(t, "asks-often", 20*time.Second, "slow-message")))
}

// TestSpellingsOfIDs proves which IDs of answers are no finding: another spelling of the same one, and
// of a request that is illegal the odd one and null. A text is not the number that it spells.
func TestSpellingsOfIDs(t *testing.T) {
	t.Parallel()
	checks := []string{"odd-id", "ids-kept", "answers-only-requests", "answers-once", "unknown-method", "id-twice"}
	for _, habit := range []string{"ids-spelled", "odd-ids-kept", "ids-as-they-are"} {
		report := checked(t, habit, 20*time.Second, checks...)
		require.Empty(t, found(report), habit)
	}
}

// TestOtherIDs proves that an answer under another ID is told, where nothing else can be checked.
func TestOtherIDs(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	for habit, want := range map[string]string{"ids-texts": `{"jsonrpc":"2.0","id":"1","result"`, "id-zero": `{"jsonrpc":"2.0","id":0,"result"`} {
		_, err = probe.Run(t.Context(), probe.Options{Command: []string{exe, "serve", habit}, Start: 2 * time.Second})
		require.ErrorContains(t, err, "under this ID, but an answer that nobody had asked for: "+want)
	}
}
