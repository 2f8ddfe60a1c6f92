// Package transport stands outside of the SDK's server, where no middleware can: around its
// HTTP handler, and between it and a client over stdio.
//
//	http.Handle("/mcp", transport.HTTP(mcp.NewStreamableHTTPHandler(get, nil), nil)) // outermost
//	err := server.Run(ctx, transport.Stdio(nil))
//
// Both see that a message that the SDK cannot read gets an answer that says what is wrong with
// it, and go on after it. Both know when an answer has been written: package drain
// waits for that, so that a server that ends loses no answer. Over HTTP,
//
//   - a client whose token has expired, or is too narrow, is asked to sign in and to call again;
//   - a call whose client has gone ends, where the specification calls that a cancellation;
//   - what clients send and hold open has bounds.
//
// Readiness, liveness, and how long a server that ends waits for calls, are those of package
// drain. This package ends the streams that clients hold open when drain says so.
//
// To find the call that an answer belongs to, each POST and each request over stdio carries
// the header Mcpchain-Exchange on its way through the SDK. Its value is random and means
// something in this process only, until the answer is written. A header of this name that a
// client sends is dropped. The first middleware of this module that a call meets removes
// the header, so handlers do not see it. HTTP middlewares, and SDK middlewares outside of
// that first one, do see it.
package transport
