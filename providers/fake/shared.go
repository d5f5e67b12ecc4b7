package fake

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

// This file shares one cloud between processes that name the same state file. A process that
// changes the cloud locks the file, reads the changes of others, and writes its own. One process at
// a time has the sockets: it holds the lock of FILE.sockets while it lives, follows the file,
// checks targets, and writes their health to FILE.health.

// followEvery is the time between two checks of the files for changes, and of the sockets' lock.
const followEvery = 10 * time.Millisecond

// change changes the cloud, after the changes of other processes.
func (c *Cloud) change(do func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	release, err := c.files.Acquire(true)
	if err != nil {
		return err
	}
	defer release()
	if err := c.catchUp(); err != nil {
		return err
	}
	if err := c.readHealth(); err != nil {
		return err
	}
	return do()
}

// look reads the present state of the cloud.
func (c *Cloud) look(do func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refresh(); err != nil {
		return err
	}
	if err := c.readHealth(); err != nil {
		return err
	}
	return do()
}

// refresh reads the files if they have changed.
func (c *Cloud) refresh() error {
	if now, err := c.files.Version(); err != nil || now == c.files.Seen {
		return err
	}
	release, err := c.files.Acquire(false)
	if err != nil {
		return err
	}
	defer release()
	return c.catchUp()
}

// catchUp reads the files if they have changed. The caller holds their lock.
func (c *Cloud) catchUp() error {
	now, err := c.files.Version()
	if err != nil || now == c.files.Seen {
		return err
	}
	if err := c.load(); err != nil {
		return err
	}
	c.files.Seen = now
	return nil
}

// share reads the files and starts to follow them. The first process gets the sockets at once.
func (c *Cloud) share() error {
	if err := c.files.Open(); err != nil {
		return err
	}
	c.here = c.options.Serve
	if c.files.Path == "" {
		return nil
	}
	if c.options.Serve {
		var err error
		if c.sockets, err = c.files.OpenLock(".sockets"); err != nil {
			return err
		}
		if c.here, err = tryLockFile(c.sockets); err != nil {
			return fmt.Errorf("locking %s: %w", c.sockets.Name(), err)
		}
	}
	c.health.Store(c.here) // the health in the files is of another process
	if err := c.change(c.reopen); err != nil {
		return err
	}
	if err := c.change(func() error { return c.certificates.Persist(&c.files) }); err != nil {
		return err
	}
	if c.options.Serve {
		c.following = make(chan struct{})
		c.followed.Go(c.follow)
	}
	return nil
}

// follow calls followOnce until the cloud is closed. After an error it tries again; calls of the
// cloud return the error.
func (c *Cloud) follow() {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		select {
		case <-c.following:
			return
		case <-ticker.C:
			_ = c.followOnce()
		}
	}
}

// followOnce serves the state in the files, unless another process serves it.
func (c *Cloud) followOnce() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.here {
		free, err := tryLockFile(c.sockets)
		if err != nil || !free {
			return err
		}
		if err := c.takeOver(); err != nil {
			return err
		}
	}
	if err := c.refresh(); err != nil {
		return err
	}
	for _, r := range c.records {
		if err := c.openPorts(r); err != nil {
			return err
		}
	}
	return c.writeHealth()
}

// takeOver starts to check targets, from their last known health. Requests of targets that have
// left ended with the other process.
func (c *Cloud) takeOver() error {
	if err := c.readHealth(); err != nil {
		return err
	}
	c.here = true
	c.health.Store(true) // the health in the files is of another process
	for _, r := range c.records {
		for _, p := range r.pools {
			p.TakeOver()
		}
	}
	return nil
}

// A report is the health of all targets.
type report map[lb.Key]map[lb.GroupID][]lb.TargetHealth

// writeHealth writes the health of targets for other processes, if it has changed.
func (c *Cloud) writeHealth() error {
	if !c.health.Swap(false) {
		return nil
	}
	all := report{}
	for key, r := range c.records {
		all[key] = map[lb.GroupID][]lb.TargetHealth{}
		for id, p := range r.pools {
			all[key][id] = p.Health()
			if p.Draining() {
				c.health.Store(true) // the next turn writes that they have left
			}
		}
	}
	return c.files.Write(".health", 0o644, all)
}

// readHealth reads the health of targets that another process checks.
func (c *Cloud) readHealth() error {
	if c.here || !c.options.Serve {
		return nil
	}
	var all report
	if err := c.files.Read(".health", &all); err != nil {
		return err
	}
	for key, r := range c.records {
		for id, p := range r.pools {
			p.SetStates(all[key][id])
		}
	}
	return nil
}

// stopFollowing ends the turns.
func (c *Cloud) stopFollowing() {
	if c.following != nil {
		close(c.following)
		c.followed.Wait()
	}
}

// unshare closes the files and the sockets.
func (c *Cloud) unshare() {
	if c.sockets != nil {
		c.sockets.Close()
	}
	c.files.Close()
}

// reopen opens all ports in the state file, at the sockets that they had if these are free.
func (c *Cloud) reopen() error {
	if !c.here {
		return nil
	}
	changed := false
	for _, key := range slices.Sorted(maps.Keys(c.records)) {
		r := c.records[key]
		was, ports := r.observed.Address.Ports, map[int32]int32{}
		for _, l := range r.observed.Listeners {
			socket, err := c.bind(r, l.Port, cmp.Or(was[l.Port], l.Port), l.Port, 0)
			if err != nil {
				return err
			}
			r.fronts[l.Port] = c.newFront(r, l.Port, socket)
			if at := int32(socket.Addr().(*net.TCPAddr).Port); at != l.Port {
				ports[l.Port] = at
			}
		}
		if maps.Equal(ports, was) {
			c.serve(r)
			continue
		}
		changed = true
		c.changeRecord(r, func() { r.observed.Address.Ports = ports })
	}
	if !changed {
		return nil
	}
	return c.files.Commit(c.writeState)
}
