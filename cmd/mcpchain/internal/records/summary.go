package records

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Bounds of what is kept, however long a log is.
const (
	most     = 10  // of the slowest and of the newest
	examples = 3   // of each group
	groups   = 500 // of each section; callers choose the names of what does not exist
)

// A Group has records that say the same of the same.
type Group struct {
	Name, Kind string
	Level      slog.Level // the highest
	Count      int
	Newest     []*Record // the last first
}

// Last returns the newest record.
func (g *Group) Last() *Record { return g.Newest[0] }

// A Section has groups by their names and kinds.
type Section map[[2]string]*Group

func (s Section) add(name, kind string, r *Record) {
	g := s[[2]string{name, kind}]
	if g == nil && len(s) >= groups {
		name, kind = "(others)", ""
		g = s[[2]string{name, kind}]
	}
	if g == nil {
		g = &Group{Name: name, Kind: kind, Level: r.Level}
		s[[2]string{name, kind}] = g
	}
	g.Count++
	g.Level = max(g.Level, r.Level)
	g.Newest = keep(g.Newest, r, examples, newer)
}

// keep puts a record into a sorted list, and returns so many of the first.
func keep(list []*Record, r *Record, limit int, order func(a, b *Record) int) []*Record {
	i, _ := slices.BinarySearchFunc(list, r, order)
	list = slices.Insert(list, i, r)
	return list[:min(len(list), limit)]
}

func newer(a, b *Record) int  { return b.Time.Compare(a.Time) }
func slower(a, b *Record) int { return cmp.Compare(b.Took, a.Took) }

// Sorted returns the groups: the one with the most records first.
func (s Section) Sorted() []*Group {
	all := make([]*Group, 0, len(s))
	for _, g := range s {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *Group) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
	})
	return all
}

// A Summary is what a log says. Its zero value is that of an empty one.
type Summary struct {
	From, To time.Time

	Records, Others int // lines that are records, and lines that are not
	Calls, Failures int
	Parts           int     // of calls, that failed
	Changed         int     // answers that would have been others without Observe
	Unknown         int     // failures of which it is not known whether they took effect
	Failed          Section // calls, by what was called and the kind of the failure
	Observed        Section // what would have been sent, by the same
	Said            Section // warnings and errors that are about no call, by their message
	Slowest, Newest []*Record
	kinds           map[string]string // of the newest calls, by their references
}

// Add adds a record, nil for a line that is not one.
func (s *Summary) Add(r *Record) {
	if r == nil {
		s.Others++
		return
	}
	if s.Records++; s.Records == 1 {
		s.Failed, s.Observed, s.Said, s.kinds = Section{}, Section{}, Section{}, map[string]string{}
		s.From, s.To = r.Time, r.Time
	}
	r.Time = r.Time.In(s.From.Location()) // servers may have other zones, and the same in summer and in winter
	if r.Time.Before(s.From) {            // files of a log that was rotated come in any order
		s.From = r.Time
	}
	if r.Time.After(s.To) {
		s.To = r.Time
	}
	switch {
	case r.Call:
		s.call(r)
	case r.Observed:
		s.Changed++
		kind := s.kinds[r.Reference]
		if strings.Contains(r.Message, "refused") {
			kind = "refused"
		}
		s.Observed.add(r.Name, kind, r)
	case r.Level >= slog.LevelWarn:
		s.Said.add(r.Message, "", r)
	}
}

func (s *Summary) call(r *Record) {
	if !r.Part {
		s.Calls++
	}
	if r.Took > 0 {
		s.Slowest = keep(s.Slowest, r, most, slower)
	}
	if !r.Failed {
		return
	}
	if r.Part {
		s.Parts++
	} else {
		s.Failures++
	}
	if r.Get("effect") == "unknown" {
		s.Unknown++
	}
	s.Failed.add(r.Name, r.Kind, r)
	s.Newest = keep(s.Newest, r, most, newer)
	if len(s.kinds) > 4096 { // what would have been sent is recorded right behind its call
		clear(s.kinds)
	}
	s.kinds[r.Reference] = r.Kind
}
