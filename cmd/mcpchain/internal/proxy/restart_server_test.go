package proxy

import (
	"os"
	"strings"
)

// restarts handles what a server is asked that differs after a restart, and reports whether it did. PROXY_TEST_MODE
// says how it differs, and the file PROXY_TEST_RUNS has a byte for each run.
func (s *fakeServer) restarts(m message) bool {
	file, mode := os.Getenv("PROXY_TEST_RUNS"), os.Getenv("PROXY_TEST_MODE")
	runs, _ := os.ReadFile(file)
	if m.Method == "initialize" {
		runs = append(runs, 'x')
		_ = os.WriteFile(file, runs, 0o600)
	}
	again := len(runs) > 1
	switch m.Method {
	case "initialize":
		version, can := "2025-06-18", `"tools":{"listChanged":true},"prompts":{"listChanged":false},"resources":{}`
		if mode == "version" && again && len(runs) < 4 {
			version = "2025-11-25"
		}
		if mode == "asked version" && again {
			version = s.asked(m.Params)
		}
		if mode == "unannounced" {
			can = `"tools":{}`
		}
		s.result(m.ID, `{"protocolVersion":"`+version+`","capabilities":{`+can+`},"serverInfo":{"name":"fake","version":"1"}}`)
	case "tools/list":
		name, wants := "one", ""
		if again && mode != "same" {
			name = "other"
		}
		if s.changed {
			wants = `,"required":["b"]`
		}
		s.result(m.ID, `{"tools":[{"name":"`+name+`","inputSchema":{"type":"object"`+wants+`}}]}`)
	case "tools/call":
		switch {
		case strings.Contains(string(m.Params), `"change"`):
			s.changed = true
			s.raw(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			s.text(m.ID, "done", false)
		case strings.Contains(string(m.Params), `"one"`):
			s.text(m.ID, "it failed", true)
		default:
			return false
		}
	case "prompts/list":
		name := "one"
		if again {
			name = "other"
		}
		s.result(m.ID, `{"prompts":[{"name":"`+name+`"}]}`)
	case "resources/subscribe":
		if again && mode == "silent" && strings.Contains(string(m.Params), "x://bad") {
			s.mu.Lock() // nothing is written any more
			select {}
		}
		s.result(m.ID, `{}`)
	default:
		return false
	}
	return true
}
