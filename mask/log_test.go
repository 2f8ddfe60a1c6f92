package mask_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	slogmulti "github.com/samber/slog-multi"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
)

type named struct{ name string }

func (n named) String() string { return "named " + n.name }

type valuer struct{ name string }

func (v valuer) LogValue() slog.Value { return slog.GroupValue(slog.String("name", v.name)) }

// hiding prints nothing of what JSON shows of it.
type hiding struct{ Password string }

func (hiding) String() string { return "hiding" }

type hidingError struct{ Password string }

func (hidingError) Error() string { return "hiding" }

func (e hidingError) MarshalJSON() ([]byte, error) { return json.Marshal(e.Password) }

type evil struct{ secret string }

func (evil) String() string { panic("no") }

// star is a scrubber that a test can follow.
func star(text string) string { return strings.ReplaceAll(text, harness.Canary, "*") }

func TestLogHandler(t *testing.T) {
	const c = harness.Canary
	for _, test := range []struct {
		name string
		log  func(l *slog.Logger)
		want map[string]any
	}{
		{"keys", func(l *slog.Logger) {
			l.WithGroup("g "+c).With("a "+c, 1).Info("m", slog.Group("h "+c, "pass\u200bword", "x"), "x "+c, "y")
		}, map[string]any{"msg": "m", "g *": map[string]any{"a *": 1.0, "h *": map[string]any{"pass\u200bword": "[redacted]"}, "x *": "y"}}},
		{"keys of secrets", func(l *slog.Logger) { l.WithGroup("auth").Info("m", "x "+c, "y") }, map[string]any{"msg": "m", "auth": map[string]any{"x *": "[redacted]"}}},
		{"invisible", func(l *slog.Logger) { l.Info("a "+c[:3]+"\u200b"+c[3:], "k", c[:2]+"\x1b[1m"+c[2:]) }, map[string]any{"msg": "a *", "k": "*"}},
		{"message", func(l *slog.Logger) { l.Info("a " + c) }, map[string]any{"msg": "a *"}},
		{"text", func(l *slog.Logger) { l.Info("m", "k", "a "+c) }, map[string]any{"msg": "m", "k": "a *"}},
		{"error", func(l *slog.Logger) { l.Info("m", "k", errors.New("a "+c)) }, map[string]any{"msg": "m", "k": "a *"}},
		{"stringer", func(l *slog.Logger) { l.Info("m", "k", named{c}) }, map[string]any{"msg": "m", "k": "named *"}},
		{"a stringer with fields", func(l *slog.Logger) { l.Info("m", "k", hiding{c}) }, map[string]any{"msg": "m", "k": "hiding"}},
		{"an error with fields", func(l *slog.Logger) { l.Info("m", "k", hidingError{c}) }, map[string]any{"msg": "m", "k": "hiding"}},
		{"a group with the name of a secret", func(l *slog.Logger) { l.WithGroup("credentials").With("a", c).WithGroup("g").Info("m", "b", c, "n", 1) },
			map[string]any{"msg": "m", "credentials": map[string]any{"a": "[redacted]", "g": map[string]any{"b": "[redacted]", "n": "[redacted]"}}}},
		{"valuer", func(l *slog.Logger) { l.Info("m", "k", valuer{c}) }, map[string]any{"msg": "m", "k": map[string]any{"name": "*"}}},
		{"struct", func(l *slog.Logger) { l.Info("m", "k", struct{ A string }{c}) }, map[string]any{"msg": "m", "k": map[string]any{"A": "*"}}},
		{"names of secrets", func(l *slog.Logger) {
			l.Info("m", "password", "x", "tokens", []string{"x"}, "n", map[string]any{"deep": []any{map[string]any{"apiKey": []byte("x")}}}, slog.Group("credentials", "a", "x"), "has_token", true, "tokens", 512)
		}, map[string]any{"msg": "m", "password": "[redacted]", "tokens": 512.0, "n": map[string]any{"deep": []any{map[string]any{"apiKey": "[redacted]"}}}, "credentials": "[redacted]", "has_token": true}},
		{"nested errors", func(l *slog.Logger) {
			l.Info("m", "k", []any{errors.New("a " + c), struct{ Err error }{errors.New(c)}})
		},
			map[string]any{"msg": "m", "k": []any{"a *", "*"}}},
		{"unexported fields", func(l *slog.Logger) { l.Info("m", "k", struct{ a string }{c}) }, map[string]any{"msg": "m", "k": "{a:*}"}},
		{"bytes", func(l *slog.Logger) { l.Info("m", "k", []byte("a "+c)) }, map[string]any{"msg": "m", "k": "[redacted]"}},
		{"slice", func(l *slog.Logger) { l.Info("m", "k", []string{"a", c}) }, map[string]any{"msg": "m", "k": []any{"a", "*"}}},
		{"fault", func(l *slog.Logger) { l.Info("m", "k", fault.New("own", "a").Because(errors.New(c))) }, map[string]any{"msg": "m", "k": map[string]any{"type": "own", "message": "a", "cause": "*"}}},
		{"group", func(l *slog.Logger) { l.Info("m", slog.Group("g", "k", c, slog.Group("h", "i", c))) }, map[string]any{"msg": "m", "g": map[string]any{"k": "*", "h": map[string]any{"i": "*"}}}},
		{"with", func(l *slog.Logger) { l.With("k", c).Info("m") }, map[string]any{"msg": "m", "k": "*"}},
		{"with group", func(l *slog.Logger) { l.WithGroup("g").With("k", c).Info("m", "i", c) }, map[string]any{"msg": "m", "g": map[string]any{"k": "*", "i": "*"}}},
		{"harmless values", func(l *slog.Logger) {
			l.Info("m", "int", 1, "float", 1.5, "bool", true, "nil", nil, "struct", struct{ A int }{1}, "list", []int{1})
		}, map[string]any{"msg": "m", "int": 1.0, "float": 1.5, "bool": true, "nil": nil, "struct": map[string]any{"A": 1.0}, "list": []any{1.0}}},
		{"evil", func(l *slog.Logger) { l.Info("m", "good", 1, slog.Any("e", errors.New("e"))) }, map[string]any{"msg": "m", "good": 1.0, "e": "e"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := harness.NewLog(slog.LevelInfo)
			test.log(slog.New(mask.LogHandler(log.Handler(), star)))
			r := log.Only(t)
			require.Equal(t, "INFO", r["level"])
			delete(r, "level")
			require.NotEmpty(t, r["time"])
			delete(r, "time")
			require.Equal(t, harness.Record(test.want), r)
		})
	}
}

