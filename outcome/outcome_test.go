package outcome_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/outcome"
)

type seat struct {
	Seat  string   `json:"seat"`
	Near  []string `json:"near,omitempty"`
	Price *int     `json:"price,omitempty"`
}

const canary = "kanarienvogel7x"

// faults have every part that a fault can have.
func faults() map[string]*fault.Error {
	return map[string]*fault.Error{
		"sold_out":  fault.New("sold_out", "no seat is left").Because(errors.New(canary)),
		"not_found": fault.NotFound("row", "77", "7", "17").Because(errors.New(canary)),
		"steps": fault.New("steps", "choose").Suggest("Take another.").WithCode("E1").After(30*time.Second).
			With("left", map[string]any{"n": 3, "rows": []any{"a", nil}}).With("password", canary).
			Step("Ask", "list_rows", map[string]any{"hall": 1}).
			WithSteps(fault.Step{Action: "Choose", Options: []fault.Option{{Action: "wait"}, {Action: "call", Tool: "call", Parameters: map[string]any{"n": 1}}}}),
		"validation_error":  fault.Violations(fault.Violation{Field: "a[0].b", Rule: "type", Received: 1.5, Expected: "a string"}),
		"permission_denied": fault.Denied("sit", "row 1").Needs("vip"),
	}
}

// TestSessions sends every form through real sessions of both eras: with the schema that
// the SDK infers, with that of Schema, and with one that names the kinds. The SDK checks a
// typed handler's output strictly; the schema is checked by another validator too.
func TestSessions(t *testing.T) {
	kinds := []fault.Kind{}
	for name := range faults() {
		kinds = append(kinds, fault.Kind(name))
	}
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		for name, schema := range map[string]*jsonschema.Schema{"inferred": nil, "strict": outcome.Schema[seat](), "kinds": outcome.Schema[seat](kinds...)} {
			t.Run(string(era)+"/"+name, func(t *testing.T) {
				s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
					Middleware: []mcp.Middleware{mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)})},
					More: func(server *mcp.Server) {
						tool := &mcp.Tool{Name: "reserve"}
						if schema != nil {
							tool.OutputSchema = schema
						}
						mcp.AddTool(server, tool, reserve)
					},
				})
				tools, err := s.Client.ListTools(t.Context(), nil)
				require.NoError(t, err)
				strict := compiled(t, tools.Tools[0].OutputSchema)
				call := func(what string) (*mcp.CallToolResult, error) {
					return s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "reserve", Arguments: map[string]any{"what": what}})
				}
				for _, want := range []seat{{}, {Seat: "7a", Near: []string{"7b"}, Price: new(int)}} {
					res, err := call(want.Seat)
					require.NoError(t, err)
					require.NoError(t, strict.Validate(res.StructuredContent))
					got, err := outcome.Read[seat](res, err)
					require.NoError(t, err)
					data, no := got.Get()
					require.Nil(t, no)
					require.Equal(t, want, data)
				}
				for kind, want := range faults() {
					res, err := call(kind)
					require.NoError(t, err)
					require.False(t, res.IsError, "it is no failure of the call")
					require.NoError(t, strict.Validate(res.StructuredContent), kind)
					got, err := outcome.Read[seat](res, nil)
					require.NoError(t, err)
					data, no := got.Get()
					require.Zero(t, data)
					require.Equal(t, fault.Kind(kind), no.Kind())
					require.Equal(t, want.Text(), no.Text())
					require.JSONEq(t, marshal(t, want), marshal(t, no))

					res.StructuredContent = nil // as some clients and gateways drop it
					again, err := outcome.Read[seat](res, nil)
					require.NoError(t, err)
					require.Equal(t, marshal(t, got), marshal(t, again))
				}
				_, err = outcome.Read[seat](call("fails"))
				require.ErrorIs(t, err, fault.KindTimeout)
				_, err = outcome.Read[seat](call("nothing"))
				require.ErrorIs(t, err, fault.KindInternal, "neither form")
				require.NotContains(t, s.Sent(), canary)
			})
		}
	}
}

func reserve(_ context.Context, _ *mcp.CallToolRequest, in struct {
	What string `json:"what"`
},
) (*mcp.CallToolResult, outcome.Of[seat], error) {
	f, isFault := faults()[in.What]
	switch {
	case isFault:
		return nil, outcome.Failure[seat](f), nil
	case in.What == "fails":
		return nil, outcome.Of[seat]{}, fault.Timeout("the hall", time.Second)
	case in.What == "nothing":
		return nil, outcome.Failure[seat](nil), nil
	case in.What == "":
		return nil, outcome.Success(seat{}), nil
	default:
		return nil, outcome.Success(seat{Seat: in.What, Near: []string{"7b"}, Price: new(int)}), nil
	}
}

// A validator is another one than the SDK's.
type validator struct{ schema *explain.Schema }

func compiled(t testing.TB, schema any) validator {
	t.Helper()
	s, err := explain.Compile(schema)
	require.NoError(t, err)
	return validator{s}
}

