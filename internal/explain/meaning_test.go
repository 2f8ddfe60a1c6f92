package explain_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// namesIn reads a list of names that a schema knows, with others that were sent.
func namesIn(t *testing.T, file string) (pairs [][2]string) {
	t.Helper()
	text, err := os.ReadFile("../near/testdata/" + file)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if known, sent, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ", "); ok && line[0] != '#' {
			pairs = append(pairs, [2]string{known, sent})
		}
	}
	require.Greater(t, len(pairs), 100)
	return pairs
}

// written writes JSON with names in the places of KNOWN and SENT.
func written(t *testing.T, text string, names [2]string) string {
	t.Helper()
	quoted := func(name string) string { raw, _ := json.Marshal(name); return string(raw) }
	text = strings.NewReplacer("KNOWN", quoted(names[0]), "SENT", quoted(names[1])).Replace(text)
	require.True(t, json.Valid([]byte(text)), text)
	return text
}

// positions are the places in which a name may be misspelled: the schema, what was sent and what was meant.
var positions = []struct{ name, schema, sent, meant string }{
	{"member", `{"properties":{KNOWN:{"type":"boolean"},"zz":{}},"additionalProperties":false}`, `{SENT:true}`, `{KNOWN:true}`},
	{"required", `{"properties":{KNOWN:{"type":"boolean"},"zz":{}},"required":[KNOWN],"additionalProperties":false}`, `{SENT:true}`, `{KNOWN:true}`},
	{"required, others may be sent", `{"properties":{KNOWN:{"type":"boolean"},"zz":{}},"required":[KNOWN]}`, `{SENT:true,"zz":1}`, `{KNOWN:true,"zz":1}`},
	{"of a form", `{"anyOf":[{"properties":{KNOWN:{"type":"string"}},"required":[KNOWN]},{"properties":{"zz":{"type":"string"}},"required":["zz"]}]}`, `{SENT:"a"}`, `{KNOWN:"a"}`},
	{"inside", `{"properties":{"at":{"items":{"properties":{KNOWN:{"type":"string"}},"required":[KNOWN],"additionalProperties":false}}}}`, `{"at":[{SENT:"a"}]}`, `{"at":[{KNOWN:"a"}]}`},
	{"value", `{"properties":{"at":{"enum":[KNOWN,"zz"]}}}`, `{"at":SENT}`, `{"at":KNOWN}`},
	{"only value", `{"properties":{"at":{"enum":[KNOWN]}}}`, `{"at":SENT}`, `{"at":KNOWN}`},
	{"constant", `{"properties":{"at":{"const":KNOWN}}}`, `{"at":SENT}`, `{"at":KNOWN}`},
	{"value of a list", `{"properties":{"at":{"type":"array","items":{"enum":[KNOWN,"zz"]}}}}`, `{"at":["zz",SENT]}`, `{"at":["zz",KNOWN]}`},
}

// TestMeaningIsKept: what means the opposite is neither corrected nor suggested, wherever it stands.
func TestMeaningIsKept(t *testing.T) {
	for _, pair := range namesIn(t, "opposites.txt") {
		for _, names := range [][2]string{pair, {pair[1], pair[0]}} {
			for _, n := range positions {
				report := mustCompile(t, written(t, n.schema, names)).Explain([]byte(written(t, n.sent, names)), false)
				require.NotNil(t, report, "%s: %q", n.name, names)
				require.Nil(t, report.Corrected, "%s: %q", n.name, names)
				require.Nil(t, report.Withheld, "%s: %q", n.name, names)
				require.NotContains(t, strings.ToLower(report.Text()), "did you mean", "%s: %q", n.name, names)
				require.NotContains(t, report.Text(), "Leave it out", "%s: %q", n.name, names)
			}
		}
	}
}

