package rpc

// Reads reports whether a request of the method may be sent again although it may have been carried out: the second
// one changes nothing more. A call of a tool is not among them: that depends on the tool.
func Reads(method string) bool {
	switch method {
	case "initialize", "ping", "server/discover",
		"tools/list", "prompts/list", "prompts/get", "completion/complete",
		"resources/list", "resources/templates/list", "resources/read",
		"resources/subscribe", "resources/unsubscribe", "subscriptions/listen", "logging/setLevel",
		"tasks/get", "tasks/list", "tasks/result":
		return true
	default:
		return false
	}
}
