package gather

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// This file checks each version of an IngressClass, and of parameters, once.

// mostChecks is the limit of remembered objects, which include deleted ones.
const mostChecks = 1000

// Checks remembers the errors in versions of objects.
type Checks struct {
	mu    sync.Mutex
	byUID map[types.UID]checked
}

// checked has the errors in a version of an object.
type checked struct {
	version string
	errs    field.ErrorList
}

// CheckOnce returns the errors that check finds in an object, and calls it once for each version.
// Objects of files have no version, and are checked each time.
func (c *Checks) CheckOnce(o metav1.Object, check func() field.ErrorList) field.ErrorList {
	if o.GetUID() == "" || o.GetResourceVersion() == "" {
		return check()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.byUID[o.GetUID()]; known.version == o.GetResourceVersion() {
		return known.errs
	}
	if c.byUID == nil || len(c.byUID) >= mostChecks {
		c.byUID = map[types.UID]checked{}
	}
	errs := check()
	c.byUID[o.GetUID()] = checked{o.GetResourceVersion(), errs}
	return errs
}
