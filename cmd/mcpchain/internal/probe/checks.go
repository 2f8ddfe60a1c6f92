package probe

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/conduct"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Checks returns all checks, in the order in which they run and are shown.
func Checks() []*Check {
	return slices.Concat(firstChecks(), lifeChecks(), lineChecks(), nameChecks(), argumentChecks(), busyChecks(), webChecks(), answersChecks())
}

// firstChecks run first: they find out which tools take their time.
func firstChecks() []*Check {
	return []*Check{
		{Name: "fitting-arguments", Title: "Calls whose arguments fit are answered.", Why: "A call that is never answered blocks the model until its client gives up.", both: true, run: func(t *trial) {
			tried := 0
			for _, tool := range t.toCall() {
				good, ok := tool.good()
				if !ok || t.late() {
					continue
				}
				tried++
				c := t.conn()
				// Some take long by right: slow is not hung.
				o := c.settled(c.await(c.beginCall(tool, object(good, ""), c.id()), 3*c.limit))
				t.answered(tool.Name, o)
				tool.slow = tool.slow || o.none != replied || o.took > c.limit/4
			}
			if tried == 0 && t.skipped == "" {
				t.skip("no arguments were found that fit")
			}
		}},
	}
}

const (
	overStdio = "stdio"
	overHTTP  = "http"
)

// answered notes a finding if there was no answer. It reports whether there was one.
func (t *trial) answered(subject string, o outcome) bool {
	t.asked = true
	if o.none == replied {
		return true
	}
	t.weighed(t.unanswered(o.none), o.none, subject, o.what(), string(o.sent), o.got())
	return false
}

// refused notes a finding if there was no answer, a success, or an error with none of the codes. Without codes any
// will do. It reports whether all was right.
func (t *trial) refused(subject string, o outcome, codes ...int64) bool {
	if !t.answered(subject, o) {
		return false
	}
	if !o.failed() {
		t.found(subject, "It is answered as if nothing were wrong.", string(o.sent), o.got())
		return false
	}
	return t.coded(subject, o, codes...)
}

// coded notes a finding if an error has none of the codes. A failed result has none, and is right.
func (t *trial) coded(subject string, o outcome, codes ...int64) bool {
	code, has := o.code()
	if !has || len(codes) == 0 || slices.Contains(codes, code) {
		return true
	}
	want := make([]string, len(codes))
	for i, c := range codes {
		want[i] = strconv.FormatInt(c, 10)
	}
	t.weighed(Letter, replied, subject, fmt.Sprintf("The code is %d, not %s.", code, strings.Join(want, " or ")), string(o.sent), o.got())
	return false
}

// names reports whether the text of a failure has a word as one of its own. Case does not matter, and
// neither do underscores and hyphens in a long one.
func names(text, word string) bool {
	flat := func(s string) string { return strings.NewReplacer("_", "", "-", "", " ", "").Replace(s) }
	text, word = strings.ToLower(text), strings.ToLower(word)
	if len(word) > 5 && strings.Contains(flat(text), flat(word)) {
		return true
	}
	found, err := regexp.MatchString(`(^|[^\pL\d_])`+regexp.QuoteMeta(word)+`($|[^\pL\d_])`, text)
	return err == nil && found
}

const noSuch = "mcpchain_no_such_thing"

