package controllers

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
)

// This file keeps records in objects of the kind LoadBalancer, one for each. Nobody else is to write
// there, but for the annotation that pauses; what somebody does write, or deletes, is written again.

// scopeLabel tells the records of operators apart that look after a namespace each: one would take
// the load balancers of another for its own, without Ingresses.
const scopeLabel = v1alpha1.Group + "/scope"

// An archive is a keeper that writes to the API server. It knows what it wrote last, so it reads
// again only what somebody else wrote since.
type archive struct {
	reader client.Reader
	writer client.Client
	scope  string // the namespace that the operator looks after, or "" for all
	// planned says that its records are of what an operator would do that does nothing.
	planned bool
	// term names this operator for as long as it has the lease; noTerm where there is no election.
	term string
	// may returns why this operator may not write now: another may have the lease. It is nil where there is no election.
	may func() error

	mu      sync.Mutex
	written map[string]*v1alpha1.LoadBalancer // by name
	doubted map[string]bool                   // names of those that are not as they were written
	claimed map[string]bool                   // names of those that had this term
	gone    map[string]bool                   // names of those that were found to be deleted
}

func newArchive(reader client.Reader, writer client.Client, scope string) *archive {
	return &archive{
		reader: reader, writer: writer, scope: scope, term: noTerm,
		written: map[string]*v1alpha1.LoadBalancer{}, doubted: map[string]bool{}, claimed: map[string]bool{}, gone: map[string]bool{},
	}
}

// inTerm has the archive write in the term of a leader, and only while may returns no error.
func (a *archive) inTerm(term string, may func() error) *archive {
	a.term, a.may = cmp.Or(term, noTerm), may
	return a
}

func (a *archive) load(ctx context.Context) (map[lb.Key]record, error) {
	var list v1alpha1.LoadBalancerList
	if err := a.reader.List(ctx, &list, client.MatchingLabels{scopeLabel: a.scope}); err != nil {
		return nil, fmt.Errorf("listing LoadBalancers: %w", err)
	}
	out := map[lb.Key]record{}
	for i := range list.Items {
		if o := &list.Items[i]; planned(o) == a.planned {
			sortMembers(&o.Status) // somebody else may have written it
			a.note(o)
			out[lb.Key(o.Spec.Key)] = o.Status
		}
	}
	return out, nil
}

func (a *archive) save(ctx context.Context, key lb.Key, r record) error {
	if err := a.leads(key); err != nil {
		return err
	}
	stored, err := a.stored(ctx, key)
	if err == nil {
		r.Term = a.termOf(stored)
	}
	if err != nil || equality.Semantic.DeepEqual(stored.Status, r) || onlyGains(&stored.Status, r) {
		return err
	}
	to := stored.DeepCopy()
	r.DeepCopyInto(&to.Status)
	// Whoever wrote it since may be an operator that leads now.
	if err := a.writer.Status().Patch(ctx, to, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		a.doubt(stored.Name)
		return fmt.Errorf("writing the status of LoadBalancer %s: %w", stored.Name, err)
	}
	a.note(to)
	return nil
}

// leads returns an error where another operator may lead by now. It may have deleted the record, which must not be made again
// of what this one remembers.
func (a *archive) leads(key lb.Key) error {
	if a.may == nil {
		return nil
	}
	if err := a.may(); err != nil {
		return fmt.Errorf("writing the LoadBalancer of %s: %w", key, err)
	}
	return nil
}

// noTerm is the term of an operator without elections. It is written once: a record with a term is of a load balancer
// that a plan has begun to make.
const noTerm = "none"

// claim writes this term into the record of a load balancer, before a plan of it begins. Where another operator has
// written there since, the API server refuses the write, and the plan does not begin. Where the term is there already, the
// write changes nothing, and is refused all the same.
func (a *archive) claim(ctx context.Context, key lb.Key) error {
	if err := a.leads(key); err != nil {
		return err
	}
	stored, err := a.stored(ctx, key)
	if err != nil || a.term == noTerm && stored.Status.Term == noTerm {
		return err
	}
	to := stored.DeepCopy()
	to.Status.Term = a.term
	if err := a.writer.Status().Patch(ctx, to, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		a.doubt(stored.Name)
		return fmt.Errorf("beginning a plan of LoadBalancer %s: %w", stored.Name, err)
	}
	a.note(to)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.claimed[to.Name] = true
	return nil
}

