package classify

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// A ResponseError is the answer of an HTTP service that did not do what was asked. [FromResponse]
// makes one.
type ResponseError struct {
	request string // the method and the host
	said    clue
	status  int
	body    []byte
}

const (
	maxBody = 64 << 10
	// bodyTime is how long to wait for the rest of an answer that is known to be a failure.
	bodyTime = 2 * time.Second
)

// FromResponse is retry.FromResponse.
func FromResponse(resp *http.Response) error {
	if resp == nil {
		return errors.New("retry.FromResponse: resp is nil; look at the error of the request first")
	}
	if resp.StatusCode < http.StatusBadRequest {
		return nil
	}
	e := &ResponseError{status: resp.StatusCode, said: ofResponse(resp.StatusCode, resp.Header, false, 0)}
	if redirected(resp.Request) {
		e.said = clue{kind: fault.KindServerError, party: fault.PartyUpstream, retry: fault.RetryNo, after: e.said.after, status: e.status}
	}
	if r := resp.Request; r != nil {
		e.request = r.Method + " "
		if r.URL != nil {
			e.request += r.URL.Host + " " // the path and the query may hold secrets
		}
	}
	e.body = readBody(resp.Body)
	return e
}

// redirected reports whether a redirect led to the request from one that may have changed something. Then
// the answer is about another resource.
func redirected(r *http.Request) bool {
	const maxRedirects = 32
	for range maxRedirects {
		if r == nil || r.Response == nil {
			return false
		}
		if r = r.Response.Request; r != nil && r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != "" {
			return true
		}
	}
	return true
}

// readBody reads as much of a body as arrives in time, and closes it. A body that does not end is closed
// while it is read, which net/http allows.
func readBody(body io.ReadCloser) (read []byte) {
	if body == nil {
		return nil
	}
	closing := time.AfterFunc(bodyTime, func() { shut(body) })
	defer shut(body)
	defer closing.Stop()
	safe.Call(func() { read, _ = io.ReadAll(io.LimitReader(body, maxBody)) }, nil) // the part before an error is kept
	return read
}

func shut(body io.Closer) { safe.Call(func() { _ = body.Close() }, nil) }

// Error returns the method, the host and the status, for the log.
func (e *ResponseError) Error() string {
	text := e.request + "answered " + strconv.Itoa(e.status)
	if name := http.StatusText(e.status); name != "" {
		text += " " + name
	}
	return text
}

// StatusCode returns the HTTP status.
func (e *ResponseError) StatusCode() int { return e.status }

// RetryAfter returns how long the service asked to wait, by Retry-After or the headers of a rate
// limit. It is zero if the service did not say, or if waiting does not help.
func (e *ResponseError) RetryAfter() time.Duration {
	if retry, _, _ := e.said.second(); retry != fault.RetryYes {
		return 0
	}
	return e.said.after
}

// Body returns a copy of the body, 64 KiB at most. It is private: log it, or read from it what you
// know, but do not pass it on unchanged.
func (e *ResponseError) Body() []byte { return slices.Clone(e.body) }

// maxWords bounds how much of a service's own text is shown.
const maxWords = 500

// Upstream returns the text of a service that refused a request with a status of 4xx, its host, and
// the type of the error with the text. The text is private unless an option shows it. Each may be "".
func (f *Finding) Upstream() (words, host, typ string) {
	if f.teller == nil || f.Says.Status >= http.StatusInternalServerError {
		return "", "", ""
	}
	safe.Call(func() { // its methods are untrusted
		typ = reflect.TypeOf(f.teller).String()
		if resp := responseOf(f.teller); resp != nil && resp.Request != nil && resp.Request.URL != nil { //nolint:bodyclose // its owner closes it
			host = resp.Request.URL.Host
		}
		if e, ok := f.teller.(*ResponseError); ok {
			_, host, _ = strings.Cut(strings.TrimSpace(e.request), " ")
		}
	}, nil)
	words = strings.TrimSpace(ownWords(f.teller))
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords], "") + " ..."
	}
	return words, host, typ
}

