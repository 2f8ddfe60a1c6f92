package probe

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mcpchain/mcpchain/internal/conduct"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

// wrongText returns arguments that a tool's schema refuses because a text, as JSON, stands in them where
// none belongs.
func (t *tool) wrongText(text string) (arguments string, ok bool) {
	good, _ := t.good()
	for _, name := range slices.Sorted(maps.Keys(t.schema.Properties)) {
		members := map[string]json.RawMessage{}
		maps.Copy(members, good)
		members[name] = json.RawMessage(text)
		if arguments := object(members, ""); t.refuses(arguments) {
			return arguments, true
		}
	}
	for _, name := range t.schema.Required { // instead of what is required, which may be a text itself
		members := maps.Clone(good)
		delete(members, name)
		if arguments := object(members, `"mcpchain_unknown":`+text); t.refuses(arguments) {
			return arguments, true
		}
	}
	return "", false
}

// withWrongText calls each tool with a text where none belongs, and gives the outcome to look.
func (t *trial) withWrongText(text string, look func(tool *tool, o outcome)) {
	for _, tool := range t.quick() {
		if t.late() {
			return
		}
		if arguments, ok := tool.wrongText(text); ok {
			look(tool, t.call(t.conn(), tool, arguments))
		}
	}
	if !t.asked && t.skipped == "" {
		t.skip("no tool that may be called refuses a text by its schema")
	}
}

func hugeArgument(t *trial) {
	const size = 1 << 20
	called := 0
	t.withWrongText(`"`+strings.Repeat("mcpchain ", size/9)+`"`, func(tool *tool, o outcome) {
		if called++; called > 3 || !t.answered(tool.Name, o) {
			return
		}
		if o.failed() && len(o.raw) > maxFailure {
			t.found(tool.Name, fmt.Sprintf("The failure has %d bytes.", len(o.raw)), string(o.sent[:100]), o.got())
		}
	})
}

// urlName is how arguments are called that are URLs, textName how those are that have a credential in the middle.
var (
	urlName  = regexp.MustCompile(`(?i)ur[il]|dsn|connection|endpoint|proxy`)
	textName = regexp.MustCompile(`(?i)command|cmd|query|sql|header|args|env|script|body|config`)
)

func leaksArgument(t *trial) {
	t.withWrongText(quote(sentSecret), func(tool *tool, o outcome) { t.keepsSecret(tool.Name, false, o) })
	for _, tool := range t.quick() {
		good, _ := tool.good()
		tried := 0
		for _, name := range slices.Sorted(maps.Keys(tool.schema.Properties)) {
			members := maps.Clone(good)
			if members == nil || tried == maxArgsTried || t.late() {
				break
			}
			s := tool.schema.Properties[name]
			switch {
			case s != nil && s.Format == "uri", urlName.MatchString(name):
				members[name] = raw("https://check:" + sentSecret + "@db.invalid/check")
			case scrub.SecretName(name), textName.MatchString(name):
				members[name] = raw(sentSecret)
			default:
				continue // nobody sends one there
			}
			if arguments := object(members, ""); tool.input != nil && !tool.refuses(arguments) {
				tried++
				t.keepsSecret(tool.Name+" "+name, scrub.SecretName(name), t.call(t.conn(), tool, arguments))
			}
		}
	}
	if _, has := t.caps["tools"]; has {
		t.keepsSecret(noSuch, false, t.conn().ask("tools/call", `{"name":"`+noSuch+`","arguments":{"token":`+quote(sentSecret)+`}}`))
	}
}

// keepsSecret notes a finding if a failure repeats the credential that was sent. always is for all answers.
func (t *trial) keepsSecret(subject string, always bool, o outcome) {
	if !t.answered(subject, o) || !always && !o.failed() {
		return
	}
	// What a model does not read, such as a _meta, goes back only to its sender.
	if how, around := conduct.Find(o.text(), sentSecret); around != "" {
		what := "The failure"
		if !o.failed() {
			what = "The answer"
		}
		t.found(subject, what+" repeats the credential"+how+".", string(o.sent), around)
	}
}

func invisibleArgument(t *trial) {
	const hidden = "\x1b[2Jmcpchain\u202e\u200b\U000e0041"
	t.withWrongText(quote(hidden), func(tool *tool, o outcome) {
		if !t.answered(tool.Name, o) || !o.failed() {
			return
		}
		for _, r := range o.text() {
			if words.Invisible(r) && !unicode.IsSpace(r) && strings.ContainsRune(hidden, r) {
				t.found(tool.Name, fmt.Sprintf("The failure repeats the character %U.", r), string(o.sent), o.got())
				return
			}
		}
	})
}

// maxNasty is how many nasty arguments a tool gets.
const maxNasty = 100

func nastyArguments(t *trial) {
	tools := t.quick()
	for _, tool := range tools {
		all := nasty(tool.schema)
		step := max(1, len(all)/maxNasty)
		begun := time.Now()
		for i := 0; i < len(all); i += step {
			if t.late() || time.Since(begun) > checkLimit/time.Duration(len(tools)) {
				break
			}
			if !t.answered(tool.Name, t.call(t.conn(), tool, string(all[i]))) {
				break // others of the kind would be found again
			}
		}
	}
}
