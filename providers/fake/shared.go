package fake

import (
	"fmt"
	"os"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

// This file is one cloud in several processes that name the same state file. The file is the truth:
// whoever changes something locks it, catches up with what others have written, and writes what it
// has become. One process at a time has the sockets: it holds the lock of FILE.sockets for as long
// as it lives, follows the file, checks targets, and tells the others in FILE.health how they are.

// followEvery is how far the data plane is behind at most, and how soon another process takes it
// over.
const followEvery = 10 * time.Millisecond

// change carries out a change of the cloud, on top of whatever other processes have changed.
func (c *Cloud) change(do func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	release, err := c.files.acquire(true)
	if err != nil {
		return err
	}
	defer release()
	if err := c.catchUp(); err != nil {
		return err
	}
	if err := c.hear(); err != nil {
		return err
	}
	return do()
}

// look reads the cloud as it is.
func (c *Cloud) look(do func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refresh(); err != nil {
		return err
	}
	if err := c.hear(); err != nil {
		return err
	}
	return do()
}

// refresh catches up if there is reason to.
func (c *Cloud) refresh() error {
	if now, err := c.files.version(); err != nil || now == c.files.seen {
		return err
	}
	release, err := c.files.acquire(false)
	if err != nil {
		return err
	}
	defer release()
	return c.catchUp()
}

// catchUp makes memory what the files hold, which nobody may be writing.
func (c *Cloud) catchUp() error {
	now, err := c.files.version()
	if err != nil || now == c.files.seen {
		return err
	}
	if err := c.load(); err != nil {
		return err
	}
	c.files.seen = now
	return nil
}

// share reads what the files hold, and starts following them. The first process has the sockets at
// once.
func (c *Cloud) share() error {
	if err := c.files.open(); err != nil {
		return err
	}
	c.here = c.options.Serve
	if c.files.path == "" {
		return nil
	}
	if c.options.Serve {
		var err error
		if c.sockets, err = c.files.openLock(".sockets"); err != nil {
			return err
		}
		if c.here, err = tryLockFile(c.sockets); err != nil {
			return fmt.Errorf("locking %s: %w", c.sockets.Name(), err)
		}
	}
	c.health.Store(c.here) // whatever was told is of another process
	if err := c.change(c.reopen); err != nil {
		return err
	}
	if err := c.change(c.shareAuthority); err != nil {
		return err
	}
	if c.options.Serve {
		c.following = make(chan struct{})
		c.followed.Go(c.follow)
	}
	return nil
}

// follow takes turns until the cloud is closed. What goes wrong in one of them is tried again in
// the next; whoever asks the cloud for something hears of it.
func (c *Cloud) follow() {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		select {
		case <-c.following:
			return
		case <-ticker.C:
			_ = c.turn()
		}
	}
}

// turn serves what the files hold, if no other process does.
func (c *Cloud) turn() error {
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
	return c.tell()
}

// takeOver starts to check targets, from what is known of them. Whose time is up by then has ended
// with the process that served before.
func (c *Cloud) takeOver() error {
	if err := c.hear(); err != nil {
		return err
	}
	c.here = true
	c.health.Store(true) // whatever was told is of another process
	for _, r := range c.records {
		for _, p := range r.pools {
			p.takeOver()
		}
	}
	return nil
}

// A report is how the targets of every target group are.
type report map[lb.Key]map[lb.GroupID][]lb.TargetHealth

// tell lets other processes know how targets are, if that has changed.
func (c *Cloud) tell() error {
	if !c.health.Swap(false) {
		return nil
	}
	all := report{}
	for key, r := range c.records {
		all[key] = map[lb.GroupID][]lb.TargetHealth{}
		for id, p := range r.pools {
			all[key][id] = p.health()
			if len(p.leaving) > 0 {
				c.health.Store(true) // they will be gone, and nobody says when
			}
		}
	}
	return c.files.write(".health", 0o644, all)
}

// hear finds out how targets are, where another process checks them.
func (c *Cloud) hear() error {
	if c.here || !c.options.Serve {
		return nil
	}
	var all report
	if err := c.files.read(".health", &all); err != nil {
		return err
	}
	for key, r := range c.records {
		for id, p := range r.pools {
			p.hear(all[key][id])
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

// unshare leaves the files, and the sockets, to others.
func (c *Cloud) unshare() {
	for _, f := range []*os.File{c.sockets, c.files.lock} {
		if f != nil {
			f.Close()
		}
	}
}
