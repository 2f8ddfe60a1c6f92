package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/near"
)

// A setting is a flag for a field of the Config.
type setting struct {
	name, value, help string
	set               func(c *Config, value string) error
}

func boolean(name, help string, field func(*Config) *bool) setting {
	return setting{name, "", help, func(c *Config, value string) (err error) {
		if *field(c), err = strconv.ParseBool(value); err != nil {
			return errors.New("it is true or false")
		}
		return nil
	}}
}

func number(name, help string, field func(*Config) *int) setting {
	return setting{name, "N", help, func(c *Config, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil {
			return errors.New("it is no whole number")
		}
		*field(c) = n
		return nil
	}}
}

func duration(name, help string, field func(*Config) *Duration) setting {
	return setting{name, "TIME", help, func(c *Config, value string) error {
		if value == "0" {
			value = "0s"
		}
		return field(c).UnmarshalText([]byte(value))
	}}
}

func text(name, value, help string, field func(*Config) *string) setting {
	return setting{name, value, help, func(c *Config, value string) error {
		*field(c) = value
		return nil
	}}
}

func list(name, help string, field func(*Config) *[]string) setting {
	return setting{name, "A,B", help, func(c *Config, value string) error {
		*field(c) = nil
		for one := range strings.SplitSeq(value, ",") {
			if one = strings.TrimSpace(one); one != "" {
				*field(c) = append(*field(c), one)
			}
		}
		return nil
	}}
}

// settings are the flags, in the order of help.
var settings = []setting{
	text("to", "URL", "the server is reached over HTTP, and not started", func(c *Config) *string { return &c.To }),
	headers("header", "'NAME: VALUE' for -to, several times if need be; ${ENV} stands for a variable"),
	list("hide", "tools that the client does not see", func(c *Config) *[]string { return &c.Hide }),
	boolean("read-only", "only tools that only read", func(c *Config) *bool { return &c.ReadOnly }),
	list("reads", "tools that only read, although the server does not say so", func(c *Config) *[]string { return &c.Reads }),
	duration("start-timeout", "end a server that answers nothing for so long after the first request (5m); 0 leaves it alone", func(c *Config) *Duration { return &c.StartTimeout }),
	duration("hang", "end a server that answers no ping for so long (30s); 0 leaves it alone", func(c *Config) *Duration { return &c.Hang }),
	number("max-request", "bytes of the longest line for the server (9 MiB)", func(c *Config) *int { return &c.MaxRequest }),
	number("max-answer", "bytes of the longest line of the server (9 MiB)", func(c *Config) *int { return &c.MaxAnswer }),
	boolean("strict", "refuse wrong arguments of tools and prompts before the server sees them", func(c *Config) *bool { return &c.Strict }),
	boolean("mend", "mend wrong arguments of tools where one thing is certainly meant, such as \"5\" for 5", func(c *Config) *bool { return &c.Mend }),
	duration("after", "answer a call of a tool that lasts longer with an ID for its answer, such as 20s", func(c *Config) *Duration { return &c.After }),
	duration("deadline", "how long a call may take, such as 50s", func(c *Config) *Duration { return &c.Deadline }),
	boolean("retry-reads", "call again when a tool that only reads, or a resource, fails for a moment", func(c *Config) *bool { return &c.RetryReads }),
	boolean("keys", "answer a call with an idempotency key of before with its first answer", func(c *Config) *bool { return &c.Keys }),
	boolean("refuse-repeated", "refuse a call during which the server died, or took too long, 6 times", func(c *Config) *bool { return &c.RefuseRepeated }),
	text("reader", "WHO", "who reads failures: operator (of stdio), trusted, anyone (of HTTP)", func(c *Config) *string { return &c.Reader }),
	number("rate", "how many calls may begin in a minute", func(c *Config) *int { return &c.Rate }),
	number("running", "how many calls may run at once", func(c *Config) *int { return &c.Running }),
	boolean("serial-writes", "one call at a time of the tools that may write", func(c *Config) *bool { return &c.SerialWrites }),
	number("budget", "how many tokens an answer may have; the tool read_more has the rest", func(c *Config) *int { return &c.Budget }),
	list("secret-env", "more environment variables whose values are secrets", func(c *Config) *[]string { return &c.SecretEnv }),
	boolean("scrub-results", "hide credentials in successes, too", func(c *Config) *bool { return &c.ScrubResults }),
	text("log", "FILE", "append the log to a file instead of standard error", func(c *Config) *string { return &c.Log }),
	boolean("log-json", "write the log as JSON", func(c *Config) *bool { return &c.LogJSON }),
	boolean("verbose", "record successes, too; or -v", func(c *Config) *bool { return &c.Verbose }),
	text("audit", "DIR", "record every call in this directory, chained by hashes", func(c *Config) *string { return &c.Audit }),
	boolean("otel", "send spans and measurements by OTLP, where OTEL_EXPORTER_OTLP_ENDPOINT says", func(c *Config) *bool { return &c.OTel }),
	text("http", "ADDRESS", "serve HTTP there, such as 127.0.0.1:8080, instead of stdio", func(c *Config) *string { return &c.HTTP }),
	text("path", "PATH", "where on that address (/mcp)", func(c *Config) *string { return &c.Path }),
	number("sessions", "how many servers may run at once over HTTP, one for each session (100)", func(c *Config) *int { return &c.Sessions }),
	duration("idle", "end a session over HTTP in which no call runs for so long (30m)", func(c *Config) *Duration { return &c.Idle }),
	number("rate-each", "how many calls of one caller may begin in a minute", func(c *Config) *int { return &c.RateEach }),
	number("running-each", "how many calls of one caller may run at once", func(c *Config) *int { return &c.RunningEach }),
	duration("drain", "how long calls over HTTP have to end after a signal (20s)", func(c *Config) *Duration { return &c.Drain }),
	duration("lag", "how long calls are still taken after a signal, until a load balancer sees it", func(c *Config) *Duration { return &c.Lag }),
	list("trusted-proxies", "addresses or networks, such as 10.0.0.0/8, whose X-Forwarded-For names the client", func(c *Config) *[]string { return &c.TrustedProxies }),
	boolean("pass-authorization", "give the client's header Authorization to the server of -to", func(c *Config) *bool { return &c.PassAuthorization }),
	text("redis", "URL", "keep keys and rates there, for many of these programs", func(c *Config) *string { return &c.Redis }),
}

