package controllers

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/multimap"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/printable"
)

// This file reads what a load balancer depends on, once. Everything comes from caches but the
// contents of Secrets, of which just those are read that an Ingress names, and Ingresses that are
// remembered and not in the cache: what we hold does not go without a word.

// A gathering is the snapshot of a load balancer and whom it has to let go of.
type gathering struct {
	ingress.Snapshot
	record records.Record // what is remembered
	// actual are the members' Ingresses as they are, by namespace/name.
	actual map[string]*networkingv1.Ingress
	// departed are Ingresses that this load balancer holds and that are no members any more:
	// deleted, or somebody else's. One that is gone already is nil.
	departed map[string]*networkingv1.Ingress
	// disowned are those of the departed that no other load balancer of ours has either.
	disowned map[string]bool
	// withdrawn is what the disowned are told whose class does not permit any more what was served of
	// them.
	withdrawn map[string]diag.Diagnostic
	// waiting are those that become members once there is room.
	waiting map[string]bool
	// vanished are the members that are gone without having been let go of, and are served on, by
	// namespace/name.
	vanished map[string]ingress.Vanishing
	// pausedBy is what pauses the load balancer; "" if nothing does.
	pausedBy string
	// at is when it was read: what had ended by then is tried again.
	at time.Time
}

// ask is what compiling needs to know about the cloud, its limits too if they were in the way last
// time.
func (g *gathering) ask() lb.Questions {
	q := model.Ask(g.Snapshot)
	q.Limits = rejecting(&g.record)
	return q
}

// A gatherer reads.
type gatherer struct {
	cache     client.Reader // everything that is watched
	server    client.Reader // what the cache may be behind of
	secrets   cluster.SecretReader
	judged    *cluster.CertificateCache
	pods      cluster.PodReader
	directory *cluster.Dependencies
	memories  *records.Cache
	scope     string   // the namespace that the operator looks after, or "" for all
	paused    []string // load balancers that a setting pauses, by key
	options   ingress.Options
	doubts    *doubts
	// grace is for how long an Ingress that has vanished is served; 0 lets it go at once.
	grace time.Duration
}

