package targets

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/event"

	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/lb"
)

// Members that others change twice in a row stay as they are. Pods come and go all the same.
func TestMembersThatAreUndoneTwiceAreLeft(t *testing.T) {
	const key = lb.Key("fairlead/shop/web/internal")
	k := lb.GroupKey{Key: key, ID: "shop/web:80"}
	told := 0
	r := &Reconciler{Book: NewBook(nil), Disputes: &queue.Disputes{}, ReconcileLater: func(context.Context, lb.Key) { told++ }}
	ours, theirs := []lb.Target{{Address: "10.0.0.1", Port: 80}}, []lb.Target{{Address: "10.9.9.9", Port: 80}}
	group := tracked{members: ours, known: true, set: time.Now().Add(-time.Hour)}
	look := func(present, want []lb.Target) time.Duration {
		r.Book.groups[k.Key] = map[lb.GroupID]*tracked{k.ID: &group}
		r.Book.wake = make(chan event.TypedGenericEvent[lb.GroupKey], 1)
		r.Book.Recheck(t.Context(), k.Key)
		now, _ := r.Book.groupCopy(k)
		left := r.leaveFor(t.Context(), k, now, present, want)
		group.known = true
		return left
	}
	if left := look(theirs, ours); left > 0 || told > 0 {
		t.Errorf("what is undone once is left for %s, told %d times", left, told)
	}
	if left := look(theirs, ours); left < 9*time.Minute || told != 1 {
		t.Errorf("what is undone twice is left for %s, told %d times", left, told)
	}
	if left := look(theirs, theirs); left > 0 {
		t.Errorf("another Pod is left for %s", left)
	}
	r.Disputes.Forget(key)
	for range 3 {
		group.set = time.Now()
		if left := look(theirs, ours); left > 0 {
			t.Errorf("what was set a moment before, and is not found yet, is left for %s", left)
		}
	}
	for range 2 {
		group.set = time.Time{}
		look(theirs, ours)
		if left := look(ours, ours); left > 0 {
			t.Errorf("what is not undone in a row is left for %s", left)
		}
	}
}
