package fault_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

// secrets are texts that the scrubber knows; with any of them in any place of a
// fault nothing of it may be left.
var secrets = []string{
	"postgres://admin:canary-4711@db.internal:5432/prod",
	"password=canary-4711",
	`{"url":"https:\/\/bob:canary-4711@example.com\/x"}`,
	"https://example.com/?access_token=canary-4711",
}

// places sets a text in each place of a fault where there is one.
var places = map[string]func(d *fault.Data, s string){
	"message":                func(d *fault.Data, s string) { d.Message = s },
	"suggestion":             func(d *fault.Data, s string) { d.Suggestion = s },
	"code":                   func(d *fault.Data, s string) { d.Code = s },
	"field":                  func(d *fault.Data, s string) { d.Field = s },
	"received":               func(d *fault.Data, s string) { d.Received = s },
	"received, nested":       func(d *fault.Data, s string) { d.Received = map[string]any{"a": []any{s}} },
	"expected":               func(d *fault.Data, s string) { d.Expected = s },
	"example":                func(d *fault.Data, s string) { d.Examples = []string{"a", s} },
	"violation's field":      func(d *fault.Data, s string) { d.Violations = []fault.Violation{{}, {Field: s}} },
	"violation's rule":       func(d *fault.Data, s string) { d.Violations = []fault.Violation{{Rule: s}} },
	"violation's expected":   func(d *fault.Data, s string) { d.Violations = []fault.Violation{{Expected: s}} },
	"violation's received":   func(d *fault.Data, s string) { d.Violations = []fault.Violation{{Received: s}} },
	"violation's list":       func(d *fault.Data, s string) { d.Violations = []fault.Violation{{Received: []any{1, []any{s}}}} },
	"violation's suggestion": func(d *fault.Data, s string) { d.Violations = []fault.Violation{{Suggestion: s}} },
	"resource type":          func(d *fault.Data, s string) { d.ResourceType = s },
	"identifier":             func(d *fault.Data, s string) { d.Identifier = s },
	"similar match":          func(d *fault.Data, s string) { d.SimilarMatches = []string{"a", s} },
	"action":                 func(d *fault.Data, s string) { d.Action = s },
	"resource":               func(d *fault.Data, s string) { d.Resource = s },
	"permission":             func(d *fault.Data, s string) { d.RequiredPermission = s },
	"reason":                 func(d *fault.Data, s string) { d.Retry = &fault.Retry{Reason: s} },
	"fact":                   func(d *fault.Data, s string) { d.Retry = &fault.Retry{Fact: s} },
	"step's action":          func(d *fault.Data, s string) { d.RecoverySteps = []fault.Step{{}, {Action: s}} },
	"step's tool":            func(d *fault.Data, s string) { d.RecoverySteps = []fault.Step{{Tool: s}} },
	"step's parameter": func(d *fault.Data, s string) {
		d.RecoverySteps = []fault.Step{{Tool: "t", Parameters: map[string]any{"a": map[string]any{"b": s}}}}
	},
	"step's parameter's key": func(d *fault.Data, s string) {
		d.RecoverySteps = []fault.Step{{Tool: "t", Parameters: map[string]any{s: 1}}}
	},
	"step's description": func(d *fault.Data, s string) { d.RecoverySteps = []fault.Step{{Description: s}} },
	"step's option": func(d *fault.Data, s string) {
		d.RecoverySteps = []fault.Step{{Options: []fault.Option{{Action: "a"}, {Action: s}}}}
	},
	"detail":        func(d *fault.Data, s string) { d.Details = map[string]any{"a": s} },
	"nested detail": func(d *fault.Data, s string) { d.Details = map[string]any{"a": []any{map[string]any{"b": []any{s}}}} },
	"detail's key":  func(d *fault.Data, s string) { d.Details = map[string]any{s: 1} },
	"nested key":    func(d *fault.Data, s string) { d.Details = map[string]any{"a": []any{map[string]any{s: 1}}} },
}

