package fault

// What the other packages reach through internal/faults.

func (e *Error) ScrubbedBy(scrubber func(string) string) *Error { return e.scrubbedBy(scrubber) }

func (e *Error) WithReference(id string) *Error { return e.withReference(id) }
