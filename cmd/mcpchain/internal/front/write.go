package front

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsons"
)

// quiet is how long a stream says nothing at most: proxies end connections that do.
const quiet = 15 * time.Second

// A manner is how a stream is written.
type manner struct {
	reader int
	json   bool          // an answer that comes alone is written as JSON,
	within time.Duration // if it comes so soon
	first  []byte        // written before everything else, nil for nothing
	back   bool          // the client has come back for an answer
}

// lastAnswer is how long a client that has come back still waits when its request has ended. Package drain ends
// streams once the calls have ended: their answers are on their way.
const lastAnswer = time.Second

// patience returns the context for which the stream is written, and what frees it.
func (m *manner) patience(ctx context.Context) (patient context.Context, end func()) {
	if !m.back {
		return ctx, func() {}
	}
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastAnswer, cancel) })
	return patient, func() {
		stop()
		cancel()
	}
}

// serve writes the stream to the client until it ends or the client goes.
func (s *stream) serve(w http.ResponseWriter, req *http.Request, how manner) {
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	pause := tick.C
	out := &output{w: w, control: http.NewResponseController(w)}
	if how.json {
		pause = time.After(how.within)
	} else if out.begin(how.first) != nil {
		return
	}
	ctx, end := how.patience(req.Context())
	defer end()
	for {
		events, last, err := s.next(ctx, how.reader, pause)
		if err != nil {
			return
		}
		if !out.begun && last && len(events) == 1 {
			status := http.StatusOK
			if req.Header.Get(versionHeader) >= modern {
				status = statusOf(events[0].m)
			}
			out.wait(len(events[0].m.Line))
			writeMessage(w, status, events[0].m)
			_ = out.control.Flush()
			s.wrote(events...)
			return
		}
		pause = tick.C
		if !out.begun && out.begin(how.first) != nil {
			s.wrote(events...)
			return
		}
		if len(events) == 0 && !last {
			err = out.write([]byte(":\n\n"))
		}
		for _, e := range events {
			if err == nil {
				err = out.event(s, e)
			}
			s.wrote(e)
		}
		if errors.Join(err, out.control.Flush()) != nil || last {
			return
		}
	}
}

// output writes a stream of events.
type output struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

// begin writes the header, and what comes first. A client may wait for it before it goes on.
func (o *output) begin(first []byte) (err error) {
	o.begun = true
	o.w.Header().Set("Content-Type", "text/event-stream")
	o.w.Header().Set("Cache-Control", "no-cache, no-transform")
	o.w.WriteHeader(http.StatusOK)
	if first != nil {
		err = o.write(first)
	}
	return errors.Join(err, o.control.Flush())
}

// longEvent is from where on an event is not copied to be written. A handler outside looks at shorter ones.
const longEvent = 64 << 10

// event writes an event of a stream.
func (o *output) event(s *stream, e event) error {
	if len(e.m.Line) < longEvent || e.m.Error != nil || jsons.HasBreak(e.m.Line) {
		return o.write(s.written(e))
	}
	return errors.Join(o.write(s.head(e, 0)), o.write(e.m.Line), o.write([]byte("\n\n")))
}

func (o *output) write(part []byte) error {
	o.wait(len(part))
	_, err := o.w.Write(part)
	return err
}

// The bounds of how slowly a client may read: one that does not read at all holds nothing forever.
const (
	leastWait = 30 * time.Second
	leastRate = 16 << 10 // bytes in a second
)

// wait bounds how long writing may take. [Patient] takes the bound away.
func (o *output) wait(size int) {
	_ = o.control.SetWriteDeadline(time.Now().Add(leastWait + time.Duration(size/leastRate)*time.Second)) // a writer without deadlines may take longer
}

// Patient returns a handler that leaves no time limit of an answer to the next one of the same connection.
func Patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer func() { _ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) }()
		next.ServeHTTP(w, req)
	})
}

// readBody reads a body of at most so many bytes. It takes what a handler outside has read already.
func readBody(req *http.Request, most int) ([]byte, error) {
	if outside, ok := req.Body.(interface{ Bytes() ([]byte, error) }); ok {
		body, err := outside.Bytes()
		if err == nil && len(body) > most {
			err = &http.MaxBytesError{Limit: int64(most)}
		}
		return bytes.TrimSpace(body), err
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, req.Body, int64(most)))
	if err != nil {
		return nil, err
	}
	return bytes.TrimSpace(body), nil
}
