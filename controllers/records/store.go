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
// set the annotation that pauses; all their other changes and deletions are reverted.

// Metadata returns an empty LoadBalancer for reads of the metadata alone.
func Metadata() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindLoadBalancer))
	return o
}

// ScopeLabel holds the namespace of the operator that writes a record. Without it an operator of
// one namespace would take the load balancers of another namespace for its own, without Ingresses.
const ScopeLabel = v1alpha1.Group + "/scope"

// An ObjectStore is a Store that writes to the API server. It remembers its last writes, so that it reads
// a record again only after another writer has changed it.
type ObjectStore struct {
	reader client.Reader
	Writer client.Client
	scope  string // the namespace that the operator is limited to; "" for all
	// label has the scope in its value. Names end in suffix, and about, if it is set, says what an object is for.
	label, suffix, about string
	// planned is set for the records of an operator that only plans.
	planned bool
	// term names this operator while it has the lease; noTerm without election.
	term string
	// checkLease returns an error if another operator may have the lease; nil without election.
	checkLease func() error

	mu      sync.Mutex
	written map[string]*v1alpha1.LoadBalancer // by name
	doubted map[string]bool                   // names of objects that another writer has changed
	claimed map[string]bool                   // names of objects that had this term
	gone    map[string]bool                   // names of deleted objects
}

// NewStore returns an ObjectStore of an operator without election.
func NewStore(reader client.Reader, writer client.Client, scope string) *ObjectStore {
	return &ObjectStore{
		reader: reader, Writer: writer, scope: scope, label: ScopeLabel, term: noTerm,
		written: map[string]*v1alpha1.LoadBalancer{}, doubted: map[string]bool{},
		claimed: map[string]bool{}, gone: map[string]bool{},
	}
}

// NewBindingStore returns an ObjectStore of the records of TargetGroupBindings. They are no records of load
// balancers, and have no label of these: an operator of an earlier version would look for Ingresses.
func NewBindingStore(reader client.Reader, writer client.Client, scope string) *ObjectStore {
	s := NewStore(reader, writer, scope)
	s.label, s.suffix = v1alpha1.BindingRecord, ".binding"
	s.about = "It has what a TargetGroupBinding has had registered in a target group that others made."
	return s
}

// InTerm makes the ObjectStore write in the term of a leader, and only while checkLease returns no error.
func (a *ObjectStore) InTerm(term string, checkLease func() error) *ObjectStore {
	a.term, a.checkLease = cmp.Or(term, noTerm), checkLease
	return a
}

