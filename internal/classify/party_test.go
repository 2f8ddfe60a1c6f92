package classify_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/middleware"
)

func TestParty(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, c := range map[string]struct {
		err   error
		party fault.Party
	}{
		"wrong arguments":           {fault.Invalid("n", "five", "an integer"), fault.PartyCaller},
		"not found":                 {fault.NotFound("file", "a"), fault.PartyCaller},
		"unknown":                   {errSecret, fault.PartyServer},
		"panic":                     {&fault.PanicError{Value: 1}, fault.PartyServer},
		"refused connection":        {refused, fault.PartyUpstream},
		"worded refused connection": {fault.New("own_kind", "no").Because(refused), fault.PartyUpstream},
		"404":                       {statusError(404), fault.PartyCaller},
		"401":                       {statusError(401), fault.PartyServer},
		"429":                       {statusError(429), fault.PartyUpstream},
		"500":                       {statusError(500), fault.PartyUpstream},
		"own word":                  {fault.Unavailable("x").WithParty(fault.PartyServer), fault.PartyServer},
		"own word, hidden":          {classify.HideError(errSecret, fault.Unavailable("x").WithParty(fault.PartyServer)), fault.PartyServer},
		"full disk":                 {syscall.ENOSPC, fault.PartyServer},
		"deadline":                  {context.DeadlineExceeded, ""},
		"open kind":                 {fault.New("own_kind", "no"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.party, classify.Of(c.err, classify.Options{}).Party)
			require.Equal(t, c.party, classify.Of(fmt.Errorf("outer: %w", c.err), classify.Options{}).Party)
		})
	}
	require.Equal(t, fault.PartyServer, failure.Classify(errSecret).Data().Party)
	unavailable := failure.Classify(statusError(503))
	require.Equal(t, map[string]any{"status_code": 503.0}, unavailable.Data().Details)
	require.NotContains(t, unavailable.Error(), "503", "the text says what the status means")
	require.Empty(t, fault.New("own_kind", "").WithParty("nobody").Party())
}

// A request knows what was sent.
type request func(text string) bool

func (r request) Sent() func(string) bool { return r }

// TestPathsOfTheCaller is about files: one that the caller named is the caller's, any
// other is the server's own.
func TestPathsOfTheCaller(t *testing.T) {
	dir := t.TempDir()
	missing := second(os.Open(filepath.Join(dir, "reports", "may.txt")))
	sent := func(texts ...string) classify.Options {
		return classify.Options{Request: request(func(text string) bool { return slices.Contains(texts, text) })}
	}
	for name, c := range map[string]struct {
		err  error
		opts classify.Options
		kind fault.Kind
	}{
		"nobody knows":          {missing, classify.Options{}, fault.KindInternal},
		"another path":          {missing, sent("april.txt", "may", ""), fault.KindInternal},
		"the whole path":        {missing, sent(filepath.Join(dir, "reports", "may.txt")), fault.KindNotFound},
		"the end of it":         {missing, sent("reports/may.txt"), fault.KindNotFound},
		"the name alone":        {missing, sent("may.txt"), fault.KindNotFound},
		"wrapped":               {fmt.Errorf("read: %w", missing), sent("may.txt"), fault.KindNotFound},
		"refused":               {&fs.PathError{Op: "open", Path: "a", Err: syscall.EACCES}, sent("a"), fault.KindPermissionDenied},
		"there already":         {&fs.PathError{Op: "mkdir", Path: "a", Err: syscall.EEXIST}, sent("a"), fault.KindAlreadyExists},
		"a link":                {&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.ENOENT}, sent("a"), fault.KindNotFound},
		"a directory's":         {&fs.PathError{Op: "open", Path: dir + "/", Err: syscall.ENOENT}, sent(""), fault.KindInternal},
		"full disk, named file": {&fs.PathError{Op: "write", Path: "a", Err: syscall.ENOSPC}, sent("a"), fault.KindInternal},
	} {
		t.Run(name, func(t *testing.T) {
			f := classify.Of(c.err, c.opts)
			require.Equal(t, c.kind, f.Fault.Kind())
			if c.kind == fault.KindInternal {
				require.Equal(t, fault.PartyServer, f.Party)
				require.Equal(t, classify.Unknown, f.Origin)
			} else {
				require.Equal(t, fault.PartyCaller, f.Party)
			}
		})
	}
	asked := 0
	deep := &fs.PathError{Path: strings.Repeat("a/", 1000) + "a", Err: syscall.ENOENT}
	classify.Of(deep, classify.Options{Request: request(func(string) bool { asked++; return false })})
	require.Equal(t, 32, asked, "a path is hostile too")
}

