package otel

import (
	"sync"

	"github.com/mcpchain/mcpchain/middleware"
)

// protocolMethods are the methods and notifications of MCP, up to 2026-07-28.
var protocolMethods = func() map[string]bool {
	all := map[string]bool{}
	for _, name := range []string{
		"initialize", "server/discover", "ping", middleware.MethodCallTool, "tools/list", middleware.MethodGetPrompt, "prompts/list",
		"resources/read", "resources/list", "resources/templates/list", "resources/subscribe", "resources/unsubscribe",
		"subscriptions/listen", "completion/complete", "logging/setLevel",
		"elicitation/create", "sampling/createMessage", "roots/list",
		"tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update",
		"notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/message", "notifications/roots/list_changed",
		"notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed", "notifications/resources/updated",
		"notifications/subscriptions/acknowledged", "notifications/elicitation/complete", "notifications/tasks/status",
	} {
		all[name] = true
	}
	return all
}()

// methods are those that go into metrics and the names of spans: those of the protocol, and some that were
// answered without an error. Callers can invent any number of others. The zero value is ready for use.
type methods struct {
	mu     sync.RWMutex
	served map[string]bool
}

// maxMethods bounds those that are not of the protocol: a server may answer whatever it is asked.
const maxMethods = 64

// label returns the method, or other.
func (m *methods) label(method string) string {
	if protocolMethods[method] {
		return method
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.served[method] {
		return clean(method, maxName)
	}
	return other
}

// serves notes that a method was answered without an error.
func (m *methods) serves(method string) {
	if protocolMethods[method] || len(method) > maxName {
		return
	}
	m.mu.RLock()
	have := m.served[method] || len(m.served) >= maxMethods
	m.mu.RUnlock()
	if have {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.served == nil {
		m.served = map[string]bool{}
	}
	if len(m.served) < maxMethods {
		m.served[method] = true
	}
}
