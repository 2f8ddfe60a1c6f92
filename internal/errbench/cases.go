package errbench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/errbench/sqlite"
	"github.com/mcpchain/mcpchain/retry"
)

// A Case is a task, the tools for it, and the world that they work on. Its first tool is
// the one that the task is about.
type Case struct {
	Name, Group string
	Goal        string           // what the user wants
	First       string           // the tool of the first call; "" is the first one
	Arguments   map[string]any   // of the first call
	Knows       map[string][]any // what the user could say for an argument, if asked
	Stop        bool             // the goal cannot be reached, or nobody can know: to stop is right
	Worded      bool             // the author of the tool worded the failure
	Secrets     []string
	Start       func(w *World) []*tool
}

// Secrets in the errors of services, which no caller should see.
const (
	secretKey  = "sk_live_9fQ2" //nolint:gosec // invented
	secretPass = "hunter2"
	secretHost = "10.20.0.7"
)

var secrets = []string{secretKey, secretPass, secretHost}

// A httpError is like the errors of many clients of services.
type httpError struct {
	StatusCode int
	Header     http.Header
}

func (e *httpError) Error() string {
	return fmt.Sprintf("GET https://%s/v1/items?api_key=%s: %d %s", secretHost, secretKey, e.StatusCode, http.StatusText(e.StatusCode))
}

func httpStatus(code int, header ...string) error {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &httpError{code, h}
}

// A sqlError is like the errors of drivers of PostgreSQL.
type sqlError struct{ code, text string }

func (e *sqlError) Error() string    { return "ERROR: " + e.text + " (SQLSTATE " + e.code + ")" }
func (e *sqlError) SQLState() string { return e.code }

func refused() error {
	return fmt.Errorf("billing: %w", &net.OpError{
		Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.ParseIP(secretHost), Port: 5432}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
	})
}

func reset() error {
	return fmt.Errorf("billing: %w", &net.OpError{
		Op: "read", Net: "tcp", Addr: &net.TCPAddr{IP: net.ParseIP(secretHost), Port: 5432}, Err: os.NewSyscallError("read", syscall.ECONNRESET),
	})
}

func timedOut() error {
	return fmt.Errorf("query postgres://app:%s@%s/shop: %w", secretPass, secretHost, context.DeadlineExceeded)
}

