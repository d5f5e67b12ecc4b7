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

// This file is files that several processes read and write. FILE.lock is locked while they do, and
// holds a number that is raised before anything else is written: who knows another one has old
// news. Each file is replaced as a whole, so that a process that is killed leaves the old one or
// the new one.

// A store is the files of one cloud, and what this process knows of them. Its methods take turns.
type store struct {
	path string   // of the state file; nothing is kept if it is empty
	lock *os.File // nil if nothing is kept
	seen int64    // the version that memory is equal to; unread if there is none
}

const unread = -1

func (s *store) open() error {
	if s.path == "" {
		return nil
	}
	s.seen = unread
	var err error
	s.lock, err = s.openLock(".lock")
	return err
}

// openLock opens a file to be locked.
func (s *store) openLock(suffix string) (*os.File, error) {
	f, err := os.OpenFile(s.path+suffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening a lock: %w", err)
	}
	return f, nil
}

// acquire keeps other processes from writing, and from reading too if this one is about to write.
func (s *store) acquire(write bool) (release func(), err error) {
	if s.lock == nil {
		return func() {}, nil
	}
	if err := lockFile(s.lock, write); err != nil {
		return nil, fmt.Errorf("locking %s: %w", s.lock.Name(), err)
	}
	return func() { _ = unlockFile(s.lock) }, nil // nobody can help where this fails
}

// version is the number of what the files hold.
func (s *store) version() (int64, error) {
	if s.lock == nil {
		return s.seen, nil
	}
	var number [8]byte
	n, err := s.lock.ReadAt(number[:], 0)
	if n == 0 && errors.Is(err, io.EOF) {
		return 0, nil // nobody has written yet
	}
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", s.lock.Name(), err)
	}
	return int64(binary.BigEndian.Uint64(number[:])), nil
}

// commit writes what memory has become. Where that fails it is not known what the files hold, and
// memory is to be read from them again.
func (s *store) commit(write func() error) error {
	if s.lock == nil {
		return nil
	}
	next := s.seen + 1
	s.seen = unread
	number := binary.BigEndian.AppendUint64(nil, uint64(next))
	if _, err := s.lock.WriteAt(number, 0); err != nil {
		return fmt.Errorf("writing %s: %w", s.lock.Name(), err)
	}
	if err := write(); err != nil {
		return err
	}
	s.seen = next
	return nil
}

// write replaces one of the files as a whole.
func (s *store) write(suffix string, mode fs.FileMode, content any) error {
	name := s.path + suffix
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	fresh := name + ".new" // one that was left behind is written over
	err = os.WriteFile(fresh, append(text, '\n'), mode)
	if err == nil {
		err = os.Rename(fresh, name)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// read reads one of the files, if it is there.
func (s *store) read(suffix string, into any) error {
	name := s.path + suffix
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
