package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcpchain.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestFlagsFileAndDefaults(t *testing.T) {
	c, err := Parse([]string{"-strict", "-deadline", "50s", "-hide", "a, b", "--", "npx", "-y", "server"})
	require.NoError(t, err)
	want := Default()
	want.Strict, want.Deadline, want.Hide, want.Command = true, Duration(50*time.Second), []string{"a", "b"}, []string{"npx", "-y", "server"}
	require.Equal(t, want, c)

	path := file(t, `{"command":["from","file"],"deadline":"1m","rate":5,"read_only":true,"tool_deadlines":{"export":"2m"}}`)
	c, err = Parse([]string{"-rate=7", "-config", path, "-read-only=false", "-hang", "0"})
	require.NoError(t, err)
	want = Default()
	want.Command, want.Deadline, want.Rate, want.Hang = []string{"from", "file"}, Duration(time.Minute), 7, 0
	want.ToolDeadlines = map[string]Duration{"export": Duration(2 * time.Minute)}
	require.Equal(t, want, c)

	// What config prints is a file that comes to the same.
	text, err := c.Text()
	require.NoError(t, err)
	again, err := Parse([]string{"-config", file(t, string(text))})
	require.NoError(t, err)
	require.Equal(t, c, again)

	c, err = Parse([]string{"-v", "server", "-strict"}) // those of the server are its own
	require.NoError(t, err)
	require.True(t, c.Verbose)
	require.False(t, c.Strict)
	require.Equal(t, []string{"server", "-strict"}, c.Command)
}

// Each flag sets the field of its name, and each field but four has a flag.
func TestEveryFieldHasItsFlag(t *testing.T) {
	only := map[string]bool{"$schema": true, "command": true, "tool_deadlines": true, "rules": true}
	fields := reflect.TypeFor[Config]()
	flags := Flags()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		if only[name] {
			continue
		}
		require.Contains(t, flags, flagOf(name))
	}
	require.Len(t, flags, fields.NumField()-len(only)+1) // and -config
	for _, s := range settings {
		c := Default()
		before := *c
		value := map[string]string{"": "true", "N": "5000", "TIME": "7s", "A,B": "x,y", "DIR": "d", "FILE": "f", "ADDRESS": "a", "PATH": "p", "WHO": "w", "URL": "http://x", "HEADER": "X: y"}[s.value]
		require.NoError(t, s.set(c, value), s.name)
		for i := range fields.NumField() {
			name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
			same := reflect.DeepEqual(reflect.ValueOf(before).Field(i).Interface(), reflect.ValueOf(*c).Field(i).Interface())
			require.Equal(t, flagOf(name) != s.name, same, "-%s and %s", s.name, name)
		}
	}
}

func flagOf(field string) string {
	if field == "headers" {
		return "header"
	}
	return strings.ReplaceAll(field, "_", "-")
}

func TestWhatIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"strcit":true}`: `there is no key "strcit"; did you mean "strict"?`,
		`{"qqqqqq":true}`: `there is no key "qqqqqq"`,
		`{"mcpServers":{"files":{"command":"npx"}}}`:                                                  `"mcpServers" is for the file of a client`,
		`{"rules":[{"contain":"x","kind":"not_found","message":"m"}]}`:                                `there is no key "rules[0].contain"; did you mean "contains"?`,
		`{"rules":[{"contains":"x","kind":"not_found","message":"m","step":{"acton":"x"}}]}`:          `there is no key "rules[0].step.acton"; did you mean "action"?`,
		`{"rules":[{"kind":"not_found","message":"m"}]}`:                                              `rules[0]: give one of "contains" and "pattern"`,
		`{"rules":[{"contains":"x","message":"m"}]}`:                                                  `rules[0]: "kind" and "message" are required`,
		`{"rules":[{"contains":"x","kind":"not found","message":"m"}]}`:                               `rules[0]: there is no kind "not found"; did you mean "not_found"?`,
		`{"rules":[{"contains":"x","kind":"quota","message":"m"}]}`:                                   `rules[0]: there is no kind "quota": it is validation_error, not_found, `,
		`{"rules":[{"contains":"x","kind":"tool_error","message":"no $1"}]}`:                          `rules[0]: "message" has $1, but only a "pattern" has groups`,
		`{"rules":[{"contains":"x","kind":"tool_error","message":"no ${n}"}]}`:                        `"message" has ${n}, but only a "pattern" has groups`,
		`{"rules":[{"pattern":"x","kind":"tool_error","message":"no $1"}]}`:                           `"message" has $1, which is not a group of "pattern": write (...) there for $1, ${1} before a letter, and $$ for a dollar`,
		`{"rules":[{"pattern":"(x)(?P<n>y)","kind":"tool_error","message":"no $3"}]}`:                 `"message" has $3, which is not a group`,
		`{"rules":[{"pattern":"(x)","kind":"tool_error","message":"no $1s"}]}`:                        `"message" has $1s, which is not a group`,
		`{"rules":[{"pattern":"(x)","kind":"tool_error","message":"no ${m}"}]}`:                       `"message" has ${m}, which is not a group`,
		`{"rules":[{"pattern":"(","kind":"not_found","message":"m"}]}`:                                `error parsing regexp`,
		`{"rules":[{"contains":"x","kind":"conflict","message":"m","never":"x","retry_after":"1s"}]}`: `exclude each other`,
		`{"rules":[{"contains":"x","kind":"conflict","message":"m","step":{"tool":"x"}}]}`:            `"step" has no "action"`,
		`{"rules":{}}`:                 `"rules" is a list, such as ["a", "b"]`,
		`{"deadline":"soon"}`:          `"deadline": "soon" is not a duration`,
		`{"tool_deadlines":{"x":"2"}}`: `"tool_deadlines.x": "2" has no unit; write "2s" for seconds`,
		`{"tool_deadlines":{"x":2}}`:   `"tool_deadlines.x": it has a unit and quotes; write "2s" for seconds`,
		`{"rules":[{"contains":"x","kind":"conflict","message":"m","retry_after":2}]}`: `"rules[0].retry_after": it has a unit and quotes; write "2s" for seconds`,
		`{"tool_deadlines":[]}`:                  `"tool_deadlines" is an object`,
		`{"rules":["x"]}`:                        `"rules[0]" is an object`,
		`{"hide":"a"}`:                           `"hide" is a list`,
		`{"rate":"60"}`:                          `"rate" is a whole number, without quotes`,
		`{"rate":1.5}`:                           `"rate" is a whole number, without quotes`,
		`{"rate":true}`:                          `"rate" is a whole number, without quotes`,
		`{"http":8080}`:                          `"http" is a text in quotes`,
		`{"http":{}}`:                            `"http" is a text in quotes`,
		`{"deadline":true}`:                      `"deadline": it is a duration in quotes, such as "30s"`,
		`{"deadline":5}`:                         `"deadline": it has a unit and quotes; write "5s" for seconds`,
		`{"deadline":"-1s"}`:                     `"deadline": "-1s" is negative`,
		`{"tool_deadlines":{"x":"0s"}}`:          `is not positive`,
		`{"rate":-1}`:                            `"rate" is negative`,
		`{"rate_each":-1}`:                       `"rate_each" is negative`,
		`{"http":"8080"}`:                        `"8080" is no address, such as "127.0.0.1:8080"`,
		`{"pass_authorization":true}`:            `"pass_authorization" is for "http" with "to"`,
		`{"http":"127.0.0.1:1","path":"mcp"}`:    `"mcp" is no path of its own`,
		`{"http":"127.0.0.1:1","path":"/livez"}`: `"/livez" is no path of its own`,
		`{"reader":"operater"}`:                  `there is no reader "operater"; did you mean "operator"?`,
		`{"http":"127.0.0.1:1","sessions":0}`:    `"sessions" is below 1`,
		`{"http":"127.0.0.1:1","idle":"0s"}`:     `"idle" is not positive`,
		`{"http":"127.0.0.1:1","drain":"-1s"}`:   `"drain": "-1s" is negative`,
		`{"after":"61m"}`:                        `"after" is longer than 1 h, which is the most that a call may take`,
		`{"hang":"-1s"}`:                         `"hang": "-1s" is negative`,
		`{"lag":"1s"}`:                           `"lag" is for "http"`,
		`{"redis":"localhost:6379"}`:             `"redis" is no URL`,
		`{"max_answer":5}`:                       `"max_answer" is not between`,
		`{"strict":"yes"}`:                       `"strict" is true or false, without quotes`,
		`{`:                                      `line 1: unexpected EOF`,
		"{\n\"strict\": true,\n}":                `line 2: invalid character ','`,
		`{"reader":"me"}`:                        `there is no reader "me": it is operator, trusted or anyone`,
		`[]`:                                     `it is no JSON object`,
		`{} {}`:                                  `after top-level value`,
	} {
		_, err := Parse([]string{"-config", file(t, text), "server"})
		require.ErrorContains(t, err, want, text)
	}
	_, err := Parse([]string{"-strct"})
	require.ErrorContains(t, err, `there is no flag "-strct"; did you mean "-strict"?`)
	_, err = Parse([]string{"-rate", "many"})
	require.EqualError(t, err, `invalid value "many" for flag -rate: it is no whole number`)
	_, err = Parse([]string{"-deadline", "50"})
	require.EqualError(t, err, `invalid value "50" for flag -deadline: "50" has no unit; write "50s" for seconds`)
	_, err = Parse([]string{"-strict=yes"})
	require.EqualError(t, err, `invalid boolean value "yes" for -strict: it is true or false`)
	_, err = Parse([]string{"-quux"})
	require.EqualError(t, err, `there is no flag "-quux"; "mcpchain help run" lists them`)
	_, err = Parse([]string{"-config", "/there/is/no/file"})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Parse([]string{"-h"})
	require.ErrorIs(t, err, ErrHelp)
}

// Clients know what to do about the kinds of package fault, and about no other.
func TestKindsOfRules(t *testing.T) {
	for _, kind := range kindNames() {
		require.NoError(t, (&Rule{Contains: "x", Kind: fault.Kind(kind), Message: "m"}).check())
		typo := kind[:3] + kind[4:]
		err := (&Rule{Contains: "x", Kind: fault.Kind(typo), Message: "m"}).check()
		require.EqualError(t, err, fmt.Sprintf("there is no kind %q; did you mean %q?", typo, kind))
	}
}

func TestGroupsOfRules(t *testing.T) {
	for _, message := range []string{"$0 and $1, ${1}s, $name, ${name}", "$$5 and $$1"} {
		require.NoError(t, (&Rule{Pattern: `(a)(?P<name>b)`, Kind: fault.KindTool, Message: message}).check(), message)
	}
	for _, message := range []string{"a $ alone", "$name of the shell", "$$"} {
		require.NoError(t, (&Rule{Contains: "x", Kind: fault.KindTool, Message: message}).check(), message)
	}
}

// Who started the server over stdio reads everything, a stranger over HTTP does not, and both can be said.
func TestReader(t *testing.T) {
	for args, want := range map[string]mask.Reader{
		"": mask.Operator, "-http=127.0.0.1:1": mask.Anyone, "-reader=anyone": mask.Anyone,
		"-http=127.0.0.1:1 -reader=trusted": mask.Trusted, "-http=127.0.0.1:1 -reader=operator": mask.Operator,
	} {
		c, err := Parse(append(strings.Fields(args), "--", "server"))
		require.NoError(t, err)
		require.Equal(t, want, c.readerOf(), args)
	}
}

func TestRules(t *testing.T) {
	after := Duration(30 * time.Second)
	for _, r := range []Rule{
		{Contains: "locked", Kind: fault.KindConflict, Message: "it is locked", Suggestion: "Ask who has it.", RetryAfter: &after},
		{Pattern: `no (\w+) called (?P<name>\w+)`, Kind: fault.KindNotFound, Message: "there is no $1 ${name}", Step: &Step{Action: "List them", Tool: "list", Parameters: map[string]any{"what": "all"}}, Never: "It will not appear"},
	} {
		require.NoError(t, r.check())
		require.Nil(t, r.rule()(errors.New("something else")))
		f := r.rule()(errors.New("error: no user called bob, the table is locked"))
		require.Equal(t, r.Kind, f.Kind())
		retry, said := f.Retry()
		require.True(t, said)
		if r.Contains != "" {
			require.Equal(t, "it is locked", f.Message())
			require.True(t, retry.ShouldRetry)
			continue
		}
		require.Equal(t, "there is no user bob", f.Message())
		require.False(t, retry.ShouldRetry)
		require.Equal(t, "list", f.Data().RecoverySteps[0].Tool)
	}
}

func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	schema := resolved(t)
	for _, file := range files {
		_, err := Parse([]string{"-config", file})
		require.NoError(t, err)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, schema.Validate(instance(t, string(text))), file)
	}
}

func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	text, err := Schema()
	require.NoError(t, err)
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(text, &s))
	r, err := s.Resolve(nil)
	require.NoError(t, err)
	return r
}

func instance(t *testing.T, text string) (v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

// An editor says what the program would, and before it does.
func TestSchema(t *testing.T) {
	schema := resolved(t)
	all, err := Default().Text()
	require.NoError(t, err)
	for _, text := range []string{
		"{}", string(all), `{"$schema":"./mcpchain.schema.json","strict":true}`, `{"hang":"0","deadline":"1h2m3.5s"}`,
		`{"rules":[{"pattern":"(x)","kind":"conflict","message":"$1","retry_after":"2s","step":{"action":"a","parameters":{"n":null}}}]}`,
	} {
		require.NoError(t, schema.Validate(instance(t, text)), text)
		_, err := Parse([]string{"-config", file(t, text), "server"})
		require.NoError(t, err, text)
	}
	for _, text := range []string{
		`{"strcit":true}`, `{"deadline":50}`, `{"deadline":"50"}`, `{"tool_deadlines":{"x":"2"}}`, `{"reader":"me"}`, `{"rate":"60"}`, `{"hide":"a"}`,
		`{"rules":[{"contains":"x","message":"m"}]}`, `{"rules":[{"contains":"x","kind":"quota","message":"m"}]}`, `{"rules":[{"contains":"x","kind":"conflict","message":"m","step":{}}]}`,
		`{"rate":-1}`, `{"max_answer":1}`, `{"max_request":1073741825}`, `{"sessions":0,"http":":1"}`, `{"http":"x"}`, `{"http":":1","path":"x"}`, `{"redis":"localhost"}`, `{"to":"x"}`,
		`{"hang":"-5s"}`, `{"hang":".s"}`, `{"hang":"1.2.3s"}`, `{"tool_deadlines":{"":"1s"}}`, `{"to":"https://h","headers":{"":"x"}}`,
		`{"rules":[{"kind":"conflict","message":"m"}]}`, `{"rules":[{"contains":"x","pattern":"x","kind":"conflict","message":"m"}]}`, `{"rules":[{"contains":"x","kind":"conflict","message":""}]}`,
		`{"rules":[{"contains":"x","kind":"conflict","message":"m","step":{"action":""}}]}`, `{"rules":[{"contains":"x","kind":"conflict","message":"m","never":"n","retry_after":"1s"}]}`,
	} {
		require.Error(t, schema.Validate(instance(t, text)), text)
		_, err := Parse([]string{"-config", file(t, text), "server"})
		require.Error(t, err, text)
	}
	for _, rule := range []string{
		`"contains":"x"`, `"pattern":"x"`, `"contains":"","pattern":"x"`, `"contains":"x","never":"n"`, `"contains":"x","never":"","retry_after":"1s"`, `"contains":"x","never":"n","retry_after":null`,
		`"contains":"x","step":null`, `"contains":"x","step":{"action":"a","tool":"","parameters":{"a":[]}}`,
	} {
		text := `{"rules":[{` + rule + `,"kind":"conflict","message":"m"}]}`
		require.NoError(t, schema.Validate(instance(t, text)), text)
		_, err := Parse([]string{"-config", file(t, text), "server"})
		require.NoError(t, err, text)
	}
	root := schema.Schema()
	for name := range root.Properties { // no editor complains of what the program takes
		for _, value := range []string{
			`""`, `"x"`, `0`, `1`, `-1`, `1.5`, `2000`, `true`, `"true"`, `[]`, `[""]`, `["a"]`, `["10.0.0.0/8"]`, `{}`, `{"a":"1s"}`, `{"A":"x"}`, `"5s"`, `"+5s"`, `"-5s"`, `"0"`, `"+0"`, `"-0"`,
			`"1µs"`, `"1μs"`, `"1.h.5m"`, `" 5s"`, `"operator"`, `"/x"`, `":80"`, `"[::1]:80"`, `"h:http"`, `"rediss://h"`, `"HTTPS://h/x"`, `[{}]`,
		} {
			text := fmt.Sprintf(`{%q:%s}`, name, value)
			if schema.Validate(instance(t, text)) != nil && text != `{"reader":""}` {
				for _, with := range []string{"", `,"http":":1"`, `,"to":"https://h"`, `,"http":":1","to":"https://h"`} {
					_, err := Parse([]string{"-config", file(t, text[:len(text)-1]+with+"}")})
					require.Error(t, err, text)
				}
			}
		}
	}
	for name, of := range root.Properties {
		require.NotEmpty(t, of.Description, name)
	}
}

// Editors of Windows begin a file with a byte order mark, and PowerShell writes UTF-16.
func TestAFileWithAByteOrderMark(t *testing.T) {
	const text = `{"hide":["é😀"]}`
	little, big := []byte{0xff, 0xfe}, []byte{0xfe, 0xff}
	for _, unit := range utf16.Encode([]rune(text)) {
		little, big = append(little, byte(unit), byte(unit>>8)), append(big, byte(unit>>8), byte(unit))
	}
	for _, marked := range []string{"\ufeff" + text, string(little), string(big), text} {
		c, err := Parse([]string{"-config", file(t, marked)})
		require.NoError(t, err)
		require.Equal(t, []string{"é😀"}, c.Hide)
	}
	for _, wrong := range []string{"\ufeff", "\xff\xfe{", "\xff\xfe", "\ufeff\ufeff{}"} {
		_, err := Parse([]string{"-config", file(t, wrong)})
		require.Error(t, err)
	}
}
