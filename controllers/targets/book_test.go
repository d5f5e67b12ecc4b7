package targets

import (
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

// Where the operator ends, and nothing reads the queue any more, nothing waits for it.
func TestNothingIsQueuedForGoodWhenTheOperatorEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		b := NewBook(ended)
		b.wake = nil // takes nothing
		close(ended)
		began := time.Now()
		b.awaken(t.Context(), lb.GroupKey{Key: "a", ID: "g"})
		if took := time.Since(began); took > 0 {
			t.Errorf("it takes %s", took)
		}
	})
}
