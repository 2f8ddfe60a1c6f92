// Package batch runs one function over many items, some of which may fail. It keeps what
// succeeded, says item by item what failed, and lists what to send again.
//
//	func read(ctx context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, batch.Output[File], error) {
//		return batch.Run(ctx, in.Files, readFile, nil).Output()
//	}
//
// A panic, a runtime.Goexit or a stuck call of the function fails its own item only. A
// failed item is handled like a failed call: inside a call that passes mcpchain's
// middlewares, the same settings classify, mask and record it. Its reference is that of the
// call, followed by "." and the index of the item.
//
// The answer is an error only if nothing succeeded. See [Result.Output] and
// [Result.ToolResult].
//
// [New] is a middleware that gives a tool that takes one item a sibling that takes a list
// of them. The handler of the tool does not change:
//
//	server.AddReceivingMiddleware(batch.New(&batch.Options{Lists: []batch.List{
//		{Tool: "get_user", Item: "user_id", As: "get_users", Items: "user_ids"},
//	}}))
package batch
