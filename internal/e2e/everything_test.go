package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/validate"
)

const (
	stuckLimit = 50 * time.Millisecond // of the tools that get stuck
	askLimit   = time.Second           // of the one that asks a person
	thinking   = askLimit * 3 / 2      // how long a person takes who answers slowly
)

// everything turns on what is off by default.
func everything(o *mcpchain.Options, times *deadline.Options) {
	o.Batch = batch.New(&batch.Options{Lists: []batch.List{
		{Tool: "get_user", Item: "user_id", As: "get_users", Items: "user_ids"},
		{Tool: "get_stuck", Item: "key", As: "get_all_stuck", Items: "keys"},
	}})
	o.Validate = &validate.Options{StrictPrompts: true}
	o.Degrade = degrade.New(nil)
	o.Deadline = deadline.New(times)
	o.RetryServer = retry.Server(&retry.ServerOptions{InitialInterval: time.Millisecond})
}

// limitsOf returns how long calls may take, and how many handlers of a tool may be stuck.
func limitsOf(cfg config) *deadline.Options {
	times := &deadline.Options{
		MaxStuck: cmp.Or(cfg.MaxStuck, loadCallers/5),
		// Longer than the calls that the tests keep in flight, of which all are one owner's.
		Limit: lifetime / 2, Grace: 20 * time.Millisecond,
		Tools: map[string]time.Duration{
			"get_stuck": stuckLimit, "write_stuck": stuckLimit, "wait_for_context": stuckLimit, "stuck_at_the_end": stuckLimit, "ask_slowly": askLimit,
		},
	}
	if cfg.Soak {
		for _, tool := range untilTools {
			times.Tools[tool] = time.Second
		}
	}
	return times
}

// bounds turns on what counts and keeps, with bounds that no call meets.
func bounds(o *mcpchain.Options) {
	const plenty = 1 << 20
	o.Audit = audit.New(&audit.Options{Log: audit.NewLog(func([]audit.Entry) error { return nil }, nil)})
	o.Drain = drain.New(&drain.Options{Drain: &drain.Drain{}})
	o.Budget = budget.New(nil)
	o.Limit = limit.New(&limit.Options{Limits: []limit.Limit{{Calls: plenty, Running: plenty}, {Scope: limit.ForAll, Running: plenty}}})
}

// concealing is a user's own filter: it lists no tool whose name is a canary.
func concealing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*mcp.ListToolsResult); ok && list != nil {
			shown := *list
			shown.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *mcp.Tool) bool { return strings.HasPrefix(t.Name, canaryPrefix) })
			return &shown, err
		}
		return res, err
	}
}

// runs counts how often the handlers of the middlewares' tools were run, by tool.
var runs struct {
	sync.Mutex
	byTool map[string]int
}

func ran(tool string) {
	runs.Lock()
	defer runs.Unlock()
	if runs.byTool == nil {
		runs.byTool = map[string]int{}
	}
	runs.byTool[tool]++
}

func featureSecret() string { return "secret " + canary("layers") }

var reads = &mcp.ToolAnnotations{ReadOnlyHint: true}

// counted adds a typed tool whose runs are counted.
func counted[In, Out any](b *build, tool *mcp.Tool, h func(context.Context, In) (Out, error)) {
	mcp.AddTool(b.server, tool, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		ran(tool.Name)
		out, err := h(ctx, in)
		return nil, out, err
	})
}

// installMiddlewares adds what is called to see each middleware at work.
func (b *build) installMiddlewares() {
	b.server.AddTool(&mcp.Tool{Name: "runs", InputSchema: anyObject}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		runs.Lock()
		defer runs.Unlock()
		text, err := json.Marshal(runs.byTool)
		return textResult(string(text)), err
	})
	b.installValidate()
	b.installRetry()
	b.installDeadline()
	b.installBatch()
	b.installDegrade()
}

type item struct {
	SKU string `json:"sku"`
	Qty int    `json:"qty"`
}

type orderIn struct {
	Customer string `json:"customer"`
	Color    string `json:"color,omitempty"`
	Items    []item `json:"items"`
	Password string `json:"password,omitempty"`
}

const resizeSchema = `{"type":"object","required":["width","format"],"additionalProperties":false,"properties":{
	"width":{"type":"integer","minimum":1,"maximum":4096},
	"format":{"enum":["png","webp"]},
	"quality":{"type":"integer","default":80},
	"token":{"type":"string","maxLength":4}}}`

func (b *build) installValidate() {
	counted(b, &mcp.Tool{Name: "place_order"}, func(context.Context, orderIn) (output, error) { return output{true}, nil })
	b.server.AddTool(&mcp.Tool{Name: "resize_image", InputSchema: json.RawMessage(resizeSchema)},
		validate.Tool(json.RawMessage(resizeSchema), func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ran("resize_image")
			return textResult(string(req.Params.Arguments)), nil
		}))
	b.server.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "person", Required: true}, {Name: "tone"}}},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			ran("greet")
			return promptResult("Hello."), nil
		})
	b.server.AddTool(&mcp.Tool{Name: canary("hidden"), InputSchema: anyObject}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return textResult("hidden"), nil
	})
}

type (
	target struct {
		URL string `json:"url"`
	}
	page struct {
		Text string `json:"text"`
	}
)

