//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package fake

import "os"

// This file locks nothing: on these systems a state file is for one process at a time.

func lockFile(*os.File, bool) error { return nil }

func tryLockFile(*os.File) (bool, error) { return true, nil }

func unlockFile(*os.File) error { return nil }