// gather makes the snapshot of a load balancer. One that nobody asks for any more has no members.
func (g *gatherer) gather(ctx context.Context, key lb.Key) (*gathering, error) {
	if g.doubts.about(key) {
		g = g.anew()
	}
	if err := g.memories.Ready(ctx); err != nil {
		return nil, fmt.Errorf("reading what is remembered: %w", err)
	}
	now := time.Now()
	record, memory := g.memories.Get(key), g.memories.Memory(key, now)
	pausedBy, err := g.pausedBy(ctx, key, g.cache)
	if err != nil {
		return nil, err
	}
	names := slices.Concat(g.directory.MembersOf(key), slices.Collect(maps.Keys(memory.Members)))
	objects, err := g.classes(ctx)
	if err != nil {
		return nil, err
	}
	known, err := g.ingresses(ctx, names)
	if err != nil {
		return nil, err
	}
	if err := g.askAgain(ctx, known, memory); err != nil {
		return nil, err
	}
	vanished, err := g.vanished(ctx, key, known, now)
	if err != nil {
		return nil, err
	}
	beside, err := g.ingresses(ctx, g.directory.MembersBeside(key))
	if err != nil {
		return nil, err
	}
	maps.Copy(beside, known) // one that moves between two of them is among both
	objects.Ingresses = slices.DeleteFunc(slices.Collect(maps.Values(beside)), func(i *networkingv1.Ingress) bool { return i == nil })
	if err := g.references(ctx, key, known, memory, &objects); err != nil {
		return nil, err
	}
	// A reservation counts only while the class lets its namespace serve the host.
	if objects.Namespaces, err = g.namespaces(ctx, objects.Ingresses, slices.Concat(slices.Collect(maps.Values(memory.Hosts)), namespacesOf(vanished))...); err != nil {
		return nil, err
	}
	objects.Memories = g.memories.About(names, now)
	memory.Members = maps.Clone(memory.Members)
	objects.Memories[key] = memory
	serveOn(vanished, known, objects.Memories)
	g.memories.AddPinned(g.options.Literal, objects.Memories)

	out := &gathering{Snapshot: ingress.Snapshot{Key: key, Memory: memory}, record: record, departed: known, vanished: vanished, pausedBy: pausedBy, at: now}
	out.Class.Name = key.Class()
	snapshots, homeless := ingress.Split(objects, g.options)
	if at := slices.IndexFunc(snapshots, func(s ingress.Snapshot) bool { return s.Key == key }); at >= 0 {
		out.Snapshot = snapshots[at]
	} else if class := ingress.FindClass(objects, g.options, out.Class.Name); class != nil {
		out.Class = *class // what the cloud can do depends on it
	} else if memory.Class != nil {
		out.Class.LoadBalancerClassSpec = *memory.Class // and whether the load balancer is protected
	}
	if out.NeedsNodes() {
		if out.Nodes, err = cluster.NodesIn(ctx, g.cache); err != nil && ctx.Err() == nil {
			out.NodesUnread, err = printable.Shorten(err.Error()), nil
		}
		if err != nil {
			return nil, err
		}
	}
	out.actual = map[string]*networkingv1.Ingress{}
	for _, ing := range slices.Concat(out.Ingresses, out.LeftOut) {
		out.actual[cluster.RefOf(cluster.KindIngress, ing).String()] = ing
	}
	for _, m := range out.Members {
		delete(out.departed, m.Owner.String())
	}
	for name := range vanished { // of which there may be no version to serve
		delete(out.departed, name)
	}
	out.waiting = map[string]bool{}
	for _, ing := range out.LeftOut {
		name := cluster.RefOf(cluster.KindIngress, ing).String()
		if out.waiting[name] = true; !remembers(memory, name) {
			delete(out.departed, name)
		}
	}
	out.keepRefused(objects, g.options)
	maps.DeleteFunc(out.departed, func(name string, ing *networkingv1.Ingress) bool {
		return rejected(ing, memory.Members[name]) && !slices.ContainsFunc(ingress.LeftAlone(objects, g.options, snapshots), func(d diag.Diagnostic) bool {
			return d.Source.Object() == name
		})
	})
	if len(out.departed) > 0 && out.pausedBy == "" { // a pause that was asked for just before may not be in the cache yet
		if out.pausedBy, err = g.pausedBy(ctx, key, g.server); err != nil {
			return nil, err
		}
	}
	out.disowned = disowned(out.departed, snapshots)
	out.withdrawn = map[string]diag.Diagnostic{}
	for _, d := range homeless {
		if d.Reason == diag.ConsentWithdrawn {
			out.withdrawn[d.Source.Object()] = d
		}
	}
	return out, nil
}

// keepRefused has those of the departed stay in the directory that ask for the load balancer and
// are refused: the hosts that they name are theirs.
func (g *gathering) keepRefused(o ingress.Objects, options ingress.Options) {
	o.Ingresses = slices.DeleteFunc(slices.Collect(maps.Values(g.departed)), func(i *networkingv1.Ingress) bool { return i == nil })
	if len(o.Ingresses) == 0 {
		return // classes are validated once more otherwise, at each reconcile
	}
	for _, m := range ingress.RefusedBy(o, options)[g.Key] {
		if name := m.Owner.String(); !remembers(g.Memory, name) {
			delete(g.departed, name)
			g.actual[name] = m.Ingress
		}
	}
}

// disowned are those of some Ingresses that none of the snapshots has.
func disowned(departed map[string]*networkingv1.Ingress, snapshots []ingress.Snapshot) map[string]bool {
	out := map[string]bool{}
	for name := range departed {
		out[name] = !slices.ContainsFunc(snapshots, func(s ingress.Snapshot) bool {
			return slices.ContainsFunc(s.Members, func(m ingress.Member) bool { return m.Owner.String() == name })
		})
	}
	return out
}

// remembers reports whether a memory has an Ingress.
func remembers(m ingress.Memory, name string) bool {
	_, found := m.Members[name]
	return found
}

// rejected reports whether an Ingress is kept waiting: the cloud would not have it as it is, and
// never had anything of it. What was said of it is remembered as long as it stays so.
func rejected(ing *networkingv1.Ingress, known ingress.Remembered) bool {
	return ing != nil && ing.DeletionTimestamp.IsZero() && !known.Served &&
		slices.ContainsFunc(known.Rejections, func(r ingress.Rejection) bool { return r.Version == ingress.Version(ing) })
}

// names are those of the members, oldest first.
func (g *gathering) names() []string {
	var out []string
	for _, m := range g.Members {
		out = append(out, m.Owner.String())
	}
	return out
}

