package fake

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// This file reads and writes under a lock. FILE.lock is locked meanwhile, and holds a version that
// is raised before any other write: a process that knows another version has old data. Each file is
// replaced as a whole, so that a killed process leaves the old one or the new one.

// A stateFile has the files of one cloud, and the version that this process has read. Callers do not
// call its methods at the same time.
type stateFile struct {
	Path string   // of the state file; if it is empty, nothing is stored
	lock *os.File // nil if nothing is stored
	Seen int64    // the version that this process has read, or unread
}

const unread = -1

func (s *stateFile) Open() error {
	if s.Path == "" {
		return nil
	}
	s.Seen = unread
	var err error
	s.lock, err = s.OpenLock(".lock")
	return err
}

// Close ends the use of the files.
func (s *stateFile) Close() {
	if s.lock != nil {
		s.lock.Close()
	}
}

// OpenLock opens a file to be locked.
func (s *stateFile) OpenLock(suffix string) (*os.File, error) {
	f, err := os.OpenFile(s.Path+suffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening a lock: %w", err)
	}
	return f, nil
}

// Acquire locks out other writers, and for a write other readers, too.
func (s *stateFile) Acquire(write bool) (release func(), err error) {
	if s.lock == nil {
		return func() {}, nil
	}
	if err := lockFile(s.lock, write); err != nil {
		return nil, fmt.Errorf("locking %s: %w", s.lock.Name(), err)
	}
	return func() { _ = unlockFile(s.lock) }, nil // an error has no consequence
}

// Version returns the version of the files.
func (s *stateFile) Version() (int64, error) {
	if s.lock == nil {
		return s.Seen, nil
	}
	var number [8]byte
	n, err := s.lock.ReadAt(number[:], 0)
	if n == 0 && errors.Is(err, io.EOF) {
		return 0, nil // before the first write
	}
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", s.lock.Name(), err)
	}
	return int64(binary.BigEndian.Uint64(number[:])), nil
}

// Commit raises the version and writes. After an error the contents of the files are unknown, and
// have to be read again.
func (s *stateFile) Commit(write func() error) error {
	if s.lock == nil {
		return nil
	}
	next := s.Seen + 1
	s.Seen = unread
	number := binary.BigEndian.AppendUint64(nil, uint64(next))
	if _, err := s.lock.WriteAt(number, 0); err != nil {
		return fmt.Errorf("writing %s: %w", s.lock.Name(), err)
	}
	if err := write(); err != nil {
		return err
	}
	s.Seen = next
	return nil
}

// Write replaces one of the files as a whole.
func (s *stateFile) Write(suffix string, mode fs.FileMode, content any) error {
	name := s.Path + suffix
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	fresh := name + ".new" // overwrites the file of a killed process
	err = os.WriteFile(fresh, append(text, '\n'), mode)
	if err == nil {
		err = os.Rename(fresh, name)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// Read reads one of the files if it exists.
func (s *stateFile) Read(suffix string, into any) error {
	name := s.Path + suffix
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading %s: it is not a state file, or is cut short: %w", name, err)
	}
	return nil
}
