package kube

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// This file gives the tests of a package a network namespace of their own, in which Pods have
// addresses that are not loopback, as an API server demands, and any port may be listened on.

// inside marks a test that runs in its namespace.
const inside = "TEST_NAMESPACE_OF_FAIRLEAD"

// enterNamespace runs the tests again, in a namespace, and returns how they ended. It returns
// false in those tests themselves.
func enterNamespace() (code int, outside bool, err error) {
	if os.Getenv(inside) != "" {
		return 0, false, prepareNamespace()
	}
	runtime.LockOSThread() // the tests die with this thread, and so with us
	defer runtime.UnlockOSThread()
	tests := exec.Command("/proc/self/exe", os.Args[1:]...) //nolint:noctx // what stops us stops them
	tests.Env = append(os.Environ(), inside+"=1")
	tests.Stdin, tests.Stdout, tests.Stderr = os.Stdin, os.Stdout, os.Stderr
	tests.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if uid := os.Getuid(); uid != 0 { // a user of its own is who may have a network of its own
		tests.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		tests.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		tests.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	err = tests.Run()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		return 0, true, fmt.Errorf("running tests in a network namespace: %w", err)
	}
	return tests.ProcessState.ExitCode(), true, nil
}

// prepareNamespace brings loopback up and gives it the network of the Pods: all addresses of a
// network that loopback has are local.
func prepareNamespace() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("preparing a network namespace: %w", err)
	}
	defer unix.Close(socket)
	for _, change := range []struct {
		what    string
		device  string
		request uint
		set     func(*unix.Ifreq) error
	}{
		{"bringing loopback up", "lo", unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP); return nil }},
		{"adding an address", "lo:0", unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(podNetwork.Addr().AsSlice()) }},
		{"widening it", "lo:0", unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr(podMask) }},
	} {
		r, err := unix.NewIfreq(change.device)
		if err == nil {
			err = change.set(r)
		}
		if err == nil {
			err = unix.IoctlIfreq(socket, change.request, r)
		}
		if err != nil {
			return fmt.Errorf("preparing a network namespace: %s: %w", change.what, err)
		}
	}
	return nil
}
