package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/jsons"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A session is what the client has told the server. The next run of the server has to be told it again. Since
// version 2026-07-28 every request says it itself, and this is empty.
type session struct {
	proxy *Proxy

	mu         sync.Mutex
	initialize *rpc.Message // of the client, with the version on which the server agreed; nil if it has not sent one
	version    string       // that one
	announces  []string     // what of it the server says when it lists something else: "tools", "prompts", "resources"
	ready      *rpc.Message
	level      *rpc.Message
	subscribed []subscription       // in their order
	silent     map[*rpc.Message]int // how often a run was silent when it was told one of these
	answered   string               // the Authorization of the last request that has succeeded

	sdk *mcp.ServerSession // what the middlewares know the client by
}

type subscription struct {
	uri string
	m   *rpc.Message
}

func (s *session) initialized(m *rpc.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = m
}

// succeeded notes what a request that has succeeded has set.
func (s *session) succeeded(m *rpc.Message, result json.RawMessage) {
	s.mu.Lock()
	s.answered = m.Authorization
	s.mu.Unlock()
	switch m.Method {
	case "initialize":
		s.begin(m, result)
	case "logging/setLevel":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.level = m
	case "resources/subscribe", "resources/unsubscribe":
		uri := m.Text("params", "uri")
		s.mu.Lock()
		defer s.mu.Unlock()
		s.subscribed = slices.DeleteFunc(s.subscribed, func(one subscription) bool { return one.uri == uri })
		if m.Method != "resources/subscribe" {
			return
		}
		size := len(m.Line)
		for _, one := range s.subscribed {
			size += len(one.m.Line)
		}
		if len(s.subscribed) >= maxSubscribed || size > maxSubscribedBytes {
			s.proxy.Logger.Warn("a subscription will be lost if the server is started again: the client has too many")
			return
		}
		s.subscribed = append(s.subscribed, subscription{uri, m})
	}
}

// caller returns the Authorization for what no request of the client causes: a token may have been renewed since
// the session began.
func (s *session) caller() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answered
}

// announced returns of which lists the server says that they have changed.
func (s *session) announced() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.announces
}

// by returns a message that is sent with an Authorization.
func by(authorization string, m *rpc.Message) *rpc.Message {
	cp := *m
	cp.Authorization = authorization
	return &cp
}

// The bounds of what is kept of a client that never unsubscribes.
const (
	maxSubscribed      = 10_000
	maxSubscribedBytes = 2 << 20
)

// begin begins the session that was negotiated.
func (s *session) begin(m *rpc.Message, result json.RawMessage) {
	params := &mcp.InitializeParams{}
	var agreed struct {
		Version string `json:"protocolVersion"`
	}
	var can struct {
		Capabilities map[string]json.RawMessage `json:"capabilities"`
	}
	_ = rpc.Unmarshal(m.Params, params) // the server has understood it
	_ = rpc.Unmarshal(result, &agreed)
	_ = rpc.Unmarshal(result, &can) // what cannot be read is not announced
	params.ProtocolVersion = agreed.Version
	sdk := newSession(params, s.proxy.Session)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sdk != nil {
		_ = s.sdk.Close()
	}
	s.initialize, s.version, s.sdk, s.announces = m, agreed.Version, sdk, nil
	if s.version != "" {
		s.initialize = m.With(jsons.Quoted(s.version), "params", "protocolVersion")
	}
	for _, what := range []string{"tools", "prompts", "resources"} {
		var one struct {
			ListChanged bool `json:"listChanged"`
		}
		if rpc.Unmarshal(can.Capabilities[what], &one) == nil && one.ListChanged {
			s.announces = append(s.announces, what)
		}
	}
}

// close ends what the session of the SDK runs.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sdk != nil {
		_ = s.sdk.Close()
	}
}

// newSession returns a session of the SDK. By it the middlewares know the client, and which calls share a
// connection, or a session if it has an ID. Nothing is ever sent through it.
func newSession(params *mcp.InitializeParams, id string) *mcp.ServerSession {
	server := mcp.NewServer(&mcp.Implementation{Name: "mcpchain"}, nil)
	state := &mcp.ServerSessionState{InitializeParams: params}
	sdk, err := server.Connect(context.Background(), &mcp.StreamableServerTransport{SessionID: id}, &mcp.ServerSessionOptions{State: state})
	if err != nil {
		return nil // cannot be: this transport always connects
	}
	return sdk
}

// request returns a request as the SDK would have read it. It is nil if the SDK cannot read what guards decide by: a
// server may read it all the same. What nothing decides by is left out if the SDK cannot read it: answers of the
// client's user, and arguments of prompts that nothing checks.
func (s *session) request(m *rpc.Message, extra *mcp.RequestExtra) mcp.Request {
	s.mu.Lock()
	if s.sdk == nil {
		s.sdk = newSession(nil, s.proxy.Session)
	}
	sdk := s.sdk
	s.mu.Unlock()
	if typed := known[m.Method]; typed != nil {
		if req := typed(sdk, m.Params, extra); req != nil {
			return req
		}
		most := m.With([]byte(`{}`), "params", "inputResponses")
		if m.Method == call.MethodGetPrompt && !s.proxy.Strict {
			most = most.With([]byte(`{}`), "params", "arguments")
		}
		if req := typed(sdk, most.Params, extra); req != nil {
			return req
		}
		if decides(m.Method) {
			return nil
		}
	}
	return read[otherParams](sdk, m.Params, extra)
}

