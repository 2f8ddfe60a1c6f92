package stdout

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	_ "stdout/tools" // its handlers print
)

type in struct{}

func greet(_ context.Context, req *mcp.CallToolRequest, _ in) (*mcp.CallToolResult, any, error) {
	fmt.Println("greet was called")   // want `this handler prints to standard output, which is the connection of a server over stdio: print to standard error`
	fmt.Fprintf(os.Stdout, "%v", req) // want `this handler prints to standard output`
	fmt.Fprintln(os.Stderr, "this is the place")
	log.Print("so is this")
	_ = fmt.Sprint("a text")
	below()
	return nil, nil, nil
}

func raw(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	cmd := exec.Command("make")
	cmd.Stdout = os.Stdout // want `this handler prints to standard output`
	cmd.Stderr = os.Stderr
	_ = os.Stdout.Fd()
	below()
	return &mcp.CallToolResult{}, cmd.Run()
}

// below is called by handlers.
func below() {
	fmt.Printf("debug\n") // want `this handler prints to standard output`
	below()
}

func main() {
	fmt.Println("no client is there yet")
	s := mcp.NewServer()
	s.AddTool(nil, raw)
	mcp.AddTool(s, nil, greet)
	_ = s.Run(context.Background(), &mcp.StdioTransport{}) // want `handlers of package stdout/tools print \(tools.go:13 and 1 more\) to standard output, which is`
}
