package remote

import (
	"net/http"
	"net/url"
)

// maxRedirects bounds how often a request is sent to another place.
const maxRedirects = 5

// do sends a request. It follows a redirect to another place of the same server, as of "/mcp" to "/mcp/", if the
// request may be sent twice. The server has read the first one, and nothing proves that it did nothing. The session
// remembers the place until it finds no MCP server there. So a request that may be sent only once goes there at
// once.
func (s *Session) do(req *http.Request, twice bool) (*http.Response, error) {
	for followed := 0; ; followed++ {
		res, err := s.client.http.Do(req)
		if err != nil {
			return nil, err
		}
		to := s.client.placeOf(res)
		switch {
		case to == nil && followed > 0 && req.Method == http.MethodPost:
			s.moved(req.URL.String())
			return res, nil
		case to != nil && !twice:
			s.moved(to.String())
			return res, nil
		case to == nil, followed == maxRedirects:
			return res, nil
		}
		_ = res.Body.Close()
		req = req.Clone(req.Context())
		req.URL = to
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// placeOf returns where a redirect sends the same request at the same server. It is nil for other answers:
// another server gets neither the request nor the credentials.
func (c *Client) placeOf(res *http.Response) *url.URL {
	switch res.StatusCode {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		if res.Request.Method != http.MethodGet { // it asks for another request
			return nil
		}
	default:
		return nil
	}
	to, err := res.Location()
	from := res.Request.URL
	if err != nil || to.Scheme != from.Scheme || to.Host != from.Host {
		return nil
	}
	if to.User == nil {
		to.User = from.User
	}
	return to
}

// moved notes where the requests of the session go, "" for the URL of the Client.
func (s *Session) moved(place string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place = place
}

// goesTo reports whether the requests of the session go to a place.
func (s *Session) goesTo(place *url.URL) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return place != nil && s.place == place.String()
}
