package output

import (
	"io"
	"os"
	"sync"
)

// Open opens a file to which lines are appended, which only its owner can read. A named pipe is opened
// with the first line, because that waits until somebody reads it.
func Open(path string) (io.WriteCloser, error) {
	if is, err := os.Stat(path); err == nil && is.Mode()&os.ModeNamedPipe != 0 {
		return &named{path: path}, nil
	}
	return appending(path)
}

func appending(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // its user names it
}

// A named pipe is opened again when its reader has gone: the next line waits for another one.
type named struct {
	path string

	mu   sync.Mutex
	file *os.File
}

func (n *named) Write(line []byte) (int, error) {
	file, err := n.open()
	if err != nil {
		return 0, err
	}
	written, err := file.Write(line)
	if err != nil {
		_ = n.Close()
	}
	return written, err
}

// open is called by one goroutine, that of an [Output]. It holds no lock while it waits.
func (n *named) open() (*os.File, error) {
	n.mu.Lock()
	file := n.file
	n.mu.Unlock()
	if file != nil {
		return file, nil
	}
	file, err := appending(n.path)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.file = file
	return file, nil
}

func (n *named) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	file := n.file
	n.file = nil
	if file == nil {
		return nil
	}
	return file.Close()
}
