//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package audit

// lock does not lock where there is no flock.
func lock(string) (unlock func(), err error) { return func() {}, nil }

// syncDir does nothing where directories cannot be synced.
func syncDir(string) error { return nil }
