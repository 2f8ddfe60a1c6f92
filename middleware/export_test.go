package middleware

// ServersKept returns how many servers the registry of AddTool has.
func ServersKept() int {
	servers.Lock()
	defer servers.Unlock()
	return len(servers.chains)
}
