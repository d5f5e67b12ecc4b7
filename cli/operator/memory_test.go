package operator

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr/funcr"
)

func TestMemoryFollowsTheContainer(t *testing.T) {
	const mebibyte = 1 << 20
	limited := func() (uint64, error) { return 512 * mebibyte, nil }
	for name, c := range map[string]struct {
		container   memlimit.Provider
		environment string // GOMEMLIMIT, which Go has read before
		want        int64
		logged      string
	}{
		"a limit":                   {limited, "", 512 * mebibyte / 10 * 9, "memory is limited"},
		"a limit, and GOMEMLIMIT":   {limited, "1GiB", 1024 * mebibyte, "memory is limited"},
		"a container without limit": {func() (uint64, error) { return 0, memlimit.ErrNoLimit }, "", math.MaxInt64, ""},
		"no container":              {func() (uint64, error) { return 0, memlimit.ErrNoCgroup }, "", math.MaxInt64, ""},
		"an unreadable limit":       {func() (uint64, error) { return 0, errors.New("broken") }, "", math.MaxInt64, `"level"=0 "msg"="the memory limit of the container is not known, so memory is not limited: GOMEMLIMIT limits it" "why"="failed to set GOMEMLIMIT: broken"`},
	} {
		t.Run(name, func(t *testing.T) {
			before := debug.SetMemoryLimit(math.MaxInt64)
			t.Cleanup(func() { debug.SetMemoryLimit(before) })
			if c.environment != "" {
				t.Setenv("GOMEMLIMIT", c.environment)
				debug.SetMemoryLimit(c.want)
			}
			var log strings.Builder
			limitMemory(funcr.New(func(_, args string) { fmt.Fprintln(&log, args) }, funcr.Options{}), c.container)
			if got := debug.SetMemoryLimit(-1); got/mebibyte != c.want/mebibyte {
				t.Errorf("the limit is %d, want %d", got, c.want)
			}
			if !strings.Contains(log.String(), c.logged) || (c.logged == "") != (log.Len() == 0) {
				t.Errorf("logged: %q, want %q", log.String(), c.logged)
			}
		})
	}
}
