package gather

import (
	"context"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/settings"
)

// This file finds and reads the objects that Ingresses name.

// references reads the objects to which Ingresses refer, in their current and in their last
// accepted version. The directory has each name before the object is read.
func (g *Gatherer) references(ctx context.Context, key lb.Key,
	ingresses map[string]*networkingv1.Ingress, recorded record.Record, o *ingress.Objects) error {
	named := References{}
	for n, ing := range ingresses {
		if ing != nil {
			named.Add(ing.Namespace, ing.Annotations, &ing.Spec)
		}
		if accepted := recorded.Members[n].LastAccepted; accepted != nil {
			named.Add(cluster.RefFrom(cluster.KindIngress, n).Namespace, accepted.Annotations,
				&accepted.Spec)
		}
	}
	named.addExpectations(o, recorded.Class)
	return g.named(ctx, named, o, func() { g.Directory.SetReferences(key, named.all()) })
}

// named reads objects by their names, and those that these name. It notes names before it reads them.
func (g *Gatherer) named(ctx context.Context, named References, o *ingress.Objects, note func()) (err error) {
	note()
	o.Backends, err = cluster.GetAll(ctx, g.Cache, named[cluster.KindBackend], o.Backends)
	if err != nil {
		return err
	}
	for _, b := range o.Backends {
		named.AddBackend(b)
	}
	note()
	o.Services, err = cluster.GetAll(ctx, g.Cache, named[cluster.KindService], o.Services)
	if err != nil {
		return err
	}
	for _, s := range o.Services {
		named.addForeign(s.Namespace, s.Annotations)
		found, err := cluster.EndpointsOf(ctx, g.Cache, cluster.RefOf(cluster.KindService, s))
		if err != nil {
			return err
		}
		o.EndpointSlices = append(o.EndpointSlices, found...)
	}
	o.PodsKnown = true
	if o.Pods, o.Awaited, err = g.Pods.PodsOf(ctx, o.EndpointSlices); err != nil {
		return err
	}
	note()
	o.SecretsWithheld = g.Secrets.WithholdingReason()
	if o.Secrets, o.SecretsUnread = g.Secrets.Read(ctx, named[cluster.KindSecret]); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i, s := range o.Secrets {
		o.Secrets[i] = ingress.ShortenSecret(s)
	}
	o.Certificates = g.Certificates.CertificatesOf(o.Secrets)
	return nil
}

// References are the names of objects to which Ingresses refer, by kind.
type References map[string]map[cluster.Ref]bool

func (r References) note(kind, namespace, name string) {
	if r[kind] == nil {
		r[kind] = map[cluster.Ref]bool{}
	}
	r[kind][cluster.RefTo(kind, namespace, name)] = true
}

// Add adds the names in an Ingress.
func (r References) Add(namespace string, annotations map[string]string,
	spec *networkingv1.IngressSpec) {
	for _, own := range settings.BackendsOf(annotations) {
		r.addSpec(namespace, own)
	}
	r.addForeign(namespace, annotations)
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

func (r References) addTo(namespace string, b *networkingv1.IngressBackend) {
	switch {
	case b == nil:
	case b.Service != nil:
		r.note(cluster.KindService, namespace, b.Service.Name)
	case b.Resource != nil && b.Resource.Kind == v1alpha1.KindBackend:
		r.note(cluster.KindBackend, namespace, b.Resource.Name)
	}
}

// addForeign adds the names in annotations of the AWS Load Balancer Controller.
func (r References) addForeign(namespace string, annotations map[string]string) {
	services, secrets := alb.Refers(annotations)
	for _, name := range services {
		r.note(cluster.KindService, namespace, name)
	}
	for _, name := range secrets {
		r.note(cluster.KindSecret, namespace, name)
	}
}

// AddBackend adds the names in the spec of a Backend: Services, and a Secret.
func (r References) AddBackend(b *v1alpha1.Backend) { r.addSpec(b.Namespace, &b.Spec) }

func (r References) addSpec(namespace string, spec *v1alpha1.BackendSpec) {
	for _, s := range spec.Services {
		if s.Name == "" { // a target group of others
			continue
		}
		r.note(cluster.KindService, namespace, s.Name)
	}
	if secret := ingress.SecretOf(spec); secret != "" {
		r.note(cluster.KindSecret, namespace, secret)
	}
}

// addExpectations adds the ConfigMaps that the classes name, and the last served class of a load
// balancer.
func (r References) addExpectations(o *ingress.Objects, last *v1alpha1.LoadBalancerClassSpec) {
	add := func(class *v1alpha1.LoadBalancerClassSpec) {
		if class != nil && class.Expectations != nil {
			r.note(cluster.KindConfigMap, class.Expectations.Namespace, class.Expectations.Name)
		}
	}
	add(last)
	for _, c := range o.ClusterLoadBalancerClasses {
		add(&c.Spec)
	}
	for _, c := range o.LoadBalancerClasses {
		add(&c.Spec)
	}
}

func (r References) all() []cluster.Ref {
	var out []cluster.Ref
	for _, refs := range r {
		out = slices.AppendSeq(out, maps.Keys(refs))
	}
	return out
}
