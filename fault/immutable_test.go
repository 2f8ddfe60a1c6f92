package fault_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

// full has a value in every member.
func full() *fault.Error {
	return fault.FromData(fault.Data{
		Type: "deployment_in_progress", Message: "version 7 is being deployed", Suggestion: "wait for it", Code: "BUSY",
		Field: "version", Received: []any{"7", map[string]any{"a": []any{1.0}}}, Expected: "a finished version", Examples: []string{"5", "6"},
		Violations: []fault.Violation{{
			Field: "items[1].sku", Pointer: "/items/1/sku", Rule: "type", Expected: "a string",
			Received: map[string]any{"n": []any{1.0}}, Suggestion: "quote it", Message: "it is no string",
		}},
		ResourceType: "deployment", Identifier: "7", SimilarMatches: []string{"6", "8"},
		Action: "deploy", Resource: "production", RequiredPermission: "deploy:production",
		Retry: &fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1.5, NextAttempt: 2, MaxAttempts: 3, Reason: "it is nearly done", Fact: "it has failed once", Effect: fault.EffectNone, Partial: true},
		RecoverySteps: []fault.Step{{
			Number: 1, Action: "See its state", Tool: "get_deployment", Parameters: map[string]any{"version": 7.0, "fields": []any{"state"}},
			Description: "It has a percentage", Missing: []string{"at"}, Options: []fault.Option{{Action: "short", Tool: "render", Parameters: map[string]any{"size": "short"}, Missing: []string{"unit"}}},
		}},
		CorrectedArguments: map[string]any{"version": 8.0}, CorrectedTool: "deploy",
		Party:       fault.PartyUpstream,
		Details:     map[string]any{"percent": 99.5, "log": []any{map[string]any{"line": "ok"}}},
		ReferenceID: "0198c7f2-9d3e-7c41-9f0a-5b7d6c1e2a34",
	}).Because(io.ErrUnexpectedEOF)
}

