package records

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
)

// This file keeps the records of load balancers that are taken over from other controllers. They are no records of load
// balancers, and have no label of these: an operator of an earlier version would look for Ingresses. The operator writes
// them, and so does the command line with the rights of its user.

// An Adoption is a record with the version of its object that was read.
type Adoption struct {
	v1alpha1.AdoptionMemory
	object *v1alpha1.LoadBalancer // nil before it is written
}

// An AdoptionStore keeps these records in LoadBalancers.
type AdoptionStore struct {
	reader client.Reader
	writer client.Client
	scope  string // the namespace that the operator is limited to; "" for all
	// checkLease returns an error if another operator may have the lease; nil without election.
	checkLease func() error
}

// NewAdoptionStore returns the store of the operator of a namespace, or of all. The reader has to be ahead of caches.
func NewAdoptionStore(reader client.Reader, writer client.Client, scope string) *AdoptionStore {
	return &AdoptionStore{reader: reader, writer: writer, scope: scope}
}

// InTerm makes the store write only while checkLease returns no error.
func (s *AdoptionStore) InTerm(checkLease func() error) *AdoptionStore {
	s.checkLease = checkLease
	return s
}

// Get returns the record of a load balancer, by the key that it has once it is taken over; nil if there is none.
func (s *AdoptionStore) Get(ctx context.Context, key lb.Key) (*Adoption, error) {
	o, name := &v1alpha1.LoadBalancer{}, s.name(key)
	err := s.reader.Get(ctx, client.ObjectKey{Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading LoadBalancer %s: %w", name, err)
	}
	return adoptionOf(o), nil
}

// adoptionOf returns the record in an object; nil if it has none, as right after it was created.
func adoptionOf(o *v1alpha1.LoadBalancer) *Adoption {
	if o.Status.Memory.Adoption == nil {
		return nil
	}
	return &Adoption{AdoptionMemory: *o.Status.Memory.Adoption.DeepCopy(), object: o}
}

// Find returns the record of a stack of a cluster, as the other controller names them; nil if there is none. Of several, as
// are left where a move to another key was cut off, it is the latest.
func (s *AdoptionStore) Find(ctx context.Context, clusterName, stack string) (found *Adoption, err error) {
	all, err := s.List(ctx)
	for _, a := range all {
		if a.ClusterName == clusterName && a.Stack == stack && (found == nil || a.Since().After(found.Since())) {
			found = a
		}
	}
	return found, err
}

// List returns all records, by key. A cluster without our CRDs has none.
func (s *AdoptionStore) List(ctx context.Context) ([]*Adoption, error) {
	var list v1alpha1.LoadBalancerList
	err := s.reader.List(ctx, &list, client.MatchingLabels{v1alpha1.AdoptionRecord: s.scope})
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing LoadBalancers: %w", err)
	}
	var out []*Adoption
	for i := range list.Items {
		if a := adoptionOf(&list.Items[i]); a != nil {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b *Adoption) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// Put writes a record, and notes its version. One that Get returned is refused with a conflict if another writer has
// changed it since; a new one if there is one already. A record that is too large to be stored is refused before anything
// is written.
func (s *AdoptionStore) Put(ctx context.Context, a *Adoption) error {
	name := s.name(lb.Key(a.Key))
	if err := s.check(a); err != nil {
		return fmt.Errorf("writing LoadBalancer %s: %w", name, err)
	}
	if a.State == v1alpha1.AdoptionReleased {
		if err := s.deleteReport(ctx, a); err != nil {
			return err
		}
	}
	before := a.object
	if before == nil {
		var err error
		if before, err = s.create(ctx, a, name); err != nil {
			return err
		}
	}
	next := before.DeepCopy()
	next.Status.Memory.Adoption = a.DeepCopy()
	change, err := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}).Data(next)
	if err != nil {
		return fmt.Errorf("writing LoadBalancer %s: %w", name, err)
	}
	answer := &v1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := s.writer.Status().Patch(ctx, answer, client.RawPatch(types.MergePatchType, change)); err != nil {
		return fmt.Errorf("writing the status of LoadBalancer %s: %w", name, err)
	}
	if a.object = answer; !sameAdoption(answer.Status.Memory.Adoption, &a.AdoptionMemory) {
		return fmt.Errorf("the API server does not store all of LoadBalancer %s: apply the CRDs of this version (config/crd)", name)
	}
	return nil
}

// sameAdoption compares a record that was written with what the API server has of it: an earlier CRD has no such record.
func sameAdoption(stored, written *v1alpha1.AdoptionMemory) bool {
	if stored == nil {
		return false
	}
	a, b := *stored, *written
	a.IngressClass, b.IngressClass = nil, nil // has keys in another order
	return equality.Semantic.DeepEqual(a, b)
}

// check returns why a record cannot be written.
func (s *AdoptionStore) check(a *Adoption) error {
	if s.checkLease != nil {
		if err := s.checkLease(); err != nil {
			return err
		}
	}
	text, err := json.Marshal(a.AdoptionMemory)
	if err == nil && len(text) > v1alpha1.MaxSize {
		err = fmt.Errorf("the record takes %d bytes, and %d can be stored: the load balancer cannot be taken over",
			len(text), v1alpha1.MaxSize)
	}
	return err
}

