package remote

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// The pauses before a broken stream is asked for again double from the one to the other, unless the server says how
// long they are. maxResumes bounds the tries without a new event of a stream that somebody waits for.
const (
	firstPause = 500 * time.Millisecond
	mostPause  = 30 * time.Second
	maxResumes = 5
)

// behind is how long a stream may go on behind the answer. Read to its end, its connection serves the
// next request.
const behind = time.Second

// stream passes on the events of a request until its answer has come. If the stream breaks before,
// and the server has numbered its events, it is resumed, in versions with sessions.
func (s *Session) stream(ctx context.Context, c *call, res *http.Response) error {
	var at position
	pause, tries := s.client.first, 0
	for {
		moved, err := s.follow(c, res, &at)
		var long *rpc.TooLongError
		switch {
		case c.answered:
			return nil
		case errors.As(err, &long):
			return err
		case at.id == "" || !hasSessions(c.version):
			return lostError("the stream of the server ended before the answer came", unlessEnd(err))
		case moved:
			pause, tries = s.client.first, 0
		}
		for {
			if tries++; tries > maxResumes {
				return lostError("the stream of the server ended before the answer came, and could not be resumed", unlessEnd(err))
			}
			if !s.wait(ctx, max(at.pause, pause)) {
				return context.Cause(ctx)
			}
			pause = min(2*pause, mostPause)
			if res, err = s.get(ctx, at.id, c.Authorization); err == nil { //nolint:bodyclose // follow closes it
				break
			}
			var f *failure
			if errors.As(err, &f) && f.refused {
				return lostError("the stream of the server ended before the answer came, and could not be resumed", err)
			}
		}
	}
}

// unlessEnd returns nil for the ordinary end of a stream, which says nothing.
func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// follow reads the events of a stream until its end, or until a moment after the answer to a request.
// A nil request is that of a stream that belongs to none. It reports whether an event came.
func (s *Session) follow(c *call, res *http.Response, at *position) (moved bool, err error) {
	defer res.Body.Close() //nolint:errcheck // it was read
	r := newEventReader(res.Body, s.client.MaxAnswer, *at)
	before := at.id
	var last *time.Timer // ends the stream behind the answer
	for {
		data, err := r.next()
		*at = r.position
		moved = moved || at.id != before
		if err != nil {
			if last != nil {
				last.Stop()
			}
			return moved, err
		}
		moved = true
		m, refused := rpc.ParseServer(inLine(data))
		s.passed(c, m, refused)
		if c != nil && c.answered && last == nil {
			last = time.AfterFunc(behind, func() { _ = res.Body.Close() })
		}
	}
}

// get opens the stream of the session, or resumes one behind an event.
func (s *Session) get(ctx context.Context, behind, authorization string) (*http.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(headerTime, cancel)
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	req, err := s.newRequest(ctx, http.MethodGet, nil, s.spoken(nil), id, authorization)
	if err != nil {
		cancel()
		return nil, brokenError(err, false)
	}
	req.Header.Set("Accept", "text/event-stream")
	if behind != "" {
		req.Header.Set("Last-Event-ID", behind)
	}
	res, err := s.do(req, true)
	switch inTime := late.Stop(); {
	case err != nil:
		cancel()
		return nil, brokenError(err, true)
	case res.StatusCode != http.StatusOK:
		defer cancel()
		return nil, s.statusError(res, false)
	case !isStream(res), !inTime:
		_ = res.Body.Close()
		cancel()
		return nil, &failure{text: "the server gave no stream of events", refused: true}
	}
	res.Body = &owned{res.Body, cancel}
	return res, nil
}

// owned is a body with the context that it needs.
type owned struct {
	io.ReadCloser

	cancel context.CancelFunc
}

func (o *owned) Close() error {
	o.cancel()
	return o.ReadCloser.Close()
}

// listen passes on what the server sends without a request, as long as the session lives. A server
// need not have this stream.
func (s *Session) listen(opened chan<- struct{}) {
	var at position
	had, pause := false, s.client.first
	if !hasSessions(s.spoken(nil)) {
		close(opened)
		return
	}
	for s.ctx.Err() == nil {
		res, err := s.get(s.ctx, at.id, s.credentials())
		var f *failure
		switch {
		case err == nil:
			if !had {
				had = true
				close(opened)
			}
			began := time.Now()
			_, err = s.follow(nil, res, &at)
			if long := (*rpc.TooLongError)(nil); errors.As(err, &long) {
				s.client.Logger.Warn("a message of the server is too long, and was dropped", slog.Int("most", s.client.MaxAnswer))
				at.id = "" // behind it there may be more, and before it only itself
			}
			if time.Since(began) > pause {
				pause = s.client.first
			}
		case errors.As(err, &f) && f.refused && !had:
			s.client.Logger.Debug("the server has no stream of its own", slog.String("answer", err.Error()))
			close(opened)
			return
		case errors.As(err, &f) && f.refused:
			if s.forgotten(s.ctx, s.credentials(), f.status) {
				s.lose("the server has no such session")
			} else {
				s.client.Logger.Warn("the server has closed its stream", slog.String("answer", err.Error()))
			}
			return
		}
		if !s.wait(s.ctx, max(at.pause, pause)) {
			return
		}
		pause = min(2*pause, mostPause)
	}
}

func (s *Session) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
