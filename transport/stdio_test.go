package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// TestTransportSurvivesBrokenLines sends lines that are no messages between those that
// are. Each is answered, and so is what comes after it.
func TestTransportSurvivesBrokenLines(t *testing.T) {
	serverReads, clientWrites := io.Pipe()
	clientReads, serverWrites := io.Pipe()
	server := mcp.NewServer(&mcp.Implementation{Name: "server"}, nil)
	transport := Stdio(&StdioOptions{In: serverReads, Out: serverWrites}).(*lines)
	transport.max = 1 << 17
	ended := make(chan error, 1)
	go func() { ended <- server.Run(context.Background(), transport) }()
	answers := bufio.NewReader(clientReads)
	next := func() (id, code any) {
		line, err := answers.ReadString('\n')
		require.NoError(t, err)
		var m struct {
			ID    any
			Error struct{ Code any }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &m), line)
		return m.ID, m.Error.Code
	}
	write := func(line string) {
		_, err := io.WriteString(clientWrites, line)
		require.NoError(t, err)
	}
	for i, c := range []struct {
		line string
		code float64 // 0 for no answer
	}{
		{`{"jsonrpc":"2.0","id":1,`, -32700},
		{`}`, -32700},
		{"\xff\x00", -32700},
		{`{"jsonrpc":"2.0","id":7,"method":"ping"}{"jsonrpc":"2.0","id":8,"method":"ping"}`, -32700},
		{`[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, -32600},
		{`[]`, -32600},
		{`null`, -32600},
		{`{"jsonrpc":"1.0","id":7,"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"` + strings.Repeat("x", 1<<17) + `"}}`, -32600},
		{``, 0},
		{"  \t", 0},
	} {
		write(c.line + "\n")
		if c.code != 0 {
			id, code := next()
			require.Nil(t, id)
			require.InDelta(t, c.code, code, 0, "%.100s", c.line)
		}
		write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\r\n", i))
		id, code := next()
		require.InDelta(t, i, id, 0, "%.100s", c.line)
		require.Nil(t, code)
	}
	require.NoError(t, clientWrites.Close())
	require.NoError(t, <-ended)
}

// TestTransportReadsTheLastLine though it does not end.
func TestTransportReadsTheLastLine(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	in := io.NopCloser(strings.NewReader("broken\n" + ping))
	var out, log strings.Builder
	got, err := io.ReadAll(&goodLines{ReadCloser: in, lines: bufio.NewReaderSize(in, 16), out: &out, max: 1000, logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	require.Equal(t, ping+"\n", string(got))
	reference := regexp.MustCompile(`"reference_id":"([0-9a-f-]{36})"`).FindStringSubmatch(out.String())
	require.NotNil(t, reference, out.String())
	require.JSONEq(t, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Validation Error: the line is no JSON.\nReference: `+reference[1]+`",
		"data":{"type":"validation_error","message":"the line is no JSON","reference_id":"`+reference[1]+`"}}}`, out.String())
	require.Contains(t, log.String(), reference[1])
}

// TestTransportAnswersWhatTheSDKDrops: a message that is neither a request nor an answer is refused under
// its own ID, and no error has the code 0.
func TestTransportAnswersWhatTheSDKDrops(t *testing.T) {
	serverReads, clientWrites := io.Pipe()
	clientReads, serverWrites := io.Pipe()
	server := mcp.NewServer(&mcp.Implementation{Name: "server"}, nil)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "prompts/list" {
				return nil, errors.New("plain words")
			}
			return next(ctx, method, req)
		}
	})
	ended := make(chan error, 1)
	go func() {
		ended <- server.Run(context.Background(), Stdio(&StdioOptions{In: serverReads, Out: serverWrites, Logger: slog.New(slog.DiscardHandler)}))
	}()
	answers := bufio.NewReader(clientReads)
	for _, c := range []struct{ line, id, code string }{
		{`{"jsonrpc":"2.0","id":"a","params":{}}`, `"a"`, "-32600"},
		{`{"jsonrpc":"2.0","id":2}`, "2", "-32600"},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, "3", "-32600"}, // before initialize
		{`{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":5}}`, "4", "-32600"},
		{`{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, "5", ""},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "", ""},
		{`{"jsonrpc":"2.0","id":6,"method":"prompts/list"}`, "6", "-32603"},
		{`{"jsonrpc":"2.0","id":7,"method":"no/such"}`, "7", "-32601"}, // as it was
	} {
		_, err := io.WriteString(clientWrites, c.line+"\n")
		require.NoError(t, err)
		if c.id == "" {
			continue
		}
		line, err := answers.ReadString('\n')
		require.NoError(t, err)
		var m struct {
			ID    json.RawMessage
			Error struct{ Code json.Number }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &m), line)
		require.Equal(t, c.id, string(m.ID), line)
		require.Equal(t, c.code, m.Error.Code.String(), line)
	}
	require.NoError(t, clientWrites.Close())
	require.NoError(t, <-ended)
}
