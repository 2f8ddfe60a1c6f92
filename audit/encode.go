package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// maxBody is about the usual length of a record's JSON without its arguments.
const maxBody = 384

var errArguments = errors.New("audit: the arguments of a record are no JSON")

// appendRecord writes the JSON of a record without Seq, Prev and Hash, as encoding/json does, but
// without reflection: a call writes two records.
func appendRecord(to []byte, r *Record) (_ []byte, err error) {
	to = append(to, `{"time":"`...)
	if to, err = r.Time.AppendText(to); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	to = append(to, '"')
	for _, m := range [...]struct{ name, value string }{{"event", r.Event}, {"method", r.Method}, {"target", r.Target}, {"owner", r.Owner}} {
		to = appendText(to, m.name, m.value, m.name == "event")
	}
	if len(r.Arguments) > 0 {
		if !json.Valid(r.Arguments) {
			return nil, errArguments
		}
		to = append(append(to, `,"arguments":`...), r.Arguments...)
	}
	to = appendText(to, "arguments_hash", r.ArgumentsHash, false)
	to = appendCount(to, "arguments_bytes", uint64(r.ArgumentsBytes)) //nolint:gosec // the length of something
	for _, m := range [...]struct{ name, value string }{{"outcome", r.Outcome}, {"kind", r.Kind}, {"effect", string(r.Effect)}, {"reference", r.Reference}} {
		to = appendText(to, m.name, m.value, false)
	}
	to = appendCount(to, "begin", r.Begin)
	if r.DurationMS != 0 {
		to = strconv.AppendFloat(append(to, `,"duration_ms":`...), r.DurationMS, 'f', -1, 64)
	}
	to = appendCount(to, "lost", r.Lost)
	to = appendCount(to, "dropped_bytes", uint64(r.DroppedBytes)) //nolint:gosec // the length of something
	return append(to, '}'), nil
}

func appendText(to []byte, name, value string, always bool) []byte {
	if value == "" && !always {
		return to
	}
	to = append(append(append(to, `,"`...), name...), `":`...)
	return appendString(to, value)
}

func appendCount(to []byte, name string, n uint64) []byte {
	if n == 0 {
		return to
	}
	to = append(append(append(to, `,"`...), name...), `":`...)
	return strconv.AppendUint(to, n, 10)
}

// appendString writes a string. encoding/json writes those with anything to escape.
func appendString(to []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			raw, _ := json.Marshal(s) //nolint:errchkjson // a string always encodes
			return append(to, raw...)
		}
	}
	return append(append(append(to, '"'), s...), '"')
}

// appendValue writes a decoded JSON value.
func appendValue(to []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case nil:
		return append(to, "null"...), nil
	case bool:
		return strconv.AppendBool(to, v), nil
	case string:
		return appendString(to, v), nil
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		to = append(to, '{')
		for i, name := range names {
			if i > 0 {
				to = append(to, ',')
			}
			if to, err = appendValue(append(appendString(to, name), ':'), v[name]); err != nil {
				return nil, err
			}
		}
		return append(to, '}'), nil
	case []any:
		to = append(to, '[')
		for i, item := range v {
			if i > 0 {
				to = append(to, ',')
			}
			if to, err = appendValue(to, item); err != nil {
				return nil, err
			}
		}
		return append(to, ']'), nil
	default: // a number
		raw, err := json.Marshal(v)
		return append(to, raw...), err
	}
}