func object(required []string, properties map[string]any) map[string]any {
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

func property(kind string) map[string]any { return map[string]any{"type": kind} }

type handler = func(ctx context.Context, arguments map[string]any) (any, error)

// write is the tool that places an order.
func write(h handler) *tool {
	return &tool{Tool{
		Name: "place_order", Description: "Places an order under an id.",
		InputSchema: object([]string{"order_id", "quantity"}, map[string]any{"order_id": property("string"), "quantity": property("integer")}),
	}, h}
}

// report is a tool that only reads.
func report(h handler) *tool {
	return &tool{Tool{
		Name: "get_report", Description: "Reads the report of a city.", ReadOnly: true,
		InputSchema: object([]string{"city"}, map[string]any{"city": property("string")}),
	}, h}
}

// find is the tool that tells whether an order was placed.
func find(w *World) *tool {
	return &tool{Tool{
		Name: "find_order", Description: "Finds an order by its id.", ReadOnly: true,
		InputSchema: object([]string{"order_id"}, map[string]any{"order_id": property("string")}),
	}, func(_ context.Context, arguments map[string]any) (any, error) {
		if w.Effects > 0 {
			return fmt.Sprintf("Order %v: placed.", arguments["order_id"]), nil
		}
		return fmt.Sprintf("There is no order %v.", arguments["order_id"]), nil
	}}
}

var (
	orderArguments  = map[string]any{"order_id": "o-7", "quantity": 5}
	reportArguments = map[string]any{"city": "Oslo"}
)

// script returns a handler whose n-th run is the n-th step; the last one goes on.
func script(steps ...handler) handler {
	n := 0
	return func(ctx context.Context, arguments map[string]any) (any, error) {
		step := steps[min(n, len(steps)-1)]
		n++
		return step(ctx, arguments)
	}
}

func (w *World) placed(context.Context, map[string]any) (any, error) {
	w.Effects++
	return "The order is placed.", nil
}

func (w *World) readIt(context.Context, map[string]any) (any, error) {
	w.read = true
	return "Sunny, 22 degrees.", nil
}

// fails returns a step that changes nothing and fails.
func (w *World) fails(kind truthKind, err func() error) handler {
	return func(context.Context, map[string]any) (any, error) { return nil, w.fail(kind, err()) }
}

// failsAfter returns a step that takes effect and fails all the same.
func (w *World) failsAfter(err func() error) handler {
	return func(context.Context, map[string]any) (any, error) {
		w.Effects++
		return nil, w.fail(check, err())
	}
}

// limited returns a step that refuses until a time after the first call.
func (w *World) limited(wait time.Duration, err func() error, then handler) handler {
	var until time.Time
	return func(ctx context.Context, arguments map[string]any) (any, error) {
		if until.IsZero() {
			until = time.Now().Add(wait)
		}
		if time.Now().Before(until) {
			return nil, w.failUntil(until, err())
		}
		return then(ctx, arguments)
	}
}

func status(code int, header ...string) func() error {
	return func() error { return httpStatus(code, header...) }
}

func say(words string, f func() *fault.Error) func() error {
	return func() error { return &worded{words, f()} }
}

// Cases returns the corpus. Each call returns new cases.
func Cases() []*Case {
	return slices.Concat(timeouts(), limits(), connections(), wrongArguments(), notFound(), permissions(), bugs(), conflicts(), partial())
}

// order is a case of the tool that writes.
func order(group, name string, stop bool, tools func(w *World) []*tool) *Case {
	return &Case{
		Name: name, Group: group, Goal: "Place order o-7 of 5 pieces, once.", Arguments: orderArguments, Stop: stop, Secrets: secrets,
		Worded: strings.HasSuffix(name, "worded"), Start: tools,
	}
}

// reading is a case of the tool that reads.
func reading(group, name string, stop bool, h func(w *World) handler) *Case {
	return &Case{
		Name: name, Group: group, Goal: "Tell the report of Oslo.", Arguments: reportArguments, Stop: stop, Secrets: secrets,
		Worded: strings.HasSuffix(name, "worded"), Start: func(w *World) []*tool { return []*tool{report(h(w))} },
	}
}

func timeouts() []*Case {
	const group = "timeouts"
	paid := say("the payment did not finish within 10 s; it is not known whether it was made: look with find_order before you call again",
		func() *fault.Error {
			return fault.Timeout("the payment", 10*time.Second).Because(context.DeadlineExceeded).
				Step("See whether it was made", "find_order", map[string]any{"order_id": "o-7"})
		})
	idempotent := order(group, "an idempotent write times out once", false, func(w *World) []*tool {
		t := write(script(w.fails(again, timedOut), w.placed))
		t.Idempotent = true
		return []*tool{t}
	})
	return []*Case{
		reading(group, "a read times out once", false, func(w *World) handler { return script(w.fails(again, timedOut), w.readIt) }),
		idempotent,
		order(group, "a write times out, took effect, a tool tells", false, func(w *World) []*tool {
			return []*tool{write(script(w.failsAfter(timedOut), w.placed)), find(w)}
		}),
		order(group, "a write times out, took no effect, a tool tells", false, func(w *World) []*tool {
			return []*tool{write(script(w.fails(check, timedOut), w.placed)), find(w)}
		}),
		order(group, "a write times out, took effect, nothing tells", true, func(w *World) []*tool {
			return []*tool{write(script(w.failsAfter(timedOut), w.placed))}
		}),
		order(group, "a write times out, took effect, worded", false, func(w *World) []*tool {
			return []*tool{write(script(w.failsAfter(paid), w.placed)), find(w)}
		}),
	}
}

func limits() []*Case {
	const group = "rate limits"
	return []*Case{
		reading(group, "429 with Retry-After in the header", false, func(w *World) handler {
			return w.limited(20*time.Second, status(429, "Retry-After", "20"), w.readIt)
		}),
		order(group, "a write gets 429 with Retry-After in the header", false, func(w *World) []*tool {
			return []*tool{write(w.limited(45*time.Second, status(429, "Retry-After", "45"), w.placed))}
		}),
		reading(group, "429 that says the wait in its text", false, func(w *World) handler {
			return w.limited(15*time.Second, func() error {
				return fmt.Errorf("weather: rate limit exceeded, retry after 15 seconds: %w", httpStatus(429, "Retry-After", "15"))
			}, w.readIt)
		}),
		reading(group, "a limit of 30 s, worded", false, func(w *World) handler {
			return w.limited(30*time.Second, say("the search API accepts no more calls now; try again after 30 seconds",
				func() *fault.Error { return fault.RateLimited("the search API", 30*time.Second) }), w.readIt)
		}),
		reading(group, "the quota of the day is used up", true, func(w *World) handler {
			return w.limited(3*time.Hour, status(429, "Retry-After", "10800"), w.readIt)
		}),
		reading(group, "503 with Retry-After", false, func(w *World) handler {
			return w.limited(10*time.Second, status(503, "Retry-After", "10"), w.readIt)
		}),
	}
}

func connections() []*Case {
	const group = "connections"
	noHost := func() error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "db.internal", IsNotFound: true}}
	}
	return []*Case{
		order(group, "a write is refused before it begins, once", false, func(w *World) []*tool {
			return []*tool{write(script(w.fails(again, refused), w.placed))}
		}),
		order(group, "the connection breaks after a write, a tool tells", false, func(w *World) []*tool {
			return []*tool{write(script(w.failsAfter(reset), w.placed)), find(w)}
		}),
		order(group, "the connection breaks after a write, nothing tells", true, func(w *World) []*tool {
			return []*tool{write(script(w.failsAfter(reset), w.placed))}
		}),
		reading(group, "the connection of a read breaks once", false, func(w *World) handler { return script(w.fails(again, reset), w.readIt) }),
		reading(group, "a read is refused twice", false, func(w *World) handler {
			return script(w.fails(again, refused), w.fails(again, refused), w.readIt)
		}),
		reading(group, "the service is down for good", true, func(w *World) handler { return w.fails(either, refused) }),
		reading(group, "the host does not exist", true, func(w *World) handler { return w.fails(stop, noHost) }),
	}
}

