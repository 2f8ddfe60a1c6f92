package front

import "net/http"

// listen serves the stream of what belongs to no request.
func (s *session) listen(w http.ResponseWriter, req *http.Request) {
	if _, events := accepts(req.Header); !events {
		http.Error(w, "Accept must contain 'text/event-stream' for GET requests", http.StatusNotAcceptable)
		return
	}
	if id := req.Header.Get("Last-Event-ID"); id != "" {
		s.resume(w, req, id)
		return
	}
	reader, ok := s.alone.sit()
	if !ok {
		http.Error(w, "Conflict: the session has such a stream", http.StatusConflict)
		return
	}
	defer s.alone.part(reader)
	how := manner{reader: reader}
	if s.speaks() >= primed {
		how.first = s.alone.priming()
	}
	s.alone.serve(w, req, how)
}

// resume serves what follows an event that the client has got.
func (s *session) resume(w http.ResponseWriter, req *http.Request, id string) {
	name, number, ok := parseEventID(id)
	if !ok {
		http.Error(w, "Bad Request: the header Last-Event-ID is no ID of an event", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	st := s.named[name]
	if st == nil {
		st = newStream(nil)
		st.name, st.memory, st.ended, st.purse, st.by = name, s.memory, true, s.purse, s.memory.by(name)
	}
	if name != aloneName && !s.owners.succeeds(nameOf(req.Header.Get("Authorization")), st.by) { // as if there were none
		st = newStream(nil)
		st.name, st.memory, st.ended = "", s.memory, true
	}
	again := 0
	for _, e := range s.memory.after(st.name, number) {
		again += len(e.m.Line)
	}
	if err := st.purse.take(waiting, again); err != nil { // many may come back for one answer
		s.mu.Unlock()
		unavailable(w, nil, err)
		return
	}
	reader := st.take(number) // as long as nothing can be added; it counts what waits
	st.purse.give(waiting, again)
	s.mu.Unlock()
	if st.empty() { // 404 would mean that there is no session
		http.Error(w, "Bad Request: the events after this one are not kept any more", http.StatusBadRequest)
		return
	}
	defer st.part(reader)
	st.serve(w, req, manner{reader: reader, back: st.id != nil})
}
