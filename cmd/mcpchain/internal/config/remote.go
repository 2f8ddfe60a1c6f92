package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/mask"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hide"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/remote"
)

// headers is the flag -header, which may be given several times.
func headers(name, help string) setting {
	return setting{name, "HEADER", help, func(c *Config, text string) error {
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			name = "" // which is refused later: an error of a flag would repeat what may be a secret
		}
		c.Headers = maps.Clone(c.Headers) // a default is shared
		if c.Headers == nil {
			c.Headers = map[string]string{}
		}
		name = http.CanonicalHeaderKey(strings.TrimSpace(name))
		maps.DeleteFunc(c.Headers, func(other, _ string) bool { return http.CanonicalHeaderKey(other) == name })
		c.Headers[name] = strings.TrimSpace(value)
		return nil
	}}
}

// ownHeaders are those that the protocol sets.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Host", "Last-Event-Id",
	"Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "Transfer-Encoding",
}

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// checkRemote refuses a URL and headers that make no sense. Its errors do not repeat values.
func (c *Config) checkRemote() error {
	if c.To == "" {
		if len(c.Headers) > 0 {
			return errors.New(`"headers" are for a server that "to" names`)
		}
		return nil
	}
	if len(c.Command) > 0 {
		return errors.New(`"to" and a command exclude each other: a server is reached, or started`)
	}
	if _, err := remote.Check(c.To); err != nil {
		return fmt.Errorf(`"to": %w`, err)
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case name == "":
			return errors.New(`a header is written as "NAME: VALUE", such as "Authorization: Bearer ${API_TOKEN}"`)
		case !headerName.MatchString(name):
			return errors.New("the name of a header has characters that no header may have")
		case slices.Contains(ownHeaders, canonical) || strings.HasPrefix(canonical, "Mcp-Param-"):
			return fmt.Errorf("the header %q is set by the protocol", name)
		case seen[canonical]:
			return fmt.Errorf("the header %q is given twice", name)
		case strings.ContainsFunc(c.Headers[name], func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return fmt.Errorf("the value of the header %q has characters that no header may have", name)
		}
		seen[canonical] = true
	}
	return nil
}

// reference is what stands in a header for an environment variable.
var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Header returns the headers for a server over HTTP, and the secrets in them and in its URL. Those are the values of
// headers with secret names, and of environment variables.
func (c *Config) Header(lookup func(name string) (string, bool)) (header http.Header, secrets []string, err error) {
	header = http.Header{}
	for name, text := range c.Headers {
		value := reference.ReplaceAllStringFunc(text, func(ref string) string {
			named := ref[len("${") : len(ref)-len("}")]
			value, ok := lookup(named)
			if !ok || value == "" {
				err = fmt.Errorf("the header %q needs the environment variable %s, which is not set", name, named)
			}
			value = strings.TrimSpace(value)
			secrets = append(secrets, value)
			return value
		})
		if err == nil && strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			err = fmt.Errorf("the value of the header %q has characters that no header may have", name)
		}
		if err != nil {
			return nil, nil, err
		}
		header.Set(name, value)
	}
	return header, append(secrets, RemoteSecrets(c.To, header)...), nil
}

// RemoteSecrets returns the secrets in the URL and the headers for a server over HTTP.
func RemoteSecrets(address string, header http.Header) []string {
	secrets := secretsOfURL(address)
	for name, values := range header {
		for _, value := range values {
			if secretHeader(name) {
				secrets = append(secrets, secretsIn(value)...)
			}
		}
	}
	return secrets
}

// secretsOfURL returns the credentials in a URL.
func secretsOfURL(address string) (all []string) {
	credentials(address, func(value string, user, _ bool) string {
		if !user || tokenLike(value) {
			all = append(all, value)
		}
		return value
	})
	return all
}

func secretHeader(name string) bool {
	return scrub.SecretName(name) || strings.HasSuffix(strings.ToLower(name), "key")
}

// secretsIn returns the parts of a header that are secret by themselves: the whole, credentials behind a scheme such
// as Bearer, a password of Basic, and the values of cookies.
func secretsIn(value string) []string {
	all := []string{value}
	if scheme, rest, ok := strings.Cut(value, " "); ok && !strings.ContainsAny(scheme, "=;,") {
		value = strings.TrimSpace(rest)
		all = append(all, value)
		if plain, err := base64.StdEncoding.DecodeString(value); err == nil && strings.EqualFold(scheme, "basic") {
			if _, password, ok := strings.Cut(string(plain), ":"); ok {
				all = append(all, string(plain), password)
			}
		}
	}
	for part := range strings.SplitSeq(value, ";") {
		if _, of, ok := strings.Cut(part, "="); ok {
			all = append(all, strings.TrimSpace(of))
		}
	}
	return all
}

// shown returns the configuration without the secrets that stand in it. Names of environment
// variables stay.
func (c *Config) shown() *Config {
	cp := *c
	cp.To, cp.Redis = scrubbedURL(c.To), shownURL(c.Redis)
	cp.Command = arguments(c.Command, func(string) string { return hide.Redacted })
	for i, arg := range cp.Command {
		arg = assignments(scrubbedURL(arg), func(string) string { return hide.Redacted })
		cp.Command[i] = mask.ScrubCredentials(arg)
	}
	cp.Headers = maps.Clone(c.Headers)
	for name, value := range cp.Headers {
		if secretHeader(name) {
			cp.Headers[name] = withoutSecrets(value)
		} else {
			cp.Headers[name] = mask.ScrubCredentials(value)
		}
	}
	return &cp
}

// shownURL returns a text without the credentials of the URLs in it. A URL has no brackets as "[redacted]" has.
func shownURL(text string) string {
	return credentials(text, func(value string, user, _ bool) string {
		if user && !tokenLike(value) {
			return url.PathEscape(value)
		}
		return "redacted"
	})
}

// scrubbedURL is shownURL without what else looks like a credential in a text with a URL.
func scrubbedURL(text string) string {
	if text = shownURL(text); addresses.MatchString(text) {
		text = strings.ReplaceAll(mask.ScrubCredentials(text), hide.Redacted, "redacted")
	}
	return text
}

func withoutSecrets(value string) string {
	var b strings.Builder
	end := 0
	literal := func(text string) {
		if scheme := strings.TrimSpace(text); scheme != "" && !slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(scheme)) {
			text = hide.Redacted
		}
		b.WriteString(text)
	}
	for _, at := range reference.FindAllStringIndex(value, -1) {
		literal(value[end:at[0]])
		b.WriteString(value[at[0]:at[1]])
		end = at[1]
	}
	literal(value[end:])
	return b.String()
}
