package call

import "github.com/mcpchain/mcpchain/internal/classify"

// Classified reports whether the kind of the failure was told from the error alone:
// neither a rule nor the error itself has words for the caller.
func (f *Failure) Classified() bool { return f.found.Origin == classify.Classified }
