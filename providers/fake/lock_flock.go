//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package fake

import (
	"errors"
	"os"
	"syscall"
)

// This file is locks that end with the process that holds them, however it ends.

// lockFile waits for a lock: one of its own, or one that it shares with others who only read.
func lockFile(f *os.File, own bool) error {
	how := syscall.LOCK_SH
	if own {
		how = syscall.LOCK_EX
	}
	return flock(f, how)
}

// tryLockFile takes a lock of its own if nobody has it.
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
