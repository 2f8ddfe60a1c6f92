package front

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// owners are the names of the credentials that a session belongs to, in the order in which they came: those that
// began it, and those with which its server has answered a message with 2xx since. Without credentials there is the
// name "". The mutex of the session guards them.
type owners []string

// maxOwners bounds the tokens of one session. The first ones are forgotten first: tokens expire.
const maxOwners = 100

// add reports whether the name is a new one.
func (o *owners) add(name string) bool {
	if slices.Contains(*o, name) {
		return false
	}
	if *o = append(*o, name); len(*o) > maxOwners {
		*o = slices.Delete(*o, 0, 1)
	}
	return true
}

// succeeds reports whether credentials are the ones of before, or have come after them.
func (o owners) succeeds(name, before string) bool {
	i := slices.Index(o, name)
	return i >= 0 && i >= slices.Index(o, before)
}

// belongs reports whether a session belongs to the credentials of a name.
func (s *session) belongs(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.owners, name)
}

// accepts notes that the server has answered a message with 2xx: the session belongs to its sender, too. What the
// sender holds from now on is its own, although others share its address.
func (f *Front) accepts(s *session, authorization string) {
	name := nameOf(authorization)
	if name != "" {
		f.accepted.Put(name, struct{}{})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	added := s.owners.add(name)
	if name != "" && s.holds && !s.proven {
		s.purse.give(sessions, 1)
		s.purse.caller, s.proven = principal(name), true
		s.purse.put(sessions, 1)
	}
	if !added { // its requests were linked when they came
		return
	}
	for _, st := range s.streams {
		if st.by == name && !st.linked {
			s.link(st)
		}
	}
}

// proofTime is how long a server may take to say whether it accepts credentials.
const proofTime = 10 * time.Second

// proves reports whether the server accepts credentials, which a session does not belong to yet: it is asked with
// them. It is for messages that no server answers, and which take effect in this program, too.
// The question is one of the calls of its caller.
func (s *session) proves(p *post) bool {
	if p.purse.take(calls, 1) != nil {
		return false
	}
	defer p.purse.give(calls, 1)
	ctx, cancel := context.WithTimeout(p.req.Context(), proofTime)
	defer cancel()
	s.ask(ctx, p.m.Authorization, "ping", json.RawMessage(`{}`))
	return s.belongs(nameOf(p.m.Authorization))
}