// A placement is the load balancers that an Ingress belongs to, and what is to be said if there are
// none.
type placement struct {
	homes []lb.Key
	// refusedAt are those that it asks for as it is, and that refuse it.
	refusedAt []lb.Key
	homeless  []diag.Diagnostic
}

// placeOf finds the load balancers of an Ingress. One that is being deleted still belongs where it
// did.
func (g *gatherer) placeOf(ctx context.Context, ing *networkingv1.Ingress) (placement, error) {
	if err := g.memories.Ready(ctx); err != nil {
		return placement{}, fmt.Errorf("reading what is remembered: %w", err)
	}
	objects, err := g.classes(ctx)
	if err != nil {
		return placement{}, err
	}
	alive := *ing
	alive.DeletionTimestamp = nil
	objects.Ingresses = []*networkingv1.Ingress{&alive}
	if objects.Namespaces, err = g.namespaces(ctx, objects.Ingresses); err != nil {
		return placement{}, err
	}
	who := cluster.RefOf(cluster.KindIngress, ing)
	objects.Memories = g.memories.About([]string{who.String()}, time.Now())
	g.memories.AddPinned(g.options.Literal, objects.Memories)
	snapshots, homeless := ingress.Split(objects, g.options)
	out, found := placement{homes: g.memories.Holding(who.String())}, homeless
	for _, s := range snapshots {
		out.homes, found = append(out.homes, s.Key), slices.Concat(found, s.Diagnostics)
	}
	slices.Sort(out.homes)
	out.homes = slices.Compact(out.homes)
	out.homeless = slices.DeleteFunc(homeless, func(d diag.Diagnostic) bool {
		return d.Source.Kind != cluster.KindIngress // of classes, which are not this one's to report
	})
	if slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }) {
		out.refusedAt = slices.Sorted(maps.Keys(ingress.RefusedBy(objects, g.options)))
	}
	return out, nil
}

// classes are all classes and their parameters: few, and any of them may matter.
func (g *gatherer) classes(ctx context.Context) (ingress.Objects, error) {
	var o ingress.Objects
	var classes networkingv1.IngressClassList
	var clusterwide v1alpha1.ClusterLoadBalancerClassList
	var namespaced v1alpha1.LoadBalancerClassList
	for _, list := range []client.ObjectList{&classes, &clusterwide, &namespaced} {
		if err := g.cache.List(ctx, list); err != nil {
			return o, fmt.Errorf("listing classes: %w", err)
		}
	}
	o.IngressClasses = cluster.Pointers(classes.Items)
	o.ClusterLoadBalancerClasses = cluster.Pointers(clusterwide.Items)
	o.LoadBalancerClasses = cluster.Pointers(namespaced.Items)
	return o, nil
}

// ingresses are those of the given names; nil where there is none any more.
func (g *gatherer) ingresses(ctx context.Context, names []string) (map[string]*networkingv1.Ingress, error) {
	out := map[string]*networkingv1.Ingress{}
	for _, n := range names {
		ing, err := cluster.Get[networkingv1.Ingress](ctx, g.cache, cluster.RefFrom(cluster.KindIngress, n))
		if err != nil {
			return nil, err
		}
		out[n] = ing
	}
	return out, nil
}

// askAgain asks the API server itself about Ingresses of which the cache and the record say
// different things.
//
// One that is remembered and seems to be gone: an Ingress that we hold is seen being deleted, so
// one that is not there was let go by force, or, after a start, the cache was filled by an API
// server that lags behind the others.
//
// One that is not remembered and has our finalizer: each is remembered before it gets the
// finalizer, and forgotten before it loses it, so the operator that led before may have let go of
// it, and the watch of this one's cache was broken then.
func (g *gatherer) askAgain(ctx context.Context, known map[string]*networkingv1.Ingress, memory ingress.Memory) (err error) {
	for n, ing := range known {
		_, remembered := memory.Members[n]
		held := ing != nil && ing.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(ing, v1alpha1.IngressFinalizer)
		if remembered && ing != nil || !remembered && !held {
			continue
		}
		if known[n], err = cluster.Get[networkingv1.Ingress](ctx, g.server, cluster.RefFrom(cluster.KindIngress, n)); err != nil {
			return err
		}
	}
	return nil
}

