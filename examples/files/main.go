// Files is a file server for one directory: what does not exist is told with near names, a
// path that leads out of the directory is refused, a long file is read in parts, and no path
// of the machine reaches a caller.
//
//	go run ./examples/files -story               # what a client gets from it
//	go run ./examples/files                      # over stdio; -root names another directory
//	go run ./examples/files -http 127.0.0.1:8080 # over HTTP
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/transport"
)

// files has a root that no path and no symbolic link leads out of.
type files struct{ root *os.Root }

const maxBytes = 4096 // of one answer

type dir struct {
	Path string `json:"path"`
}
type part struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset,omitempty" jsonschema:"where to begin, in bytes"`
}
type content struct {
	Text string `json:"text"`
	Next int64  `json:"next_offset,omitempty" jsonschema:"where the file goes on"`
}
type list struct {
	Names []string `json:"names"`
}

func (f files) list(_ context.Context, _ *mcp.CallToolRequest, in dir) (_ *mcp.CallToolResult, out list, err error) {
	entries, err := fs.ReadDir(f.root.FS(), path.Clean(in.Path))
	for _, e := range entries {
		out.Names = append(out.Names, path.Join(in.Path, e.Name()))
	}
	return nil, out, err
}

func (f files) read(ctx context.Context, _ *mcp.CallToolRequest, in part) (*mcp.CallToolResult, content, error) {
	in.Offset = max(in.Offset, 0)
	file, err := f.root.Open(in.Path)
	if errors.Is(err, fs.ErrNotExist) { // other errors of a path are told by what they mean
		parent := path.Dir(in.Path)
		_, near, _ := f.list(ctx, nil, dir{parent})
		return nil, content{}, fault.NotFound("file", in.Path, near.Names...).
			Step("See what there is", "list_files", map[string]any{"path": parent})
	}
	if err != nil {
		return nil, content{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, in.Offset, maxBytes+1))
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, content{}, fault.Invalid("path", in.Path, "a text, not a binary file")
	}
	if len(text) <= maxBytes {
		return nil, content{Text: string(text)}, err
	}
	end := cmp.Or(bytes.LastIndexByte(text[:maxBytes], '\n')+1, maxBytes) // a whole line, if it fits
	for end > 1 && !utf8.RuneStart(text[end]) {
		end-- // a whole character
	}
	return nil, content{string(text[:end]), in.Offset + int64(end)}, err
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	served := flag.String("root", ".", "the directory that is served")
	flag.Parse()
	root, err := os.OpenRoot(*served)
	if err != nil {
		log.Fatal(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1.0.0"}, nil)
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{Name: "list_files", Annotations: reads}, files{root}.list)
	mcp.AddTool(server, &mcp.Tool{Name: "read_file", Annotations: reads}, files{root}.read)
	server.AddReceivingMiddleware(mcpchain.Standard(nil))
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
	return (&http.Server{Handler: transport.HTTP(handler, nil), ReadHeaderTimeout: 10 * time.Second}).Serve(listener)
}
