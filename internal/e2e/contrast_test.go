package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/child"
)

// TestWithoutMcpchain shows what the same failures do to a server that has no
// mcpchain, so that the other tests are known to prove something.
func TestWithoutMcpchain(t *testing.T) {
	for _, shape := range shapes[:2] {
		bare := func(s *scenario) fate {
			if shape.speaks < version2026 {
				return s.bareOld
			}
			return s.bare
		}
		t.Run(shape.String(), func(t *testing.T) {
			t.Parallel()
			p := connect(t, start(t, config{Transport: shape.transport, Chain: chainNone}), shape.asks)
			count := map[fate]int{}
			for _, s := range scenarios() {
				if !only.MatchString(s.name) || s.skip != nil && s.skip(p) != "" {
					continue
				}
				count[bare(&s)]++
				switch bare(&s) {
				case leaks:
					p.requireLeak(t, &s)
				case hangs:
					p.requireHang(t, &s)
				case dies:
					if count[dies] <= 5 || !racing && !testing.Short() { // a process each
						requireDeath(t, shape, &s)
					}
				}
			}
			t.Logf("%d leak, %d are never answered, %d kill the process", count[leaks], count[hangs], count[dies])
		})
	}
}

// TestAPanicKillsABareHTTPServer proves that net/http does not help.
func TestAPanicKillsABareHTTPServer(t *testing.T) {
	for _, s := range scenarios() {
		if s.name == "panic-string.raw" || s.name == "panic-abort.raw" {
			for _, shape := range shapes[2:] {
				requireDeath(t, shape, &s)
			}
		}
	}
}

// requireLeak requires that the canary leaves the server.
func (p *peer) requireLeak(t *testing.T, s *scenario) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	mark := p.rec.mark()
	_, _ = s.call(ctx, p, s.name)
	require.NotEmpty(t, child.Leak(p.rec.bytes(mark)), s.name)
}

// requireHang requires that a call is not answered while later ones are.
func (p *peer) requireHang(t *testing.T, s *scenario) {
	t.Helper()
	mark := p.rec.mark()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.call(ctx, p, s.name)
	}()
	// The log is of no help here, so give the call some time to be answered.
	time.Sleep(5 * time.Millisecond)
	const later = 5
	for range later {
		p.stats(t, false)
	}
	require.Len(t, p.rec.answers(t, mark), later, "%s was answered", s.name)
	cancel()
	<-done
}

// requireDeath requires that the process ends with a panic.
func requireDeath(t *testing.T, shape shape, s *scenario) {
	t.Helper()
	p := connect(t, start(t, config{Transport: shape.transport, Chain: chainNone}), shape.asks)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() { _, _ = s.call(ctx, p, s.name) }()
	select {
	case <-p.Exited:
		require.Error(t, p.Err, s.name)
		require.Contains(t, p.Stderr.String(), "panic", s.name)
	case <-ctx.Done():
		require.FailNow(t, "the server lives", s.name)
	}
}

// TestMalformedRequests sends what no middleware ever sees, because the SDK answers
// it before, to a server with mcpchain and to one without, and requires the same
// answers. Afterwards the server is as well as before.
func TestMalformedRequests(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.String(), func(t *testing.T) {
			t.Parallel()
			var all [2][]string
			for i, chain := range []string{chainNone, chainStandard} {
				p := connect(t, start(t, config{Transport: shape.transport, Chain: chain, JSON: shape.json}), shape.asks)
				for n, m := range malformed() {
					all[i] = append(all[i], p.exchange(t, n, m.method, m.params))
				}
				require.Empty(t, p.Log.Since(t, 0), "these are not calls")
				p.stats(t, false)
				require.NoError(t, p.cs.Close())
				p.Stop(t)
			}
			require.Equal(t, all[0], all[1])
		})
	}
}

type request struct {
	method string
	params any
}

func malformed() []request {
	raw := func(text string) any { return json.RawMessage(text) }
	return []request{
		{"no/such/method", map[string]any{}},
		{"tools/call", raw(`"` + "a text" + `"`)},
		{"tools/call", raw(`[1]`)},
		{"tools/call", map[string]any{"name": 7}},
		{"tools/call", raw(`null`)},
		{"resources/read", map[string]any{"uri": []int{1}}},
		{"prompts/get", map[string]any{"name": "slow", "arguments": map[string]any{"key": 7}}},
		{"completion/complete", map[string]any{"ref": map[string]any{"type": "ref/nothing"}, "argument": map[string]any{"name": "a", "value": "b"}}},
		{"acme/unknown", map[string]any{}},
		{"", map[string]any{}},
	}
}

// exchange sends one request with a fixed ID and returns the answer as it came,
// with the status and the body where it is no message.
func (p *peer) exchange(t require.TestingT, n int, method string, params any) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	id := fmt.Sprintf("raw-%s-%d", method, n)
	data, err := json.Marshal(p.request(id, method, params))
	require.NoError(t, err)
	if p.URL == "" {
		m, _ := p.send(ctx, id, method, data)
		require.NoError(t, ctx.Err(), "%s %s", method, p.Stderr)
		return string(m.raw)
	}
	resp, err := p.post(ctx, method, data)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.Status + " " + resp.Header.Get("Content-Type") + "\n" + string(body)
}
