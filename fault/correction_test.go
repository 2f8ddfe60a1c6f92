package fault_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/words"
)

func trying(arguments map[string]any, violations ...fault.Violation) *fault.Error {
	return fault.FromData(fault.Data{Type: fault.KindValidation, Message: "m", CorrectedTool: "login", CorrectedArguments: arguments, Violations: violations})
}

// TestWithheldCorrection: what the name of a value or a scrubber hides is withheld in the text, and then
// the machine form has no call.
func TestWithheldCorrection(t *testing.T) {
	hides := func(text string) string { return strings.ReplaceAll(text, "Zürich", "[hidden]") }
	for name, c := range map[string]struct {
		e    *fault.Error
		want string // the text's line, "" for none
	}{
		"by its name":     {trying(map[string]any{"password": "x", "port": 5}), `login {"password":<as you sent it>,"port":5}`},
		"nested":          {trying(map[string]any{"all": []any{map[string]any{"api_key": "x", "a": "<b>"}}}), `login {"all":[{"a":"<b>","api_key":<as you sent it>}]}`},
		"by the scrubber": {faults.ScrubbedBy(trying(map[string]any{"city": "Zürich", "n": 9007199254740993}), hides), `login {"city":<as you sent it>,"n":9007199254740993}`},
		"by both":         {faults.ScrubbedBy(trying(map[string]any{"city": "Zürich", "pin": "x"}), hides), `login {"city":<as you sent it>,"pin":<as you sent it>}`},
		"HidingBy":        {faults.HidingBy(trying(map[string]any{"in": []any{"Zürich", "Bern"}}), hides), `login {"in":[<as you sent it>,"Bern"]}`},
		"a name":          {faults.ScrubbedBy(trying(map[string]any{"Zürich": 1}), hides), ""},
		"a wrong value":   {faults.ScrubbedBy(trying(map[string]any{"city": "Zürich"}, fault.Violation{Field: "city", Pointer: "/city"}), hides), ""},
		"given withheld":  {faults.Corrected(trying(nil), "login", map[string]any{"a": words.AsSent, "b": json.Number("1")}), `login {"a":<as you sent it>,"b":1}`},
		"none":            {faults.Corrected(trying(map[string]any{"password": "x"}), "", nil), ""},
	} {
		for range 2 { // a copy by way of its Data is the same
			_, line, _ := strings.Cut(c.e.Text(), "\nTry: ")
			require.Equal(t, c.want, line, name)
			raw, err := json.Marshal(c.e)
			require.NoError(t, err)
			require.NotContains(t, string(raw), "corrected_", name)
			require.Nil(t, c.e.Data().CorrectedArguments, name)
			require.False(t, json.Valid([]byte(strings.TrimPrefix(line, "login "))), "no program sends it as it is")
			c.e = fault.FromData(c.e.Data())
		}
	}
	whole := trying(map[string]any{"city": "Bern", "said": "<as you sent it>"})
	require.Contains(t, faults.ScrubbedBy(whole, hides).Text(), "\nTry: login {\"city\":\"Bern\",\"said\":\"<as you sent it>\"}")
	require.NotNil(t, faults.ScrubbedBy(whole, hides).Data().CorrectedArguments)
}
