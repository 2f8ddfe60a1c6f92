package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/transport"
)

// tokens are users by the hashes of their tokens. Other servers check a signature, or ask a provider.
type tokens map[string]auth.TokenInfo

func (t tokens) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	hash := sha256.Sum256([]byte(token))
	user, known := t[hex.EncodeToString(hash[:])]
	if !known {
		return nil, auth.ErrInvalidToken // 401
	}
	user.Expiration = time.Now().Add(time.Hour)
	return &user, nil
}

// serve prints where it listens. When its context ends, it ends the calls first.
func serve(ctx context.Context, server *mcp.Server, address string, verify auth.TokenVerifier, calls *drain.Drain) error {
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	mux.Handle("/readyz", calls.Ready())
	mux.Handle("/livez", calls.Live())
	mux.Handle("/mcp", transport.HTTP(auth.RequireBearerToken(verify, nil)(handler), nil)) // outermost
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = calls.Shutdown(limit) // names the calls that did not end
	if web.Shutdown(limit) != nil {
		_ = web.Close()
	}
	return err
}
