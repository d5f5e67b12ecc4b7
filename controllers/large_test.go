package controllers_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
)

// This file has objects at the limit of etcd, 1.5 MiB for each (--max-request-bytes,
// https://etcd.io/docs/v3.6/dev-guide/limit/).

// noise is text that does not compress to less than three quarters.
func noise(draw *rand.Rand, size int) string {
	var out strings.Builder
	for range size {
		out.WriteByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[draw.IntN(64)])
	}
	return out.String()
}

// widen gives an Ingress more paths of one length.
func widen(ing *networkingv1.Ingress, paths int, path func(i int) string) *networkingv1.Ingress {
	all := &ing.Spec.Rules[0].HTTP.Paths
	for i := range paths {
		one := (*all)[0]
		one.Path = path(i)
		*all = append(*all, one)
	}
	return ing
}

// largest creates an Ingress to which the API server cannot add a finalizer. How large that may be is
// found in a namespace that the operator does not see.
func (w *world) largest(name string) {
	w.Helper()
	of := func(namespace string, last int) *networkingv1.Ingress {
		ing := w.ask(name, name+".example", "/", "web")
		ing.Namespace, ing.Annotations["fairlead.dev/group"] = namespace, "g"
		widen(ing, 1_430, func(i int) string { return fmt.Sprintf("/%04d%s", i, strings.Repeat("a", 1_000)) })
		ing.Spec.Rules[0].HTTP.Paths[0].Path = "/" + strings.Repeat("b", last)
		return ing
	}
	elsewhere := w.cluster.Namespace(w.T)
	least, most := 0, 100_000 // characters of a path: what is taken, and what is not
	for most-least > 8 {
		at := (least + most) / 2
		ing := of(elsewhere, at)
		switch err := w.Create(w.Context(), ing); {
		case err == nil:
			least = at
			if err := w.Delete(w.Context(), ing); err != nil {
				w.Fatal(err)
			}
		case strings.Contains(err.Error(), "request is too large"):
			most = at
		default:
			w.Fatal(err)
		}
	}
	if least == 0 {
		w.Fatal("all are too large")
	}
	w.create(of(w.namespace, least+len(elsewhere)-len(w.namespace)))
}

// TestAnIngressAtTheLimitOfTheAPIServer has no room for the finalizer. Its author hears so, and other
// members of the load balancer go on.
func TestAnIngressAtTheLimitOfTheAPIServer(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	shop := w.ask("shop", "shop.example", "/", "web")
	w.join("g", shop)
	w.answers("shop", "http://shop.example/", "web-1")
	w.largest("large")
	w.told("large", "ChangeWaits")
	w.serve("other", "other-1")
	w.change("shop", func(ing *networkingv1.Ingress) {
		ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "other"
	})
	w.answers("shop", "http://shop.example/", "other-1")
	if f := w.ingress("large").Finalizers; len(f) > 0 {
		t.Errorf("it has the finalizers %q", f)
	}
}

// TestARecordAtTheLimitOfTheAPIServer is full of the versions of a few Ingresses, and others join.
func TestARecordAtTheLimitOfTheAPIServer(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.join("g", w.ask("shop", "shop.example", "/", "web"))
	draw := rand.New(rand.NewPCG(1, 1))
	for i := range 30 {
		big := w.ask(fmt.Sprintf("big%d", i), fmt.Sprintf("big%d.example", i), "/", "web")
		w.join("g", widen(big, 60, func(int) string { return "/" + noise(draw, 900) }))
	}
	w.answers("big29", "http://big29.example/", "web-1")
	for i := range 200 {
		w.join("g", w.ask(fmt.Sprintf("n%03d%s", i, strings.Repeat("x", 240)), "many.example", fmt.Sprintf("/%d", i), "web"))
	}
	w.serve("other", "other-1")
	w.change("shop", func(ing *networkingv1.Ingress) {
		ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "other"
	})
	w.answers("shop", "http://shop.example/", "other-1")
	w.join("g", w.ask("late", "late.example", "/", "web"))
	w.answers("late", "http://late.example/", "web-1")
	record, err := json.Marshal(w.report(w.sharedReport()))
	if err != nil || len(record) < 1<<20 {
		t.Errorf("the record has %d bytes: %v", len(record), err)
	}
	w.remove("late")
}