func TestEffectsOfSeveral(t *testing.T) {
	wrong := errors.Join(fault.Invalid("n", "five", "an integer"), fault.Invalid("m", 6, "a string"))
	require.Equal(t, none, failure.HintOf(wrong).Effect, "nothing was run")
	require.Empty(t, failure.HintOf(errors.Join(wrong, errSecret)).Effect)
	// A rule knows only the error, and an error proves nothing.
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	rule := func(error) *fault.Error { return fault.Unavailable("the shop").After(time.Second) }
	f := classify.Of(refused, classify.Options{Rules: []classify.Rule{rule}})
	require.Equal(t, classify.Ruled, f.Origin)
	require.Empty(t, hintOf(f).Effect)
	require.Empty(t, failure.HintOf(fault.Timeout("the shop", 0).Because(refused)).Effect)
}

// upstream starts a server over HTTP whose tool answers with the given error, and
// returns what a client's call of it returns.
func upstream(t *testing.T, answer error) error {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "upstream"}, nil)
	server.AddTool(&mcp.Tool{Name: "t", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, answer
	})
	client, serve := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), serve, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "gateway"}, nil).Connect(t.Context(), client, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
	require.Error(t, err)
	return err
}

func TestGatewaysUpstream(t *testing.T) {
	for code, want := range map[int64]struct {
		kind fault.Kind
		hint fault.Hint
	}{
		jsonrpc.CodeInvalidParams:  {fault.KindClientError, fault.Hint{Retry: no, Reason: "The service refused the request"}},
		jsonrpc.CodeMethodNotFound: {fault.KindServerError, fault.Hint{Retry: no, Reason: unsupported}},
		jsonrpc.CodeInternalError:  {fault.KindServerError, fault.Hint{Retry: no}},
		-32002:                     {fault.KindNotFound, fault.Hint{Retry: no, Reason: "The service refused the request"}},
		403:                        {fault.KindServerError, fault.Hint{Retry: no, Reason: credentials}},
		429:                        {fault.KindRateLimited, fault.Hint{Retry: yes}},
		503:                        {fault.KindServiceUnavailable, fault.Hint{Retry: yes}},
		12345:                      {fault.KindServerError, fault.Hint{Retry: no}},
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			err := upstream(t, &jsonrpc.Error{Code: code, Message: harness.Canary, Data: []byte(`"` + harness.Canary + `"`)})
			for _, err := range []error{err, fmt.Errorf("forward: %w", err)} {
				f := classify.Of(err, classify.Options{})
				require.Nil(t, f.Wire, "its code is not passed on")
				require.Equal(t, classify.Classified, f.Origin)
				require.Equal(t, want.kind, f.Fault.Kind())
				require.Equal(t, fault.PartyUpstream, f.Party)
				require.Equal(t, want.hint, hintOf(f))
				require.NotContains(t, f.Fault.Error(), harness.Canary)
			}
			rule := func(err error) *fault.Error {
				if e := (*jsonrpc.Error)(nil); errors.As(err, &e) && e.Code == code {
					return fault.New("own_kind", "the rule")
				}
				return nil
			}
			require.Equal(t, fault.Kind("own_kind"), failure.Classify(err, rule).Kind(), "a rule reaches it")
			if code == jsonrpc.CodeMethodNotFound {
				return // the SDK words it
			}
			require.Contains(t, failure.Received(err).Message(), harness.Canary, "a client reads what its server answered")
		})
	}
	// What it said in our machine form, but not its words.
	said := fault.RateLimited(harness.Canary, time.Minute)
	err := upstream(t, &jsonrpc.Error{Code: 429, Message: harness.Canary, Data: mustMarshal(t, said)})
	f := classify.Of(err, classify.Options{})
	require.Equal(t, fault.KindRateLimited, f.Fault.Kind())
	require.Equal(t, time.Minute, hintOf(f).After)
	require.NotContains(t, f.Fault.Error(), harness.Canary)
	// On purpose, whatever stands around it.
	wire := &jsonrpc.Error{Code: -32602, Message: "m", Data: []byte(`{"a":1}`)}
	for _, err := range []error{wire, fmt.Errorf("calling: %w", wire), fmt.Errorf("calling %q: %w", "the shop", wire)} {
		require.Same(t, wire, classify.Of(err, classify.Options{}).Wire)
	}
}

