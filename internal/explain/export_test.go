package explain

// MaxUnits is the most that Counted returns, apart from the last step.
const MaxUnits = maxWork + maxTold

// Counted explains arguments and returns how much work that was.
func (s *Schema) Counted(args []byte) (*Report, int) { return s.explain(args, Options{}) }
