package controllers

import (
	"maps"
	"sync"
)

// orphans holds the number of orphans that the last pass has found.
type orphans struct {
	mu   sync.Mutex
	all  int
	kept map[string]int // of these, by what keeps them from being collected
}

// Set sets the numbers of a pass.
func (c *orphans) Set(all int, kept map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all, c.kept = all, kept
}

func (c *orphans) get() (all int, kept map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all, maps.Clone(c.kept)
}