// shipping is a tool whose schema has something to break.
func shipping(w *World, check func(arguments map[string]any) error) *tool {
	day := map[string]any{"type": "string", "pattern": `^\d{4}-\d{2}-\d{2}$`, "description": "YYYY-MM-DD"}
	return &tool{Tool{
		Name: "book_shipping", Description: "Books a shipping.",
		InputSchema: object([]string{"city", "parcels"}, map[string]any{
			"city": property("string"), "parcels": map[string]any{"type": "integer", "minimum": 1}, "day": day, "last_day": day,
			"service": map[string]any{"enum": []string{"economy", "express"}}, "insured": property("boolean"),
		}),
	}, func(_ context.Context, arguments map[string]any) (any, error) {
		if check != nil {
			if err := check(arguments); err != nil {
				return nil, w.fail(fix, err)
			}
		}
		w.Effects++
		return "The shipping is booked.", nil
	}}
}

func wrongArguments() []*Case {
	const group = "arguments"
	book := func(name string, arguments map[string]any, knows map[string][]any, check func(map[string]any) error) *Case {
		return &Case{
			Name: name, Group: group, Goal: "Book one shipping of 2 parcels to Oslo.", Arguments: arguments, Knows: knows, Secrets: secrets,
			Worded: check != nil, Start: func(w *World) []*tool { return []*tool{shipping(w, check)} },
		}
	}
	parcels, service, day := []any{"two", 2}, []any{"fast", "express"}, []any{"tomorrow", "31.01.2026", "2026-01-31"}
	knows := map[string][]any{"parcels": parcels, "service": service, "day": day, "insured": {"yes", true}, "city": {"Oslo"}, "last_day": {"2026-02-02"}}
	late := func(arguments map[string]any) error {
		day, _ := arguments["day"].(string)
		last, _ := arguments["last_day"].(string)
		if last >= day {
			return nil
		}
		return &worded{
			"last_day must not be before day, but is " + last,
			fault.Invalid("last_day", last, "a day that is not before 'day'"),
		}
	}
	// The SDK tells one of them, by chance. Their names and values are equally long, so that
	// what is read is so, too.
	sides := []string{"width", "depth", "floor", "shelf"}
	four := &Case{
		Name: "four wrong types at once", Group: group, Goal: "Store one box: width 2, depth 3, floor 4, shelf 5.", Secrets: secrets,
		Arguments: map[string]any{"width": "two", "depth": "3cm", "floor": "4th", "shelf": "5th"},
		Knows:     map[string][]any{"width": {2}, "depth": {3}, "floor": {4}, "shelf": {5}},
		Start: func(w *World) []*tool {
			properties := map[string]any{}
			for _, side := range sides {
				properties[side] = property("integer")
			}
			return []*tool{{Tool{Name: "store_box", Description: "Stores a box.", InputSchema: object(sides, properties)}, w.placed}}
		},
	}
	return []*Case{
		book("a wrong type", map[string]any{"city": "Oslo", "parcels": "two"}, knows, nil),
		book("a missing argument", map[string]any{"parcels": 2}, knows, nil),
		book("a misspelt name of an argument", map[string]any{"city": "Oslo", "parcels": 2, "servcie": "express"}, knows, nil),
		book("a value that is not in the enumeration", map[string]any{"city": "Oslo", "parcels": 2, "service": "fast"}, knows, nil),
		book("a date in another form", map[string]any{"city": "Oslo", "parcels": 2, "day": "tomorrow"}, knows, nil),
		four,
		book("a rule of the handler, worded", map[string]any{"city": "Oslo", "parcels": 2, "day": "2026-01-31", "last_day": "2026-01-01"}, knows, late),
	}
}

