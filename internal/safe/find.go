package safe

// Find walks through err and the errors that it wraps, the outermost first, until found reports true. It
// returns whether found did. The errors may be untrusted: a method that panics ends the walk with false,
// and so does a tree of more than 256 errors.
func Find(err error, found func(error) bool) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	left := 256 // the error may be huge or have a cycle
	return find(err, found, &left)
}

func find(err error, found func(error) bool, left *int) bool {
	for err != nil && *left > 0 {
		*left--
		if found(err) {
			return true
		}
		switch e := err.(type) {
		case interface{ Unwrap() []error }:
			for _, part := range e.Unwrap() {
				if find(part, found, left) {
					return true
				}
			}
			return false
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		default:
			return false
		}
	}
	return false
}

// Is does what errors.Is does, as [Find] walks.
func Is(err, target error) bool {
	return Find(err, func(err error) bool {
		if Same(err, target) {
			return true
		}
		e, ok := err.(interface{ Is(error) bool })
		return ok && e.Is(target)
	})
}
