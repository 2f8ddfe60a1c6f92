// Batch shows partial success: a tool that reads many files returns what it could
// read, says of each other file why not, and lists what to send again. The client
// sends that until nothing is left.
//
//	go run ./examples/batch
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
)

type args struct {
	Files []string `json:"files"`
}

type content struct {
	Lines int `json:"lines"`
}

// share is a directory on a slow disk: the first time that somebody asks for a large
// file it is not there yet.
type share struct {
	dir   string
	asked sync.Map
}

// readFiles is the tool: four files at a time.
func (s *share) readFiles(ctx context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, batch.Output[content], error) {
	return batch.Run(ctx, in.Files, s.read, &batch.RunOptions[string]{Concurrency: 4, KeyName: "file"}).Output()
}

func (s *share) read(_ context.Context, name string) (content, error) {
	root, err := os.OpenRoot(s.dir) // no file outside of it
	if err != nil {
		return content{}, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return content{}, fault.NotFound("file", name)
	case err != nil:
		return content{}, err
	case info.IsDir():
		return content{}, fault.Invalid("file", name, "a file, not a directory")
	case info.Size() > 100:
		if _, before := s.asked.LoadOrStore(name, true); !before {
			return content{}, fault.New(fault.KindServiceUnavailable, "the file is being fetched").After(0)
		}
	}
	text, err := fs.ReadFile(root.FS(), name)
	if err != nil {
		return content{}, err
	}
	return content{bytes.Count(text, []byte("\n"))}, nil
}

func main() {
	dir, err := os.MkdirTemp("", "batch")
	must(err)
	defer func() { _ = os.RemoveAll(dir) }()
	must(os.WriteFile(dir+"/notes.txt", []byte("buy milk\n"), 0o600))
	must(os.WriteFile(dir+"/todo.txt", []byte("one\ntwo\n"), 0o600))
	must(os.WriteFile(dir+"/log.txt", bytes.Repeat([]byte("it works\n"), 50), 0o600))
	must(os.Mkdir(dir+"/old", 0o700))

	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "read_files"}, (&share{dir: dir}).readFiles)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))

	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	_, err = server.Connect(ctx, theirs, nil)
	must(err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "recipe", Version: "1.0.0"}, nil).Connect(ctx, ours, nil)
	must(err)
	defer session.Close()

	files := []string{"notes.txt", "report.txt", "todo.txt", "log.txt", "old"}
	for len(files) > 0 {
		fmt.Println("--> read_files", files)
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "read_files", Arguments: args{files}})
		must(err)
		for _, c := range res.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				fmt.Println(text.Text) // for a model; what follows is for a program
			}
		}
		raw, err := json.Marshal(res.StructuredContent)
		must(err)
		var answer struct {
			RetryItems []string `json:"retry_items"`
		}
		must(json.Unmarshal(raw, &answer))
		files = answer.RetryItems
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
