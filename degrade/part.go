package degrade

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/words"
)

// A Part is one named part of an answer, as [Required] and [Optional] make
// them.
type Part interface{ self() *plan }

// plan is a Part without its type.
type plan struct {
	name     string
	impact   string
	required bool
	write    bool
	limit    time.Duration // of each source; zero for the default, negative for none
	sources  []source      // in the order in which they are tried
}

func (p *plan) self() *plan { return p }

// What is served instead of a part, as in [Warning.Fallback].
const (
	fromSource = "source"
	fromStale  = "stale"
)

// source is one place that a part may come from.
type source struct {
	name   string // "" for the part's own
	form   string // "" for the part's own, or what is served instead
	maxAge time.Duration
	fetch  func(context.Context) (found, error)
}

// found is the value of a source, kept apart until Run takes it.
type found struct {
	commit func() // writes it into the variable of the caller of Run
	asOf   time.Time
}

// A Component is a part of an answer. It does not change: its methods return a changed copy.
type Component[T any] struct {
	plan

	into *T
}

// Required returns a part without which there is no answer. What fetch returns is
// put into *into; a nil into drops it. fetch runs in a goroutine of its own, may
// panic, and has to end when its context is done: one that does not is left behind.
// Required panics when the name is empty or fetch is nil.
func Required[T any](name string, into *T, fetch func(context.Context) (T, error)) *Component[T] {
	return component("degrade.Required", name, into, fetch, true)
}

// Optional returns a part without which the answer is still worth something. Its
// parameters are those of [Required].
func Optional[T any](name string, into *T, fetch func(context.Context) (T, error)) *Component[T] {
	return component("degrade.Optional", name, into, fetch, false)
}

func component[T any](function, name string, into *T, fetch func(context.Context) (T, error), required bool) *Component[T] {
	name = need(function, name, fetch == nil)
	c := &Component[T]{plan: plan{name: name, required: required}, into: into}
	return c.add(source{fetch: fetcher(into, fetch)})
}

func (c *Component[T]) add(s source) *Component[T] {
	return c.with(func(p *plan) { p.sources = append(slices.Clip(p.sources), s) })
}

// with returns a changed copy. It panics for a Write with fallbacks: nothing can replace a
// change that was not made.
func (c *Component[T]) with(change func(*plan)) *Component[T] {
	cp := *c
	change(&cp.plan)
	if cp.write && len(cp.sources) > 1 {
		panic(fmt.Sprintf("degrade: part %q is a Write and has a fallback, but nothing stands in for a change that was not made; leave one of them out", c.name))
	}
	return &cp
}

// Write says that the part changes something. It is run once, and not stopped because
// another part failed. If its effect is unknown, the answer says so. It has no fallbacks.
// Write panics if there is one.
func (c *Component[T]) Write() *Component[T] {
	return c.with(func(p *plan) { p.write = true })
}

// Impact says, for the caller, what it means that the part is missing: "No
// forecast in this answer." It is public. Without it a general sentence is used.
func (c *Component[T]) Impact(text string) *Component[T] {
	return c.with(func(p *plan) { p.impact = sentence(text) })
}

// Within limits how long each source of the part may take. Zero means the default: for
// an optional part the limit of [Options] or 10 s, for a required one none. A
// negative limit means none. One below a millisecond panics.
func (c *Component[T]) Within(limit time.Duration) *Component[T] {
	checkLimit(fmt.Sprintf("degrade: the limit of part %q", c.name), limit)
	return c.with(func(p *plan) { p.limit = limit })
}

// Else names another source, which is called if those before it have failed. What it gives
// is marked with the name, which is public.
func (c *Component[T]) Else(name string, fetch func(context.Context) (T, error)) *Component[T] {
	name = need("degrade.Component.Else", name, fetch == nil)
	return c.add(source{name: name, form: fromSource, fetch: fetcher(c.into, fetch)})
}

// Stale names a source of copies, which is called if those before it have failed. It returns
// a copy and the time at which that was made. The copy is marked with its age. A copy that
// is older than maxAge, or has no time, is not served. Stale panics unless maxAge is
// positive.
func (c *Component[T]) Stale(name string, maxAge time.Duration, fetch func(context.Context) (value T, asOf time.Time, err error)) *Component[T] {
	name = need("degrade.Component.Stale", name, fetch == nil)
	if maxAge <= 0 {
		panic("degrade.Component.Stale: maxAge is not positive; say how old a copy may be")
	}
	into := c.into
	return c.add(source{name: name, form: fromStale, maxAge: maxAge, fetch: func(ctx context.Context) (found, error) {
		value, asOf, err := fetch(ctx)
		return found{commit: put(into, value), asOf: asOf}, err
	}})
}

// Skip returns the error of a fetch that has nothing to do: the part is skipped, for this
// public reason, and its other sources are not called. Nothing is logged. A required part
// that is skipped fails the whole.
func Skip(reason string) error { return &skipped{reason} }

type skipped struct{ reason string }

func (s *skipped) Error() string { return "skipped: " + s.reason }

// checkLimit panics for a limit that no source can keep.
func checkLimit(what string, limit time.Duration) {
	if limit > 0 && limit < time.Millisecond {
		panic(fmt.Sprintf("%s is %v, which no source can keep; give at least 1ms", what, limit))
	}
}

// maxName is how many characters of a name are kept.
const maxName = 200

// need checks the parameters of a part or source. It returns the name as callers read it.
func need(function, name string, nilFunc bool) string {
	name = strings.TrimSpace(words.Cut(name, maxName))
	switch {
	case name == "":
		panic(function + ": the name is empty; callers and the log know the part or source by it")
	case nilFunc:
		panic(fmt.Sprintf("%s: the function of %q is nil; give what gets the value", function, name))
	}
	return name
}

func fetcher[T any](into *T, fetch func(context.Context) (T, error)) func(context.Context) (found, error) {
	return func(ctx context.Context) (found, error) {
		value, err := fetch(ctx)
		return found{commit: put(into, value)}, err
	}
}

func put[T any](into *T, value T) func() {
	return func() {
		if into != nil {
			*into = value
		}
	}
}
