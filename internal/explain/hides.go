package explain

import "strings"

// Hides returns a function that reports whether the schema says of the value to which
// a JSON Pointer leads in these arguments, or of one around it, that it must not be
// shown. It is for values that somebody else complains of, whose arguments may be
// valid. What cannot be found out is hidden.
func (s *Schema) Hides(args []byte) func(pointer string) bool {
	all := func(string) bool { return true }
	if !s.hides {
		return func(string) bool { return false }
	}
	d, broken := parse(string(args))
	if broken != nil {
		return all
	}
	w := s.newWalk(d, &Options{})
	w.hidden = map[int32]bool{}
	if w.descend(s.root, 0); w.steps > w.budget || len(w.found) >= MaxCounted {
		return all
	}
	return func(pointer string) bool {
		at := int32(0)
		for _, token := range strings.Split(pointer, "/")[1:] {
			if w.hidden[at] {
				return true
			}
			next, ok := d.step(at, unpointer.Replace(token))
			if !ok {
				return true
			}
			at = next
		}
		return w.hidden[at]
	}
}