var projects = []string{"alpha", "billing", "gateway"}

// project is a tool that archives one of the projects, and one that lists them.
func project(w *World, missing func(name string) error) []*tool {
	return []*tool{
		{Tool{
			Name: "archive_project", Description: "Archives a project.",
			InputSchema: object([]string{"project"}, map[string]any{"project": property("string")}),
		}, func(_ context.Context, arguments map[string]any) (any, error) {
			name, _ := arguments["project"].(string)
			if !slices.Contains(projects, name) {
				return nil, w.fail(fix, missing(name))
			}
			if name == "billing" {
				w.Effects++
			}
			return "The project is archived.", nil
		}},
		{Tool{Name: "list_projects", Description: "Lists the projects.", ReadOnly: true, InputSchema: object(nil, map[string]any{})},
			func(context.Context, map[string]any) (any, error) { return strings.Join(projects, ", "), nil }},
	}
}

func notFound() []*Case {
	const group = "not found"
	archive := func(name, asked string, stop bool, missing func(string) error) *Case {
		return &Case{
			Name: name, Group: group, Goal: "Archive the project " + asked + ".", Arguments: map[string]any{"project": asked}, Stop: stop, Secrets: secrets,
			Worded: strings.HasSuffix(name, "worded"), Start: func(w *World) []*tool { return project(w, missing) },
		}
	}
	near := func(name string) error {
		return &worded{
			fmt.Sprintf("project %q does not exist; did you mean \"billing\"?", name),
			fault.NotFound("project", name, projects...),
		}
	}
	plain := func(name string) error {
		return &worded{fmt.Sprintf("project %q does not exist", name), fault.NotFound("project", name)}
	}
	unknown := reading(group, "a misspelt name of a tool", false, func(w *World) handler { return w.readIt })
	unknown.First = "get_reprot"
	return []*Case{
		archive("a misspelt name, 404 of a service", "biling", false, func(string) error { return httpStatus(404) }),
		archive("a misspelt name, near names worded", "biling", false, near),
		archive("nothing like it exists, worded", "zebra", true, plain),
		unknown,
	}
}

func permissions() []*Case {
	const group = "permissions"
	denied := say("you are not allowed to place orders; required permission: orders.write",
		func() *fault.Error { return fault.Denied("place", "orders").Needs("orders.write") })
	file := reading(group, "a file that may not be read", true, func(w *World) handler {
		return w.fails(stop, func() error {
			return &fs.PathError{Op: "open", Path: "/srv/" + secretPass + "/oslo.csv", Err: fs.ErrPermission}
		})
	})
	return []*Case{
		order(group, "the service refuses the server's key (401)", true, func(w *World) []*tool { return []*tool{write(w.fails(stop, status(401)))} }),
		order(group, "not allowed, worded", true, func(w *World) []*tool { return []*tool{write(w.fails(stop, denied))} }),
		file,
	}
}

