package deadline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"
)

// The defaults of [Options].
const (
	defaultGrace         = 100 * time.Millisecond
	defaultMargin        = time.Second
	defaultMaxPause      = 10 * time.Minute
	defaultMaxStuck      = 10
	defaultMaxStuckTotal = 100
	defaultBurst         = 20
)

// minLimit is the shortest limit: a handler's goroutine may take longer than any shorter
// one to start.
const minLimit = time.Millisecond

// ordinary are the methods that Options.Limit is for; others may have limits too.
var (
	ordinary = []string{call.MethodCallTool, call.MethodReadResource, call.MethodGetPrompt, call.MethodComplete}
	others   = []string{
		call.MethodDiscover, call.MethodListTools, call.MethodListPrompts, call.MethodListResources,
		call.MethodListResourceTemplates, call.MethodSubscribe, call.MethodUnsubscribe, call.MethodSetLevel,
	}
	unlimited = []string{call.MethodInitialize, call.MethodPing, call.MethodListen}
	sent      = []string{"sampling", "elicitation", "roots"} // by servers, to clients
)

func newLimiter(o *Options) *limiter {
	o.check()
	l := &limiter{Options: *o, methods: map[string]time.Duration{}, looking: make(chan struct{}, maxLookups), settings: &call.Settings{Logger: o.Logger}}
	l.Grace = max(0, orDefault(o.Grace, defaultGrace))
	l.Margin = max(0, orDefault(o.Margin, defaultMargin))
	l.MaxPause = max(0, orDefault(o.MaxPause, defaultMaxPause))
	l.Tools = maps.Clone(o.Tools)
	for _, method := range ordinary {
		l.methods[method] = orDefault(o.Limit, DefaultLimit)
	}
	for method, limit := range o.Methods {
		if limit != 0 {
			l.methods[method] = limit
		}
	}
	tool, owner, all := o.bounds()
	l.handlers.bounds = [...]int{tool, owner, all}
	l.handlers.burst = orDefault(o.Burst, defaultBurst)
	return l
}

// bounds returns how many handlers of an owner's tool, of an owner, and of all may be
// stuck.
func (o *Options) bounds() (tool, owner, all int) {
	tool, all = orDefault(o.MaxStuck, defaultMaxStuck), orDefault(o.MaxStuckTotal, defaultMaxStuckTotal)
	if o.MaxStuck == 0 && all > 0 {
		tool = min(tool, all)
	}
	return tool, orDefault(o.MaxStuckOwner, max(all/4, tool, 1)), all
}

func (o *Options) check() {
	limited := o.Limit >= 0
	long := func(field string, limit time.Duration) {
		if limit > 0 && limit < minLimit {
			panic(fmt.Sprintf("deadline.New: Options.%s is %v, which no handler can keep; give at least %v", field, limit, minLimit))
		}
		limited = limited || limit > 0
	}
	long("Limit", o.Limit)
	for name, limit := range o.Tools {
		if name == "" {
			panic("deadline.New: Options.Tools has an empty name; give that of a tool")
		}
		long(fmt.Sprintf("Tools[%q]", name), limit)
	}
	for method, limit := range o.Methods {
		checkMethod(method)
		long(fmt.Sprintf("Methods[%q]", method), limit)
	}
	if !limited {
		panic("deadline.New: Options.Limit is negative, and neither Tools nor Methods has a limit, so nothing is limited; give one, or leave the middleware out")
	}
	tool, owner, all := o.bounds()
	if all > 0 && owner > all {
		panic(fmt.Sprintf("deadline.New: Options.MaxStuck or MaxStuckOwner allows %d, which is above MaxStuckTotal, %d; raise MaxStuckTotal", owner, all))
	}
	if owner > 0 && tool > owner {
		panic(fmt.Sprintf("deadline.New: Options.MaxStuck is %d, which is above MaxStuckOwner, %d; raise MaxStuckOwner", tool, owner))
	}
}

// checkMethod panics for a name that is no method's. Methods outside of the protocol's
// own name spaces are custom ones, which may exist.
func checkMethod(method string) {
	switch {
	case method == "":
		panic("deadline.New: Options.Methods has an empty name; give that of a method, such as middleware.MethodReadResource")
	case strings.HasPrefix(method, "notifications/"), slices.Contains(unlimited, method):
		panic(fmt.Sprintf("deadline.New: Options.Methods[%q] cannot have a limit; remove it", method))
	}
	known := slices.Concat(ordinary, others)
	space, _, custom := strings.Cut(method, "/")
	custom = custom && !slices.Contains(sent, space)
	for _, name := range known {
		custom = custom && !strings.HasPrefix(name, space+"/")
	}
	if !custom && !slices.Contains(known, method) {
		panic(fmt.Sprintf("deadline.New: Options.Methods[%q] is no method that a server answers; it answers %s, and custom ones", method, strings.Join(known, ", ")))
	}
}

func orDefault[T int | time.Duration](v, standard T) T {
	if v == 0 {
		return standard
	}
	return v
}