func TestScrubbed(t *testing.T) {
	for name, put := range places {
		t.Run(name, func(t *testing.T) {
			for _, secret := range secrets {
				d := fault.Data{Type: "busy", Message: "x", ReferenceID: "0198c7f2"}
				put(&d, secret)
				e := fault.FromData(d).Because(io.EOF)
				require.Contains(t, everything(t, e), canary)

				scrubbed := e.ScrubbedBy(scrub.Credentials)
				require.NotContains(t, everything(t, scrubbed), canary)
				require.NotSame(t, e, scrubbed)
				require.Equal(t, e.Kind(), scrubbed.Kind())
				require.Equal(t, "0198c7f2", scrubbed.Reference())
				require.Equal(t, io.EOF, scrubbed.Unwrap(), "the cause is the log's")
				require.Same(t, scrubbed, scrubbed.ScrubbedBy(scrub.Credentials), "once is enough")

				require.Equal(t, fault.FromData(d).Data(), e.Data(), "the original was changed")
				roundTrip(t, scrubbed)
			}
		})
	}
}

// texts calls f with every string in v.
func texts(v reflect.Value, path string, f func(path, text string)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			texts(v.Elem(), path, f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			texts(v.Field(i), path+"."+v.Type().Field(i).Name, f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			texts(v.Index(i), path+"[]", f)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			texts(k, path+" key", f)
			texts(v.MapIndex(k), path+"{}", f)
		}
	case reflect.String:
		f(path, v.String())
	default:
	}
}

func TestScrubbedByReachesEveryText(t *testing.T) {
	e := full()
	scrubbed := e.ScrubbedBy(func(s string) string { return "<" + s + ">" })
	d := scrubbed.Data()
	seen := 0
	texts(reflect.ValueOf(d), "", func(path, text string) {
		switch path {
		case ".Type", ".ReferenceID", ".Retry.Effect", ".Party": // words that somebody compares
			require.NotContains(t, text, "<", path)
		case ".CorrectedTool": // a correction with something hidden in it is none
			require.Empty(t, text)
		default:
			seen++
			require.True(t, strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">"), "%s is %q", path, text)
		}
	})
	require.GreaterOrEqual(t, seen, 30)
	require.Equal(t, full().Data(), e.Data())
	require.Equal(t, []any{"<7>", map[string]any{"<a>": []any{1.0}}}, d.Received)
	roundTrip(t, scrubbed)
}

func TestScrubbedStepsKeepTheirCalls(t *testing.T) {
	e := fault.New("busy", "x").
		Step("Read it", "read", map[string]any{"path": "/home/ann/a.txt", "url": "https://bob:canary-4711@example.com/x", "password": "canary-4711"}).
		Step("List them", "list", map[string]any{"page": 2})
	steps := e.ScrubbedBy(scrub.Credentials).Data().RecoverySteps
	require.Equal(t, fault.Step{Number: 1, Action: "Read it", Tool: "read", Parameters: map[string]any{
		"path": "/home/ann/a.txt", "url": "https://[redacted]@example.com/x", "password": "[redacted]",
	}}, steps[0])
	require.Equal(t, e.Data().RecoverySteps[1], steps[1])
}

// TestNamesOfSecretsHideTheirValues proves that nothing under such a name is kept, however it is nested.
func TestNamesOfSecretsHideTheirValues(t *testing.T) {
	type login struct {
		User     string
		Password []byte
	}
	secret := map[string]any{
		"login": login{"bob", []byte(canary)}, "tokens": []string{canary}, "deep": []any{map[string]any{"apiKey": canary, "clientSecrets": map[string]string{"a": canary}}},
		"err": &url.Error{Op: "Get", URL: "https://" + canary, Err: io.EOF}, "errs": []error{errors.New(canary)}, "in": struct{ Err error }{errors.New(canary)},
		"raw": json.RawMessage(`{"\u0070assword":"` + canary + `"}`), "bytes": []byte("password=" + canary),
	}
	e := fault.New("busy", "x").With("password", canary).With("secrets", map[string]any{"a": canary}).With("more", secret).
		Step("Go", "tool", secret)
	for _, e := range []*fault.Error{e, fault.FromData(fault.Data{
		Type: "busy", Details: secret, Field: "password", Received: canary, RecoverySteps: []fault.Step{{Parameters: secret}},
		Violations: []fault.Violation{{Field: "api_key", Received: canary}},
	})} {
		all := everything(t, e)
		require.NotContains(t, all, canary)
		require.NotContains(t, all, base64.StdEncoding.EncodeToString([]byte(canary)))
		require.Contains(t, all, "bob")
		roundTrip(t, e)
	}
	require.Equal(t, map[string]any{"tokens": 512.0, "has_password": true, "token": nil}, fault.New("busy", "x").
		With("tokens", 512).With("has_password", true).With("token", nil).Data().Details)
	public := fault.New("busy", "x").With("inner", fault.New("own", "public").Because(errors.New(canary)))
	require.Equal(t, map[string]any{"inner": map[string]any{"type": "own", "message": "public"}}, public.Data().Details)
}

