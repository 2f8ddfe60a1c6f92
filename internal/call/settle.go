package call

// Settle makes err the failure that the Call ends with, for a middleware that answers
// before the handlers inside of it have returned: what those make known of their own
// errors later, in another goroutine, does not replace what is known about this one.
// It returns nil for a nil error. A middleware that waits for its handler needs none
// of it.
func (c *Call) Settle(err error) *Failure {
	if err == nil {
		return nil
	}
	f := c.Failure(nil, err)
	cold := c.lock()
	defer c.mu.Unlock()
	cold.settled = f
	return f
}
