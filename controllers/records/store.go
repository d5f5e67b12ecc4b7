package records

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
)

// This file keeps records in LoadBalancer objects, one for each load balancer. Other writers may
// set the annotation that pauses; anything else that they change or delete is written again.

// Metadata returns an empty LoadBalancer, of which the metadata alone is read.
func Metadata() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindLoadBalancer))
	return o
}

// ScopeLabel holds the namespace of the operator that writes a record. Without it an operator of
// one namespace would take the load balancers of another namespace for its own, without Ingresses.
const ScopeLabel = v1alpha1.Group + "/scope"

// Store is a Keeper that writes to the API server. It remembers what it wrote last, so that it
// reads a record again only after another writer has changed it.
type Store struct {
	reader client.Reader
	Writer client.Client
	scope  string // the namespace that the operator looks after, or "" for all
	// planned says that the records are those of an operator that only plans.
	planned bool
	// term names this operator for as long as it has the lease; noTerm where there is no election.
	term string
	// may returns why this operator may not write now: another may have the lease. It is nil where
	// there is no election.
	may func() error

	mu      sync.Mutex
	written map[string]*v1alpha1.LoadBalancer // by name
	doubted map[string]bool                   // names of those that another writer has changed
	claimed map[string]bool                   // names of those that had this term
	gone    map[string]bool                   // names of those that were found to be deleted
}

// NewStore makes a Store of an operator without elections.
func NewStore(reader client.Reader, writer client.Client, scope string) *Store {
	return &Store{
		reader: reader, Writer: writer, scope: scope, term: noTerm,
		written: map[string]*v1alpha1.LoadBalancer{}, doubted: map[string]bool{},
		claimed: map[string]bool{}, gone: map[string]bool{},
	}
}

// InTerm has the archive write in the term of a leader, and only while may returns no error.
func (a *Store) InTerm(term string, may func() error) *Store {
	a.term, a.may = cmp.Or(term, noTerm), may
	return a
}

func (a *Store) Load(ctx context.Context) (map[lb.Key]Record, error) {
	var list v1alpha1.LoadBalancerList
	if err := a.reader.List(ctx, &list, client.MatchingLabels{ScopeLabel: a.scope}); err != nil {
		return nil, fmt.Errorf("listing LoadBalancers: %w", err)
	}
	out := map[lb.Key]Record{}
	for i := range list.Items {
		if o := &list.Items[i]; IsPlanned(o) == a.planned {
			Expand(ctx, o)
			a.remember(o)
			out[lb.Key(o.Spec.Key)] = o.Status
		}
	}
	return out, nil
}

func (a *Store) Save(ctx context.Context, key lb.Key, r Record) error {
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
	if err := a.replace(ctx, stored, r); err != nil {
		return fmt.Errorf("writing the status of LoadBalancer %s: %w", stored.Name, err)
	}
	return nil
}

// replace replaces the status of an object. It fails where another writer has changed the object:
// that may be an operator that has the lease now. The record is kept as it is, not as a copy.
func (a *Store) replace(ctx context.Context, stored *v1alpha1.LoadBalancer, r Record) error {
	to := *stored
	to.Status = r
	text, err := mergePatch(stored, r)
	if err != nil {
		return err
	}
	answer := Metadata() // all that it has is known but its version
	answer.Name = stored.Name
	if err := a.Writer.Status().Patch(ctx, answer,
		client.RawPatch(types.MergePatchType, text)); err != nil {
		a.doubt(stored.Name)
		return err
	}
	to.ResourceVersion = answer.ResourceVersion
	a.remember(&to)
	return nil
}

// leads returns an error where another operator may have the lease by now. That one may have
// deleted the record, which must not be made again.
func (a *Store) leads(key lb.Key) error {
	if a.may == nil {
		return nil
	}
	if err := a.may(); err != nil {
		return fmt.Errorf("writing the LoadBalancer of %s: %w", key, err)
	}
	return nil
}

// noTerm is the term of an operator without elections. It is written once: a record with a term is
// of a load balancer that a plan has begun to make.
const noTerm = "none"