// fetch asks an HTTP service and returns its error as it comes.
func fetch(ctx context.Context, in target) (page, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.URL, nil)
	if err != nil {
		return page{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return page{}, err
	}
	if err := retry.FromResponse(resp); err != nil {
		return page{}, err
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(resp.Body)
	return page{text.String()}, err
}

func (b *build) installRetry() {
	slow := func(context.Context, none) (output, error) {
		return output{}, fmt.Errorf("%s: %w", featureSecret(), context.DeadlineExceeded)
	}
	counted(b, &mcp.Tool{Name: "read_slow", Annotations: reads}, slow)
	counted(b, &mcp.Tool{Name: "write_slow"}, slow)
	counted(b, &mcp.Tool{Name: "pay"}, func(context.Context, none) (output, error) {
		return output{}, fault.Timeout("the payment", 10*time.Second).Because(errors.New(featureSecret())).
			WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}).
			Step("See whether it was made", "find_payment", map[string]any{"id": "p-1"})
	})
	counted(b, &mcp.Tool{Name: "get_project"}, func(_ context.Context, in struct {
		Name string `json:"name"`
	}) (output, error) {
		return output{}, fault.NotFound("project", in.Name).Because(errors.New(featureSecret()))
	})
	counted(b, &mcp.Tool{Name: "fetch", Annotations: reads}, fetch)
	counted(b, &mcp.Tool{Name: "fetch_again", Annotations: reads}, fetch) // which the client calls again
	counted(b, &mcp.Tool{Name: "post_again"}, fetch)
}

func (b *build) installDeadline() {
	type keyed struct {
		Key string `json:"key"`
	}
	late := func(ctx context.Context, in keyed) (page, error) {
		err := hold(in.Key)
		if ctx.Err() != nil {
			return page{featureSecret()}, err // nobody is waiting any longer
		}
		return page{"in time"}, err
	}
	counted(b, &mcp.Tool{Name: "get_stuck", Annotations: reads}, late)
	counted(b, &mcp.Tool{Name: "write_stuck"}, late)
	counted(b, &mcp.Tool{Name: "stuck_at_the_end"}, late)
	counted(b, &mcp.Tool{Name: "wait_for_context", Annotations: reads}, func(ctx context.Context, _ none) (output, error) {
		<-ctx.Done()
		return output{}, fmt.Errorf("%s: %w", featureSecret(), context.Cause(ctx))
	})
	counted(b, &mcp.Tool{Name: "exit"}, func(context.Context, none) (output, error) {
		runtime.Goexit()
		return output{}, nil
	})
	b.server.AddTool(&mcp.Tool{Name: "ask_slowly", InputSchema: anyObject}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ran("ask_slowly")
		res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "slowly accept", RequestedSchema: json.RawMessage(`{"type":"object"}`)})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", featureSecret(), err)
		}
		return textResult(res.Action), ctx.Err()
	})
}

type (
	userIn struct {
		UserID string `json:"user_id" jsonschema:"the user"`
	}
	user struct {
		Name string `json:"name"`
	}
	filesIn struct {
		Dir   string   `json:"dir"`
		Files []string `json:"files"`
	}
	lines struct {
		Lines int `json:"lines"`
	}
)

func (b *build) installBatch() {
	counted(b, &mcp.Tool{Name: "get_user", Annotations: reads}, func(_ context.Context, in userIn) (user, error) {
		switch in.UserID {
		case "nobody":
			return user{}, fault.NotFound("user", in.UserID).Because(errors.New(featureSecret()))
		case "panic":
			panic(featureSecret())
		case "exit":
			runtime.Goexit()
		case "unknown":
			return user{}, errors.New(featureSecret())
		}
		return user{"User " + in.UserID}, nil
	})
	mcp.AddTool(b.server, &mcp.Tool{Name: "read_files", Annotations: reads},
		func(ctx context.Context, _ *mcp.CallToolRequest, in filesIn) (*mcp.CallToolResult, batch.Output[lines], error) {
			read := func(_ context.Context, name string) (lines, error) { return readFile(in.Dir, name) }
			return batch.Run(ctx, in.Files, read, &batch.RunOptions[string]{Concurrency: 4, KeyName: "file"}).Output()
		})
}

// readFile counts the lines of a file. Of what goes wrong it words what a caller can
// mend, and leaves the rest to the middlewares.
func readFile(dir, name string) (lines, error) {
	root, err := os.OpenRoot(dir) // no file outside of it
	if err != nil {
		return lines{}, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return lines{}, fault.NotFound("file", name).Because(err)
	case err != nil:
		return lines{}, err
	case info.IsDir():
		return lines{}, fault.Invalid("file", name, "a file, not a directory").Because(errors.New(featureSecret()))
	}
	text, err := fs.ReadFile(root.FS(), name)
	return lines{bytes.Count(text, []byte("\n"))}, err
}

type (
	cityIn struct {
		City string `json:"city"`
	}
	weather struct {
		Celsius  int      `json:"celsius"`
		Forecast []string `json:"forecast,omitempty"`
		Alerts   []string `json:"alerts,omitempty"`
		degrade.Status
	}
)

func (b *build) installDegrade() {
	counted(b, &mcp.Tool{Name: "weather", Annotations: reads}, func(ctx context.Context, in cityIn) (weather, error) {
		var out weather
		_, err := degrade.Run(ctx, // degrade.New puts the status into the answer
			degrade.Required("current", &out.Celsius, func(context.Context) (int, error) {
				if in.City == "Atlantis" {
					return 0, errors.New(featureSecret())
				}
				return 21, nil
			}),
			degrade.Optional("forecast", &out.Forecast, func(context.Context) ([]string, error) {
				return nil, fault.Unavailable("the forecast service").Because(errors.New(featureSecret()))
			}).Stale("cache", 6*time.Hour, func(context.Context) ([]string, time.Time, error) {
				return []string{"sun", "rain"}, time.Now().Add(-2 * time.Hour), nil
			}),
			degrade.Optional("alerts", &out.Alerts, func(context.Context) ([]string, error) { panic(featureSecret()) }).
				Impact("Check for warnings elsewhere before you go out."))
		return out, err
	})
}
