package operator

import (
	"errors"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
)

// This file keeps the process below the memory limit of its container.

// limitMemory sets Go's soft limit of memory to 90 % of the limit of the container. Near it, the
// garbage collector works more often. Without it, the heap may grow to twice what is in use, until
// the kernel ends the process (https://go.dev/doc/gc-guide#Memory_limit). GOMEMLIMIT takes
// precedence.
func limitMemory(logger logr.Logger, container memlimit.Provider) {
	limit, err := memlimit.Set(memlimit.WithProvider(container))
	switch {
	case errors.Is(err, memlimit.ErrCgroupsNotSupported), errors.Is(err, memlimit.ErrNoCgroup):
		return // there is no container
	case err != nil:
		logger.Info("the memory limit of the container is not known, so memory is not limited: "+
			"GOMEMLIMIT limits it", "why", err.Error())
	case limit < math.MaxInt64:
		logger.Info("memory is limited", "bytes", limit)
	}
}
