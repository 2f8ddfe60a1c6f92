package probe

// Over returns the transport that the check is for, "stdio" or "http", "" for both.
func (c *Check) Over() string { return c.over }

// Looks reports whether the check sends nothing, and looks at the answers to all others.
func (c *Check) Looks() bool { return c.run == nil }