// decides reports whether guards decide by the parameters of a method, or by what it lists.
func decides(method string) bool {
	return call.TargetKey(method) != "" || standIns[method] != nil && method != call.MethodComplete
}

// otherParams are the parameters of methods unknown to the SDK, and those that it cannot read: the server may take
// them.
type otherParams struct{ mcp.ParamsBase }

// known are the methods whose requests the middlewares read.
var known = map[string]func(*mcp.ServerSession, json.RawMessage, *mcp.RequestExtra) mcp.Request{
	"initialize":               read[mcp.InitializeParams],
	"ping":                     read[mcp.PingParams],
	"tools/call":               read[mcp.CallToolParamsRaw],
	"tools/list":               read[mcp.ListToolsParams],
	"prompts/get":              read[mcp.GetPromptParams],
	"prompts/list":             read[mcp.ListPromptsParams],
	"resources/read":           read[mcp.ReadResourceParams],
	"resources/list":           read[mcp.ListResourcesParams],
	"resources/templates/list": read[mcp.ListResourceTemplatesParams],
	"resources/subscribe":      read[mcp.SubscribeParams],
	"resources/unsubscribe":    read[mcp.UnsubscribeParams],
	"completion/complete":      read[mcp.CompleteParams],
	"logging/setLevel":         read[mcp.SetLoggingLevelParams], //nolint:staticcheck // clients use it until 2026-07-28
	"subscriptions/listen":     read[mcp.SubscriptionsListenParams],
}

// read returns a request with its parameters, nil if they cannot be read.
func read[T any, P interface {
	*T
	mcp.Params
}](sdk *mcp.ServerSession, raw json.RawMessage, extra *mcp.RequestExtra) mcp.Request {
	params := P(new(T))
	if raw != nil && rpc.Unmarshal(raw, params) != nil {
		if _, other := any(params).(*otherParams); !other {
			return nil
		}
		params = P(new(T))
	}
	return &mcp.ServerRequest[P]{Session: sdk, Params: params, Extra: extra}
}

// restoring bounds how long a server may take to begin its session anew, and then for the rest of it. A process has
// its StartTimeout to begin.
const restoring = 60 * time.Second

// restore tells a new run of the server what the one before it was told.
func (s *session) restore(up *upstream) error {
	s.mu.Lock()
	initialize, version, ready := s.initialize, s.version, s.ready
	var rest []*rpc.Message
	if s.level != nil {
		rest = append(rest, s.level)
	}
	for _, one := range s.subscribed {
		rest = append(rest, one.m)
	}
	s.mu.Unlock()
	late := errors.New("it took too long")
	if initialize != nil {
		ctx, cancel := s.proxy.life, func() {} // watch ends a process
		if !up.ours {
			ctx, cancel = context.WithTimeoutCause(ctx, restoring, late)
		}
		answer, wire, err := s.repeat(ctx, up, initialize)
		cancel()
		if err = cmp.Or(err, wire); err != nil {
			return fmt.Errorf("initialize: %w", err)
		}
		if now := answer.Text("result", "protocolVersion"); now != "" && now != version { // such as an update: the client would not understand it
			err := otherVersionError(version, now)
			s.proxy.mu.Lock()
			s.proxy.never = err
			s.proxy.mu.Unlock()
			return err
		}
		if ready != nil {
			up.send(by(s.caller(), ready))
		}
	}
	ctx, cancel := context.WithTimeoutCause(s.proxy.life, restoring, late)
	defer cancel()
	for _, m := range rest {
		_, wire, err := s.repeat(ctx, up, m)
		if err != nil {
			s.silenced(m, err)
			return fmt.Errorf("what followed initialize: %w", err)
		}
		if wire != nil { // such as a resource that has gone: the server is still of use
			s.proxy.Logger.Warn("the server refuses what it had taken before it ended", slog.String("error", s.proxy.Hide(wire.Error())))
		}
	}
	return nil
}

// silenced forgets what two runs were told and gave no answer to: a server that it silences would be started for ever.
func (s *session) silenced(m *rpc.Message, err error) {
	_, silent := errors.AsType[*silentError](err)
	_, late := errors.AsType[*call.ElsewhereError](err)
	if !silent && !late || s.proxy.ending() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent == nil {
		s.silent = map[*rpc.Message]int{}
	}
	if s.silent[m]++; s.silent[m] < 2 {
		return
	}
	s.proxy.Logger.Warn("the server was silent twice after what it had taken before, which is not sent again", slog.String("method", m.Method))
	delete(s.silent, m)
	if s.level == m {
		s.level = nil
	}
	s.subscribed = slices.DeleteFunc(s.subscribed, func(one subscription) bool { return one.m == m })
}

// repeat sends a request once more, under an ID of our own. It returns the answer, the server's refusal, or why there
// is no answer.
func (s *session) repeat(ctx context.Context, up *upstream, m *rpc.Message) (answer *rpc.Message, refusal, err error) {
	r, err := up.renamed(ctx, by(s.caller(), m), nil)
	switch {
	case err != nil:
		return nil, nil, err
	case r.wire != nil:
		return nil, r.wire, nil
	default:
		return r.m, nil, r.err
	}
}
