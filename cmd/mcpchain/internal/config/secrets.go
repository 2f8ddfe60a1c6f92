package config

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

// shortest is how many bytes a value has that is taken for a secret: shorter ones stand in ordinary
// words.
const shortest = 6

// Hider returns a function that replaces the values of secrets in a text, exactly and wherever they
// stand: of the environment variables whose names say secret, of those in more, and of the arguments
// of the command behind such a flag. env is that of the server. known are values that are secrets.
func Hider(env, command, more []string, known ...string) func(text string) string {
	var values []string
	add := func(value string) {
		if len(value) >= shortest && value != "false" && value != "disabled" {
			values = append(values, value)
		}
	}
	for _, one := range env {
		name, value, _ := strings.Cut(one, "=")
		if scrub.SecretName(name) || slices.Contains(more, name) {
			add(value)
		}
		if address, err := url.Parse(value); err == nil && address.User != nil { // in a connection string
			if password, ok := address.User.Password(); ok {
				add(password)
			}
		}
	}
	for _, value := range known {
		add(value)
	}
	for i, arg := range command {
		name, value, assigned := strings.Cut(arg, "=")
		switch {
		case !scrub.SecretName(strings.TrimLeft(name, "-")):
		case assigned:
			add(value)
		case strings.HasPrefix(arg, "-") && i+1 < len(command) && !strings.HasPrefix(command[i+1], "-"):
			add(command[i+1])
		}
	}
	if len(values) == 0 {
		return func(text string) string { return text }
	}
	// The longest first: one may begin with another.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, value := range slices.Compact(values) {
		for _, form := range forms(value) {
			pairs = append(pairs, form, "[redacted]")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}

// forms returns a value in the spellings in which servers repeat it.
func forms(value string) []string {
	all := []string{value}
	add := func(form string) {
		if form != "" && !slices.Contains(all, form) {
			all = append(all, form)
		}
	}
	if quoted, err := json.Marshal(value); err == nil { // a text can always be written
		text := string(quoted[1 : len(quoted)-1])
		add(text)
		add(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(text))
	}
	add(url.QueryEscape(value))
	add(url.PathEscape(value))
	add(base64.StdEncoding.EncodeToString([]byte(value)))
	add(base64.URLEncoding.EncodeToString([]byte(value)))
	return all
}
