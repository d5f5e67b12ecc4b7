package loadbalancer

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
)

// This file moves the wall clock by an hour against what records say: they are read by other
// processes, so their times are of that clock. What is served stays so where the clock goes back,
// and what was asked to be confirmed wherever it goes.
func TestAWallClockThatIsMoved(t *testing.T) {
	written := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := &metav1.Time{Time: written}
	for name, c := range map[string]struct {
		moved      time.Duration
		ends, over bool
	}{
		"not":              {0, false, false},
		"back by an hour":  {-time.Hour, false, false},
		"ahead by an hour": {time.Hour, true, true},
	} {
		now := written.Add(c.moved)
		o := outcome{Snapshot: &gather.Snapshot{}}
		next := records.Record{Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{{Ingress: "shop/web", Previous: "before", PublishedAt: at}}}}
		if ended, _ := o.endMoves(&next, now); len(ended) > 0 != c.ends {
			t.Errorf("%s: a move ends: %t", name, !c.ends)
		}
		refused := v1alpha1.Rejection{Version: "1", Until: &metav1.Time{Time: written.Add(queue.AfterRejected)}}
		if records.HasEnded(refused, now) != c.over {
			t.Errorf("%s: a refusal is over: %t", name, !c.over)
		}
		r := records.Record{Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{{Ingress: "shop/web", Rejections: []v1alpha1.Rejection{refused}}}}}
		if wait := untilTried(&r, now); wait > queue.AfterRejected {
			t.Errorf("%s: it is tried again in %s", name, wait)
		}
	}
}