func (v validator) Validate(value any) error {
	raw, err := json.Marshal(value)
	if report := v.schema.Explain(raw, false); report != nil {
		return errors.New(report.Violations[0].Message)
	}
	return err
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

// TestOneOfTwo: what is neither form is refused by the schema and on both ends.
func TestOneOfTwo(t *testing.T) {
	schema := compiled(t, outcome.Schema[seat]("sold_out"))
	for text, want := range map[string]bool{
		`{"success":true,"data":{"seat":"7a"}}`:                       true,
		`{"success":false,"error":{"type":"sold_out","message":"m"}}`: true,
		`{"success":true}`:                       false,
		`{"success":false}`:                      false,
		`{}`:                                     false,
		`{"success":false,"data":{"seat":"7a"}}`: false,
		`{"success":true,"error":{"type":"sold_out","message":"m"}}`:                      false,
		`{"success":true,"data":{"seat":"7a"},"error":{"type":"sold_out","message":"m"}}`: false,
		`{"success":"yes","data":{"seat":"7a"}}`:                                          false,
		`[]`:                                                                              false,
	} {
		var v any
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		require.Equal(t, want, schema.Validate(v) == nil, text)
		var o outcome.Of[seat]
		require.Equal(t, want, json.Unmarshal([]byte(text), &o) == nil, text)
	}
	var v any
	require.NoError(t, json.Unmarshal([]byte(`{"success":false,"error":{"type":"closed","message":"m"}}`), &v))
	require.Error(t, schema.Validate(v), "a kind that was not named")
	for _, o := range []outcome.Of[seat]{{}, {Success: true}, {Data: &seat{}}, {Success: true, Data: &seat{}, Error: &outcome.Error{}}} {
		_, err := json.Marshal(o)
		require.ErrorContains(t, err, "outcome: ")
	}
	_, no := outcome.Of[seat]{}.Get()
	require.Equal(t, fault.KindInternal, no.Kind())
}

// TestTypes: data may be of any type that JSON holds.
func TestTypes(t *testing.T) {
	roundTrip(t, 0)
	roundTrip(t, "")
	roundTrip(t, []string(nil))
	roundTrip(t, map[string]int{"a": 1})
	roundTrip(t, (*seat)(nil))
	roundTrip(t, struct{}{})
	defer func() { require.Contains(t, recover(), "outcome.Schema: ") }()
	outcome.Schema[func()]()
}

func roundTrip[T any](t *testing.T, data T) {
	t.Helper()
	raw := marshal(t, outcome.Success(data))
	var v any
	require.NoError(t, json.Unmarshal([]byte(raw), &v))
	require.NoError(t, compiled(t, outcome.Schema[T]()).Validate(v), raw)
	var o outcome.Of[T]
	require.NoError(t, json.Unmarshal([]byte(raw), &o))
	got, no := o.Get()
	require.Nil(t, no)
	require.Equal(t, data, got)
}

func TestReadRefuses(t *testing.T) {
	for _, res := range []*mcp.CallToolResult{
		nil, {}, {Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, {Content: []mcp.Content{&mcp.ImageContent{}}}, {StructuredContent: make(chan int)},
		{StructuredContent: map[string]any{"seat": "7a"}},
	} {
		_, err := outcome.Read[seat](res, nil)
		require.ErrorContains(t, err, "outcome: ")
	}
	_, err := outcome.Read[seat](nil, errors.New("cut"))
	require.EqualError(t, err, "cut")
}

// FuzzRead: whatever a server sends, a client gets one of the forms or an error.
func FuzzRead(f *testing.F) {
	f.Add(`{"success":true,"data":{"seat":"7a"}}`)
	f.Add(`{"success":false,"error":{"type":"sold_out","message":"m","recovery_steps":[1,"x"],"retry":{"should_retry":true}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := outcome.Read[seat](&mcp.CallToolResult{StructuredContent: json.RawMessage(text)}, nil)
		if err != nil {
			return
		}
		if _, no := got.Get(); no != nil {
			_ = no.Error()
		}
		require.NotEmpty(t, marshal(t, got))
	})
}

func Example() {
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "theatre"}, nil)
	tool := &mcp.Tool{Name: "reserve", OutputSchema: outcome.Schema[seat]("sold_out", "closed")}
	mcp.AddTool(server, tool, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Row string `json:"row"`
	},
	) (*mcp.CallToolResult, outcome.Of[seat], error) {
		switch in.Row {
		case "7":
			return nil, outcome.Success(seat{Seat: "7a"}), nil
		case "8":
			return nil, outcome.Failure[seat](fault.New("sold_out", "no seat is left in row 8").Suggest("Ask for row 7.")), nil
		default:
			return nil, outcome.Of[seat]{}, fault.NotFound("row", in.Row, "7", "8")
		}
	})
	server.AddReceivingMiddleware(middleware.Render(nil))

	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(ctx, here, nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = session.Close() }()
	for _, row := range []string{"7", "8", "9"} {
		got, err := outcome.Read[seat](session.CallTool(ctx, &mcp.CallToolParams{Name: "reserve", Arguments: map[string]any{"row": row}}))
		if err != nil {
			fmt.Println("the call failed:", err)
			continue
		}
		switch data, no := got.Get(); no.Kind() {
		case "":
			fmt.Println("reserved", data.Seat)
		case "sold_out":
			fmt.Println("wait for another day:", no.Message())
		}
	}
	// Output:
	// reserved 7a
	// wait for another day: no seat is left in row 8
	// the call failed: Not found: row '9' does not exist. These exist: '7', '8'.
}
