package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

// This file finds credentials in texts. Each function gives what it finds to a function, and returns the text with
// what that returns in its place.

// addresses are URLs in a text.
var addresses = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)

// credentials finds passwords in the URLs of a text, tokens in the place of a user, and secret parameters. user says
// that a value is the name of a user beside a password. name says that a password is also the user, the host or the
// database of its URL.
func credentials(text string, found func(value string, user, name bool) string) string {
	return addresses.ReplaceAllStringFunc(text, func(address string) string {
		scheme, rest, _ := strings.Cut(address, "://")
		rest, query, asked := strings.Cut(rest, "?")
		if at := userEnd(address, rest); at >= 0 {
			user, password, two := strings.Cut(rest[:at], ":")
			rest = rest[at:]
			switch web := strings.HasPrefix(scheme, "http") || strings.HasPrefix(scheme, "redis"); {
			case two:
				password = found(decoded(password), false, isNameOf(decoded(user), rest, decoded(password)))
				user = found(decoded(user), true, false)
				rest = user + ":" + password + rest
			case web && user != "":
				rest = found(decoded(user), false, false) + rest
			default:
				rest = user + rest
			}
		}
		if !asked {
			return scheme + "://" + rest
		}
		pairs := strings.Split(query, "&")
		for i, pair := range pairs {
			if name, value, ok := strings.Cut(pair, "="); ok && secretParameter(name) {
				pairs[i] = name + "=" + found(decoded(value), false, false)
			}
		}
		return scheme + "://" + rest + "?" + strings.Join(pairs, "&")
	})
}

// userEnd returns where the user of a URL ends, -1 if it has none. Passwords that are not escaped as they should be
// are common.
func userEnd(address, rest string) int {
	if u, err := url.Parse(address); err == nil && u.User == nil {
		return -1
	} else if err == nil {
		host, _, _ := strings.Cut(rest, "/")
		return strings.LastIndexByte(host, '@')
	}
	return strings.LastIndexByte(rest, '@')
}

func decoded(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// isNameOf reports whether a password of letters is also the user of its URL, the host, or the database. rest begins
// with the "@".
func isNameOf(user, rest, password string) bool {
	if password == "" || strings.ContainsFunc(password, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return false
	}
	host, database, _ := strings.Cut(strings.TrimPrefix(rest, "@"), "/")
	host, _, _ = strings.Cut(host, ":")
	return slices.Contains([]string{user, host, database}, password)
}

// secretParameter reports whether a parameter of a URL is a secret by its name.
func secretParameter(name string) bool {
	return secretHeader(name) || name == "sig" || name == "signature" || name == "code"
}

// pair is a name and its value in a list of them, such as "Server=db;Password=x", "host=db password='x'", or
// "Authorization=Bearer x,Other=y".
var pair = regexp.MustCompile(`([\p{L}0-9_.-]+) ?= ?("[^"]*"|'[^']*'|(?i:bearer |basic |token )?[^\s;,&"']+)`)

// assignments finds the values behind the names of secrets.
func assignments(text string, found func(value string) string) string {
	return pair.ReplaceAllStringFunc(text, func(one string) string {
		name, value, _ := strings.Cut(one, "=")
		plain := strings.Trim(strings.TrimSpace(value), `"'`)
		switch {
		case plain == "":
			return one
		case secretVariable(strings.TrimSpace(name), plain):
			return name + "=" + strings.Replace(value, plain, found(decoded(plain)), 1)
		default: // as in --env=API_KEY=x
			return name + "=" + assignments(value, found)
		}
	})
}

// arguments finds the secrets of a command line: behind flags whose names say so, and in headers.
func arguments(command []string, found func(value string) string) []string {
	out := slices.Clone(command)
	for i, arg := range command {
		name, value, assigned := strings.Cut(arg, "=")
		plain := strings.TrimLeft(name, "-")
		header, of, isHeader := strings.Cut(arg, ":")
		switch {
		case assigned && secretVariable(plain, value):
			out[i] = name + "=" + found(value)
		case isHeader && headerName.MatchString(header) && (scrub.SecretName(header) || strings.HasSuffix(strings.ToLower(header), "-key")) && !strings.HasPrefix(of, "//"):
			of = strings.TrimSpace(of)
			for _, secret := range secretsIn(of) {
				found(secret)
			}
			out[i] = header + ": " + found(of)
		case !assigned && plain != name && i+1 < len(command) && !strings.HasPrefix(command[i+1], "-") && secretVariable(plain, command[i+1]):
			out[i+1] = found(command[i+1])
		}
	}
	return out
}
