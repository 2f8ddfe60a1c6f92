package classify

// WaitOf is how long a header asks to wait.
var WaitOf = waitOf