// scramble changes everything that can be reached from v.
func scramble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scramble(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			scramble(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			scramble(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			scramble(v.Index(i))
			if v.Index(i).Kind() == reflect.Interface {
				v.Index(i).Set(reflect.ValueOf("scrambled"))
			}
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		for _, k := range v.MapKeys() {
			scramble(v.MapIndex(k))
			v.SetMapIndex(k, reflect.ValueOf("scrambled"))
		}
		v.SetMapIndex(reflect.ValueOf("scrambled"), reflect.ValueOf(true))
	case reflect.String:
		if v.CanSet() {
			v.SetString("scrambled")
		}
	case reflect.Int:
		if v.CanSet() {
			v.SetInt(4711)
		}
	case reflect.Float64:
		if v.CanSet() {
			v.SetFloat(4711)
		}
	default:
	}
}

func TestEveryMemberOfFullIsSet(t *testing.T) {
	var check func(path string, v reflect.Value)
	check = func(path string, v reflect.Value) {
		require.False(t, v.IsZero(), "%s is not set: the tests that use full do not cover it", path)
		switch v.Kind() {
		case reflect.Pointer:
			check(path, v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				if name := v.Type().Field(i).Name; name != "Unknown" { // excluded by ShouldRetry
					check(path+"."+name, v.Field(i))
				}
			}
		case reflect.Slice:
			check(path+"[0]", v.Index(0))
		default:
		}
	}
	check("Data", reflect.ValueOf(full().Data()))
}

func TestFromDataCopies(t *testing.T) {
	d := full().Data()
	e := fault.FromData(d)
	scramble(reflect.ValueOf(&d))
	require.Equal(t, full().Data(), e.Data())
}

func TestWhatIsPassedInIsCopied(t *testing.T) {
	details := map[string]any{"a": []any{1.0}}
	parameters := map[string]any{"b": map[string]any{"c": 2.0}}
	options := []fault.Option{{Action: "red"}}
	examples := []string{"1", "2"}
	candidates := []string{"alpha", "alphe"}
	violations := []fault.Violation{{Field: "x", Received: "1"}, {Field: "y", Received: "2"}}
	steps := []fault.Step{{Action: "Look", Parameters: parameters, Options: options}}
	retry := fault.Retry{ShouldRetry: true}
	build := func() []*fault.Error {
		return []*fault.Error{
			fault.New("busy", "x").With("d", details),
			fault.New("busy", "x").Step("Look", "get", parameters),
			fault.New("busy", "x").WithSteps(steps...),
			fault.New("busy", "x").WithRetry(retry),
			fault.Invalid("x", 1, "2", examples...),
			fault.NotFound("project", "alphi", candidates...),
			fault.Violations(violations...),
		}
	}
	before, after := build(), build()
	for _, v := range []any{&details, &parameters, &options, &examples, &candidates, &violations, &steps, &retry} {
		scramble(reflect.ValueOf(v))
	}
	for i := range before {
		require.Equal(t, before[i].Data(), after[i].Data())
	}
	require.Equal(t, map[string]any{"d": map[string]any{"a": []any{1.0}}}, after[0].Data().Details)
	require.Equal(t, []string{"alpha", "alphe"}, after[5].Data().SimilarMatches)
}

func TestJoinSharesNothingThatIsWrittenTo(t *testing.T) {
	a, b := full(), full().WithMessage("other").Step("More", "", nil)
	joined := fault.Join(a, b)
	d := joined.Data()
	scramble(reflect.ValueOf(&d))
	joined.With("x", 1).Step("y", "", nil).After(time.Hour).Because(io.EOF)
	require.Equal(t, full().Data(), a.Data())
	require.Equal(t, full().Error(), a.Error())
	require.Len(t, joined.Data().RecoverySteps, 2)
}

// builders are all methods that return a changed copy.
var builders = map[string]func(*fault.Error) *fault.Error{
	"Because":       func(e *fault.Error) *fault.Error { return e.Because(io.EOF) },
	"Suggest":       func(e *fault.Error) *fault.Error { return e.Suggest("other") },
	"WithMessage":   func(e *fault.Error) *fault.Error { return e.WithMessage("other") },
	"WithCode":      func(e *fault.Error) *fault.Error { return e.WithCode("OTHER") },
	"With":          func(e *fault.Error) *fault.Error { return e.With("other", 1) },
	"With again":    func(e *fault.Error) *fault.Error { return e.With("percent", 1) },
	"Needs":         func(e *fault.Error) *fault.Error { return e.Needs("other") },
	"After":         func(e *fault.Error) *fault.Error { return e.After(time.Hour) },
	"Never":         func(e *fault.Error) *fault.Error { return e.Never("other") },
	"WithRetry":     func(e *fault.Error) *fault.Error { return e.WithRetry(fault.Retry{}) },
	"Step":          func(e *fault.Error) *fault.Error { return e.Step("other", "", nil) },
	"WithSteps":     func(e *fault.Error) *fault.Error { return e.WithSteps(fault.Step{}, fault.Step{}) },
	"WithReference": func(e *fault.Error) *fault.Error { return e.WithReference("other") },
	"ScrubbedBy": func(e *fault.Error) *fault.Error {
		return e.ScrubbedBy(func(string) string { return "other" })
	},
	"Scrubbed": func(e *fault.Error) *fault.Error {
		return e.WithMessage("password=canary-4711").ScrubbedBy(scrub.Credentials)
	},
}

func TestBuildersReturnChangedCopies(t *testing.T) {
	for name, build := range builders {
		t.Run(name, func(t *testing.T) {
			e := full()
			c := build(e)
			require.NotSame(t, e, c)
			require.NotEqual(t, fmt.Sprintf("%+v", e)+string(mustJSON(t, e)), fmt.Sprintf("%+v", c)+string(mustJSON(t, c)))
			require.Equal(t, full().Data(), e.Data())
			require.Equal(t, io.ErrUnexpectedEOF, e.Unwrap())
		})
	}
}

func TestCopiesDoNotMeet(t *testing.T) {
	base := fault.New("busy", "x").Step("One", "", nil).Step("Two", "", nil).Step("Three", "", nil).With("k", 1).Because(io.EOF)
	a := base.Step("A", "", nil).With("a", 1).Because(errors.New("a"))
	b := base.Step("B", "", nil).With("b", 1).Because(errors.New("b"))
	c := b.Because(errors.New("c"))
	d := b.Because(errors.New("d"))
	require.Equal(t, "A", a.Data().RecoverySteps[3].Action)
	require.Equal(t, "B", b.Data().RecoverySteps[3].Action)
	require.Equal(t, map[string]any{"k": 1.0, "a": 1.0}, a.Data().Details)
	require.Equal(t, "EOF\na", a.Unwrap().Error())
	require.Equal(t, "EOF\nb", b.Unwrap().Error())
	require.Equal(t, "EOF\nb\nc", c.Unwrap().Error())
	require.Equal(t, "EOF\nb\nd", d.Unwrap().Error())
}

var errShared = full()

func TestSharedFaultIsSafeForConcurrentUse(t *testing.T) {
	want := errShared.Data()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				for _, build := range builders {
					e := build(errShared)
					_, _ = e.Error(), e.Data()
				}
				d := errShared.Data()
				scramble(reflect.ValueOf(&d))
				_, _ = errShared.Error(), errShared.Text()
				_ = errors.Is(errShared, fault.KindTimeout)
				_, _ = json.Marshal(errShared)
				_ = fmt.Sprintf("%+v", errShared)
				_ = fault.Join(errShared, errShared)
				slog.New(slog.NewJSONHandler(io.Discard, nil)).Error("x", "err", errShared)
				_ = fault.Generic(fault.KindInternal).WithReference("x").Error()
			}
		})
	}
	wg.Wait()
	require.Equal(t, want, errShared.Data())
}

func TestNilFault(t *testing.T) {
	var e *fault.Error
	for name, build := range builders {
		require.Nil(t, build(e), name)
	}
	require.Empty(t, e.Error())
	require.Empty(t, e.Text())
	require.NoError(t, e.Unwrap())
	require.Empty(t, e.Kind())
	require.Empty(t, e.Message())
	require.Empty(t, e.Reference())
	require.Empty(t, e.Suggestion())
	require.Empty(t, e.Code())
	retry, said := e.Retry()
	require.False(t, said)
	require.Zero(t, retry)
	require.Zero(t, e.Data())
	require.False(t, e.Is(fault.KindInternal))
	require.False(t, e.Is(e))
	b, err := e.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, "null", string(b))
	require.Error(t, e.UnmarshalJSON([]byte(`{"type":"busy"}`)))
	require.Zero(t, e.LogValue())
	for _, verb := range []string{"%v", "%s", "%q", "%+v", "%#v"} {
		require.Equal(t, "<nil>", fmt.Sprintf(verb, e), verb)
	}
	require.Equal(t, 13+17, reflect.TypeFor[*fault.Error]().NumMethod(), "a new method: is it tested here and in builders?")
}

func TestZeroFault(t *testing.T) {
	var e fault.Error
	require.Equal(t, "Internal error: the call failed.", e.Error())
	require.Equal(t, fault.Data{}, e.Data())
	require.JSONEq(t, `{"type":"","message":""}`, string(mustJSON(t, &e)))
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}
