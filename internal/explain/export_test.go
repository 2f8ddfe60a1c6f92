package explain

// MaxUnits is the most that Work returns, apart from the last step.
const MaxUnits = maxWork + maxTold

// Work returns how much work it is to explain arguments.
func (s *Schema) Work(args []byte) int {
	_, work := s.explain(args, Options{})
	return work
}
