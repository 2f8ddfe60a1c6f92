package explain

// few is how many members are compared each with each.
const few = 12

// duplicates marks the members whose name comes again.
func (p *parser) duplicates(at int32) {
	values := p.doc.values
	v := &values[at]
	if v.count <= few {
		for i := at + 1; i < v.next; i = values[i].next {
			for j := values[i].next; j < v.next; j = values[j].next {
				if values[i].name == values[j].name {
					p.kill(at, i, j)
					break
				}
			}
		}
		return
	}
	last := make(map[string]int32, v.count)
	for i := at + 1; i < v.next; i = values[i].next {
		if before, ok := last[values[i].name]; ok {
			p.kill(at, before, i)
		}
		last[values[i].name] = i
	}
}

// kill takes a member out of its object because another one has its name.
func (p *parser) kill(at, dead, alive int32) {
	p.doc.values[dead].dead = true
	p.doc.values[at].count--
	p.note(alive, ruleDuplicate)
}

func (p *parser) note(at int32, rule string) {
	if n := len(p.doc.notes); n < MaxCounted && (n == 0 || p.doc.notes[n-1] != note{at, rule}) {
		p.doc.notes = append(p.doc.notes, note{at, rule})
	}
}