// TestMisspelledIsCorrected: what is only misspelled is corrected in each of these places.
func TestMisspelledIsCorrected(t *testing.T) {
	for _, names := range namesIn(t, "misspelled.txt") {
		for _, n := range positions {
			report := mustCompile(t, written(t, n.schema, names)).Explain([]byte(written(t, n.sent, names)), false)
			require.NotNil(t, report, "%s: %q", n.name, names)
			require.NotNil(t, report.Corrected, "%s: %q\n%s", n.name, names, report.Text())
			require.JSONEq(t, written(t, n.meant, names), string(report.Corrected), "%s: %q", n.name, names)
		}
	}
}

// TestCertain: what may mean something else is told in words, without a correction.
func TestCertain(t *testing.T) {
	const (
		confirm = `{"properties":{"yes":{"const":true},"no":{"enum":[false]},"n":{"const":2},"env":{"const":"production"},"mode":{"enum":["safe_mode"]}},"additionalProperties":false}`
		list    = `{"properties":{"tags":{"type":"array","items":{"type":"string"}},"days":{"type":"array","items":{"type":"integer"}},"of":{"type":"array","items":{"enum":["a, b","all"]}},"either":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]}}}`
		amounts = `{"properties":{"amount_cents":{"type":"integer"},"timeout_ms":{"type":"integer"},"delete_all":{"type":"boolean"},"gpu":{"type":"integer"},"file_path":{"type":"string"},"format":{"type":"string"}},"additionalProperties":false}`
		number  = `{"properties":{"whole":{"type":"integer"},"any":{"type":"number"},"note":{"type":"string"},"bar":{"enum":["5m","1h"]},"who":{"enum":["all","mine"]},"kind":{"enum":["moral"]}},"additionalProperties":false}`
		city    = `{"properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"],"additionalProperties":false}`
	)
	for _, c := range []struct{ schema, sent, meant, says string }{
		// The only value that is allowed is not meant for that.
		{confirm, `{"yes":false}`, ``, "Argument 'yes' expected true, but received false."},
		{confirm, `{"yes":"false"}`, ``, "expected true, but received 'false'."},
		{confirm, `{"yes":"no"}`, ``, "expected true"},
		{confirm, `{"yes":1}`, ``, "expected true"},
		{confirm, `{"no":true}`, ``, "expected false, but received true."},
		{confirm, `{"n":3}`, ``, "expected 2, but received 3."},
		{confirm, `{"env":"staging"}`, ``, "Argument 'env' expected 'production', but received 'staging'."},
		{confirm, `{"env":"prod"}`, ``, "Did you mean 'production'?"},
		{confirm, `{"env":"preproduction"}`, ``, "expected 'production'"},
		{confirm, `{"env":"non-production"}`, ``, "expected 'production', but received 'non-production'."},
		{confirm, `{"env":true}`, ``, "expected 'production'"},
		{confirm, `{"env":["production"]}`, ``, "expected 'production'"},
		{confirm, `{"yes":"true"}`, `{"yes":true}`, "Send true without quotes."},
		{confirm, `{"yes":" TRUE"}`, `{"yes":true}`, "Send true without quotes."},
		{confirm, `{"n":"2"}`, `{"n":2}`, "Send 2 without quotes."},
		{confirm, `{"env":" Production"}`, `{"env":"production"}`, "Did you mean 'production'?"},
		{confirm, `{"env":"prodution"}`, `{"env":"production"}`, "Did you mean 'production'?"},
		{confirm, `{"mode":"Safe Mode"}`, `{"mode":"safe_mode"}`, "Did you mean 'safe_mode'?"},
		{confirm, `{"mode":"unsafe_mode"}`, ``, "expected 'safe_mode', but received 'unsafe_mode'."},

		// A text is one item only if nothing in it separates several.
		{list, `{"tags":"17"}`, `{"tags":["17"]}`, "Send a list, even for one item."},
		{list, `{"tags":"owner/repo#17"}`, `{"tags":["owner/repo#17"]}`, "Send a list, even for one item."},
		{list, `{"tags":"[\"17\",\"18\"]"}`, `{"tags":["17","18"]}`, "Send the list itself, not a string."},
		{list, `{"tags":"17,18"}`, ``, "Send a list, not a string."},
		{list, `{"tags":"17, 18"}`, ``, "Send a list, not a string."},
		{list, `{"tags":"17;18"}`, ``, "Send a list, not a string."},
		{list, `{"tags":"17|18"}`, ``, "Send a list, not a string."},
		{list, `{"tags":"17\n18"}`, ``, "Send a list, not a string."},
		{list, `{"tags":"17 18"}`, ``, "Send a list, not a string."},
		{list, `{"tags":"17\t18"}`, ``, "Send a list, not a string."},
		{list, `{"tags":"17、18"}`, ``, "Send a list, not a string."},
		{list, `{"tags":"17+18"}`, ``, "Send a list, not a string."},
		{list, `{"tags":"[17"}`, ``, "Send a list, not a string."},
		{list, `{"tags":"['17']"}`, ``, "Send a list, not a string."},
		{list, `{"tags":"{17}"}`, ``, "Send a list, not a string."},
		{list, `{"tags":""}`, ``, "Send a list, not a string."},
		{list, `{"tags":"None"}`, ``, "Send a list, not a string."},
		{list, `{"tags":"all"}`, ``, "Send a list, not a string."},
		{list, `{"tags":"*"}`, ``, "Send a list, not a string."},
		{list, `{"of":"a, b"}`, `{"of":["a, b"]}`, "Send a list, even for one item."},
		{list, `{"of":"all"}`, `{"of":["all"]}`, "Send a list, even for one item."},
		{list, `{"days":7}`, `{"days":[7]}`, "Send a list, even for one item."},
		{list, `{"days":"7"}`, ``, "expected a list of integers"},
		{list, `{"days":"7,8"}`, ``, "expected a list of integers"},
		{list, `{"either":7}`, ``, "expected a string or a list of integers"},

		// A number keeps its value, which depends on where its reader lives, or how many digits that one keeps.
		{number, `{"whole":"1.000"}`, ``, "but received '1.000'."},
		{number, `{"any":"-12.000"}`, ``, "but received '-12.000'."},
		{number, `{"whole":"1,000"}`, ``, "but received '1,000'."},
		{number, `{"whole":"1.0"}`, `{"whole":1.0}`, "Send 1.0 without quotes."},
		{number, `{"any":"0.125"}`, `{"any":0.125}`, "Send 0.125 without quotes."},
		{number, `{"whole":"9007199254740993"}`, `{"whole":9007199254740993}`, "Send 9007199254740993 without quotes."},
		{number, `{"any":"0.1234567890123456789"}`, ``, "without quotes."},
		{number, `{"any":0.1234567890123456789,"noet":"a"}`, ``, "Did you mean 'note'?"},
		{number, `{"any":1.234567890123456789e18,"noet":"a"}`, ``, "Did you mean 'note'?"},
		{number, `{"any":1e-400,"noet":"a"}`, ``, "Did you mean 'note'?"},
		{number, `{"any":1.10,"noet":"a"}`, `{"any":1.10,"note":"a"}`, "Did you mean 'note'?"},

		// A sentence with a value in it may say anything of it, M are months, and a letter may be a prefix.
		{number, `{"who":"all but mine"}`, ``, "but received 'all but mine'."},
		{number, `{"who":"mine is forbidden"}`, ``, "but received 'mine is forbidden'."},
		{number, `{"who":" Mine "}`, `{"who":"mine"}`, "Did you mean 'mine'?"},
		{number, `{"bar":"5M"}`, ``, "but received '5M'."},
		{number, `{"bar":"1H"}`, `{"bar":"1h"}`, "Did you mean '1h'?"},
		{number, `{"kind":"amoral"}`, ``, "expected 'moral'"},

		// One word more may say that something else is meant.
		{amounts, `{"amount":50}`, ``, "Did you mean 'amount_cents'?"},
		{amounts, `{"timeout":50}`, ``, "Did you mean 'timeout_ms'?"},
		{amounts, `{"timeout_s":50}`, ``, "Argument 'timeout_s' is unknown."},
		{amounts, `{"delete":true}`, ``, "Argument 'delete' is unknown."},
		{amounts, `{"cpu":1}`, ``, "Did you mean 'gpu'?"},
		{amounts, `{"path":"a"}`, ``, "Did you mean 'file_path'?"},
		{amounts, `{"form":"a"}`, ``, "Did you mean 'format'?"},
		{amounts, `{"timeoutMs":50}`, `{"timeout_ms":50}`, "Did you mean 'timeout_ms'?"},

		// Nothing that was sent is left out, and nothing takes a name because it is the only one left.
		{city, `{"ciy":"Bern","dry_run":true}`, ``, "Argument 'dry_run' is unknown."},
		{city, `{"city":"Bern","dry_run":true}`, ``, "Argument 'dry_run' is unknown."},
		{city, `{"city":"Bern","citty":"Rome"}`, ``, "Argument 'citty' is unknown. 'city' is there already."},
		{city, `{"place":"Bern"}`, ``, "Argument 'city' is required"},
		{city, `{"arguments":{"city":"Bern"},"dry_run":true}`, ``, "Argument 'dry_run' is unknown."},
		{city, `{"arguments":{"city":"Bern"},"tool":true}`, ``, "Argument 'tool' is unknown."},
		{strings.Replace(city, `,"additionalProperties":false`, "", 1), `{"ciy":"Bern","dry_run":true}`, `{"city":"Bern","dry_run":true}`, "did you mean 'city'?"},
	} {
		report := mustCompile(t, c.schema).Explain([]byte(c.sent), false)
		require.NotNil(t, report, c.sent)
		require.Equal(t, c.meant, string(report.Corrected), "%s\n%s", c.sent, report.Text())
		require.Contains(t, report.Text(), c.says, c.sent)
	}
}

