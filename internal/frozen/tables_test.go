package frozen_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

// around are the ways in which errors come: what stands around them, or beside.
var around = []struct {
	name string
	wrap func(error) error
}{
	{"alone", func(err error) error { return err }},
	{"wrapped", func(err error) error { return fmt.Errorf("outer: %w", fmt.Errorf("inner: %w", err)) }},
	{"in a type", func(err error) error { return wrapping{wrapping{err}} }},
	{"beside a sentinel", func(err error) error { return fmt.Errorf("%w: %w", errPlain, err) }},
	{"joined with a plain error", func(err error) error { return errors.Join(err, errPlain) }},
	{"joined with itself", func(err error) error { return errors.Join(err, fmt.Errorf("again: %w", err)) }},
	{"below a fault", func(err error) error { return fault.New("own_kind", "it failed").Because(err) }},
	{"below a fault of a service", func(err error) error { return fault.Unavailable("the shop").Because(err) }},
	{"of a request", get},
	{"of a session", func(err error) error { return calling("tools/call", err) }},
}

// alike are families that the dump alone has, because another one has the same table.
var alike = map[string]bool{
	"Kafka of segmentio": true, "Kafka of sarama": true, "SQLite of mattn": true, "field SQLState": true, "texts with more": true, "headers of 400": true, "public kinds": true, "generic faults": true,
}

// errorTables say of each family of errors what the classifier makes of it: an outcome, and
// below it the errors that have it. A # stands for the status that is the name of the error.
func errorTables() []scenario {
	all := []scenario{words()}
	for _, f := range families() {
		for _, way := range around {
			all = append(all, scenario{
				name: "errors | " + f.name + " | " + way.name,
				core: way.name == "alone" && !alike[f.name] && (!strings.HasPrefix(f.name, "text with ") || f.name == "text with "+strconv.Quote(statusMarks[0])),
				run: func(w *world) {
					var outcomes []string
					names := map[string][]string{}
					for _, s := range f.all {
						outcome := outcomeOf(way.wrap(s.make()))
						if status, err := strconv.Atoi(s.name); err == nil && status >= 400 {
							outcome = regexp.MustCompile(fmt.Sprintf(`((?i:status(_code)?"?[:=]|HTTP ))%d\b`, status)).ReplaceAllString(outcome, "$1#")
						}
						if names[outcome] == nil {
							outcomes = append(outcomes, outcome)
						}
						names[outcome] = append(names[outcome], s.name)
					}
					for _, outcome := range outcomes {
						w.linef("%s", w.normal(outcome))
						w.block("    ", strings.Join(names[outcome], ", "))
					}
				},
			})
		}
	}
	return all
}

// outcomeOf says what is known of an error. Words that are those of the kind stand as "(generic)"
// or not at all.
func outcomeOf(err error) string {
	f := middleware.Classify(err)
	if f == nil {
		return "nothing"
	}
	d, generic := f.Data(), fault.Generic(f.Kind()).Data()
	if d.Message == generic.Message {
		d.Message = "(generic)"
		if d.Suggestion == generic.Suggestion {
			d.Suggestion = ""
		}
	}
	raw, marshalErr := json.Marshal(d)
	if marshalErr != nil {
		return marshalErr.Error()
	}
	return fmt.Sprintf("%s, hint %s", raw, hint(err))
}

// words are the texts of the kinds.
func words() scenario {
	return scenario{name: "kinds", core: true, run: func(w *world) {
		for _, kind := range kinds {
			f := fault.Generic(fault.Kind(kind))
			w.linef("%q, label %q", kind, f.Kind().Label())
			w.block("    ", f.Error())
			w.block("    ", string(must(json.Marshal(f.After(1500*time.Millisecond)))))
		}
	}}
}

// throughChains sends each error of the tables through servers: as it comes from handlers of
// tools that write and that do not.
func throughChains() []scenario {
	var all []scenario
	for _, f := range families() {
		for _, s := range f.all {
			all = append(all, scenario{name: "error | " + f.name + " | " + s.name, run: func(w *world) {
				for _, of := range []struct{ chain, annotations string }{{"standard", "no annotations"}, {"worded", "idempotent"}} {
					w.linef("-- %s, %s", of.chain, of.annotations)
					w.start(harness.Place{Shape: harness.ServerTyped, Era: current}, harness.Setup{
						Handlers:   map[string]harness.Handler{tool: harness.Fail(s.make())},
						Middleware: chainOf(of.chain).build(w),
						Tool:       func(t *mcp.Tool) { t.Annotations = annotations[of.annotations] },
					})
					w.call(tool, "")
				}
			}})
		}
	}
	return all
}