func (a *ObjectStore) Load(ctx context.Context) (map[lb.Key]Record, error) {
	var list v1alpha1.LoadBalancerList
	if err := a.reader.List(ctx, &list, client.MatchingLabels{a.label: a.scope}); err != nil {
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

func (a *ObjectStore) Save(ctx context.Context, key lb.Key, r Record) error {
	if err := a.checkLeads(key); err != nil {
		return err
	}
	stored, err := a.stored(ctx, key)
	if err == nil {
		r.Term = a.termOf(stored)
	}
	if err != nil || equality.Semantic.DeepEqual(stored.Status, r) ||
		onlyGainsCertificates(&stored.Status, r) {
		return err
	}
	if err := a.replace(ctx, stored, r); err != nil {
		return fmt.Errorf("writing the status of LoadBalancer %s: %w", stored.Name, err)
	}
	return nil
}

// replace replaces the status of an object. It fails if another writer has changed the object: it
// may be an operator that has the lease now. The record is kept without a copy.
func (a *ObjectStore) replace(ctx context.Context, stored *v1alpha1.LoadBalancer, r Record) error {
	to := *stored
	to.Status = r
	text, err := mergePatch(stored, r)
	if err != nil {
		return err
	}
	answer := Metadata() // only its version is unknown
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

// checkLeads returns an error if another operator may have the lease. It may have deleted the
// record, which must not be created again.
func (a *ObjectStore) checkLeads(key lb.Key) error {
	if a.checkLease == nil {
		return nil
	}
	if err := a.checkLease(); err != nil {
		return fmt.Errorf("writing the LoadBalancer of %s: %w", key, err)
	}
	return nil
}

// noTerm is the term of an operator without election. It is written once: a record with a term
// belongs to a load balancer whose first plan has begun.
const noTerm = "none"

// Claim writes this term into the record of a load balancer, before a plan of it begins. If another
// operator has written the record since, the API server refuses the write, also if the record has
// this term already, and the plan does not begin.
func (a *ObjectStore) Claim(ctx context.Context, key lb.Key) error {
	if err := a.checkLeads(key); err != nil {
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

// Overtaken reports whether another operator has begun a later plan of a load balancer.
func (a *ObjectStore) Overtaken(ctx context.Context, key lb.Key) (bool, error) {
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

// onlyGainsCertificates reports whether a record gains only the certificates of Secrets that the
// cloud has: an earlier version of Fairlead has written it. They are written with the next change,
// so that an upgrade does not write every record.
func onlyGainsCertificates(before *Record, now Record) bool {
	if len(before.Memory.Certificates) > 0 {
		return false
	}
	now.Memory.Certificates = nil
	return equality.Semantic.DeepEqual(*before, now)
}

// stored returns the object of a key in the API server, and creates it if it is missing.
func (a *ObjectStore) stored(ctx context.Context, key lb.Key) (*v1alpha1.LoadBalancer, error) {
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
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{a.label: a.scope}},
		Spec:       v1alpha1.LoadBalancerSpec{Key: string(key)},
	}
	if a.about != "" {
		stored.Annotations = map[string]string{a.label: a.about}
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
func (a *ObjectStore) read(ctx context.Context, name string) (*v1alpha1.LoadBalancer, error) {
	stored := &v1alpha1.LoadBalancer{}
	err := a.reader.Get(ctx, client.ObjectKey{Name: name}, stored)
	if apierrors.IsNotFound(err) {
		a.noteMissing(name)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading LoadBalancer %s: %w", name, err)
	}
	Expand(ctx, stored)
	a.remember(stored)
	return stored, nil
}

func (a *ObjectStore) Drop(ctx context.Context, key lb.Key) error {
	if err := a.checkLeads(key); err != nil {
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

// KeyOfChanged returns the key of an object of ours that another writer has changed; false for any
// other.
func (a *ObjectStore) KeyOfChanged(o client.Object) (lb.Key, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	stored := a.written[o.GetName()]
	if stored == nil || stored.ResourceVersion == o.GetResourceVersion() {
		return "", false
	}
	a.doubted[o.GetName()] = true
	return lb.Key(stored.Spec.Key), true
}

// Expand prepares a record for use after a read. Another writer may have changed the order of its
// members.
func Expand(ctx context.Context, o *v1alpha1.LoadBalancer) {
	SortMembers(&o.Status)
	if err := o.Status.Memory.Expand(); err != nil {
		log.FromContext(ctx).Error(err, "last accepted versions are lost", "loadBalancer", o.Name)
	}
}

// name returns the name of the object of a key.
func (a *ObjectStore) name(key lb.Key) string {
	name := v1alpha1.Name(string(key), a.scope) + a.suffix
	if a.planned {
		name += ".read-only"
	}
	return name
}

func (a *ObjectStore) last(name string) (stored *v1alpha1.LoadBalancer, doubted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.written[name], a.doubted[name]
}

// remember stores an object of the API server, without managedFields.
func (a *ObjectStore) remember(o *v1alpha1.LoadBalancer) {
	o.ManagedFields = nil
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written[o.Name] = o
	delete(a.doubted, o.Name)
}

func (a *ObjectStore) doubt(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.doubted[name] = true
}

// termOf returns the term in an object, which only a claim changes. An object that is created again
// gets its last term.
func (a *ObjectStore) termOf(stored *v1alpha1.LoadBalancer) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if stored.Status.Term == "" && a.claimed[stored.Name] {
		return a.term
	}
	return stored.Status.Term
}

// noteMissing records that an object that was written does not exist.
func (a *ObjectStore) noteMissing(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone[name] = a.written[name] != nil
	delete(a.written, name)
	delete(a.doubted, name)
}

// Missing reports once that a written object was deleted, or that a blank one was not claimed.
func (a *ObjectStore) Missing(key lb.Key, blank bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := a.name(key)
	gone := a.gone[name] || blank && !a.claimed[name]
	delete(a.gone, name)
	return gone
}

func (a *ObjectStore) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.written, name)
	delete(a.doubted, name)
	delete(a.claimed, name)
	delete(a.gone, name)
}