// ownWords returns the text of a service or a driver, "" if the error does not keep it separately.
func ownWords(err error) (words string) {
	safe.Call(func() { // its methods are untrusted
		switch e := err.(type) {
		case *ResponseError:
			words = wordsOf(e.body)
		case interface{ ErrorMessage() string }: // the AWS SDK
			words = e.ErrorMessage()
		default:
			if words = fieldWords(reflect.ValueOf(err)); words != "" {
				return
			}
			if out, status := getter(reflect.TypeOf(err).MethodByName("GRPCStatus")); out != nil && isGRPC(out) {
				if m, ok := reflect.TypeAssert[interface{ Message() string }](status(err)); ok {
					words = m.Message()
				}
			}
		}
	}, nil)
	return words
}

// Spoken returns the text of the driver or the service, its code, such as "HTTP 403" or "SQLSTATE
// 42703", and the hint of a database, which drivers leave out of their texts. All are private, and
// may be "".
func (f *Finding) Spoken() (words, code, hint string) {
	if f.teller != nil {
		words = strings.TrimSpace(ownWords(f.teller))
	}
	if f.speaker != nil && words == "" {
		words = cmp.Or(strings.TrimSpace(ownWords(f.speaker)), strings.TrimSpace(safe.Error(f.speaker)))
	}
	if f.Says.Status != 0 {
		return words, "HTTP " + strconv.Itoa(f.Says.Status), ""
	}
	safe.Call(func() {
		state := stateIn(f.speaker)
		if len(state) != 5 || strings.Trim(state, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return
		}
		code = "SQLSTATE " + state
		if v := reflect.Indirect(reflect.ValueOf(f.speaker)); v.Kind() == reflect.Struct {
			if field := v.FieldByName("Hint"); field.IsValid() && field.Kind() == reflect.String {
				hint = strings.TrimSpace(field.String())
			}
		}
	}, nil)
	return words, code, hint
}

// messageNames are the fields, and the members of a JSON text, that hold a service's text.
var messageNames = []string{"Message", "ErrorMessage", "Msg", "Detail", "Description", "ErrorDescription", "Reason", "Error", "Body", "ResponseBody", "RawBody"}

func fieldWords(v reflect.Value) string {
	if v = reflect.Indirect(v); v.Kind() != reflect.Struct {
		return ""
	}
	bytes := reflect.TypeFor[[]byte]()
	for _, name := range messageNames {
		if field := reflect.Indirect(v.FieldByName(name)); field.IsValid() && field.CanInterface() && !field.IsZero() && field.CanConvert(bytes) {
			return wordsOf(field.Convert(bytes).Bytes())
		}
	}
	return ""
}

// wordsOf returns the sentence in a body: the member of a JSON object that has it, nothing of a page
// of HTML.
func wordsOf(body []byte) string {
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		if text := strings.TrimSpace(string(body)); !strings.HasPrefix(text, "<") {
			return text
		}
		return ""
	}
	for range maxDepth {
		members := map[string]any{}
		for name, value := range object {
			members[usual(name)] = value
		}
		for _, name := range messageNames {
			if text, ok := members[usual(name)].(string); ok {
				return text
			}
		}
		inner := members["error"]
		if list, _ := members["errors"].([]any); len(list) > 0 && inner == nil {
			inner = list[0]
		}
		switch inner := cmp.Or(inner, members["fault"]).(type) {
		case string:
			return inner
		case map[string]any:
			object = inner
		default:
			return ""
		}
	}
	return ""
}

// responseOf returns the HTTP answer that an error holds in a method or a field, or nil.
func responseOf(err error) *http.Response {
	if e, ok := err.(interface{ Response() *http.Response }); ok {
		return e.Response()
	}
	if f := fieldsOf(reflect.TypeOf(err)); f != nil {
		return f.response(reflect.Indirect(reflect.ValueOf(err)))
	}
	return nil
}

// requiredBy returns the permission that a service named as missing: the scopes of RFC 6750 and
// those of GitHub.
func requiredBy(err error) (required string) {
	var resp *http.Response
	if safe.Call(func() { resp = responseOf(err) }, nil); resp == nil { //nolint:bodyclose // its owner closes it
		return ""
	}
	required = cmp.Or(resp.Header.Get("X-Accepted-Oauth-Scopes"), resp.Header.Get("X-Accepted-Github-Permissions"))
	if _, scope, ok := strings.Cut(resp.Header.Get("WWW-Authenticate"), `scope="`); ok && required == "" {
		required, _, _ = strings.Cut(scope, `"`)
	}
	if len(required) > maxWord || strings.Trim(required, allowedInScopes) != "" {
		return ""
	}
	return required
}

// allowedInScopes are the characters that names of permissions consist of.
const allowedInScopes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/,;= "
