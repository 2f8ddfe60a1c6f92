// Package retrypolicy has errors that look like those of the library of this path.
package retrypolicy

// ExceededError holds the last error.
type ExceededError struct{ LastError error }

// Error returns the text.
func (ExceededError) Error() string { return "retries exceeded" }

// Unwrap returns the last error.
func (e ExceededError) Unwrap() error { return e.LastError }
