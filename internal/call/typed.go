package call

import "context"

// TypedKey finds the [Typed] that middleware.ToolFor puts into the context of a typed handler.
type TypedKey struct{}

// A Typed is a call inside the SDK's typed handler, where a nil result is right and the output is
// not for the wire yet.
type Typed interface {
	// Input returns the decoded arguments.
	Input() any
	// HasOutput reports whether the structured content is the output of the handler, which the SDK
	// has still to marshal, and not what the handler put into its result itself.
	HasOutput() bool
}

// TypedOf returns what the handler that ctx belongs to is called with, nil unless it is wrapped by
// middleware.ToolFor.
func TypedOf(ctx context.Context) Typed {
	t, _ := ctx.Value(TypedKey{}).(Typed)
	return t
}

// Cleans reports whether what a failed tool call has as structured content is cleaned when it is rendered. Its own types
// are needed until then: of an error or of bytes JSON does not tell what they were.
func Cleans(ctx context.Context) bool {
	c := FromContext(ctx)
	return c != nil && c.settings().Mask != nil
}
