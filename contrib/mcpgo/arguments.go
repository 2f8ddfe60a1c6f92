package mcpgo

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/validate"
)

// The errors of mcp-go's helpers have no type, and its own handlers send them as the text of
// a result. They are recognized by their whole text, and only if the arguments of the call
// agree with it.
var (
	missing = regexp.MustCompile(`^required argument ("(?:[^"\\]|\\.)*") not found$`)
	typed   = regexp.MustCompile(`^(?:item (\d+) in )?argument ("(?:[^"\\]|\\.)*") (?:is not an? |cannot be converted to )(string|int|float64|bool|string slice|int slice|float64 slice|bool slice)$`)
	unbound = regexp.MustCompile(`^json: cannot unmarshal (?:[^"]+) into Go (?:struct field \w*\.([^ "]{1,200})|value) of type (\S+)$`)
)

const (
	bindFailed = "failed to bind arguments: "
	toolFailed = "tool execution failed: "
	maxText    = 4 << 10 // longer than any text of a helper
)

// expected says what a Go type wants.
var expected = map[string]string{
	"string": "a string", "int": "an integer", "float64": "a number", "bool": "true or false",
	"string slice": "a list of strings", "int slice": "a list of integers", "float64 slice": "a list of numbers", "bool slice": "a list of true or false",
}

// wrongArguments returns the failure in what a handler returned, nil for a success and for
// a failed result in the tool's own words. All errors of helpers in a tree of errors become
// violations.
func wrongArguments(req mcpgo.CallToolRequest, res *mcpgo.CallToolResult, err error) error {
	if err == nil {
		text, ok := only(res)
		if !ok {
			return nil
		}
		cause, failed := strings.CutPrefix(text, toolFailed)
		reason, unfit := strings.CutPrefix(text, bindFailed)
		switch v, ok := violation(text, req); {
		case failed:
			return errors.New(cause) // it may not be worded for the caller
		case unfit:
			err = validate.Arguments(errors.New(reason))
		case ok:
			return fault.Violations(v).Because(errors.New(text))
		default:
			return nil
		}
	}
	if _, worded := held[*fault.Error](err); worded {
		return err
	}
	var found []fault.Violation
	for _, text := range texts(err) {
		if v, ok := violation(text, req); ok {
			found = append(found, v)
		}
	}
	if len(found) == 0 {
		return err
	}
	return fault.Violations(found...).Because(err)
}

// only returns the text of an error result that has nothing but that text.
func only(res *mcpgo.CallToolResult) (string, bool) {
	if res == nil || !res.IsError || len(res.Content) != 1 || res.StructuredContent != nil || res.NeedsInput() {
		return "", false
	}
	text, ok := res.Content[0].(mcpgo.TextContent)
	return text.Text, ok
}

// violation returns the violation that the text of a helper describes.
func violation(text string, req mcpgo.CallToolRequest) (fault.Violation, bool) {
	if len(text) > maxText {
		return fault.Violation{}, false
	}
	if m := missing.FindStringSubmatch(text); m != nil {
		name, err := strconv.Unquote(m[1])
		_, sent := req.GetArguments()[name]
		return fault.Violation{Field: name, Rule: "required", Message: "Argument '" + name + "' is required"}, err == nil && !sent
	}
	if m := typed.FindStringSubmatch(text); m != nil {
		name, err := strconv.Unquote(m[2])
		received, sent := req.GetArguments()[name]
		v := fault.Violation{Field: name, Rule: "type", Expected: expected[m[3]], Received: received}
		if m[1] != "" {
			v.Field += "[" + m[1] + "]"
			v.Received = nil
			if at, err := strconv.Atoi(m[1]); err == nil {
				if list, ok := received.([]any); ok && at < len(list) {
					v.Received = list[at]
				}
			}
		}
		return v, err == nil && sent
	}
	if m := unbound.FindStringSubmatch(text); m != nil {
		return unmarshalled(m[1], m[2], req)
	}
	return fault.Violation{}, false
}

// unmarshalled returns the violation for an error of encoding/json, which names the field,
// but not the item of a list.
func unmarshalled(field, goType string, req mcpgo.CallToolRequest) (fault.Violation, bool) {
	v := fault.Violation{Field: field, Rule: "type"}
	switch name := strings.TrimLeft(goType, "*"); {
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"):
		v.Expected = expected["int"]
	case strings.HasPrefix(name, "float"):
		v.Expected = expected["float64"]
	case strings.HasPrefix(name, "[]"):
		v.Expected = "a list"
	case expected[name] != "":
		v.Expected = expected[name]
	default:
		v.Expected = "an object"
	}
	var at any = req.GetArguments()
	if field == "" {
		at = req.Params.Arguments
	} else {
		for name := range strings.SplitSeq(field, ".") {
			object, _ := at.(map[string]any)
			if at = object[name]; at == nil {
				return v, true // below a list, where the error does not say at which item
			}
		}
	}
	v.Received = at
	return v, true
}
