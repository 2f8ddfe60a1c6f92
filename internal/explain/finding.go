package explain

// A finding is one keyword that failed.
type finding struct {
	rule     string
	n        *node // whose keyword it is
	at       int32 // the value
	name     string
	other    string
	names    []string
	count    int
	pairs    [][2]int
	expected string // instead of what n expects
	choice   *choice
	when     string
	top      *node     // see walk
	owner    *node     // see walk
	renamed  []renamed // the names to be used instead of those that were sent
}

// A renamed is a member that is told by the name that was meant.
type renamed struct {
	at   int32
	name string
}

// marks are the children of one value that a schema has looked at, which is what
// the unevaluated keywords ask for. Nil marks nothing.
type marks struct{ seen []bool }

func (m *marks) mark(i int) {
	if m != nil {
		m.seen[i] = true
	}
}

func (m *marks) all() {
	if m != nil {
		for i := range m.seen {
			m.seen[i] = true
		}
	}
}

func (m *marks) add(o *marks) {
	if m != nil && o != nil {
		for i, seen := range o.seen {
			m.seen[i] = m.seen[i] || seen
		}
	}
}

// fresh returns empty marks where there are marks.
func (m *marks) fresh() *marks {
	if m == nil {
		return nil
	}
	return &marks{make([]bool, len(m.seen))}
}
