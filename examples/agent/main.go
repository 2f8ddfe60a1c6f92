// Agent is a client. It starts a server by its command, makes the calls of a model, and does
// what the failures say: it waits and calls again, shows the text to the model, or stops.
// Here the model is the standard input: each line is a tool and its arguments.
//
//	go run ./examples/agent -story                     # against a server that fails
//	go run ./examples/agent COMMAND ARGUMENTS...       # against yours
//	go run ./examples/agent -data COMMAND ARGUMENTS... # what programs read of a failure, too
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
)

// The longest wait before a call is made again, and how often it is made in all.
const patience, attempts = 2 * time.Minute, 5

// call makes a call, and makes it again while its failure says so. It returns what the model reads, and the last
// failure, which is nil after a success. Package retry/client does the same for every call of a client.
func call(ctx context.Context, session *mcp.ClientSession, params *mcp.CallToolParams) (text string, _ *fault.Error) {
	for attempt := 1; ; attempt++ {
		res, err := session.CallTool(ctx, params)
		failure, failed := middleware.FaultOf(res, err) // of any server
		said, _ := failure.Retry()
		wait := time.Duration(said.RetryAfterSeconds * float64(time.Second))
		over := attempt == attempts || said.MaxAttempts > 0 && said.NextAttempt > said.MaxAttempts
		if failed && said.ShouldRetry && !over && wait <= patience {
			fmt.Printf("(%s: the same call again after %v)\n", failure.Kind(), wait)
			time.Sleep(wait)
			continue
		}
		if err != nil {
			return failure.Error(), failure // a JSON-RPC error, such as that of an unknown tool
		}
		for _, block := range res.Content {
			if first, ok := block.(*mcp.TextContent); ok {
				return first.Text, failure // whole, as the server sent it
			}
		}
		return "", failure
	}
}

func main() {
	data := flag.Bool("data", false, "print what programs read of a failure, too")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("usage: agent [-data] COMMAND [ARGUMENTS]")
	}
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil)
	command := exec.CommandContext(ctx, flag.Arg(0), flag.Args()[1:]...)
	command.Stderr = os.Stderr // the log of the server
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	for model := bufio.NewScanner(os.Stdin); model.Scan(); {
		tool, arguments, _ := strings.Cut(model.Text(), " ") // such as get_weather {"city":"Oslo"}
		if !json.Valid([]byte(arguments)) {
			log.Fatal("usage of a line: TOOL JSON")
		}
		fmt.Printf("--> %s %s\n", tool, arguments)
		text, failure := call(ctx, session, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
		fmt.Println(text) // the model reads this
		if *data && failure != nil {
			shown, err := json.MarshalIndent(failure.Data(), "", "  ")
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(string(shown))
		}
		if said, _ := failure.Retry(); said.Reason == fault.NotNow { // for minutes: a model would only try again
			fmt.Println("(the agent stops, and tells its user)")
			return
		}
	}
}