func bugs() []*Case {
	const group = "bugs"
	panics := func(before func()) handler {
		return func(context.Context, map[string]any) (any, error) {
			if before != nil {
				before()
			}
			panic("pool of postgres://app:" + secretPass + "@" + secretHost + " is nil")
		}
	}
	internal := func() error {
		return errors.New("pq: password authentication failed for " + secretPass + "@" + secretHost)
	}
	odd := func() error { return errors.New("shard 3 on " + secretHost + " has no leader yet") }
	return []*Case{
		reading(group, "a read panics always", true, func(w *World) handler { w.truth.kind = stop; return panics(func() { w.truth.kind = stop }) }),
		reading(group, "a read panics once", false, func(w *World) handler {
			return script(panics(func() { _ = w.fail(again, nil) }), w.readIt)
		}),
		order(group, "a write panics after it took effect, a tool tells", false, func(w *World) []*tool {
			return []*tool{write(script(panics(func() { w.Effects++; _ = w.fail(check, nil) }), w.placed)), find(w)}
		}),
		order(group, "a write panics after it took effect, nothing tells", true, func(w *World) []*tool {
			return []*tool{write(script(panics(func() { w.Effects++; _ = w.fail(check, nil) }), w.placed))}
		}),
		reading(group, "an unknown error, always", true, func(w *World) handler { return w.fails(stop, internal) }),
		reading(group, "an unknown error, once", false, func(w *World) handler { return script(w.fails(again, odd), w.readIt) }),
		order(group, "an unknown error after a write, nothing tells", true, func(w *World) []*tool {
			return []*tool{write(script(w.failsAfter(odd), w.placed))}
		}),
	}
}

func conflicts() []*Case {
	const group = "conflicts, busy stores"
	serialization := func() error {
		return &sqlError{"40001", "could not serialize access due to concurrent update"}
	}
	duplicate := func() error {
		return &sqlError{"23505", `duplicate key value violates unique constraint "orders_pkey"`}
	}
	full := func() error { return &sqlError{"53300", "remaining connection slots are reserved"} }
	deploying := say("a deployment is running; try again in 60 seconds",
		func() *fault.Error {
			return fault.New(fault.KindConflict, "a deployment is running").After(time.Minute)
		})
	migrations := say("the database has pending migrations: run them with run_migrations first",
		func() *fault.Error {
			return fault.New(fault.KindPreconditionFailed, "the database has pending migrations").Step("Run them", "run_migrations", nil)
		})
	return []*Case{
		order(group, "two transactions collide once", false, func(w *World) []*tool {
			return []*tool{write(script(w.fails(again, serialization), w.placed))}
		}),
		order(group, "the order exists already", true, func(w *World) []*tool { return []*tool{write(w.fails(stop, duplicate))} }),
		order(group, "a deployment is running, worded", false, func(w *World) []*tool {
			return []*tool{write(w.limited(time.Minute, deploying, w.placed))}
		}),
		order(group, "something has to be done first, worded", false, func(w *World) []*tool {
			ready := false
			return []*tool{
				write(func(ctx context.Context, arguments map[string]any) (any, error) {
					if !ready {
						return nil, w.fail(fix, migrations())
					}
					return w.placed(ctx, arguments)
				}),
				{Tool{Name: "run_migrations", Description: "Runs pending migrations.", InputSchema: object(nil, map[string]any{})},
					func(context.Context, map[string]any) (any, error) {
						ready, w.truth = true, truth{kind: again}
						return "All migrations are done.", nil
					}},
			}
		}),
		order(group, "SQLite is busy twice", false, func(w *World) []*tool {
			return []*tool{write(script(w.fails(again, sqlite.Busy), w.fails(again, sqlite.Busy), w.placed))}
		}),
		reading(group, "no connection is free, once", false, func(w *World) handler { return script(w.fails(again, full), w.readIt) }),
	}
}

// listed is the outcome of a list of which a part failed: in words, and as a batch for the
// server that knows batches. Both say the same.
type listed struct {
	words  string
	result func() (*mcp.CallToolResult, any)
}