func TestLogHandlerSurvivesStrangers(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(mask.LogHandler(slog.NewTextHandler(&out, nil), nil))
	require.NotPanics(t, func() { logger.Info("m", "typed nil", (*named)(nil)) })
	h := mask.LogHandler(slog.DiscardHandler, star)
	require.NotPanics(t, func() {
		slog.New(h).Info("m", "k", evil{harness.Canary})
		r := slog.NewRecord(time.Now(), slog.LevelInfo, "m", 0)
		r.AddAttrs(slog.Any("k", evil{harness.Canary}))
		_ = h.Handle(t.Context(), r)
	})
}

func TestLogHandlerKeepsTheRest(t *testing.T) {
	log := harness.NewLog(slog.LevelWarn)
	h := mask.LogHandler(log.Handler(), star)
	require.False(t, h.Enabled(t.Context(), slog.LevelInfo))
	require.True(t, h.Enabled(t.Context(), slog.LevelWarn))

	var got slog.Record
	keep := slogmulti.NewHandleInlineHandler(
		func(_ context.Context, _ []string, _ []slog.Attr, r slog.Record) error { got = r; return nil })
	want := slog.NewRecord(time.Unix(7, 0), slog.LevelError, "m", 42)
	want.AddAttrs(slog.Int("n", 1))
	require.NoError(t, mask.LogHandler(keep, star).Handle(t.Context(), want))
	require.Equal(t, want.Time, got.Time)
	require.Equal(t, want.Level, got.Level)
	require.Equal(t, want.PC, got.PC)
	require.Equal(t, 1, got.NumAttrs())
}
