package loadbalancer

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/records"
)

// This file tests what of a record is read, written and believed.

// counted is an archive of which the calls are counted, and fail if a test says so.
type counted struct {
	*records.ObjectStore
	reads, creates, patches int
	failure                 error
}

func (b *bench) archive(term string) *counted {
	c := &counted{}
	count := func(n *int) error {
		*n++
		return c.failure
	}
	of := interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, from client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return errors.Join(count(&c.reads), from.Get(ctx, key, o, opts...))
		},
		Create: func(ctx context.Context, to client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := count(&c.creates); err != nil {
				return err
			}
			return to.Create(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, to client.Client, _ string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := count(&c.patches); err != nil {
				return err
			}
			return to.Status().Patch(ctx, o, p, opts...)
		},
	})
	c.ObjectStore = records.NewStore(of, of, "")
	c.ObjectStore.InTerm(term, nil)
	return c
}

func (b *bench) save(a *counted, r records.Record) {
	b.Helper()
	if err := a.Save(b.Context(), benchKey, r); err != nil {
		b.Error(err)
	}
}

func (b *bench) claim(a *counted) {
	b.Helper()
	if err := a.Claim(b.Context(), benchKey); err != nil {
		b.Error(err)
	}
}

// stored is the record as the API server has it; nil if there is none.
func (b *bench) stored() *v1alpha1.LoadBalancer {
	b.Helper()
	o := &v1alpha1.LoadBalancer{}
	err := b.Get(b.Context(), client.ObjectKey{Name: v1alpha1.Name(string(benchKey), "")}, o)
	if client.IgnoreNotFound(err) != nil {
		b.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return o
}

// touch writes an address as another writer does, and tells the archive.
func (b *bench) touch(a *counted, edit func(*v1alpha1.LoadBalancerStatus)) {
	b.Helper()
	o := b.stored()
	edit(&o.Status)
	if err := b.Status().Update(b.Context(), o); err != nil {
		b.Fatal(err)
	}
	if key, ok := a.KeyOfChanged(o); !ok || key != benchKey {
		b.Errorf("what somebody else wrote is about %q, %t", key, ok)
	}
}

// A record is written where it says something new. What an upgrade alone learns is not news.
func TestARecordIsWrittenWhereItSaysSomethingNew(t *testing.T) {
	b := newBench(t)
	a := b.archive("")
	certificate := func(id string) v1alpha1.Memory {
		return v1alpha1.Memory{Certificates: []v1alpha1.SecretCertificate{{Secret: "shop/tls", ID: id}}}
	}
	for i, c := range []struct {
		r       records.Record
		patches int
	}{
		{records.Record{Address: "first"}, 1},
		{records.Record{Address: "first"}, 1},
		{records.Record{Address: "first", Memory: certificate("a")}, 1}, // onlyGains
		{records.Record{Address: "next", Memory: certificate("a")}, 2},
		{records.Record{Address: "next", Memory: certificate("b")}, 3},
		{records.Record{Address: "next", Memory: certificate("b")}, 3},
		{records.Record{Address: "next"}, 4},
	} {
		b.save(a, c.r)
		if a.patches != c.patches || a.creates != 1 || a.reads > 0 {
			t.Errorf("after record %d: %d creations, %d patches, want %d, and %d reads", i, a.creates, a.patches, c.patches, a.reads)
		}
	}
}

// A record that another writer has changed is read again before the next write, once. So is one
// whose write failed.
func TestARecordThatIsDoubtedIsReadAgainOnce(t *testing.T) {
	for name, c := range map[string]struct {
		doubt func(b *bench, a *counted)
		reads int
	}{
		"nothing has happened": {func(*bench, *counted) {}, 0},
		"somebody wrote it":    {func(b *bench, a *counted) { b.touch(a, func(s *v1alpha1.LoadBalancerStatus) { s.Address = "theirs" }) }, 1},
		"a report met another": {func(b *bench, a *counted) {
			b.save(b.archived(), records.Record{Address: "theirs"})
			if err := a.Save(b.Context(), benchKey, records.Record{Address: "ours"}); !apierrors.IsConflict(err) {
				b.Errorf("it is written over: %v", err)
			}
		}, 1},
		"a plan met another": {func(b *bench, a *counted) {
			b.save(b.archived(), records.Record{Address: "theirs"})
			if err := a.Claim(b.Context(), benchKey); !apierrors.IsConflict(err) {
				b.Errorf("it begins: %v", err)
			}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.T = t
			a := b.archive("ours")
			b.save(a, records.Record{Address: "first"})
			c.doubt(b, a)
			b.save(a, records.Record{Address: "second"})
			b.save(a, records.Record{Address: "third"})
			if a.reads != c.reads || b.stored().Status.Address != "third" {
				t.Errorf("it is read %d times, want %d, and has the address %s", a.reads, c.reads, b.stored().Status.Address)
			}
		})
	}
}

// archived is an archive of another operator, which has read what there is.
func (b *bench) archived() *counted {
	b.Helper()
	a := b.archive("another")
	if _, err := a.Load(b.Context()); err != nil {
		b.Fatal(err)
	}
	return a
}

// Where a record cannot be read or written, it is said, and nothing is made in its place.
func TestARecordThatCannotBeReadIsNotReplaced(t *testing.T) {
	b := newBench(t)
	a := b.archive("ours")
	a.failure = errors.New("timeout")
	if err := a.Save(t.Context(), benchKey, records.Record{}); !errors.Is(err, a.failure) {
		t.Errorf("a first record that cannot be made: %v", err)
	}
	a.failure = nil
	b.save(a, records.Record{Address: "first"})
	b.touch(a, func(s *v1alpha1.LoadBalancerStatus) { s.Address = "theirs" })
	a.failure = errors.New("timeout")
	creates := a.creates
	for what, err := range map[string]error{
		"a record":            a.Save(t.Context(), benchKey, records.Record{Address: "second"}),
		"the start of a plan": a.Claim(t.Context(), benchKey),
	} {
		if !errors.Is(err, a.failure) || a.creates != creates {
			t.Errorf("%s that cannot be written: %v, and %d were made", what, err, a.creates-creates)
		}
	}
	if taken, err := a.Overtaken(t.Context(), benchKey); taken || !errors.Is(err, a.failure) {
		t.Errorf("whether another one has begun cannot be read: %t, %v", taken, err)
	}
}

// A plan that begins leaves its term, which reports keep. Another term there is told once, to those
// that had begun one.
func TestAnotherTermIsToldOnce(t *testing.T) {
	b := newBench(t)
	a := b.archive("ours")
	told := func(want bool) {
		t.Helper()
		if got, err := a.Overtaken(t.Context(), benchKey); err != nil || got != want {
			t.Errorf("another one has begun: %t, want %t, error %v", got, want, err)
		}
	}
	another := func(s *v1alpha1.LoadBalancerStatus) { s.Term = "another" }
	told(false)
	b.save(a, records.Record{Address: "first"})
	b.touch(a, another)
	told(false) // it has not begun one itself

	b.claim(a)
	b.save(a, records.Record{Address: "second"})
	if term := b.stored().Status.Term; term != "ours" {
		t.Errorf("the term is %q", term)
	}
	reads := a.reads
	told(false)
	if a.reads != reads {
		t.Error("what nobody touched is read again")
	}
	b.touch(a, another)
	told(true)
	told(false)
	if a.reads != reads+1 {
		t.Errorf("it is read %d times to find that", a.reads-reads)
	}
}

// The archive notices a write of another writer, and no other: its own writes and unknown objects
// are left out.
func TestWhatWasWrittenHereIsNoNews(t *testing.T) {
	b := newBench(t)
	a := b.archive("ours")
	b.save(a, records.Record{Address: "first"})
	stranger := b.stored()
	stranger.Name = "unknown"
	for what, o := range map[string]*v1alpha1.LoadBalancer{"what was written here": b.stored(), "an unknown object": stranger} {
		if key, touched := a.KeyOfChanged(o); touched {
			t.Errorf("%s counts as somebody else's change of %s", what, key)
		}
	}
}

// A record that another operator has made meanwhile is not made twice. It is read before the next
// write.
func TestARecordIsMadeOnce(t *testing.T) {
	b := newBench(t)
	a, another := b.archive("ours"), b.archive("another")
	b.save(another, records.Record{})
	b.save(another, records.Record{})
	if another.creates != 1 {
		t.Errorf("%d records are made", another.creates)
	}
	if err := a.Save(t.Context(), benchKey, records.Record{Address: "ours"}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the error is %v", err)
	}
	b.save(a, records.Record{Address: "ours"})
	if a.reads != 1 || b.stored().Status.Address != "ours" {
		t.Errorf("it is read %d times, and is %+v", a.reads, b.stored().Status)
	}
}

// A record that was dropped is made anew, and nothing of the one before counts.
func TestARecordThatWasDroppedIsMadeAnew(t *testing.T) {
	b := newBench(t)
	a := b.archive("ours")
	drop := func() {
		t.Helper()
		if err := a.Drop(t.Context(), benchKey); err != nil || b.stored() != nil {
			t.Errorf("it is dropped with %v, and %v is left", err, b.stored())
		}
	}
	drop()
	b.save(a, records.Record{Address: "first"})
	b.claim(a)
	drop()
	b.save(a, records.Record{Address: "second"})
	if taken, err := a.Overtaken(t.Context(), benchKey); err != nil || taken || b.stored() == nil {
		t.Errorf("another one has begun: %t, error %v; there is %v", taken, err, b.stored())
	}
}

// Members are searched by their names, in whatever order somebody wrote them.
func TestMembersThatAreReadAreInOrder(t *testing.T) {
	b := newBench(t)
	o := &v1alpha1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Name(string(benchKey), ""), Labels: map[string]string{records.ScopeLabel: ""}},
		Spec:       v1alpha1.LoadBalancerSpec{Key: string(benchKey)},
	}
	b.create(o)
	o.Status.Memory.Members = []v1alpha1.MemberMemory{{Ingress: "shop/c"}, {Ingress: "shop/a"}, {Ingress: "shop/b"}}
	if err := b.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	found, err := b.archive("").Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := found[benchKey]
	for _, name := range []string{"shop/a", "shop/b", "shop/c"} {
		if records.MemberOf(&r, name) == nil {
			t.Errorf("%s is not found", name)
		}
	}
}