// TestDescriptionOfTheOnlyValue: what the author of the schema says of it is said to a caller that sent another one.
func TestDescriptionOfTheOnlyValue(t *testing.T) {
	s := mustCompile(t, `{"properties":{"confirm":{"const":true,"description":"You MUST ask the user before you set this."}}}`)
	require.Equal(t, "Argument 'confirm' expected true, but received false. Its description: You MUST ask the user before you set this.",
		s.Explain([]byte(`{"confirm":false}`), false).Text())
}

// TestDescriptionInThePlaceOfNull: what the author says of an argument is said where null was sent for it, as it is
// where nothing was sent.
func TestDescriptionInThePlaceOfNull(t *testing.T) {
	s := mustCompile(t, `{"properties":{"account":{"type":"string","description":"You MUST ask the user which account."},"note":{"type":"string","description":"A note."}},"required":["account"]}`)
	require.Equal(t, "Argument 'account' expected a string, but received null. Its description: You MUST ask the user which account.",
		s.Explain([]byte(`{"account":null}`), false).Text())
	require.Contains(t, s.Explain([]byte(`{"account":"a","note":null}`), false).Text(), "but received null. Leave it out instead of sending null.")
}

// TestToolBesideTheArguments: the name of a tool that stands beside wrapped arguments is reported.
func TestToolBesideTheArguments(t *testing.T) {
	s := mustCompile(t, `{"properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`)
	report := s.Explain([]byte(`{"arguments":{"input":{"city":"Bern"},"name":"b"},"tool":"a"}`), false)
	require.Equal(t, `{"city":"Bern"}`, string(report.Corrected))
	require.Equal(t, []string{"a", "b"}, report.Tools)
	require.Empty(t, s.Explain([]byte(`{"arguments":{"city":"Bern"}}`), false).Tools)
}