// Claim writes this term into the record of a load balancer, before a plan of it begins. Where
// another operator has written there since, the API server refuses the write, and the plan does not
// begin. Where the term is there already, the write changes nothing, and is refused all the same.
func (a *Store) Claim(ctx context.Context, key lb.Key) error {
	if err := a.leads(key); err != nil {
		return err
	}
	stored, err := a.stored(ctx, key)
	if err != nil || a.term == noTerm && stored.Status.Term == noTerm {
		return err
	}
	next := stored.Status
	next.Term = a.term
	if err := a.replace(ctx, stored, next); err != nil {
		return fmt.Errorf("beginning a plan of LoadBalancer %s: %w", stored.Name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.claimed[stored.Name] = true
	return nil
}

// Overtaken reports whether another operator has begun a plan of a load balancer since this one
// did.
func (a *Store) Overtaken(ctx context.Context, key lb.Key) (bool, error) {
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

// onlyGains reports whether a record differs only in the certificates that the cloud has of
// Secrets, and has none yet: an earlier version of Fairlead has written it. So that an upgrade does
// not write every record, they are written with the next change.
func onlyGains(before *Record, now Record) bool {
	if len(before.Memory.Certificates) > 0 {
		return false
	}
	now.Memory.Certificates = nil
	return equality.Semantic.DeepEqual(*before, now)
}

// stored returns the object of a key as the API server has it. It creates the object if there is
// none.
func (a *Store) stored(ctx context.Context, key lb.Key) (*v1alpha1.LoadBalancer, error) {
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
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{ScopeLabel: a.scope}},
		Spec:       v1alpha1.LoadBalancerSpec{Key: string(key)},
	}
	if a.planned {
		stored.Labels[plannedLabel] = "true"
	}
	if err := a.Writer.Create(ctx, stored); err != nil {
		if apierrors.IsAlreadyExists(err) {
			a.doubt(name)
		}
		return nil, fmt.Errorf("creating LoadBalancer %s: %w", name, err)
	}
	a.remember(stored)
	return stored, nil
}

// read reads an object again. It returns nil if it was deleted.
func (a *Store) read(ctx context.Context, name string) (*v1alpha1.LoadBalancer, error) {
	stored := &v1alpha1.LoadBalancer{}
	err := a.reader.Get(ctx, client.ObjectKey{Name: name}, stored)
	if apierrors.IsNotFound(err) {
		a.miss(name)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading LoadBalancer %s: %w", name, err)
	}
	Expand(ctx, stored)
	a.remember(stored)
	return stored, nil
}

func (a *Store) Drop(ctx context.Context, key lb.Key) error {
	if err := a.leads(key); err != nil {
		return err
	}
	name := a.name(key)
	stored, _ := a.last(name)
	if stored == nil {
		return nil
	}
	if err := a.Writer.Delete(ctx, stored); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting LoadBalancer %s: %w", name, err)
	}
	a.forget(name)
	return nil
}

// KeyOfChanged returns the key of an object that another writer has changed; false if none has, or
// it is not ours.
func (a *Store) KeyOfChanged(o client.Object) (lb.Key, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	stored := a.written[o.GetName()]
	if stored == nil || stored.ResourceVersion == o.GetResourceVersion() {
		return "", false
	}
	a.doubted[o.GetName()] = true
	return lb.Key(stored.Spec.Key), true
}

// Expand makes a record that was read ready for use. Another writer may have changed the order of
// its members.
func Expand(ctx context.Context, o *v1alpha1.LoadBalancer) {
	SortMembers(&o.Status)
	if err := o.Status.Memory.Expand(); err != nil {
		log.FromContext(ctx).Error(err, "last accepted versions are lost", "loadBalancer", o.Name)
	}
}

// name returns the name of the object of a key.
func (a *Store) name(key lb.Key) string {
	name := v1alpha1.Name(string(key), a.scope)
	if a.planned {
		name += ".read-only"
	}
	return name
}

func (a *Store) last(name string) (stored *v1alpha1.LoadBalancer, doubted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.written[name], a.doubted[name]
}

// remember stores what the API server has, without the fields that say which writer has written
// what.
func (a *Store) remember(o *v1alpha1.LoadBalancer) {
	o.ManagedFields = nil
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written[o.Name] = o
	delete(a.doubted, o.Name)
}

func (a *Store) doubt(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.doubted[name] = true
}

// termOf returns the term in an object, which only a claim changes. An object that is written anew
// gets the term back.
func (a *Store) termOf(stored *v1alpha1.LoadBalancer) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if stored.Status.Term == "" && a.claimed[stored.Name] {
		return a.term
	}
	return stored.Status.Term
}

// miss records that an object that was written does not exist.
func (a *Store) miss(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone[name] = a.written[name] != nil
	delete(a.written, name)
	delete(a.doubted, name)
}

// Missing reports, once, whether an object that was written was found to be deleted, or one that is
// blank was not claimed.
func (a *Store) Missing(key lb.Key, blank bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := a.name(key)
	gone := a.gone[name] || blank && !a.claimed[name]
	delete(a.gone, name)
	return gone
}

func (a *Store) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.written, name)
	delete(a.doubted, name)
	delete(a.claimed, name)
	delete(a.gone, name)
}
