// Package fault has the declarations of the library that the checks look for.
package fault

type (
	Error  struct{}
	Option struct{ Action, Tool string }
	Step   struct {
		Action, Tool string
		Options      []Option
	}
)

func NotFound(string) *Error                                { return nil }
func (*Error) Error() string                                { return "" }
func (e *Error) Step(string, string, map[string]any) *Error { return e }
func (e *Error) WithSteps(...Step) *Error                   { return e }
