package adoption

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file keeps records in LoadBalancers.

// NewTaker returns a Taker with the rights of a client.
func NewTaker(kube client.Client, cloud providers.Adopter, store *records.AdoptionStore) *Taker {
	return &Taker{Kube: kube, Cloud: cloud, Records: &stored{store: store, read: map[lb.Key]*records.Adoption{}}, Now: time.Now,
		InTheWay: func(context.Context) ([]string, error) { return nil, nil }}
}

// fromALB is the controller in records, as classes say it.
const fromALB = "alb"

// A stored has Records in LoadBalancers, which are named by their keys. It remembers the versions that it has read, so that
// a write fails after one of another writer.
type stored struct {
	store *records.AdoptionStore
	read  map[lb.Key]*records.Adoption
}

// Get prefers the record of the key. One of another key is from before the Ingresses got another class. Of one that is being
// finished, the tags may no longer say the stack.
func (s *stored) Get(ctx context.Context, cluster, stack string, key lb.Key) (*Record, error) {
	a, err := s.store.Get(ctx, key)
	if err == nil && (a == nil || (a.ClusterName != cluster || a.Stack != stack) && !a.Finishing) {
		a, err = s.store.Find(ctx, cluster, stack)
	}
	if err != nil || a == nil {
		delete(s.read, key)
		return nil, err
	}
	s.read[lb.Key(a.Key)] = a
	return recordIn(a)
}

func (s *stored) List(ctx context.Context) (out []Record, err error) {
	all, err := s.store.List(ctx)
	for _, a := range all {
		r, err := recordIn(a)
		if err != nil {
			return nil, err
		}
		s.read[r.Key] = a
		out = append(out, *r)
	}
	return out, err
}

// Acknowledged reports whether the operator leaves the load balancer of a record as it is; of one that was returned, whether it
// has forgotten it.
func (s *stored) Acknowledged(ctx context.Context, key lb.Key) (bool, error) {
	if s.read[key].State == v1alpha1.AdoptionReturned {
		return s.store.LetGo(ctx, s.read[key])
	}
	return s.store.Acknowledged(ctx, s.read[key])
}

func (s *stored) Put(ctx context.Context, r Record) error {
	a, first := s.read[r.Key], false
	if a == nil {
		a, first = &records.Adoption{}, true
	}
	a.From, a.ClusterName, a.Stack, a.Key, a.Handle, a.Name = fromALB, r.Cluster, r.Stack, string(r.Key), r.Handle, r.Name
	if r.Cluster == byHand {
		a.From = ""
	}
	a.Enter(string(r.State), r.Since)
	a.Left, a.Finishing = r.Left, r.Finishing
	a.Finalizers = nil
	for _, name := range slices.Sorted(maps.Keys(r.Finalizers)) {
		a.Finalizers = append(a.Finalizers, v1alpha1.IngressFinalizers{Ingress: name, Finalizers: r.Finalizers[name]})
	}
	var bindings []json.RawMessage
	for _, b := range r.Bindings {
		text, err := json.Marshal(b.Object)
		if err != nil {
			return err
		}
		bindings = append(bindings, text)
	}
	if err := a.SetBindings(bindings); err != nil {
		return err
	}
	if a.IngressClass = nil; len(r.Classes) > 0 {
		text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": r.Classes})
		if err != nil {
			return err
		}
		a.IngressClass = &runtime.RawExtension{Raw: text}
	}
	if err := s.store.Put(ctx, a); err != nil {
		return err
	}
	s.read[r.Key] = a
	if !first && r.State != Taken {
		return nil
	}
	// One of another key is from before the Ingresses got another class, and this one has all that it has. That may have been
	// cut off the first time.
	return s.delete(ctx, r, func(key string) bool { return key != string(r.Key) })
}

// Delete deletes the records of a stack, also those of other keys.
func (s *stored) Delete(ctx context.Context, r Record) error {
	defer delete(s.read, r.Key)
	return s.delete(ctx, r, func(string) bool { return true })
}

// delete deletes some records of a stack, by key.
func (s *stored) delete(ctx context.Context, r Record, which func(key string) bool) error {
	all, err := s.store.List(ctx)
	if err != nil {
		return err
	}
	for _, a := range all {
		if a.ClusterName == r.Cluster && a.Stack == r.Stack && which(a.Key) {
			if err := s.store.Delete(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordIn returns the record in an object.
func recordIn(a *records.Adoption) (*Record, error) {
	out := &Record{Cluster: a.ClusterName, Stack: a.Stack, Key: lb.Key(a.Key), Handle: a.Handle, Name: a.Name,
		State: State(a.State), Since: a.Since(), Left: a.Left, Finishing: a.Finishing, Finalizers: map[string][]string{}}
	for _, f := range a.Finalizers {
		out.Finalizers[f.Ingress] = f.Finalizers
	}
	bindings, err := a.BindingObjects()
	if err != nil {
		return nil, err
	}
	for _, text := range bindings {
		b := unstructured.Unstructured{}
		if err := b.UnmarshalJSON(text); err != nil {
			return nil, fmt.Errorf("reading a binding of %s: %w", a.Stack, err)
		}
		out.Bindings = append(out.Bindings, b)
	}
	if a.IngressClass != nil {
		var list struct{ Items []networkingv1.IngressClass }
		if err := json.Unmarshal(a.IngressClass.Raw, &list); err != nil {
			return nil, fmt.Errorf("reading the IngressClass of %s: %w", a.Stack, err)
		}
		out.Classes = list.Items
	}
	return out, nil
}