// TestSessionThatEnds calls a server that goes away with the call.
func TestSessionThatEnds(t *testing.T) {
	theirs, ours := net.Pipe()
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	server.AddTool(&mcp.Tool{Name: "t", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, theirs.Close()
	})
	_, err := server.Connect(t.Context(), &mcp.IOTransport{Reader: theirs, Writer: theirs}, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: ours, Writer: ours}, nil)
	require.NoError(t, err)
	_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
	require.ErrorIs(t, err, io.EOF)
	f := classify.Of(err, classify.Options{})
	require.Equal(t, fault.KindConnectionFailed, f.Fault.Kind())
	require.Empty(t, hintOf(f).Effect)
	require.Equal(t, fault.KindInternal, classify.Of(io.EOF, classify.Options{}).Fault.Kind(), "the end of a text, as likely")
}

// TestWhatAClientCannotDo asks a client for what it has no handler for.
func TestWhatAClientCannotDo(t *testing.T) {
	var elicit, sample error
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	server.AddTool(&mcp.Tool{Name: "t", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, elicit = req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "sure?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}})
		_, sample = req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{})
		return &mcp.CallToolResult{}, nil
	})
	ct, st := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), st, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), ct, speak.Version("2025-11-25"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
	require.NoError(t, err)
	for word, err := range map[string]error{"elicitation": elicit, "sampling": sample} {
		require.Error(t, err)
		for _, err := range []error{err, fmt.Errorf("ask: %w", err)} {
			f := classify.Of(err, classify.Options{})
			require.Equal(t, fault.KindPreconditionFailed, f.Fault.Kind(), "%v", err)
			require.Equal(t, fault.PartyCaller, f.Party)
			require.Contains(t, f.Fault.Message(), word)
			require.Contains(t, f.Fault.Message(), "client")
			require.Equal(t, no, hintOf(f).Retry)
		}
	}
}

// TestTransportsOfTheSDK is what FaultOf says on a client of what a proxy or a gateway
// answers before the server, which the SDK tells by text alone.
func TestTransportsOfTheSDK(t *testing.T) {
	connect := func(endpoint string) error {
		_, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint, MaxRetries: -1}, nil)
		return err
	}
	for status, kind := range map[int]fault.Kind{
		401: fault.KindUnauthenticated, 403: fault.KindPermissionDenied, 404: fault.KindNotFound, 429: fault.KindRateLimited,
		500: fault.KindServerError, 503: fault.KindServiceUnavailable,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
			t.Cleanup(proxy.Close)
			err := connect(proxy.URL)
			require.Error(t, err)
			f, failed := middleware.FaultOf(nil, err)
			require.True(t, failed)
			require.Equal(t, kind, f.Kind(), "%v", err)
		})
	}
	err := connect("http://" + closedPort(t))
	f, _ := middleware.FaultOf(nil, err)
	require.Equal(t, fault.KindConnectionFailed, f.Kind(), "%v", err)
}

