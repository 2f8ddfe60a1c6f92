package front

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// Servers on the SDK keep one subscription for each session, the last one, and forget it when any ends. So clients
// that share a server do not subscribe there themselves. The session subscribes once for all lists, and once for
// each resource, and passes on what comes. It ends subscriptions only to renew them all.

// wants are what a client subscribes to.
type wants struct {
	Tools     bool `json:"toolsListChanged,omitempty"`
	Prompts   bool `json:"promptsListChanged,omitempty"`
	Resources bool `json:"resourcesListChanged,omitempty"`
	URIs      uris `json:"resourceSubscriptions,omitempty"`
}

// uris are a set, and a list in JSON.
type uris map[string]bool

func (u *uris) UnmarshalJSON(raw []byte) error {
	var list []string
	if err := rpc.Unmarshal(raw, &list); err != nil {
		return err
	}
	*u = make(uris, len(list))
	for _, uri := range list {
		(*u)[uri] = true
	}
	return nil
}

// MarshalJSON returns the list.
func (u uris) MarshalJSON() ([]byte, error) { return json.Marshal(slices.Sorted(maps.Keys(u))) }

// cost is how much a client, or the server, has of [subscriptions].
func (u uris) cost() int {
	cost := 1
	for uri := range u {
		cost += 1 + len(uri)>>10
	}
	return cost
}

// of reports whether a notification is wanted, by its method and its URI.
func (w *wants) of(method, uri string) bool {
	switch method {
	case "notifications/tools/list_changed":
		return w.Tools
	case "notifications/prompts/list_changed":
		return w.Prompts
	case "notifications/resources/list_changed":
		return w.Resources
	case "notifications/resources/updated":
		return w.URIs[uri]
	}
	return false
}

// within returns what of the wants is allowed.
func (w *wants) within(allowed *wants) wants {
	both := wants{w.Tools && allowed.Tools, w.Prompts && allowed.Prompts, w.Resources && allowed.Resources, maps.Clone(w.URIs)}
	maps.DeleteFunc(both.URIs, func(uri string, _ bool) bool { return !allowed.URIs[uri] })
	return both
}

// A subscription is one that the session has with the server.
type subscription struct {
	id      rpc.ID
	wants   wants
	allowed wants         // once it is settled
	failed  *rpc.Message  // the answer, if there is one: it has not begun, or it has ended
	settled chan struct{} // closed when the server has acknowledged or refused it
	purse   purse         // of the client for which it began
	cost    int           // what it takes there
}

// concerns reports whether a client needs the subscription.
func (s *subscription) concerns(want *wants) bool {
	for uri := range want.URIs {
		if s.wants.URIs[uri] {
			return true
		}
	}
	return s.wants.Tools
}

// maxURIsOfOne bounds what one request may subscribe to: the server keeps all of it.
const maxURIsOfOne = 1000

// leastCost is what a subscription of the server takes of [asked] at least: it keeps no more than a thousand of them.
const leastCost = 20

var errManyURIs = errors.New("a request may have " + strconv.Itoa(maxURIsOfOne) + " URIs")

// listeners are the clients that have subscribed, and the subscriptions of the session. The mutex of the
// session guards them.
type listeners struct {
	clients map[*stream]*wants
	own     map[string]*subscription // by the keys of their IDs
	renewed time.Time                // see renew
}

// subscribed serves a client's subscription until one of both ends.
func (f *Front) subscribed(s *session, p *post) {
	var want wants
	if raw := p.m.Value("params", "notifications"); raw != nil && rpc.Unmarshal(raw, &want) != nil || p.m.Params == nil {
		fail(p.w, http.StatusBadRequest, p.m.ID, jsonrpc.CodeInvalidParams, `Invalid message: "notifications" is not what subscriptions/listen takes.`)
		return
	}
	st := newStream(p.m.ID)
	st.of(p)
	allowed, refusal, err := s.subscribe(p.req.Context(), st, &want)
	defer s.unsubscribe(st)
	defer st.part(st.reader)
	switch {
	case refusal != nil:
		writeMessage(p.w, statusOf(refusal), refusal.With(p.m.ID, "id"))
		return
	case errors.Is(err, errManyURIs):
		fail(p.w, http.StatusBadRequest, p.m.ID, jsonrpc.CodeInvalidParams, "Invalid message: "+err.Error()+".")
		return
	case err != nil:
		f.Logger.Warn("a client cannot subscribe", slog.String("error", err.Error()))
		unavailable(p.w, p.m.ID, err)
		return
	}
	st.serve(p.w, p.req, manner{reader: st.reader, first: st.written(event{m: acknowledged(st.id, allowed)})})
}

