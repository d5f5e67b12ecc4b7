package controllers

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
)

// This file keeps the orphans that a pass has found until the next one: in LoadBalancers, for the
// next pass may be another replica's. These are no records, and have no label of records: an
// operator of an earlier version would take them for some, and collect the orphans at once.

// orphanMark is a label, with the namespace that the operator looks after or "" for all, and an
// annotation, which says what the object is for.
const orphanMark = v1alpha1.Group + "/orphan"

// OrphanSightings holds the orphans that the last pass has found.
type OrphanSightings struct {
	reader client.Reader
	writer client.Writer
	scope  string

	known map[lb.Key]*v1alpha1.LoadBalancer // nil before they are read
}

// newOrphanSightings returns the stored sightings of an operator of a namespace, or of all.
func newOrphanSightings(reader client.Reader, writer client.Writer, scope string) *OrphanSightings {
	return &OrphanSightings{reader: reader, writer: writer, scope: scope}
}

// replace stores the orphans of a pass in place of those of the last pass, and returns the orphans
// that both have found.
func (s *OrphanSightings) replace(ctx context.Context, found []lb.Key) (twice []lb.Key, err error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	for key, o := range s.known {
		if slices.Contains(found, key) {
			continue
		}
		if err := s.writer.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("deleting LoadBalancer %s: %w", o.Name, err)
		}
		delete(s.known, key)
	}
	for _, key := range found {
		if s.known[key] != nil {
			twice = append(twice, key)
			continue
		}
		o := s.sighting(key)
		if err := s.writer.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("creating LoadBalancer %s: %w", o.Name, err)
		}
		s.known[key] = o
	}
	return twice, nil
}

// read reads the sightings of the last leader, once.
func (s *OrphanSightings) read(ctx context.Context) error {
	if s.known != nil {
		return nil
	}
	var list v1alpha1.LoadBalancerList
	if err := s.reader.List(ctx, &list, client.MatchingLabels{orphanMark: s.scope}); err != nil {
		return fmt.Errorf("listing the LoadBalancers of orphans: %w", err)
	}
	s.known = map[lb.Key]*v1alpha1.LoadBalancer{}
	for i := range list.Items {
		s.known[lb.Key(list.Items[i].Spec.Key)] = &list.Items[i]
	}
	return nil
}

func (s *OrphanSightings) sighting(key lb.Key) *v1alpha1.LoadBalancer {
	return &v1alpha1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{
			Name:   v1alpha1.Name(string(key), s.scope) + ".orphan",
			Labels: map[string]string{orphanMark: s.scope},
			Annotations: map[string]string{orphanMark: "The cloud has it, no Ingress asks for it, and " +
				"nothing is remembered of it. It is collected once the next look finds the same."},
		},
		Spec: v1alpha1.LoadBalancerSpec{Key: string(key)},
	}
}
