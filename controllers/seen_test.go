package controllers

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// A looker is a cloud that notes how it is looked at.
type looker struct {
	providers.Provider
	deep   []bool
	unread []string
}

func (l *looker) Observe(_ context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	l.deep = append(l.deep, deep)
	return &lb.Observed{Key: key, Unread: l.unread}, nil
}

// Settings that could not be read are read again soon.
func TestWhatCouldNotBeReadIsReadAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := &looker{unread: []string{"AccessDenied"}}
		o := &observer{cloud: cloud, every: 10 * time.Hour}
		for range 3 {
			seen, err := o.seen(t.Context(), "fairlead/shop/web/internal")
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(rereads(seen))
		}
		if diff := cmp.Diff([]bool{false, true, true}, cloud.deep); diff != "" {
			t.Errorf("looks, and whether they are deep (-want +got):\n%s", diff)
		}
		cloud.unread = nil
		if seen, err := o.seen(t.Context(), "fairlead/shop/web/internal"); err != nil || rereads(seen) != 0 {
			t.Errorf("error %v, and it is come back for in %s", err, rereads(seen))
		}
	})
}

// What was seen is believed for about as long as it is to be, and then looked at deeply: by then somebody may
// have changed a value and left the digest beside it. Load balancers that were first seen together are not
// looked at together again.
func TestALookIsRepeatedInDepthAndAtOddTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := &looker{}
		o := &observer{cloud: cloud, every: 10 * time.Hour}
		look := func() (looks, deep int) {
			cloud.deep = nil
			for i := range 100 {
				if _, err := o.seen(t.Context(), lb.Key(fmt.Sprintf("fairlead/shop/web-%d/internal", i))); err != nil {
					t.Fatal(err)
				}
			}
			for _, d := range cloud.deep {
				if d {
					deep++
				}
			}
			return len(cloud.deep), deep
		}
		if looks, deep := look(); looks != 100 || deep != 0 {
			t.Errorf("at first: %d looks, %d of them deep", looks, deep)
		}
		time.Sleep(4 * time.Minute)
		if looks, deep := look(); looks != 100 || deep != 0 {
			t.Errorf("once what was written before is found: %d looks, %d of them deep", looks, deep)
		}
		time.Sleep(9*time.Hour - 5*time.Minute)
		if looks, _ := look(); looks != 0 {
			t.Errorf("after nine hours: %d looks", looks)
		}
		most, all := 0, 0
		for range 13 {
			time.Sleep(10 * time.Minute)
			looks, deep := look()
			if looks != deep {
				t.Errorf("%d of %d looks are not deep", looks-deep, looks)
			}
			most, all = max(most, looks), all+looks
		}
		if all != 100 || most > 30 {
			t.Errorf("between nine and eleven hours there are %d looks, %d of them within ten minutes", all, most)
		}
	})
}

// A look may not find what was written a moment before it. It is repeated once, not in depth, and so is the first one of a
// process.
func TestALookAfterAWriteIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := &looker{}
		o := &observer{cloud: cloud, every: 10 * time.Hour}
		const key = lb.Key("fairlead/shop/web/internal")
		looks := func(within time.Duration) (times []time.Duration) {
			began := time.Now()
			for time.Since(began) < within {
				cloud.deep = nil
				if _, err := o.seen(t.Context(), key); err != nil {
					t.Fatal(err)
				}
				if len(cloud.deep) > 0 {
					times = append(times, time.Since(began).Truncate(time.Minute))
				}
				if again := o.again(key); again > 11*time.Hour {
					t.Errorf("the next look is to be in %s", again)
				}
				time.Sleep(10 * time.Second)
			}
			return times
		}
		if at := looks(time.Hour); len(at) != 2 || at[1] < 2*time.Minute || at[1] > 3*time.Minute {
			t.Errorf("a process looks at %v after its start", at)
		}
		o.wrote(key)
		if at := looks(time.Hour); len(at) != 0 {
			t.Errorf("what was written is known, and looked for at %v", at)
		}
		o.wrote(key)
		o.forget(key)
		if at := looks(time.Hour); len(at) != 2 || at[1] < 2*time.Minute || at[1] > 3*time.Minute {
			t.Errorf("after a write that failed it looks at %v", at)
		}
		o.forget(key)
		if at := looks(time.Hour); len(at) != 1 {
			t.Errorf("when nothing was written it looks at %v", at)
		}
	})
}
