package gauges

import (
	"maps"
	"sync"
)

// Orphans holds how many orphans the last pass has found.
type Orphans struct {
	mu   sync.Mutex
	all  int
	kept map[string]int // of these, by what keeps them from being collected
}

// Set notes what a pass has found.
func (c *Orphans) Set(all int, kept map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all, c.kept = all, kept
}

func (c *Orphans) get() (all int, kept map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all, maps.Clone(c.kept)
}
