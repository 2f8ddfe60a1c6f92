package sessionkey

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type store struct{}

func (store) Get(key string) string  { return key }
func (store) Put(cacheKey, v string) {}
func (store) Note(text string)       {}

func keys(req *mcp.CallToolRequest, counts map[string]int, s store, m *sync.Map) {
	counts[req.Session.ID()]++           // want `this key is made of a session's ID`
	counts["user:"+req.Session.ID()] = 1 // want `this key is made of a session's ID`
	id := req.Session.ID()
	_ = counts[id] // want `this key is made of a session's ID`
	key := fmt.Sprintf("%s/%s", id, req.Params.Name)
	s.Put(key, id)
	s.Put(fmt.Sprintf("%s/x", req.Session.ID()), "") // want `this key is made of a session's ID`
	_ = s.Get(req.Session.ID())                      // want `this key is made of a session's ID`
	m.Store(req.Session.ID(), 1)                     // want `this key is made of a session's ID`
}

func fine(req *mcp.CallToolRequest, counts map[string]int, s store) {
	slog.Info("called in session "+req.Session.ID(), slog.String("session", req.Session.ID()))
	s.Note("session " + req.Session.ID())
	id := req.Session.ID()
	id = "tenant"
	counts[id]++
	if session := req.Session.ID(); session != "" {
		counts[session]++ // the author knows that it may be empty
	}
	names := []string{"a"}
	_ = names[len(req.Session.ID())]
}