// The checks of names that the server does not have.
func nameChecks() []*Check {
	return []*Check{
		{Name: "unknown-method", Title: "An unknown method is answered with -32601.", Why: "Clients find out by this code what a server can do.", both: true, run: func(t *trial) {
			t.refused("", t.conn().ask("mcpchain/no_such_method", "{}"), codeMethodNotFound)
		}},
		{Name: "unknown-tool", Title: "A call of an unknown tool fails, with -32602 if it is an error.", Why: "Models invent tools. With another code clients take it for a crash of the server.", both: true, run: func(t *trial) {
			if t.needs("tools") {
				t.refused("", t.conn().ask("tools/call", `{"name":"`+noSuch+`","arguments":{}}`), codeInvalidParams)
			}
		}},
		{Name: "unknown-tool-named", Title: "The failure names the unknown tool.", Why: "Of several calls at once the model has to know which one failed.", both: true, run: func(t *trial) {
			if t.needs("tools") {
				t.says("", t.conn().ask("tools/call", `{"name":"`+noSuch+`","arguments":{}}`), noSuch)
			}
		}},
		{Name: "near-tool-named", Title: "A misspelt tool is answered with the name that was meant.", Why: "A model then calls the right one at once, instead of guessing again.", both: true, run: nearTool},
		{Name: "no-tool-name", Title: "A call without the name of a tool is refused with -32602.", Why: "A client's bug is then found by who reads the error, and not by a crash.", both: true, run: func(t *trial) {
			if t.needs("tools") {
				codes := []int64{codeInvalidParams, codeInvalidRequest}
				if t.URL != "" {
					codes = append(codes, mcp.CodeHeaderMismatch) // the name stands in a header, too
				}
				t.refused("no name", t.conn().ask("tools/call", `{"arguments":{}}`), codes...)
				t.refused("a number", t.conn().ask("tools/call", `{"name":5,"arguments":{}}`), codes...)
				t.refused("an empty name", t.conn().ask("tools/call", `{"name":"","arguments":{}}`), codes...)
			}
		}},
		{Name: "unknown-cursor", Title: "A cursor that the server did not give is refused with -32602, or ignored.", Why: "Cursors get old, and a client has to know that it must begin anew.", both: true, run: func(t *trial) {
			if t.needs("tools") {
				o := t.conn().ask("tools/list", `{"cursor":"mcpchain-no-such-cursor"}`)
				if t.answered("", o) && o.failed() {
					t.coded("", o, codeInvalidParams)
				}
			}
		}},
		{Name: "unknown-prompt", Title: "An unknown prompt is refused with -32602.", Why: "With another code clients take it for a crash of the server.", both: true, run: func(t *trial) {
			if t.needs("prompts") {
				t.refused("", t.conn().ask("prompts/get", `{"name":"`+noSuch+`"}`), codeInvalidParams)
			}
		}},
		{Name: "prompt-argument-missing", Title: "A prompt without its required arguments fails, and says which.", Why: "Else the model gets a prompt with a hole, or \"undefined\", in it.", both: true, run: promptArguments},
		{Name: "unknown-resource", Title: "An unknown resource is refused with -32002 or -32602.", Why: "A client then knows that it is gone, and not that the server is broken.", both: true, run: func(t *trial) {
			if t.needs("resources") {
				codes := []int64{codeInvalidParams}
				if t.version < conduct.Current {
					codes = append(codes, codeOldNotFound)
				}
				t.refused("", t.conn().ask("resources/read", `{"uri":"mcpchain-check://no/such/resource"}`), codes...)
			}
		}},
		{Name: "odd-resource", Title: "What is no URI is refused.", Why: "A server that puts it together with a path reads what it should not, or dies.", both: true, run: func(t *trial) {
			if t.needs("resources") {
				for _, odd := range [][2]string{{"an empty URI", `""`}, {"a control character", `"file:///%00\u0000"`}, {"a number", `5`}, {"a way up", `"file:///../../../../etc/passwd"`}} {
					o := t.conn().ask("resources/read", `{"uri":`+odd[1]+`}`)
					if !t.refused(odd[0], o) && o.none == replied && strings.Contains(string(o.Result), "root:") {
						t.findings[len(t.findings)-1].Weight = User
					}
				}
			}
		}},
		{Name: "unknown-completion", Title: "A completion for an unknown prompt is refused with -32602, or empty.", Why: "Clients ask for completions while a person types: a crash ends the person's session.", both: true, run: func(t *trial) {
			if t.needs("completions") {
				o := t.conn().ask("completion/complete", `{"ref":{"type":"ref/prompt","name":"`+noSuch+`"},"argument":{"name":"x","value":"y"}}`)
				if t.answered("", o) && o.failed() {
					t.coded("", o, codeInvalidParams)
				}
			}
		}},
		{Name: "unknown-log-level", Title: "An unknown log level is refused with -32602.", Why: "Else a client believes that it has set one.", run: func(t *trial) {
			if t.version == conduct.Current {
				t.skip("the method is not in " + conduct.Current)
			} else if t.needs("logging") {
				t.refused("", t.conn().ask("logging/setLevel", `{"level":"loud"}`), codeInvalidParams)
			}
		}},
	}
}

const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeOldNotFound    = -32002 // of a resource, before 2026-07-28
)

// needs reports whether the server has a capability, and else skips the trial.
func (t *trial) needs(capability string) bool {
	if _, ok := t.caps[capability]; ok {
		return true
	}
	t.skip("the server has no " + capability)
	return false
}

// says notes a finding if a failure does not have all these words.
func (t *trial) says(subject string, o outcome, all ...string) {
	if o.none != replied || !o.failed() {
		return // that is what another check is for
	}
	t.asked = true
	if slices.ContainsFunc(all, func(word string) bool { return !names(o.text(), word) }) {
		quoted := make([]string, len(all))
		for i, word := range all {
			quoted[i] = strconv.Quote(word)
		}
		what := "The failure does not say " + quoted[0] + "."
		if len(all) > 1 { // which one is missing may differ from call to call
			what = "The failure does not say all of " + words.List(quoted, "and") + "."
		}
		t.found(subject, what, string(o.sent), o.got())
	}
}

func nearTool(t *trial) {
	if !t.needs("tools") {
		return
	}
	for _, name := range t.names {
		misspelt := name[:max(0, len(name)-2)] + name[max(0, len(name)-1):] // without the letter before the last one
		if len(name) < 5 || len(name) > 60 || t.tools[misspelt] != nil {
			continue
		}
		o := t.conn().ask("tools/call", `{"name":`+quote(misspelt)+`,"arguments":{}}`)
		if o.none == replied && o.failed() {
			t.asked = true
			if !strings.Contains(o.text(), name) {
				t.found("", fmt.Sprintf("The failure does not say %q.", name), string(o.sent), o.got())
			}
		}
		return
	}
	t.skip("no tool has a name that can be misspelt")
}