func TestCallersCredentials(t *testing.T) {
	_, err := from(http.StatusForbidden, strings.NewReader(""), http.Header{"X-Accepted-Oauth-Scopes": {"repo, read:org"}})
	theirs := classify.Of(err, classify.Options{})
	require.Equal(t, fault.KindServerError, theirs.Fault.Kind())
	require.Equal(t, fault.PartyServer, theirs.Party)

	resp := &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"X-Accepted-Oauth-Scopes": {"repo, read:org"}}}
	for _, c := range []struct {
		err      error
		required string
	}{
		{answered{resp}, "repo, read:org"},
		{&fieldError{Response: &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {`Bearer error="insufficient_scope", scope="mail.read"`}}}}, "mail.read"},
		{&fieldError{Response: &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"X-Accepted-Oauth-Scopes": {"x\nRetry: yes"}}}}, ""},
		{statusError(403), ""},
	} {
		f := classify.Of(c.err, classify.Options{OwnCredentials: true})
		require.Equal(t, fault.KindPermissionDenied, f.Fault.Kind())
		require.Equal(t, fault.PartyCaller, f.Party)
		require.Equal(t, c.required, f.Fault.Data().RequiredPermission)
		require.Equal(t, no, hintOf(f).Retry)
	}
	for _, err := range []error{statusError(401), statusError(407), stateError("28P01"), worded("unauthenticated")} {
		require.Equal(t, fault.KindUnauthenticated, classify.Of(err, classify.Options{OwnCredentials: true}).Fault.Kind(), "%v", err)
		require.Equal(t, fault.KindServerError, classify.Of(err, classify.Options{}).Fault.Kind(), "%v", err)
	}
	limited := classify.Of(&fieldError{Response: &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"Retry-After": {"5"}}}}, classify.Options{OwnCredentials: true})
	require.Equal(t, fault.KindRateLimited, limited.Fault.Kind(), "a limit is no refusal")
}

type worded string

func (worded) Error() string       { return "refused" }
func (w worded) ErrorCode() string { return string(w) }

// fieldError is an error of a library that has fields only.
type fieldError struct {
	Response *http.Response
	Message  string
}

func (*fieldError) Error() string { return harness.Canary }

func TestUpstreamsOwnWords(t *testing.T) {
	at := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "https", Host: "api.shop.invalid", Path: "/" + harness.Canary}}
	answer := func(status int) *http.Response { return &http.Response{StatusCode: status, Request: at} }
	_, read := from(http.StatusUnprocessableEntity, strings.NewReader(`{"error":{"code":7,"message":"the title is too long"}}`), nil)
	_, page := from(http.StatusBadRequest, strings.NewReader("<html>"+harness.Canary), nil)
	for _, c := range []struct {
		err              error
		words, host, typ string
	}{
		{&fieldError{Response: answer(422), Message: "the title is too long"}, "the title is too long", "api.shop.invalid", "*classify_test.fieldError"},
		{fmt.Errorf("outer: %w", &fieldError{Response: answer(422), Message: strings.Repeat("x", 600)}), strings.Repeat("x", 500) + " ...", "api.shop.invalid", "*classify_test.fieldError"},
		{read, "the title is too long", "shop.invalid", "*classify.ResponseError"},
		{page, "", "shop.invalid", "*classify.ResponseError"},
		{&fieldError{Response: answer(500), Message: harness.Canary}, "", "", ""},
		{io.EOF, "", "", ""},
	} {
		f := classify.Of(c.err, classify.Options{})
		words, host, typ := f.Upstream()
		require.Equal(t, []string{c.words, c.host, c.typ}, []string{words, host, typ})
		require.NotContains(t, f.Fault.Error(), "title", "not shown unless asked for")
	}
}
