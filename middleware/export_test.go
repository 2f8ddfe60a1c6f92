package middleware

// ServersKept returns how many servers the registry of AddTool has.
func ServersKept() int { return servers.Len() }