// create creates the object of a record. One without a record was left by a writer that was cut off.
func (s *AdoptionStore) create(ctx context.Context, a *Adoption, name string) (*v1alpha1.LoadBalancer, error) {
	o := &v1alpha1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{v1alpha1.AdoptionRecord: s.scope},
			Annotations: map[string]string{v1alpha1.AdoptionRecord: "It has what it takes to give a load balancer back to " +
				"the controller that it was taken over from.", adoptionOfKey: a.Key},
		},
		Spec: v1alpha1.LoadBalancerSpec{Key: "@adoption/" + a.Key}, // no load balancer has such a key
	}
	err := s.writer.Create(ctx, o)
	if err == nil {
		return o, nil
	}
	left := &v1alpha1.LoadBalancer{}
	if s.reader.Get(ctx, client.ObjectKey{Name: name}, left) == nil && left.Status.Memory.Adoption == nil {
		return left, nil
	}
	return nil, fmt.Errorf("creating LoadBalancer %s: %w", name, err)
}

// Delete deletes a record, unless another writer has changed it since it was read; with that of a load balancer that was
// given back, the report on it.
func (s *AdoptionStore) Delete(ctx context.Context, a *Adoption) error {
	if s.checkLease != nil {
		if err := s.checkLease(); err != nil {
			return fmt.Errorf("deleting LoadBalancer %s: %w", a.object.Name, err)
		}
	}
	if a.State == v1alpha1.AdoptionReturned {
		if err := s.deleteReport(ctx, a); err != nil {
			return err
		}
	}
	err := s.writer.Delete(ctx, a.object, client.Preconditions{UID: &a.object.UID, ResourceVersion: &a.object.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting LoadBalancer %s: %w", a.object.Name, err)
	}
	return nil
}

// deleteReport deletes the report on a load balancer that was given back, as the operator drops it: one that starts later
// would find Ingresses in it that have left, and would remove the address from their status.
func (s *AdoptionStore) deleteReport(ctx context.Context, a *Adoption) error {
	report := &v1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Name(a.Key, s.scope)}}
	if err := s.writer.Delete(ctx, report); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting LoadBalancer %s: %w", report.Name, err)
	}
	return nil
}

// adoptionOfKey is an annotation with the key of the load balancer: who watches metadata alone has to know which one it
// is.
const adoptionOfKey = v1alpha1.Group + "/adoption-of"

// KeyOfAdoption returns the load balancer whose record an object is; false for any other object.
func (s *AdoptionStore) KeyOfAdoption(o client.Object) (lb.Key, bool) {
	key := o.GetAnnotations()[adoptionOfKey]
	scope, is := o.GetLabels()[v1alpha1.AdoptionRecord]
	return lb.Key(key), is && scope == s.scope && key != ""
}

// Present is Get for each reconcile: it reads the API server only if a cache has the metadata of a record. A cache
// without a record that was made a moment before is no harm, as nothing was changed by then. A nil store has no records.
func (s *AdoptionStore) Present(ctx context.Context, key lb.Key, cache client.Reader) (*Adoption, error) {
	if s == nil {
		return nil, nil
	}
	err := cache.Get(ctx, client.ObjectKey{Name: s.name(key)}, Metadata())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading whether %s was taken over: %w", key, err)
	}
	return s.Get(ctx, key)
}

func (s *AdoptionStore) name(key lb.Key) string {
	return v1alpha1.Name(string(key), s.scope) + ".adoption"
}

// Version tells one write of the record from another.
func (a *Adoption) Version() string { return string(a.object.UID) + "/" + a.object.ResourceVersion }

// IsUnderWay reports whether the operator leaves the load balancer as it is.
func (a *Adoption) IsUnderWay() bool {
	return a != nil && a.State != v1alpha1.AdoptionTaken && a.State != v1alpha1.AdoptionReleased
}

// Reason and Message are those of the condition Programmed of a load balancer that is left as it is.
func (a *Adoption) Reason() string {
	if a.State == v1alpha1.AdoptionRecorded || a.State == v1alpha1.AdoptionPrepared {
		return v1alpha1.ReasonTakingOver
	}
	return v1alpha1.ReasonGivingBack
}

// Message says which state the load balancer is in, and since when.
func (a *Adoption) Message() string {
	what := "given back to"
	if a.Reason() == v1alpha1.ReasonTakingOver {
		what = "taken over from"
	}
	return fmt.Sprintf("the load balancer is being %s the AWS Load Balancer Controller, and nothing is changed meanwhile: it is "+
		"%s since %s", what, a.State, a.Since().UTC().Format(time.RFC3339))
}

// LetGo reports whether the operator has forgotten a load balancer that was given back: its report is gone.
func (s *AdoptionStore) LetGo(ctx context.Context, a *Adoption) (bool, error) {
	name := v1alpha1.Name(a.Key, s.scope)
	err := s.reader.Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.LoadBalancer{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading LoadBalancer %s: %w", name, err)
	}
	return err != nil, nil
}

// Acknowledged reports whether the operator has seen the present state of a record that has it leave the load balancer as it
// is: it has reported so, and no plan is being carried out any more.
func (s *AdoptionStore) Acknowledged(ctx context.Context, a *Adoption) (bool, error) {
	name := v1alpha1.Name(a.Key, s.scope)
	report := &v1alpha1.LoadBalancer{}
	if err := s.reader.Get(ctx, client.ObjectKey{Name: name}, report); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading LoadBalancer %s: %w", name, err)
	}
	said := meta.FindStatusCondition(report.Status.Conditions, v1alpha1.ConditionProgrammed)
	return said != nil && said.Reason == a.Reason() && said.Message == a.Message(), nil
}
