package gather

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// This file checks each version of an IngressClass, and of parameters, once.

// mostChecks is how many objects a Checks remembers at most. Objects that were deleted are among
// them.
const mostChecks = 1000

// Checks remember what was found in versions of objects.
type Checks struct {
	mu sync.Mutex
	of map[types.UID]checked
}

// checked is what was found in a version of an object.
type checked struct {
	version string
	errs    field.ErrorList
}

// About returns what check finds in an object, or what it found in this version of it. Objects of
// files have no version, and are checked each time.
func (c *Checks) About(o metav1.Object, check func() field.ErrorList) field.ErrorList {
	if o.GetUID() == "" || o.GetResourceVersion() == "" {
		return check()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.of[o.GetUID()]; known.version == o.GetResourceVersion() {
		return known.errs
	}
	if c.of == nil || len(c.of) >= mostChecks {
		c.of = map[types.UID]checked{}
	}
	errs := check()
	c.of[o.GetUID()] = checked{o.GetResourceVersion(), errs}
	return errs
}
