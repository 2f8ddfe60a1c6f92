package mcptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/internal/conduct"
)

// NoLeak requires that no secret is in what left a server: in everything that it sent, if
// left is a [Session], else in the one result, error, text or other value, as JSON. Case
// does not matter. NoLeak also finds a secret in hexadecimal, in base64, and if it is escaped for
// JSON, URLs or HTML, even several times over. NoLeak does not read the server's log.
//
// Put an invented secret into whatever fails, a cause, a path, a panic, and look for it
// here. NoLeak ends the test if there is no secret to look for.
func NoLeak(t testing.TB, left any, secrets ...string) {
	t.Helper()
	if len(secrets) == 0 {
		t.Fatalf("mcptest.NoLeak: there is no secret to look for")
	}
	text := bytesOf(t, left)
	for _, secret := range secrets {
		if strings.TrimSpace(secret) == "" {
			t.Fatalf("mcptest.NoLeak: a secret is empty")
		}
		number := 0
		for message := range bytes.Lines(text) {
			number++
			if how, around := conduct.Find(string(message), secret); around != "" {
				t.Errorf("mcptest.NoLeak: the secret %q left the server%s, in message %d:\n\t%s", secret, how, number, around)
				break
			}
		}
	}
}

// bytesOf returns the bytes of a value as it leaves a server.
func bytesOf(t testing.TB, left any) []byte {
	t.Helper()
	switch v := left.(type) {
	case *Session:
		return v.Sent()
	case []byte:
		return v
	case string:
		return []byte(v)
	case error:
		if wire, ok := errors.AsType[*jsonrpc.Error](v); ok {
			return append([]byte(v.Error()+"\n"), wire.Data...)
		}
		return []byte(v.Error())
	}
	b, err := json.Marshal(left)
	if err != nil {
		t.Fatalf("mcptest.NoLeak: %T cannot leave as JSON: %v", left, err)
	}
	return b
}