func partial() []*Case {
	const group = "partial results"
	// invite sends invitations; the third one fails at the first time.
	invite := func(name string, worded bool, step func(ctx context.Context, w *World, sent map[string]int, users []string) (any, error)) *Case {
		users := []any{"ada", "bob", "cyd", "dan", "eve"}
		return &Case{
			Name: name, Group: group, Goal: "Invite five users, each once.", Arguments: map[string]any{"users": users}, Secrets: secrets, Worded: worded,
			Start: func(w *World) []*tool {
				w.wanted = 5
				sent := map[string]int{}
				return []*tool{{Tool{
					Name: "invite", Description: "Sends an invitation to each user.",
					InputSchema: object([]string{"users"}, map[string]any{"users": map[string]any{"type": "array", "items": property("string")}}),
				}, func(ctx context.Context, arguments map[string]any) (any, error) {
					list, _ := arguments["users"].([]any)
					names := make([]string, 0, len(list))
					for _, user := range list {
						names = append(names, fmt.Sprint(user))
					}
					return step(ctx, w, sent, names)
				}}, {Tool{Name: "list_invitations", Description: "Lists who was invited.", ReadOnly: true, InputSchema: object(nil, map[string]any{})},
					func(context.Context, map[string]any) (any, error) { return fmt.Sprint(sent), nil }}}
			},
		}
	}
	failed := false
	one := func(w *World, sent map[string]int, user string) error {
		if user == "cyd" && sent[user] == 0 && !failed {
			failed = true
			return refused()
		}
		sent[user]++
		w.Effects++
		return nil
	}
	return []*Case{
		invite("one of five fails, the others are told apart, worded", true, func(_ context.Context, w *World, sent map[string]int, users []string) (any, error) {
			failed = w.Effects > 0
			res := batch.Run(context.Background(), users, func(_ context.Context, user string) (string, error) {
				if err := one(w, sent, user); err != nil { // the words below say it, too
					return "", fault.Unavailable("the mail service").Because(err).WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})
				}
				return "invited", nil
			}, &batch.RunOptions[string]{Concurrency: 1, KeyName: "user"})
			if res.Failed == 0 {
				return "All are invited.", nil
			}
			w.truth = truth{kind: fix}
			return &listed{
				words: fmt.Sprintf("%d of %d users were invited; failed: cyd (the mail service could not be reached). Send only cyd again.", res.Succeeded, len(users)),
				result: func() (*mcp.CallToolResult, any) {
					answer, out, _ := res.Output()
					return answer, out
				},
			}, nil
		}),
		invite("a loop stops in the middle, worded", true, func(_ context.Context, w *World, sent map[string]int, users []string) (any, error) {
			failed = w.Effects > 0
			for i, user := range users {
				if err := one(w, sent, user); err != nil {
					return nil, w.fail(fix, &worded{
						fmt.Sprintf("%d of %d users were invited before the mail service could not be reached: see with list_invitations who is left", i, len(users)),
						fault.Unavailable("the mail service").WithMessage(fmt.Sprintf("%d of %d users were invited before the mail service could not be reached.", i, len(users))).
							WithRetry(fault.Retry{Effect: fault.EffectUnknown}).Step("See who is left", "list_invitations", nil),
					})
				}
			}
			return "All are invited.", nil
		}),
		// The same handler, which notes each invitation before it sends it: on the servers that know nothing of that the
		// answers are those of the next case.
		invite("a loop stops in the middle, witnessed", false, func(ctx context.Context, w *World, sent map[string]int, users []string) (any, error) {
			failed = w.Effects > 0
			for _, user := range users {
				done := retry.Began(ctx)
				err := one(w, sent, user)
				if done(err); err != nil {
					return nil, w.fail(check, err)
				}
			}
			return "All are invited.", nil
		}),
		invite("a loop stops in the middle", false, func(_ context.Context, w *World, sent map[string]int, users []string) (any, error) {
			failed = w.Effects > 0
			for _, user := range users {
				if err := one(w, sent, user); err != nil {
					return nil, w.fail(check, err)
				}
			}
			return "All are invited.", nil
		}),
	}
}
