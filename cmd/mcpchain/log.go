package main

import (
	"io"
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/internal/words"
	"github.com/mcpchain/mcpchain/mask"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/config"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/output"
)

// lastLines bounds how long the end of the program waits for a reader of its log.
const lastLines = time.Second

// outputs returns where the lines of the server's standard error go and where the log goes. Neither waits
// for a reader, or for a disk.
func (r *running) outputs(stderr io.Writer) (errs, logs io.Writer, err error) {
	holding := func(to io.Writer, otherwise io.Writer, why string) io.Writer {
		held := output.New(to, output.Options{Otherwise: otherwise, Dropped: func(w io.Writer, n int) {
			message := words.Plural(n, "record was", "records were") + " dropped, because " + why
			newLogger(w, r.Config, func(text string) string { return text }).Warn(message, slog.Int("dropped", n)) //nolint:sloglint // the number belongs to the sentence
		}})
		r.ends = append(r.ends, func() { held.Flush(lastLines) })
		return held
	}
	errs = holding(stderr, nil, "nobody reads standard error")
	if r.Log == "" {
		return errs, errs, nil
	}
	file, err := output.Open(r.Log)
	if err != nil {
		return nil, nil, err
	}
	r.ends = append(r.ends, func() { _ = file.Close() })
	return errs, holding(file, errs, "the file of -log did not take them"), nil
}

// newLogger returns the log of the program, in which no value of a secret stands.
func newLogger(w io.Writer, c *config.Config, hide func(string) string) *slog.Logger {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if c.Verbose {
		opts.Level = slog.LevelDebug
	}
	var handler slog.Handler = slog.NewTextHandler(w, opts)
	if c.LogJSON {
		handler = slog.NewJSONHandler(w, opts)
	}
	return slog.New(mask.LogHandler(handler, hide))
}
