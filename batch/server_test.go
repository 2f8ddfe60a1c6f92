package batch_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/mask"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

const serveOver = "BATCH_TEST_SERVE" // the directory that the test binary serves, when it is the server

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveOver); dir != "" {
		if err := fileServer(dir).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			slog.Error(err.Error())
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type readArgs struct {
	Files []string `json:"files"`
}

type file struct {
	Bytes int `json:"bytes"`
}

// fileServer serves the sizes of the files of a directory.
func fileServer(dir string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "files"}, nil)
	opts := &batch.RunOptions[string]{KeyName: "file"}
	read := func(_ context.Context, name string) (file, error) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return file{}, err // fs.ErrNotExist
		case info.IsDir():
			return file{}, fault.Invalid("file", name, "a file, not a directory")
		case info.Mode().Perm()&0o400 == 0 && os.Geteuid() == 0: // who may read everything
			return file{}, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
		}
		content, err := os.ReadFile(path)
		return file{len(content)}, err
	}
	mcp.AddTool(server, &mcp.Tool{Name: "typed"}, func(ctx context.Context, _ *mcp.CallToolRequest, in readArgs) (*mcp.CallToolResult, batch.Output[file], error) {
		return batch.Run(ctx, in.Files, read, opts).Output()
	})
	server.AddTool(&mcp.Tool{Name: "raw", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in readArgs
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		return batch.Run(ctx, in.Files, read, opts).ToolResult(), nil
	})
	quiet := slog.New(slog.DiscardHandler)
	server.AddReceivingMiddleware(mcprecover.New(&mcprecover.Options{Logger: quiet}), correlate.New(&correlate.Options{Logger: quiet}), mask.New(nil))
	return server
}

// filesDir has two files, a directory and a file that cannot be read.
func filesDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.txt"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret.txt"), []byte("x"), 0o000))
	return dir
}

// TestFilesThroughRealServers: a process behind a pipe, and HTTP, for clients of both
// eras.
func TestFilesThroughRealServers(t *testing.T) {
	dir := filesDir(t)
	over := map[string]func(t *testing.T) mcp.Transport{
		"stdio": func(t *testing.T) mcp.Transport {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), serveOver+"="+dir)
			return &mcp.CommandTransport{Command: cmd}
		},
		"http": func(t *testing.T) mcp.Transport {
			server := fileServer(dir)
			s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
			t.Cleanup(s.Close)
			return &mcp.StreamableClientTransport{Endpoint: s.URL}
		},
	}
	for name, transport := range over {
		for _, era := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+"/"+era, func(t *testing.T) {
				session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), transport(t), speak.Version(era))
				require.NoError(t, err)
				defer func() { _ = session.Close() }()
				for _, tool := range []string{"typed", "raw"} {
					some := callFiles(t, session, tool, "a.txt", "missing.txt", "sub", "secret.txt", "b.txt", "gone.txt")
					out := filesOutput(t, some)
					require.False(t, some.IsError)
					require.True(t, out.Success)
					require.Equal(t, []int{6, 2, 4, 0}, []int{out.Total, out.Succeeded, out.Failed, out.NotRun})
					require.Equal(t, []int{5, 0}, []int{out.Results[0].Value.Bytes, out.Results[1].Value.Bytes})
					require.Equal(t, map[fault.Kind]int{"not_found": 2, "validation_error": 1, "permission_denied": 1}, out.ErrorSummary.ByType)
					for i, want := range []struct {
						index int
						file  string
						kind  fault.Kind
					}{{1, "missing.txt", fault.KindNotFound}, {2, "sub", fault.KindValidation}, {3, "secret.txt", fault.KindPermissionDenied}, {5, "gone.txt", fault.KindNotFound}} {
						require.Equal(t, want.index, indexOf(out.Errors[i]))
						require.Equal(t, want.file, out.Errors[i]["file"])
						require.Equal(t, want.kind, out.Errors[i].Fault().Kind())
						require.Equal(t, false, out.Errors[i]["recoverable"])
						require.NotEmpty(t, out.Errors[i].Fault().Reference())
					}
					require.True(t, strings.HasPrefix(out.ErrorSummary.Suggestion, "2 not found: check the name, or list what exists; "))
					require.Contains(t, text(t, some), out.ErrorSummary.Suggestion)
					require.Contains(t, text(t, some), "- file 'a.txt': {\"bytes\":5}")
					raw, err := json.Marshal(some)
					require.NoError(t, err)
					require.NotContains(t, string(raw), dir, "no path")

					none := callFiles(t, session, tool, "missing.txt", "gone.txt")
					require.True(t, none.IsError)
					out = filesOutput(t, none)
					require.Equal(t, "Check the name, or list what exists.", out.ErrorSummary.Suggestion)
					require.Contains(t, text(t, none), "Not found: none of the 2 items succeeded.\n")

					all := callFiles(t, session, tool, "a.txt", "a.txt")
					require.False(t, all.IsError)
					require.Equal(t, 2, filesOutput(t, all).Succeeded)
				}
			})
		}
	}
}

func callFiles(t *testing.T, session *mcp.ClientSession, tool string, files ...string) *mcp.CallToolResult {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: readArgs{files}})
	require.NoError(t, err)
	return res
}

func filesOutput(t *testing.T, res *mcp.CallToolResult) (out batch.Output[file]) {
	t.Helper()
	raw, err := json.Marshal(res.StructuredContent)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}
