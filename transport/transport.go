// Package transport is what stands outside of the SDK's server, where no middleware can:
// around its HTTP handler, and between it and a client over stdio.
//
//	http.Handle("/mcp", transport.HTTP(mcp.NewStreamableHTTPHandler(get, nil), nil)) // outermost
//	err := server.Run(ctx, transport.Stdio(nil))
//
// Both answer what the SDK cannot read without showing it to others and without ending, and
// both know when an answer has been written: package drain waits for that, so that a server
// that ends loses no answer.
//
// To find the call that an answer belongs to, each POST and each request over stdio carries
// the header Mcpchain-Exchange on its way through the SDK. Its value is random and has a
// meaning in this process only, until the answer is written; what a client sends under this
// name is dropped. The first middleware of this module that a call meets takes the header
// away, so handlers do not see it. HTTP middlewares and the SDK's middlewares that stand
// outside of it do.
package transport
