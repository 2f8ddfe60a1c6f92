package middleware

// Part returns how often it was called before for this Call: 0, then 1 and so on.
// Whoever divides the work of a call into calls below it ([Call.Below]) asks once, so
// that two who do so in one call can give different names to theirs.
func (c *Call) Part() int {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.parts++
	return cold.parts - 1
}