// A plan that begins writes its term where there is another one or none. Without elections the term
// is written once.
func TestAPlanThatBeginsWritesItsTerm(t *testing.T) {
	b := newBench(t)
	alone, ours := b.archive(""), b.archive("ours")
	b.save(alone, records.Record{Address: "first"})
	for range 2 {
		if err := alone.Claim(t.Context(), benchKey); err != nil {
			t.Fatal(err)
		}
	}
	if alone.patches != 2 {
		t.Errorf("%d patches, want 2: that of the report, and that of the term", alone.patches)
	}
	if _, err := ours.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := ours.Claim(t.Context(), benchKey); err != nil {
		t.Fatal(err)
	}
	if got := b.stored().Status.Term; got != "ours" {
		t.Errorf("the term is %q after an operator with elections has begun a plan", got)
	}
}

// A report keeps the term that another operator has written.
func TestAReportKeepsTheTermOfAnother(t *testing.T) {
	b := newBench(t)
	a := b.archive("ours")
	b.save(a, records.Record{Address: "first"})
	if err := a.Claim(t.Context(), benchKey); err != nil {
		t.Fatal(err)
	}
	b.touch(a, func(s *v1alpha1.LoadBalancerStatus) { s.Term = "another" })
	b.save(a, records.Record{Address: "second"})
	if got := b.stored().Status.Term; got != "another" {
		t.Errorf("the term is %q after a report", got)
	}
}