// titles are those of groups of flags, by the first flag of each.
var titles = map[string]string{
	"strict": "Failures", "rate": "Limits", "secret-env": "Secrets", "log": "Log", "http": "Many clients",
}

// ErrHelp is the error of a command line that asks for help.
var ErrHelp = flag.ErrHelp

// Parse reads a command line: flags, and the command behind "--" or the first argument that is no
// flag. A file that -config names holds where no flag says otherwise.
func Parse(args []string) (*Config, error) {
	c := Default()
	var file string
	if _, err := c.parse(args, &file); err != nil {
		return nil, err
	}
	c = Default()
	if file != "" {
		if err := c.load(file); err != nil {
			return nil, err
		}
	}
	command, err := c.parse(args, &file)
	if err != nil {
		return nil, err
	}
	if len(command) > 0 {
		c.Command = command
	}
	return c, c.check()
}

func (c *Config) parse(args []string, file *string) (command []string, err error) {
	set := flag.NewFlagSet("run", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(file, "config", "", "")
	set.BoolVar(&c.Verbose, "v", c.Verbose, "")
	for _, s := range settings {
		apply := func(value string) error { return s.set(c, value) }
		if s.value == "" {
			set.BoolFunc(s.name, "", apply)
		} else {
			set.Func(s.name, "", apply)
		}
	}
	if err := set.Parse(args); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
			return nil, UnknownFlag("run", name, Flags())
		}
		return nil, err
	}
	return set.Args(), nil
}

// UnknownCommand returns the error of a command that the program does not have. A program of that name was meant to be
// the server.
func UnknownCommand(name string, commands []string) error {
	if matches := near.Matches(name, commands); len(matches) > 0 {
		return unknown("command", name, matches)
	}
	if _, err := exec.LookPath(name); err == nil {
		return fmt.Errorf("there is no command %q; write mcpchain run -- %[1]s ... to stand in front of it", name)
	}
	if strings.HasPrefix(name, "-") {
		return fmt.Errorf("%q stands before the command; write: mcpchain run %[1]s ... -- COMMAND", name)
	}
	return fmt.Errorf("there is no command %q; \"mcpchain help\" lists them", name)
}

// UnknownFlag returns the error of a flag that a command does not have.
func UnknownFlag(command, name string, flags []string) error {
	if matches := near.Matches(name, flags); len(matches) > 0 {
		return unknown("flag", "-"+name, []string{"-" + matches[0]})
	}
	return fmt.Errorf("there is no flag %q; \"mcpchain help %s\" lists them", "-"+name, command)
}

// Flags returns the names of all flags.
func Flags() []string {
	names := make([]string, 0, 1+len(settings))
	for _, s := range settings {
		names = append(names, s.name)
	}
	return append(names, "config")
}

// Help writes a line for each flag.
func Help(w io.Writer) {
	row := func(name, value, help string) {
		fmt.Fprintf(w, "  %-22s %s\n", strings.TrimSpace("-"+name+" "+value), help)
	}
	fmt.Fprintln(w, "\nThe server:")
	row("config", "FILE", "a file with these settings, and rules (docs/program.md)")
	for _, s := range settings {
		if title := titles[s.name]; title != "" {
			fmt.Fprintf(w, "\n%s:\n", title)
		}
		row(s.name, s.value, s.help)
	}
}

// ErrNoCommand says that there is no server.
var ErrNoCommand = errors.New("there is no server: give its command behind --, or its URL with -to")
