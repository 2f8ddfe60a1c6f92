// Batch shows partial success: a tool that reads many files returns what it could
// read, says of each other file why not, and lists what to send again. The client
// sends that until nothing is left.
//
//	go run ./examples/batch -story               # what a client gets from it
//	go run ./examples/batch                      # over stdio
//	go run ./examples/batch -http 127.0.0.1:8080 # over HTTP
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"sync"
	"testing/fstest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/transport"
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
	files fs.FS
	asked sync.Map
}

// readFiles is the tool: four files at a time.
func (s *share) readFiles(ctx context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, batch.Output[content], error) {
	return batch.Run(ctx, in.Files, s.read, &batch.RunOptions[string]{Concurrency: 4, KeyName: "file"}).Output()
}

func (s *share) read(_ context.Context, name string) (content, error) {
	info, err := fs.Stat(s.files, name)
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
	text, err := fs.ReadFile(s.files, name)
	if err != nil {
		return content{}, err
	}
	return content{bytes.Count(text, []byte("\n"))}, nil
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	files := fstest.MapFS{ // of a directory: os.OpenRoot(dir), and FS of that, which has no file outside of it
		"notes.txt": {Data: []byte("buy milk\n")},
		"todo.txt":  {Data: []byte("one\ntwo\n")},
		"log.txt":   {Data: bytes.Repeat([]byte("it works\n"), 50)},
		"old":       {Mode: fs.ModeDir},
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "read_files", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, (&share{files: files}).readFiles)
	server.AddReceivingMiddleware(mcpchain.Standard(nil)) // batch.New is in it

	if err := serve(server, *address); err != nil {
		log.Fatal(err)
	}
}

// serve speaks over stdio, or over HTTP if there is an address, and prints that.
func serve(server *mcp.Server, address string) error {
	if address == "" {
		return server.Run(context.Background(), transport.Stdio(nil))
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := &http.Server{Handler: transport.HTTP(handler, nil), ReadHeaderTimeout: 10 * time.Second}
	return web.Serve(listener)
}