// overtaken reports whether another operator has begun a plan of a load balancer since this one did.
func (a *archive) overtaken(ctx context.Context, key lb.Key) (bool, error) {
	name := a.name(key)
	stored, doubted := a.last(name)
	if doubted {
		var err error
		if stored, err = a.read(ctx, name); err != nil {
			return false, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.claimed[name] && stored != nil && stored.Status.Term != a.term
	if taken {
		delete(a.claimed, name)
	}
	return taken, nil
}

// onlyGains reports whether nothing is new but which certificates the cloud has of Secrets, where the record
// does not name any. An earlier version has written it: one that takes its place is not to write every
// record for that, and sees for itself which they are. They are written with the next change.
func onlyGains(before *record, now record) bool {
	if len(before.Memory.Certificates) > 0 {
		return false
	}
	now.Memory.Certificates = nil
	return equality.Semantic.DeepEqual(*before, now)
}

// stored is the object of a key as the API server has it. Where there is none, one is made.
func (a *archive) stored(ctx context.Context, key lb.Key) (*v1alpha1.LoadBalancer, error) {
	name := a.name(key)
	stored, doubted := a.last(name)
	var err error
	if doubted {
		stored, err = a.read(ctx, name)
	}
	if stored != nil || err != nil {
		return stored, err
	}
	stored = &v1alpha1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{scopeLabel: a.scope}},
		Spec:       v1alpha1.LoadBalancerSpec{Key: string(key)},
	}
	if a.planned {
		stored.Labels[plannedLabel] = "true"
	}
	if err := a.writer.Create(ctx, stored); err != nil {
		if apierrors.IsAlreadyExists(err) {
			a.doubt(name)
		}
		return nil, fmt.Errorf("creating LoadBalancer %s: %w", name, err)
	}
	a.note(stored)
	return stored, nil
}

// read reads an object again; nil if there is none any more.
func (a *archive) read(ctx context.Context, name string) (*v1alpha1.LoadBalancer, error) {
	stored := &v1alpha1.LoadBalancer{}
	err := a.reader.Get(ctx, client.ObjectKey{Name: name}, stored)
	if apierrors.IsNotFound(err) {
		a.miss(name)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading LoadBalancer %s: %w", name, err)
	}
	a.note(stored)
	return stored, nil
}

func (a *archive) drop(ctx context.Context, key lb.Key) error {
	if err := a.leads(key); err != nil {
		return err
	}
	name := a.name(key)
	stored, _ := a.last(name)
	if stored == nil {
		return nil
	}
	if err := a.writer.Delete(ctx, stored); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting LoadBalancer %s: %w", name, err)
	}
	a.forget(name)
	return nil
}

// touched is the key of an object that is not as it was written; false if it is, or is not ours.
func (a *archive) touched(o client.Object) (lb.Key, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	stored := a.written[o.GetName()]
	if stored == nil || stored.ResourceVersion == o.GetResourceVersion() {
		return "", false
	}
	a.doubted[o.GetName()] = true
	return lb.Key(stored.Spec.Key), true
}

// name is that of the object of a key.
func (a *archive) name(key lb.Key) string {
	name := v1alpha1.Name(string(key), a.scope)
	if a.planned {
		name += ".read-only"
	}
	return name
}

func (a *archive) last(name string) (stored *v1alpha1.LoadBalancer, doubted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.written[name], a.doubted[name]
}

// note notes what the API server has.
func (a *archive) note(o *v1alpha1.LoadBalancer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written[o.Name] = o
	delete(a.doubted, o.Name)
}

func (a *archive) doubt(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.doubted[name] = true
}

// termOf returns the term in an object, which only a claim changes. An object that is written anew gets the term back.
func (a *archive) termOf(stored *v1alpha1.LoadBalancer) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if stored.Status.Term == "" && a.claimed[stored.Name] {
		return a.term
	}
	return stored.Status.Term
}

// miss notes that an object that was written is not there.
func (a *archive) miss(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone[name] = a.written[name] != nil
	delete(a.written, name)
	delete(a.doubted, name)
}

// missing reports, once, whether an object that was written was found to be deleted, or one that is blank was not claimed.
func (a *archive) missing(key lb.Key, blank bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := a.name(key)
	gone := a.gone[name] || blank && !a.claimed[name]
	delete(a.gone, name)
	return gone
}

func (a *archive) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.written, name)
	delete(a.doubted, name)
	delete(a.claimed, name)
	delete(a.gone, name)
}