// A record that was deleted by another writer is missing, once. So is a blank one that no plan has
// begun with.
func TestARecordThatWasDeletedIsMissingOnce(t *testing.T) {
	b := newBench(t)
	a := b.archive("ours")
	missing := func(when string, blank, want bool) {
		t.Helper()
		if got := a.Missing(benchKey, blank); got != want {
			t.Errorf("%s it is missing: %t, want %t", when, got, want)
		}
	}
	remove := func() {
		t.Helper()
		if err := b.Client.Delete(t.Context(), b.stored()); err != nil {
			t.Fatal(err)
		}
		a.KeyOfChanged(&v1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Name(string(benchKey), "")}})
		if _, err := a.Overtaken(t.Context(), benchKey); err != nil { // reads it again
			t.Fatal(err)
		}
	}
	b.save(a, records.Record{Address: "first"})
	missing("while it is there", false, false)
	missing("before a plan has begun", true, true)
	if err := a.Claim(t.Context(), benchKey); err != nil {
		t.Fatal(err)
	}
	missing("while it is there and blank, after a plan has begun,", true, false)
	remove()
	missing("after another writer has deleted it", false, true)
	missing("the second time", false, false)

	b.save(a, records.Record{Address: "again"})
	remove()
	b.save(a, records.Record{Address: "once more"})
	if err := a.Drop(t.Context(), benchKey); err != nil {
		t.Fatal(err)
	}
	missing("after this operator has deleted it", false, false)
	b.save(a, records.Record{Address: "new"})
	if got := b.stored().Status.Term; got != "" {
		t.Errorf("a record that is made anew has the term %q of the one before", got)
	}
}
