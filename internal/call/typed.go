package call

import "context"

// TypedKey finds what middleware.ToolFor puts into the context of a typed handler. It
// tells a recovery that it stands inside the SDK's typed handler, where a nil result
// is right and the output is not for the wire yet.
type TypedKey struct{}

// InsideTyped reports whether ctx belongs to a handler wrapped by middleware.ToolFor,
// where the SDK has still to make the result from the handler's output.
func InsideTyped(ctx context.Context) bool { return ctx.Value(TypedKey{}) != nil }

// TypedOutput reports whether the structured content of the handler that ctx
// belongs to is the output of one wrapped by middleware.ToolFor, which the SDK has
// still to marshal, and not what the handler put into its result itself.
func TypedOutput(ctx context.Context) bool {
	c, ok := ctx.Value(TypedKey{}).(interface{ HasOutput() bool })
	return ok && c.HasOutput()
}

// Cleans reports whether what a failed tool call has as structured content is cleaned when it is rendered. Its own types
// are needed until then: of an error or of bytes JSON does not tell what they were.
func Cleans(ctx context.Context) bool {
	c := FromContext(ctx)
	return c != nil && c.settings().mask != nil
}

// TypedInput returns the decoded arguments of the handler that ctx belongs to, nil unless
// it is wrapped by middleware.ToolFor.
func TypedInput(ctx context.Context) any {
	c, ok := ctx.Value(TypedKey{}).(interface{ Input() any })
	if !ok {
		return nil
	}
	return c.Input()
}