// references reads what Ingresses refer to, as they are and as they were last accepted, and has the
// directory note each name before it is looked up.
func (g *gatherer) references(ctx context.Context, key lb.Key, ingresses map[string]*networkingv1.Ingress, memory ingress.Memory, o *ingress.Objects) error {
	named := references{}
	for n, ing := range ingresses {
		if ing != nil {
			named.add(ing.Namespace, &ing.Spec)
		}
		if accepted := memory.Members[n].LastAccepted; accepted != nil {
			named.add(cluster.RefFrom(cluster.KindIngress, n).Namespace, &accepted.Spec)
		}
	}
	g.directory.SetReferences(key, named.all())
	var err error
	if o.Backends, err = cluster.GetAll(ctx, g.cache, named[cluster.KindBackend], o.Backends); err != nil {
		return err
	}
	for _, b := range o.Backends {
		named.addBackend(b)
	}
	g.directory.SetReferences(key, named.all())
	if o.Services, err = cluster.GetAll(ctx, g.cache, named[cluster.KindService], o.Services); err != nil {
		return err
	}
	for _, s := range o.Services {
		found, err := cluster.EndpointsOf(ctx, g.cache, cluster.RefOf(cluster.KindService, s))
		if err != nil {
			return err
		}
		o.EndpointSlices = append(o.EndpointSlices, found...)
	}
	o.PodsKnown = true
	if o.Pods, o.Awaited, err = g.pods.PodsOf(ctx, o.EndpointSlices); err != nil {
		return err
	}
	o.SecretsWithheld = g.secrets.Withheld()
	if o.Secrets, o.SecretsUnread = g.secrets.Read(ctx, named[cluster.KindSecret]); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i, s := range o.Secrets {
		o.Secrets[i] = ingress.Shorten(s)
	}
	o.Judged = g.judged.Of(o.Secrets)
	return nil
}

// references are the objects that Ingresses name, by kind.
type references map[string]map[cluster.Ref]bool

func (r references) note(kind, namespace, name string) {
	multimap.Add(r, kind, cluster.RefTo(kind, namespace, name))
}

// add notes what an Ingress names.
func (r references) add(namespace string, spec *networkingv1.IngressSpec) {
	for _, t := range spec.TLS {
		if t.SecretName != "" {
			r.note(cluster.KindSecret, namespace, t.SecretName)
		}
	}
	r.addTo(namespace, spec.DefaultBackend)
	for _, rule := range spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for i := range rule.HTTP.Paths {
			r.addTo(namespace, &rule.HTTP.Paths[i].Backend)
		}
	}
}

func (r references) addTo(namespace string, b *networkingv1.IngressBackend) {
	switch {
	case b == nil:
	case b.Service != nil:
		r.note(cluster.KindService, namespace, b.Service.Name)
	case b.Resource != nil && b.Resource.Kind == v1alpha1.KindBackend:
		r.note(cluster.KindBackend, namespace, b.Resource.Name)
	}
}

// addBackend notes the Services that a Backend shares requests among, and the Secret that it needs.
func (r references) addBackend(b *v1alpha1.Backend) {
	for _, s := range b.Spec.Services {
		r.note(cluster.KindService, b.Namespace, s.Name)
	}
	if secret := ingress.SecretOf(b); secret != "" {
		r.note(cluster.KindSecret, b.Namespace, secret)
	}
}

func (r references) all() []cluster.Ref {
	var out []cluster.Ref
	for _, refs := range r {
		out = slices.AppendSeq(out, maps.Keys(refs))
	}
	return out
}

// namespaces reads those of Ingresses, and some more, as far as they exist.
func (g *gatherer) namespaces(ctx context.Context, ingresses []*networkingv1.Ingress, more ...string) ([]*corev1.Namespace, error) {
	refs := map[cluster.Ref]bool{}
	for _, ing := range ingresses {
		refs[cluster.RefTo(cluster.KindNamespace, "", ing.Namespace)] = true
	}
	for _, namespace := range more {
		refs[cluster.RefTo(cluster.KindNamespace, "", namespace)] = true
	}
	return cluster.GetAll[corev1.Namespace](ctx, g.cache, refs, nil)
}

// anew is a gatherer that reads from the API server what decides whether there is a rule for what
// an Ingress asks: the Ingresses, their classes, their namespaces, and the Backends and Services
// that they name. Endpoints, Pods and Nodes decide where requests are sent, and a rule stays where
// there are none.
func (g *gatherer) anew() *gatherer {
	again := *g
	again.cache = &cluster.FreshReader{Reader: g.cache, Server: g.server, Scope: g.scope, Read: map[reflect.Type]map[client.ObjectKey]client.Object{}}
	return &again
}
