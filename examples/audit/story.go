package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/examples/internal/story"
)

const keyName = "AUDIT_KEY"

func init() {
	if os.Getenv(keyName) == "" { // a key of yours holds
		_ = os.Setenv(keyName, "known to the server and the auditor")
	}
	story.Tell(story.Story{Quit: true, Play: play, After: verify})
}

func play(ctx context.Context, session *mcp.ClientSession) {
	_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "balance"})
	story.Must(err)
	for _, amount := range []int{20, 5000} {
		_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "pay", Arguments: payment{"bob", amount, "1234"}})
		story.Must(err)
	}
}

// verify is the auditor, who has the key and the head that was kept.
func verify() {
	var kept audit.Head
	head, err := os.ReadFile("audit-head.json")
	story.Must(err)
	story.Must(json.Unmarshal(head, &kept))
	names, err := audit.Files("audit-log")
	story.Must(err)
	text, err := os.ReadFile(names[0])
	story.Must(err)

	auditor := audit.Verifier{Key: []byte(os.Getenv(keyName)), Heads: []audit.Head{kept}}
	for r, err := range auditor.Records(bytes.NewReader(text)) {
		story.Must(err)
		switch r.Event {
		case "begin":
			fmt.Printf("%d: %s begins %s %s\n", r.Seq, r.Owner, r.Target, r.Arguments)
		case "call", "end":
			fmt.Printf("%d: %s's %s ended: %s, changed: %s\n", r.Seq, r.Owner, r.Target, r.Outcome, r.Effect)
		default:
			fmt.Printf("%d: %s\n", r.Seq, r.Event) // of the log
		}
	}

	lines := bytes.SplitAfter(text, []byte("\n"))
	for _, log := range []struct {
		change string
		text   []byte
	}{
		{"nothing", text},
		{"one digit", bytes.Replace(text, []byte(`"amount":20`), []byte(`"amount":29`), 1)},
		{"a record is missing", bytes.Replace(text, lines[4], nil, 1)},
		{"the end is missing", bytes.Join(lines[:5], nil)},
	} {
		head, err := auditor.Verify(bytes.NewReader(log.text))
		fmt.Printf("\n%s:\n  %d records are right; %v\n", log.change, head.Seq, err)
	}
}
