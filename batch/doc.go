// Package batch runs one function over many items so that some of them may fail:
// what succeeded is kept, what failed is told item by item, and what to send again
// is listed.
//
//	func read(ctx context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, batch.Output[File], error) {
//		return batch.Run(ctx, in.Files, readFile, nil).Output()
//	}
//
// A panic, a runtime.Goexit or a stuck call of the function is the failure of its own
// item only. A failed item is a failure like that of a call: inside a call that passes
// mcpchain's middlewares it is classified, masked and recorded by the same settings,
// under the reference of the call followed by "." and the index of the item.
//
// The answer is a success when anything succeeded, and names what did not. It is an
// error only when nothing succeeded. See [Result.Output] and [Result.ToolResult].
//
// [New] is a middleware that gives a tool that takes one item a sibling that takes a
// list of them, without a change to its handler:
//
//	server.AddReceivingMiddleware(batch.New(&batch.Options{Lists: []batch.List{
//		{Tool: "get_user", Item: "user_id", As: "get_users", Items: "user_ids"},
//	}}))
package batch
