package config

import (
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

const canary = "zq-canary-of-a-header"

func TestHeaders(t *testing.T) {
	path := file(t, `{"to":"https://user:`+canary+`-in-a-url@example.com/mcp?api_key=`+canary+`-in-a-query&x=plain-words","headers":{"authorization":"Bearer ${TOKEN}","Cookie":"a=`+canary+`-in-a-cookie; b=x","X-Tenant":"acme-corporation"}}`)
	c, err := Parse([]string{"-config", path, "-header", "x-api-key: of the flag", "-header", "X-API-Key:  ${TOKEN}", "-header", "X-Tenant: other-corporation"})
	require.NoError(t, err)
	env := map[string]string{"TOKEN": "token-of-the-environment\n"}
	lookup := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	header, secrets, err := c.Header(lookup)
	require.NoError(t, err)
	require.Equal(t, http.Header{
		"Authorization": {"Bearer token-of-the-environment"}, "X-Api-Key": {"token-of-the-environment"},
		"Cookie": {"a=" + canary + "-in-a-cookie; b=x"}, "X-Tenant": {"other-corporation"},
	}, header)
	hide := Hider(nil, nil, nil, secrets...)
	for _, secret := range []string{
		"token-of-the-environment", "Bearer token-of-the-environment", canary + "-in-a-url", canary + "-in-a-query", canary + "-in-a-cookie",
		base64.StdEncoding.EncodeToString([]byte("user:" + canary + "-in-a-url")),
	} {
		require.NotContains(t, hide("before "+secret+" after"), secret)
		require.Contains(t, hide("before "+secret+" after"), "[redacted]")
	}
	require.Equal(t, "other-corporation plain-words x user", hide("other-corporation plain-words x user"))

	// What config prints is a file, but for the secrets that stand in it.
	text, err := c.Text()
	require.NoError(t, err)
	require.NotContains(t, string(text), canary)
	again, err := Parse([]string{"-config", file(t, string(text))})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"authorization": "Bearer ${TOKEN}", "X-Api-Key": "${TOKEN}", "Cookie": "[redacted]", "X-Tenant": "other-corporation"}, again.Headers)

	_, secrets, err = (&Config{To: "https://" + canary + "@x", Headers: map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+canary+"2"))}}).Header(lookup)
	require.NoError(t, err)
	require.Subset(t, secrets, []string{canary, canary + "2"})

	for _, value := range []string{"", "x\ny"} {
		env["TOKEN"] = value
		_, _, err = c.Header(lookup)
		require.ErrorContains(t, err, "the header")
	}
	delete(env, "TOKEN")
	_, _, err = c.Header(lookup)
	require.ErrorContains(t, err, "needs the environment variable TOKEN, which is not set")
}

func TestWhatIsRefusedOfARemoteServer(t *testing.T) {
	const to = "https://example.com/mcp"
	for want, args := range map[string][]string{
		`"to": it is no URL of a server`:                  {"-to", "example.com/" + canary},
		`"to": its scheme is neither http nor https`:      {"-to", "stdio://" + canary},
		`"to" and a command exclude each other`:           {"-to", to, "--", "server"},
		`"headers" are for a server that "to" names`:      {"-header", "X: " + canary, "server"},
		`a header is written as "NAME: VALUE"`:            {"-to", to, "-header", canary},
		`the name of a header has characters`:             {"-to", to, "-header", canary + " x: y"},
		`the header "Mcp-Method" is set by the protocol`:  {"-to", to, "-header", "mcp-method: " + canary},
		`the header "Mcp-Param-X" is set by the protocol`: {"-to", to, "-header", "mcp-param-x: " + canary},
		`the value of the header "X" has characters`:      {"-to", to, "-header", "X: " + canary + "\nY: z"},
		`the header "x" is given twice`:                   {"-to", to, "-config", file(t, `{"headers":{"x":"`+canary+`","X":"`+canary+`"}}`)},
		`"headers" is an object`:                          {"-to", to, "-config", file(t, `{"headers":"`+canary+`"}`)},
	} {
		_, err := Parse(args)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), canary)
	}
}
