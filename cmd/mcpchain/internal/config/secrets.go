package config

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/scrub"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hide"
)

// Hider returns a function that replaces the values of secrets in a text, in every form (package hide). Secrets are
// those in known, and the values of variables in more, and of those with secret names. So are credentials in other
// variables and in the command. env is the environment of the server.
func Hider(env, command, more []string, known ...string) func(text string) string {
	var s secrets
	for _, one := range env {
		name, value, _ := strings.Cut(one, "=")
		if slices.Contains(more, name) {
			s.sure = append(s.sure, value)
		}
		if secretVariable(name, value) {
			s.add(value)
		}
		s.inside(value)
	}
	for _, value := range known {
		s.add(value)
	}
	arguments(command, func(value string) string {
		s.add(value)
		return value
	})
	for _, arg := range command {
		s.inside(arg)
	}
	return hide.New(s.placed()...).Text
}

// secrets are values that were found, and where each is one.
type secrets struct {
	values []string
	sure   []string // of -secret-env, whatever they are
	names  []string // passwords that are also a name in their own URL
}

// add adds the value of a variable, a flag or a member with a secret name, and the secrets in it.
func (s *secrets) add(value string) {
	if harmlessURL(value) {
		return
	}
	s.values = append(s.values, value)
	if _, rest, ok := withScheme(value); ok {
		s.values = append(s.values, rest)
		value = rest
	}
	if list := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ';' || r == ' ' }); len(list) > 1 { // keys that take turns
		for _, one := range list {
			if tokenLike(one) {
				s.values = append(s.values, one)
			}
		}
	}
	const shortest = 12 // of base64 that is not a word
	if plain, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(value), "")); err == nil && len(value) >= shortest && printable(string(plain)) {
		s.values = append(s.values, string(plain))
		if _, password, ok := strings.Cut(string(plain), ":"); ok && !strings.Contains(password, "\n") {
			s.values = append(s.values, password)
		}
	}
}

// withScheme cuts a value that is a scheme of HTTP and credentials.
func withScheme(value string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(value, " ")
	rest = strings.TrimSpace(rest)
	return scheme, rest, ok && slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(scheme)) && !strings.Contains(rest, " ")
}

func printable(text string) bool {
	return text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsPrint(r) && r != '\n' && r != '\r' && r != '\t'
	})
}

// inside adds the secrets in a value, whatever its own name is: credentials of headers and URLs, members of JSON,
// and values behind secret names, as in "Server=db;Password=x".
func (s *secrets) inside(value string) {
	const most = 256 << 10
	if len(value) > most || strings.HasPrefix(value, "()") { // a function of a shell
		return
	}
	if scheme, _, ok := withScheme(value); ok && !strings.EqualFold(scheme, "token") {
		s.add(value)
	}
	credentials(value, func(password string, user, name bool) string {
		switch {
		case name:
			s.names = append(s.names, password)
		case user && !tokenLike(password):
			return password
		}
		s.add(password)
		return password
	})
	known := func(value string) string {
		s.add(value)
		return value
	}
	assignments(value, known)
	arguments([]string{value}, known) // a header
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		var members any
		if json.Unmarshal([]byte(value), &members) == nil {
			s.members("", members)
		}
	}
}

// members adds the texts of a value of JSON whose names say secret.
func (s *secrets) members(name string, value any) {
	switch v := value.(type) {
	case string:
		if secretVariable(name, v) {
			s.add(v)
		}
	case []any:
		for _, one := range v {
			s.members(name, one)
		}
	case map[string]any:
		for name, one := range v {
			s.members(name, one)
		}
	}
}

// tokenLike reports whether the name of a user is rather a token, as in https://TOKEN:x-oauth-basic@host.
func tokenLike(user string) bool {
	const shortest = 16
	return len(user) >= shortest && strings.ContainsFunc(user, unicode.IsDigit)
}

// How many bytes a value has that is looked for in the middle of words, and as a word.
const (
	longEnough = 6
	wordEnough = 4
)

// placed says of each value where it is a secret.
func (s *secrets) placed() []hide.Secret {
	all := make([]hide.Secret, 0, len(s.sure)+len(s.values))
	for _, value := range s.sure {
		place := hide.Anywhere
		if len(value) < longEnough {
			place = hide.AsWord
		}
		all = append(all, hide.Secret{Value: value, Place: place})
	}
	for _, value := range s.values {
		place := hide.Anywhere
		switch {
		case len(value) < wordEnough, ordinary(value), slices.Contains(s.names, value):
			place = hide.Assigned
		case len(value) < longEnough:
			place = hide.AsWord
		}
		all = append(all, hide.Secret{Value: value, Place: place})
	}
	return all
}

// harmlessURL reports whether a value is the URL of a service, without credentials and without what may be one.
func harmlessURL(value string) bool {
	u, err := url.Parse(strings.TrimPrefix(value, "jdbc:"))
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	if u.Host == "" {
		return slices.Contains([]string{"file", "sqlite", "sqlite3", "duckdb"}, u.Scheme)
	}
	path := strings.Trim(u.Path, "/")
	web := strings.HasPrefix(u.Scheme, "http") || strings.HasPrefix(u.Scheme, "ws")
	return path == "" || !web && !strings.Contains(path, "/") && !tokenLike(path) && !scrub.SecretName(path)
}