func promptArguments(t *trial) {
	if !t.needs("prompts") {
		return
	}
	o := t.conn().ask("prompts/list", "{}")
	if o.none != replied || o.failed() {
		t.skip("the prompts are not listed")
		return
	}
	var list struct {
		Prompts []struct {
			Name      string `json:"name"`
			Arguments []struct {
				Name     string `json:"name"`
				Required bool   `json:"required"`
			} `json:"arguments"`
		} `json:"prompts"`
	}
	if err := json.Unmarshal(o.Result, &list); err != nil {
		t.skip("the list of prompts cannot be read")
		return
	}
	called := 0
	for _, prompt := range list.Prompts {
		for _, argument := range prompt.Arguments {
			if !argument.Required || called == maxCalled || t.late() {
				continue
			}
			called++
			o := t.conn().ask("prompts/get", `{"name":`+quote(prompt.Name)+`,"arguments":{}}`)
			if t.refused(prompt.Name, o) {
				t.says(prompt.Name, o, argument.Name)
			}
			break
		}
	}
	if called == 0 {
		t.skip("no prompt has a required argument")
	}
}

// The checks of arguments that tools do not expect.
func argumentChecks() []*Check {
	refuses := func(kind string) func(t *trial) {
		return func(t *trial) {
			for _, a := range t.attempts(kind) {
				t.refused(a.tool.Name+" "+strings.Join(a.fields, ", "), a.outcome, codeInvalidParams)
			}
			if !t.asked && t.skipped == "" {
				t.skip("no schema of a tool that may be called can be broken in this way")
			}
		}
	}
	says := func(wanted func(a attempt) []string, kinds ...string) func(t *trial) {
		return func(t *trial) {
			for _, kind := range kinds {
				for _, a := range t.attempts(kind) {
					if w := wanted(a); len(w) > 0 {
						t.says(a.tool.Name, a.outcome, w...)
					}
				}
			}
			if !t.asked && t.skipped == "" {
				t.skip("no such call was refused")
			}
		}
	}
	fields := func(a attempt) []string { return a.fields }
	const passedOn = "A handler that is not prepared for it does something else, or fails with words about itself."
	return []*Check{
		{Name: missingArg, Title: "A call without a required argument is refused.", Why: passedOn, both: true, run: refuses(missingArg)},
		{Name: typeArg, Title: "An argument of the wrong type is refused.", Why: passedOn, both: true, run: refuses(typeArg)},
		{Name: enumArg, Title: "A value that is none of an argument's choices is refused.", Why: passedOn, both: true, run: refuses(enumArg)},
		{Name: rangeArg, Title: "A value out of an argument's range is refused.", Why: passedOn, both: true, run: refuses(rangeArg)},
		{Name: unknownArg, Title: "An argument that the schema excludes is refused.", Why: "A misspelt optional argument is else ignored, and the model believes that it had its effect.", both: true, run: refuses(unknownArg)},
		{Name: "arguments-no-object", Title: "Arguments that are no object are refused.", Why: passedOn, both: true, run: func(t *trial) {
			for _, tool := range t.toCall()[:min(len(t.toCall()), 3)] { // what reads them is the same for all
				for _, arguments := range []string{`[]`, `"x"`, `5`} {
					t.refused(tool.Name+" "+arguments, t.call(t.conn(), tool, arguments), codeInvalidParams, codeInvalidRequest)
				}
			}
		}},
		{Name: "wrong-argument-named", Title: "The failure names the argument that is wrong.", Why: "A model that does not know which one it is changes the right ones.", both: true, run: says(fields, missingArg, typeArg, enumArg, rangeArg, unknownArg)},
		{Name: severalArg, Title: "The failure names all arguments that are wrong.", Why: "Each one that is left out costs the model another call.", both: true, run: says(fields, severalArg)},
		{Name: "choices-named", Title: "The failure names the choices that an argument has.", Why: "The model can then choose, instead of guess.", both: true, run: says(func(a attempt) []string {
			return a.choices[:min(len(a.choices), 3)]
		}, enumArg)},
		{Name: "huge-argument", Title: "A wrong argument of 1 MB is refused, and not repeated.", Why: "Its text goes into a model's context, which costs money and pushes out what matters.", both: true, run: hugeArgument},
		{Name: "leaks-argument", Title: "No failure repeats a credential that was sent in arguments, and no answer a password.", Why: "The credential goes into transcripts, and into the logs of all who record failures.", both: true, run: leaksArgument},
		{Name: "invisible-argument", Title: "No failure repeats terminal controls or invisible characters of an argument.", Why: "They change what a person sees in a terminal, and hide orders to a model.", both: true, run: invisibleArgument},
		{Name: "nasty-arguments", Title: "Arguments that no tool expects are all answered.", Why: "One that is not answered blocks the model, one that ends the server ends all sessions.", run: nastyArguments},
	}
}
