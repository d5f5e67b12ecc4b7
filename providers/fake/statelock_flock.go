//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package fake

import (
	"errors"
	"os"
	"syscall"
)

// This file locks files. A lock ends with the process that holds it, however that ends.

// lockFile waits for a lock: an exclusive one, or one that it shares with other readers.
func lockFile(f *os.File, own bool) error {
	how := syscall.LOCK_SH
	if own {
		how = syscall.LOCK_EX
	}
	return flock(f, how)
}

// tryLockFile takes an exclusive lock if it is free.
func tryLockFile(f *os.File) (bool, error) {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func unlockFile(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}
