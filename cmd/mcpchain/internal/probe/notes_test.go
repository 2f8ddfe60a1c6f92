package probe_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/probe"
)

// serveNotes serves tools of a mode: notes that are kept or lost if many are written at once, or are shown in pages, or
// tools that repeat what they were sent.
func serveNotes(mode string) {
	tools := `{"name":"add_notes","inputSchema":{"type":"object","required":["notes"],"properties":{"notes":{"type":"array","items":
		{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}}}}},{"name":"list_notes","inputSchema":{"type":"object"}}`
	if mode == "echoes" {
		text := `{"type":"string"}`
		tools = `{"name":"connect","inputSchema":{"type":"object","properties":{"url":` + text + `,"sql":` + text + `,"title":` + text + `}}},
			{"name":"sign_in","inputSchema":{"type":"object","properties":{"password":` + text + `,"user":` + text + `}}}`
	}
	tools = strings.ReplaceAll(strings.ReplaceAll(tools, "\n", ""), `"inputSchema"`, `"annotations":{"readOnlyHint":`+fmt.Sprint(mode == "echoes")+`},"inputSchema"`)
	var out, whole, store sync.Mutex
	var notes []string
	read := func() []string {
		store.Lock()
		defer store.Unlock()
		return notes
	}
	called := func(name string, arguments map[string]any) string {
		text := func(text string) string { return fmt.Sprintf(`"content":[{"type":"text","text":%q}]`, text) }
		switch name {
		case "connect":
			return text(fmt.Sprintf("cannot connect to %v for %v as %v", arguments["url"], arguments["sql"], arguments["title"])) + `,"isError":true`
		case "sign_in":
			return text(fmt.Sprintf("%v with %v", arguments["user"], arguments["password"]))
		case "list_notes":
			if mode == "notes-paged" {
				return text(strings.Join(read()[:min(len(read()), 30)], " "))
			}
			return text(strings.Join(read(), " "))
		}
		if mode != "notes-lost" {
			whole.Lock()
			defer whole.Unlock()
		}
		before := slices.Clip(read())
		time.Sleep(time.Millisecond)
		raw, _ := json.Marshal(arguments)
		store.Lock()
		defer store.Unlock()
		notes = append(before, string(raw)) // what others have written meanwhile is lost
		return text("written")
	}
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments map[string]any
			}
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		answer := func(text string) {
			out.Lock()
			defer out.Unlock()
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{%s}}`+"\n", m.ID, text)
		}
		switch m.Method {
		case "initialize":
			answer(`"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"}`)
		case "tools/list":
			answer(`"tools":[` + tools + `]`)
		case "tools/call":
			go func() { answer(called(m.Params.Name, m.Params.Arguments)) }()
		default:
			answer("")
		}
	}
}

// Writes that are told as a success and are lost are found, and none is where a list has an end.
func TestLostWrites(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	require.NoError(t, err)
	for mode, lost := range map[string]bool{"notes-kept": false, "notes-lost": true, "notes-paged": false} {
		for _, writes := range []bool{true, false} {
			report, err := probe.Run(t.Context(), probe.Options{Command: []string{exe, "serve", mode}, Only: []string{"writes-kept"}, Limit: 20 * time.Second, Writes: writes})
			require.NoError(t, err)
			require.Equal(t, lost && writes, report.Found() == 1, "%s: %+v", mode, report.Results)
			switch {
			case !writes:
				require.Equal(t, "it needs -writes", report.Results[0].NotChecked)
			case mode == "notes-paged":
				require.Equal(t, "no tool shows all that another one writes", report.Results[0].NotChecked)
			default:
				require.Empty(t, report.Results[0].NotChecked)
			}
		}
	}
}

// A credential in an argument that fits is not repeated by a failure, and a password by no answer.
func TestSecretsOfArguments(t *testing.T) {
	t.Parallel()
	report := checked(t, "echoes", 20*time.Second, "leaks-argument")
	require.Len(t, report.Results, 1)
	said := map[string]string{}
	for _, f := range report.Results[0].Findings {
		said[f.Subject] = f.What
	}
	const failure, answer = "The failure repeats the credential.", "The answer repeats the credential."
	require.Equal(t, map[string]string{"connect url": failure, "connect sql": failure, "sign_in password": answer}, said)
}
