package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

// secretVariable reports whether a name says that its value is a secret. The name of a place does not, though it
// has such a word in it: what is secret stands there, and not in the variable.
func secretVariable(name, value string) bool {
	upper := strings.ToUpper(strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_"))
	switch {
	case !scrub.SecretName(name):
		return false
	case slices.Contains(placeNames, name): // PWD also is a password, in a connection string
		return !pathLike(value)
	}
	return !slices.ContainsFunc(placeEndings, func(ending string) bool { return strings.HasSuffix(upper, ending) })
}

// placeNames are names of paths that have the word of a secret in them.
var placeNames = strings.Fields("PWD OLDPWD WINPWD SSH_AUTH_SOCK GOOGLE_APPLICATION_CREDENTIALS")

// placeEndings end the names of what says where a secret stands, or how it is given.
var placeEndings = strings.Fields(`_FILE _FILES _FILENAME _PATH _PATHS _SOCK _SOCKET _DIR _DIRS _DIRECTORY _HOME _FOLDER
	_ENV _ENV_VAR _STDIN _METHOD _HELPER`)

// numbers are those that are too short to be a secret by themselves, and spans of time.
var numbers = regexp.MustCompile(`^[+-]?[0-9]{1,5}(?:\.[0-9]{1,3})?(?:ms|s|m|h|d)?$`)

// variables stand for a value that nobody has put in their place.
var variables = regexp.MustCompile(`^(?:\$\w+|\$[({].*|<[\w -]+>)$`)

// commonWords are values of examples, and words of messages. None is hidden where a sentence has it.
var commonWords = strings.Fields(`true false yes no on off y n t f
	none null nil undefined empty unset disabled disable enabled enable required optional auto never always allow deny
	password passwd passphrase pass pwd secret secrets token key keys apikey api_key credential credentials auth bearer basic digest
	trust peer ident md5 scram scram-sha-256 sha256 oauth oauth2 jwt ldap kerberos saml cert certificate file env
	changeme changeit change-me change_me example sample dummy placeholder foo bar baz foobar todo
	test tests testing tester dev develop development devel stage staging prod production local demo ci build main master
	admin administrator root user username users guest public private anonymous nobody system operator manager owner service app
	application server client host hostname localhost default web api database data db cache queue store storage backend frontend
	postgres postgresql mysql mariadb redis mongo mongodb rabbitmq rabbit kafka elastic elasticsearch cassandra sqlite oracle
	mssql minio vault consul etcd nats memcached influxdb clickhouse grafana prometheus keycloak nginx docker kubernetes
	github gitlab google azure aws slack stripe openai anthropic x-oauth-basic oauth2accesstoken git
	hello world welcome letmein qwerty monkey dragon
	content message result error params arguments text type name string number object integer boolean array assistant resource`)

// ordinary reports whether a value also is an ordinary word, a number, or a path of this machine. Texts have those
// without meaning the secret. When unsure it is not.
func ordinary(value string) bool {
	return numbers.MatchString(value) || variables.MatchString(value) || slices.Contains(commonWords, strings.ToLower(value)) || existingPath(value)
}

// pathLike reports whether a value begins as a path does.
func pathLike(value string) bool {
	letter := value != "" && 'a' <= value[0]|0x20 && value[0]|0x20 <= 'z'
	return strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~") || strings.HasPrefix(value, ".") ||
		letter && len(value) > 2 && value[1] == ':' && (value[2] == '\\' || value[2] == '/')
}

// existingPath reports whether a value is the path of something here, or of a possible entry of a directory that is
// here. Every path has a root, so that this does not count.
func existingPath(value string) bool {
	if !pathLike(value) || strings.ContainsAny(value, "\r\n") {
		return false
	}
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(value, "~"); ok && err == nil && (rest == "" || rest[0] == '/' || rest[0] == '\\') {
		value = home + rest
	}
	value = filepath.Clean(value)
	if _, err := os.Stat(value); err == nil {
		return true
	}
	parent := filepath.Dir(value)
	if parent == ".." || parent == home || parent == filepath.Dir(parent) {
		return false
	}
	_, err = os.Stat(parent)
	return err == nil
}
