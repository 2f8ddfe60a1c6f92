// Package config reads the flags and the file of "mcpchain run", and makes the middlewares of them.
package config

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/words"
)

// A Config is everything that can be set. The file is JSON with these names. Each but tool_deadlines and rules is a
// flag, too, with "-" for "_"; headers is -header, and only editors read $schema.
type Config struct {
	Schema string `json:"$schema,omitempty" jsonschema:"where an editor finds the output of mcpchain config -schema"`

	Command []string          `json:"command,omitempty" jsonschema:"the command of the server, and its arguments"`
	To      string            `json:"to,omitempty"`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"headers for the server of to; ${NAME} stands for an environment variable"`

	PassAuthorization bool `json:"pass_authorization"`

	HTTP     string   `json:"http,omitempty"`
	Path     string   `json:"path"`
	Reader   string   `json:"reader,omitempty"`
	Sessions int      `json:"sessions"`
	Idle     Duration `json:"idle"`
	Drain    Duration `json:"drain"`
	Lag      Duration `json:"lag"`

	TrustedProxies []string `json:"trusted_proxies,omitempty"` // addresses, or networks such as 10.0.0.0/8

	Strict         bool                `json:"strict"`
	Mend           bool                `json:"mend"`
	After          Duration            `json:"after"`
	Deadline       Duration            `json:"deadline"`
	ToolDeadlines  map[string]Duration `json:"tool_deadlines,omitempty" jsonschema:"how long a call of a tool may take, by its name"`
	Rate           int                 `json:"rate"`
	Running        int                 `json:"running"`
	RateEach       int                 `json:"rate_each"`
	RunningEach    int                 `json:"running_each"`
	SerialWrites   bool                `json:"serial_writes"`
	Budget         int                 `json:"budget"`
	RetryReads     bool                `json:"retry_reads"`
	Keys           bool                `json:"keys"`
	RefuseRepeated bool                `json:"refuse_repeated"`
	ScrubResults   bool                `json:"scrub_results"`
	Audit          string              `json:"audit,omitempty"`

	Hide     []string `json:"hide,omitempty"`
	ReadOnly bool     `json:"read_only"`
	Reads    []string `json:"reads,omitempty"`

	StartTimeout Duration `json:"start_timeout"`
	Hang         Duration `json:"hang"`
	MaxRequest   int      `json:"max_request"`
	MaxAnswer    int      `json:"max_answer"`
	SecretEnv    []string `json:"secret_env,omitempty"`

	Redis string `json:"redis,omitempty"`
	OTel  bool   `json:"otel"`

	Log     string `json:"log,omitempty"`
	LogJSON bool   `json:"log_json"`
	Verbose bool   `json:"verbose"`

	Rules []Rule `json:"rules,omitempty" jsonschema:"what the server says badly, in better words; the first that fits holds"`
}

// The bounds of lines are below those at which clients and servers give up: those of the TypeScript
// SDK at 10 MiB, those of the Go SDK at 16 MiB.
const maxLine = 9 << 20

// Default returns what holds without a flag and a file.
func Default() *Config {
	return &Config{
		Path: "/mcp", Sessions: 100, Idle: Duration(30 * time.Minute), Drain: Duration(20 * time.Second),
		StartTimeout: Duration(5 * time.Minute), Hang: Duration(30 * time.Second), MaxRequest: maxLine, MaxAnswer: maxLine,
	}
}

// A Duration is written as "30s" or "2m".
type Duration time.Duration

// MarshalText writes the duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalJSON reads a duration in quotes.
func (d *Duration) UnmarshalJSON(value []byte) error {
	text, err := jsontext.AppendUnquote(nil, value)
	switch _, number := strconv.Atoi(string(value)); {
	case number == nil:
		return fmt.Errorf("it has a unit and quotes; write \"%ss\" for seconds", value)
	case err != nil:
		return errors.New("it is a duration in quotes, such as \"30s\" or \"2m\"")
	}
	return d.UnmarshalText(text)
}

// UnmarshalText reads a duration, which is not negative.
func (d *Duration) UnmarshalText(text []byte) error {
	read, err := time.ParseDuration(string(text))
	switch _, number := strconv.ParseFloat(string(text), 64); {
	case bytes.HasPrefix(text, []byte("-")):
		return fmt.Errorf("%q is negative", text)
	case err != nil && number == nil:
		return fmt.Errorf("%q has no unit; write \"%[1]ss\" for seconds", text)
	case err != nil:
		return fmt.Errorf("%q is not a duration, such as \"30s\" or \"2m\"", text)
	}
	*d = Duration(read)
	return nil
}

// load reads a file over what is set.
func (c *Config) load(path string) error {
	text, err := os.ReadFile(path) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	if err := c.read(plain(text)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// plain returns a text as UTF-8 without a byte order mark: editors of Windows write one, and PowerShell writes UTF-16.
func plain(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	var units []uint16
	for at := 2; at+1 < len(text); at += 2 {
		units = append(units, order.Uint16(text[at:]))
	}
	return []byte(string(utf16.Decode(units)))
}

func (c *Config) read(text []byte) error {
	err := json.Unmarshal(text, c, json.RejectUnknownMembers(true), jsonv1.MergeWithLegacySemantics(true))
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("line %d: %w", 1+bytes.Count(text[:min(int(syntax.ByteOffset), len(text))], []byte("\n")), syntax.Err)
	}
	wrong, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return err
	}
	in, last := "", ""
	for last = range wrong.JSONPointer.Tokens() {
		if _, err := strconv.Atoi(last); err == nil {
			in += "[" + last + "]"
		} else {
			in = strings.TrimPrefix(in+"."+last, ".")
		}
	}
	switch {
	case in == "":
		return errors.New("it is no JSON object with names and values")
	case in == "mcpServers":
		return errors.New(`"mcpServers" is for the file of a client, which starts mcpchain run; this one has the settings of that`)
	case errors.Is(err, json.ErrUnknownName):
		var names []string
		for field := range wrong.GoType.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			names = append(names, name)
		}
		return unknown("key", in, near.Matches(last, names))
	}
	switch wrong.GoType.Kind() {
	case reflect.Int64: // a duration
		return fmt.Errorf("%q: %w", in, wrong.Err)
	case reflect.Bool:
		return fmt.Errorf("%q is true or false, without quotes", in)
	case reflect.Int:
		return fmt.Errorf("%q is a whole number, without quotes", in)
	case reflect.Slice:
		return fmt.Errorf("%q is a list, such as [\"a\", \"b\"]", in)
	case reflect.String:
		return fmt.Errorf("%q is a text in quotes", in)
	default:
		return fmt.Errorf("%q is an object, such as {\"name\": ...}", in)
	}
}

func unknown(what, name string, matches []string) error {
	if len(matches) == 0 {
		return fmt.Errorf("there is no %s %q", what, name)
	}
	return fmt.Errorf("there is no %s %q; did you mean %q?", what, name, matches[0])
}

// check refuses what makes no sense.
func (c *Config) check() error {
	for name, n := range map[string]int{"rate": c.Rate, "running": c.Running, "rate_each": c.RateEach, "running_each": c.RunningEach, "budget": c.Budget} {
		if n < 0 {
			return fmt.Errorf("%q is negative; leave it out for no bound", name)
		}
	}
	for name, n := range map[string]int{"max_request": c.MaxRequest, "max_answer": c.MaxAnswer} {
		if n < 1<<10 || n > 1<<30 {
			return fmt.Errorf("%q is not between 1 KiB and 1 GiB", name)
		}
	}
	if c.Redis != "" && !strings.HasPrefix(c.Redis, "redis://") && !strings.HasPrefix(c.Redis, "rediss://") {
		return errors.New(`"redis" is no URL, such as "redis://localhost:6379"`)
	}
	if err := c.checkHTTP(); err != nil {
		return err
	}
	if most := c.taskLimit(); time.Duration(c.After) > most {
		return fmt.Errorf("\"after\" is longer than %s, which is the most that a call may take", words.Duration(most))
	}
	for name, d := range c.ToolDeadlines {
		if name == "" || d <= 0 {
			return fmt.Errorf("the deadline of the tool %q is not positive, or it has no name", name)
		}
	}
	for i := range c.Rules {
		if err := c.Rules[i].check(); err != nil {
			return fmt.Errorf("rules[%d]: %w", i, err)
		}
	}
	return c.checkRemote()
}

// checkHTTP refuses what makes no sense of what is for HTTP.
func (c *Config) checkHTTP() error {
	if c.HTTP != "" {
		if _, _, err := net.SplitHostPort(c.HTTP); err != nil {
			return fmt.Errorf("\"http\": %q is no address, such as \"127.0.0.1:8080\"", c.HTTP)
		}
	}
	if _, ok := readers[c.Reader]; !ok {
		if matches := near.Matches(c.Reader, slices.Sorted(maps.Keys(readers))); len(matches) > 0 {
			return unknown("reader", c.Reader, matches)
		}
		return fmt.Errorf("there is no reader %q: it is operator, trusted or anyone", c.Reader)
	}
	if d := Default(); c.HTTP == "" {
		for name, same := range map[string]bool{
			"path": c.Path == d.Path, "sessions": c.Sessions == d.Sessions, "idle": c.Idle == d.Idle, "drain": c.Drain == d.Drain, "lag": c.Lag == d.Lag,
			"trusted_proxies": len(c.TrustedProxies) == 0,
		} {
			if !same {
				return fmt.Errorf("%q is for \"http\": over stdio it would do nothing", name)
			}
		}
	}
	if _, err := c.Proxies(); err != nil {
		return err
	}
	switch {
	case c.PassAuthorization && (c.HTTP == "" || c.To == ""):
		return errors.New(`"pass_authorization" is for "http" with "to": a server that is started gets no tokens`)
	case !strings.HasPrefix(c.Path, "/") || strings.ContainsAny(c.Path, "?#{} ") || c.Path == livePath || c.Path == readyPath:
		return fmt.Errorf("\"path\": %q is no path of its own, such as \"/mcp\"", c.Path)
	case c.Sessions < 1:
		return errors.New(`"sessions" is below 1: no client could begin`)
	case c.Idle <= 0:
		return errors.New(`"idle" is not positive`)
	}
	return nil
}

// Text returns the configuration as a file, in which "[redacted]" stands for secrets of URLs and of
// headers.
func (c *Config) Text() ([]byte, error) {
	var b bytes.Buffer
	enc := jsonv1.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(c.shown())
	return b.Bytes(), err
}