func TestScrubbedIsTheSameWhereNothingChanges(t *testing.T) {
	for _, e := range []*fault.Error{full(), fault.Generic(fault.KindInternal), fault.New("busy", "x"), nil} {
		require.Same(t, e, e.ScrubbedBy(scrub.Credentials))
		require.Same(t, e, e.ScrubbedBy(func(s string) string { return s }))
	}
	for kind := range map[fault.Kind]bool{
		fault.KindValidation: true, fault.KindNotFound: true, fault.KindAlreadyExists: true, fault.KindUnauthenticated: true,
		fault.KindPermissionDenied: true, fault.KindRateLimited: true, fault.KindTimeout: true, fault.KindCancelled: true,
		fault.KindConnectionFailed: true, fault.KindServiceUnavailable: true, fault.KindServerError: true, fault.KindClientError: true,
		fault.KindConflict: true, fault.KindPreconditionFailed: true, fault.KindInternal: true, fault.KindTool: true,
	} {
		require.Same(t, fault.Generic(kind), fault.Generic(kind).ScrubbedBy(scrub.Credentials), "our own text of %s looks like a secret", kind)
	}
}

func TestKeysThatBecomeTheSameAreTold(t *testing.T) {
	e := fault.New("busy", "x").With("a", 1).With("b", 2).With("c", map[string]any{"d": 3, "e": 4})
	scrubbed := e.ScrubbedBy(func(s string) string {
		if len(s) == 1 && s != "x" {
			return "[key]"
		}
		return s
	})
	for range 20 { // the order of a map must not show
		require.Equal(t, map[string]any{"[key]": 1.0, "[key] (2)": 2.0, "[key] (3)": map[string]any{"[key]": 3.0, "[key] (2)": 4.0}}, scrubbed.Data().Details)
	}
	require.Equal(t, map[string]any{"a": 1.0, "b": 2.0, "c": map[string]any{"d": 3.0, "e": 4.0}}, e.Data().Details)
}

func TestScrubbedByOfSomebodyElse(t *testing.T) {
	e := full().ScrubbedBy(func(string) string { return "a\xff" })
	require.Contains(t, e.Error(), "a\uFFFD")
	roundTrip(t, e)
	require.Panics(t, func() { full().ScrubbedBy(func(string) string { panic(canary) }) }, "who calls it guards it")
}

// TestParametersOfOptionsAreHiddenByTheirNames hides what stands under the name of a secret in
// a call that a step offers, as in one that a step is.
func TestParametersOfOptionsAreHiddenByTheirNames(t *testing.T) {
	step := fault.Step{Action: "Choose", Options: []fault.Option{{Action: "a", Tool: "login", Parameters: map[string]any{"password": canary}}}}
	for _, e := range []*fault.Error{
		fault.New("busy", "x").WithSteps(step), fault.FromData(fault.Data{Type: "busy", RecoverySteps: []fault.Step{step}}),
	} {
		require.NotContains(t, e.Error()+string(mustJSON(t, e)), canary)
		require.Contains(t, e.Error(), `call login {"password":"[redacted]"}`)
	}
}