// acknowledged returns the notification that says what a client has subscribed to.
func acknowledged(id rpc.ID, w wants) *rpc.Message {
	params, _ := json.Marshal(map[string]any{"_meta": map[string]json.RawMessage{subscriptionKey: json.RawMessage(id)}, "notifications": w}) //nolint:errchkjson // an ID is JSON
	return rpc.Request(nil, "notifications/subscriptions/acknowledged", params)
}

// subscribe subscribes to what a client wants and nobody before it wanted. It returns what the server allows, or its
// refusal.
func (s *session) subscribe(ctx context.Context, st *stream, want *wants) (allowed wants, refusal *rpc.Message, err error) {
	s.mu.Lock()
	had := wants{URIs: uris{}}
	for _, one := range s.listeners.own {
		had.Tools = true // the first has all lists
		maps.Copy(had.URIs, one.wants.URIs)
	}
	missing := wants{!had.Tools, !had.Tools, !had.Tools, maps.Clone(want.URIs)}
	maps.DeleteFunc(missing.URIs, func(uri string, _ bool) bool { return had.URIs[uri] })
	cost, news := want.URIs.cost(), !had.Tools || len(missing.URIs) > 0
	switch {
	case s.ended:
		err = errClosed
	case len(want.URIs) > maxURIsOfOne:
		err = errManyURIs
	default:
		err = st.purse.take(subscriptions, cost)
	}
	if err == nil && news {
		if err = s.listenTo(st.purse, missing); err != nil {
			st.purse.give(subscriptions, cost)
			s.renew()
		}
	}
	if err == nil {
		s.listeners.clients[st] = want
	}
	all := slices.Collect(maps.Values(s.listeners.own))
	s.mu.Unlock()
	if err != nil {
		return wants{}, nil, err
	}
	return s.settle(ctx, all, want)
}

// listenTo begins a subscription of the session for a client, unless a bound does not allow it. What it takes is
// given back when it ends, and not with the client: the server keeps it until then. The caller holds the lock.
func (s *session) listenTo(of purse, w wants) error {
	cost := max(w.URIs.cost(), leastCost)
	if err := of.take(asked, cost); err != nil {
		return err
	}
	go s.send(s.plan(of, cost, w))
	return nil
}

// drop ends a subscription of the session. The caller holds the lock.
func (s *session) drop(key string) {
	own := s.listeners.own[key]
	own.purse.give(asked, own.cost)
	delete(s.listeners.own, key)
}

// plan notes a subscription, and returns its message. The caller holds the lock.
func (s *session) plan(of purse, cost int, w wants) *rpc.Message {
	id := rpc.RandomID()
	for s.streams[id.Key()] != nil || s.listeners.own[id.Key()] != nil {
		id = rpc.RandomID()
	}
	s.listeners.own[id.Key()] = &subscription{id: id, wants: w, settled: make(chan struct{}), purse: of, cost: cost}
	params, _ := json.Marshal(map[string]any{"_meta": json.RawMessage(ownMeta), "notifications": w}) //nolint:errchkjson // texts
	return rpc.Request(id, "subscriptions/listen", params)
}

func (s *session) send(m *rpc.Message) {
	m.Authorization = s.authorization // that of all clients, if the server gets it
	s.proxy.Receive(m, &mcp.RequestExtra{Header: http.Header{}})
}

// The times of renewing subscriptions.
const (
	renewAgain = 30 * time.Second
	renewPause = time.Second // until a server has forgotten those before, as ending them ends others, too
)

