package bindings

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/targets"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// asked counts questions about target groups. It can fail, or answer that there are none.
type asked struct {
	providers.Provider
	times int
	fails error
	none  bool
}

func (a *asked) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	if len(q.TargetGroups) > 0 {
		if a.times++; a.fails != nil || a.none {
			return lb.Facts{TargetGroups: map[lb.GroupID]lb.OthersGroup{}}, a.fails
		}
	}
	return a.Provider.Lookup(ctx, q)
}

// Authors cannot have the cloud asked at each write of theirs, and a binding that cannot leave asks at times.
func TestTheCloudIsAskedAtTimes(t *testing.T) {
	for what, c := range map[string]struct {
		served       bool // before it is edited
		edit         func(*alb.TargetGroupBinding)
		fails        error
		writes, most int // within a minute
	}{
		"served":                {true, func(*alb.TargetGroupBinding) {}, nil, 600, 1},
		"a mistake":             {true, func(b *alb.TargetGroupBinding) { b.Spec.VpcID = "vpc-0" }, nil, 600, 1},
		"a mistake at first":    {false, func(b *alb.TargetGroupBinding) { b.Spec.VpcID = "vpc-0" }, nil, 600, 1},
		"no target group":       {true, func(b *alb.TargetGroupBinding) { b.Spec.TargetGroupARN += "0" }, nil, 600, 2},
		"none at first":         {false, func(b *alb.TargetGroupBinding) { b.Spec.TargetGroupARN += "0" }, nil, 600, 1},
		"an error":              {true, func(*alb.TargetGroupBinding) {}, errors.New("no"), 600, 60},
		"it leaves":             {true, func(b *alb.TargetGroupBinding) { b.Labels = map[string]string{"ingress.k8s.aws/stack": "x"} }, nil, 60, 6},
		"it leaves, and cannot": {true, func(b *alb.TargetGroupBinding) { b.Labels = map[string]string{"ingress.k8s.aws/stack": "x"} }, errors.New("no"), 60, 60},
		"it is gone":            {true, nil, nil, 60, 6},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, kube := newShared(t)
				cloud := &asked{Provider: r.Cloud}
				r.Cloud = cloud
				r.Grace = time.Nanosecond
				if c.served {
					if _, err := r.Reconcile(t.Context(), name); err != nil {
						t.Fatal(err)
					}
				}
				b := read(t, kube)
				if c.edit == nil {
					b.Finalizers = nil
					if err := errors.Join(kube.Update(t.Context(), b), kube.Delete(t.Context(), b)); err != nil {
						t.Fatal(err)
					}
				} else if c.edit(b); kube.Update(t.Context(), b) != nil {
					t.Fatal("the binding cannot be changed")
				}
				time.Sleep(checkAgain)
				cloud.times, cloud.fails = 0, c.fails
				for range c.writes {
					_, err := r.Reconcile(t.Context(), name)
					if (err != nil) != (c.fails != nil) {
						t.Fatal(err)
					}
					time.Sleep(time.Minute / time.Duration(c.writes))
				}
				if cloud.times > c.most || cloud.times < (c.most+1)/2 {
					t.Errorf("the cloud is asked %d times, want %d", cloud.times, c.most)
				}
			})
		})
	}
}

// An answer that is read anew has the targets of all bindings of the target group compared, also while one leaves and
// asks more often.
func TestABindingHasItsTargetGroupCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, kube := newShared(t)
		leaves := &alb.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "leaves", UID: "2"}, Spec: read(t, kube).Spec}
		of := client.ObjectKeyFromObject(leaves)
		if err := kube.Create(t.Context(), leaves); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Reconcile(t.Context(), of); err != nil {
			t.Fatal(err)
		}
		if err := kube.Get(t.Context(), of, leaves); err != nil {
			t.Fatal(err)
		}
		if leaves.Labels = map[string]string{"ingress.k8s.aws/stack": "x"}; kube.Update(t.Context(), leaves) != nil {
			t.Fatal("the binding cannot be changed")
		}
		time.Sleep(checkAgain)
		beside := lb.GroupKey{Key: routing.NewBindingKey("shop", "beside", ""), ID: shared}
		registering := &targets.Reconciler{Cloud: r.Cloud, Book: r.Book, Disputes: r.Disputes, Waiting: r.Waits, Backlog: &queue.Backlog[lb.GroupKey]{}, ObserveTook: func(time.Duration) {}}
		r.Book.Leave(t.Context(), beside.Key, shared, nil)
		for _, again := range []bool{true, false, true} {
			if _, err := registering.Reconcile(t.Context(), beside); err != nil || !r.Book.HasLeft(beside.Key, shared) {
				t.Fatalf("the targets are not known: %v", err)
			}
			if _, err := r.Reconcile(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if got := !r.Book.HasLeft(beside.Key, shared); got != again {
				t.Errorf("the targets are compared: %t, want %t", got, again)
			}
			if again {
				continue
			}
			time.Sleep(checkAgain)
			if _, err := r.Reconcile(t.Context(), of); err != nil {
				t.Fatal(err)
			}
		}
	})
}