// renew subscribes anew to what clients want now, when the bound of subscriptions is reached: most are for clients
// that have gone. Changes meanwhile are lost, so all clients are told of possible ones. The caller holds the lock.
func (s *session) renew() {
	if time.Since(s.listeners.renewed) < renewAgain {
		return
	}
	s.listeners.renewed = time.Now()
	all := wants{true, true, true, uris{}}
	for _, want := range s.listeners.clients {
		maps.Copy(all.URIs, want.URIs)
	}
	var ended []*rpc.Message
	for _, one := range s.listeners.own {
		ended = append(ended, rpc.Cancelled(one.id, "it is not needed any more"))
	}
	for key := range s.listeners.own {
		s.drop(key)
	}
	of, cost := purse{s.purse.accounts, ""}, max(all.URIs.cost(), leastCost)
	of.put(asked, cost)
	m := s.plan(of, cost, all) // new clients wait for it
	planned := s.listeners.own[m.ID.Key()]
	s.logger.Info("the subscriptions of clients that have gone end", slog.Int("subscriptions", len(ended)))
	go func() {
		for _, one := range ended {
			s.send(one)
		}
		time.Sleep(renewPause)
		s.send(m)
		select {
		case <-planned.settled:
		case <-time.After(startLimit):
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for st, want := range s.listeners.clients {
			for _, method := range []string{"notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed"} {
				if want.of(method, "") {
					st.put(changed(st.id, method, ""), false)
				}
			}
			for uri := range want.URIs {
				st.put(changed(st.id, "notifications/resources/updated", uri), false)
			}
		}
	}()
}

// changed returns a notification for a subscription. uri may be "".
func changed(id rpc.ID, method, uri string) *rpc.Message {
	params := map[string]any{"_meta": map[string]json.RawMessage{subscriptionKey: json.RawMessage(id)}}
	if uri != "" {
		params["uri"] = uri
	}
	raw, _ := json.Marshal(params) //nolint:errchkjson // an ID is JSON
	return rpc.Request(nil, method, raw)
}

// settle waits until the server has said what it allows, or that it refuses.
func (s *session) settle(ctx context.Context, all []*subscription, want *wants) (_ wants, refusal *rpc.Message, _ error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errors.New("the server does not answer"))
	defer cancel()
	allowed := wants{URIs: uris{}}
	for _, one := range all {
		select {
		case <-one.settled:
		case <-ctx.Done():
			return wants{}, nil, context.Cause(ctx)
		}
		s.mu.Lock()
		failed := one.failed
		allowed.Tools = allowed.Tools || one.allowed.Tools
		allowed.Prompts = allowed.Prompts || one.allowed.Prompts
		allowed.Resources = allowed.Resources || one.allowed.Resources
		maps.Copy(allowed.URIs, one.allowed.URIs)
		s.mu.Unlock()
		if failed != nil && one.concerns(want) {
			return wants{}, failed, nil
		}
	}
	return want.within(&allowed), nil, nil
}

func (s *session) unsubscribe(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if want := s.listeners.clients[st]; want != nil {
		st.purse.give(subscriptions, want.URIs.cost())
		delete(s.listeners.clients, st)
		s.used = time.Now()
	}
}

// listened takes a message that is about a subscription, and reports whether it is. The caller holds the lock.
func (s *session) listened(m *rpc.Message) bool {
	if m.Method == "" {
		own := s.listeners.own[m.ID.Key()]
		if own == nil {
			return false
		}
		// It has ended. The next client that subscribes begins a new one.
		s.drop(m.ID.Key())
		if own.failed == nil {
			own.failed = m
			select {
			case <-own.settled:
			default:
				close(own.settled)
			}
		}
		for st, want := range s.listeners.clients {
			if own.concerns(want) {
				st.put(m.With(st.id, "id").With(st.id, "result", "_meta", subscriptionKey), true)
			}
		}
		return true
	}
	of := rpc.ID(m.Value("params", "_meta", subscriptionKey))
	if m.Method == "notifications/subscriptions/acknowledged" {
		if own := s.listeners.own[of.Key()]; own != nil {
			own.allowed = wants{}
			_ = rpc.Unmarshal(m.Value("params", "notifications"), &own.allowed) // what is read of it counts
			select {
			case <-own.settled: // by a server that was started again
			default:
				close(own.settled)
			}
		}
		return true
	}
	if of == nil {
		return false
	}
	uri := m.Text("params", "uri")
	for st, want := range s.listeners.clients {
		if want.of(m.Method, uri) {
			st.put(m.With(st.id, "params", "_meta", subscriptionKey), false)
		}
	}
	return true
}
