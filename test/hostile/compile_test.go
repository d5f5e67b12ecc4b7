package hostile

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/request"
)

// This file runs the cases through the compiler, in this process.

func TestCompiler(t *testing.T) {
	for _, c := range cases(t, "") {
		t.Run(c.name, func(t *testing.T) {
			ofOffline(t, c, func(t *testing.T, of contents) world { return compile(t, c.options, of) })
		})
	}
}

// compiled is a world that the compiler has made.
type compiled struct {
	built       []model.Built
	caps        []lb.Capabilities // of each
	plans       []plan.Plan       // of each
	diagnostics []diag.Diagnostic
}

func compile(t *testing.T, o options, of contents) *compiled {
	t.Helper()
	offline, err := cloud(o.provider())
	if err != nil {
		t.Fatal(err)
	}
	all, err := gather(of)
	if err != nil {
		t.Fatal(err)
	}
	settings := ingress.ClassOptions{AssumeClasses: []string{o.class()}}
	if o.WithoutClass {
		settings.WithoutClass = o.class()
	}
	w := &compiled{}
	snapshots, diagnostics := ingress.Place(all, settings)
	w.diagnostics = slices.Concat(diagnostics, ingress.LeftAlone(all, settings, snapshots))
	for _, s := range snapshots {
		facts, err := offline.Lookup(t.Context(), model.Ask(s))
		if err != nil {
			t.Fatal(err)
		}
		caps := offline.Capabilities(model.ClassOf(s))
		built := model.Compile(s, facts, caps)
		todo := planner.Diff(&lb.Observed{Key: s.Key}, built.LoadBalancer, caps)
		w.built, w.caps, w.plans = append(w.built, built), append(w.caps, caps), append(w.plans, todo)
		w.diagnostics = append(append(w.diagnostics, built.Diagnostics...), todo.Diagnostics...)
	}
	return w
}

func cloud(provider string) (clouds.Offline, error) {
	switch provider {
	case "aws":
		return aws.Offline{}, nil
	case "fake":
		return fake.New(fake.Options{})
	}
	return nil, fmt.Errorf("there is no provider %q", provider)
}

// gather is the cluster as the compiler reads it.
func gather(of contents) (ingress.Objects, error) {
	all := ingress.Objects{PodsKnown: true}
	for _, o := range of {
		switch o := o.(type) {
		case *networkingv1.Ingress:
			all.Ingresses = append(all.Ingresses, o)
		case *networkingv1.IngressClass:
			all.IngressClasses = append(all.IngressClasses, o)
		case *v1alpha1.LoadBalancerClass:
			all.LoadBalancerClasses = append(all.LoadBalancerClasses, o)
		case *v1alpha1.ClusterLoadBalancerClass:
			all.ClusterLoadBalancerClasses = append(all.ClusterLoadBalancerClasses, o)
		case *v1alpha1.Backend:
			all.Backends = append(all.Backends, o)
		case *corev1.Service:
			all.Services = append(all.Services, o)
		case *corev1.Secret:
			all.Secrets = append(all.Secrets, o)
		case *corev1.Namespace:
			all.Namespaces = append(all.Namespaces, o)
		case *corev1.Pod:
			all.Pods = append(all.Pods, o)
		case *discoveryv1.EndpointSlice:
			all.EndpointSlices = append(all.EndpointSlices, o)
		default:
			return all, fmt.Errorf("the compiler does not read %s", named(o))
		}
	}
	return all, nil
}

func (w *compiled) answer(r request.Request) (string, error) {
	at := slices.IndexFunc(w.built, func(b model.Built) bool { return b.LoadBalancer.Key == r.On })
	if r.On == "" {
		claimants := w.claimants(r.Routing.Hostname())
		switch len(claimants) {
		case 0:
			return nothing, nil
		case 1:
			at = claimants[0]
		default:
			return "", fmt.Errorf("%d load balancers have something for the host: say which", len(claimants))
		}
	}
	if at < 0 {
		return nothing, nil
	}
	b := w.built[at]
	said, done := r.OutcomeOf(b.Table.Match(r.Routing).Action), r.Answer(b.LoadBalancer.Listeners, w.caps[at].Dialect)
	if done != request.Refused && said != done {
		return "", fmt.Errorf("the table answers %s, and the rules %s", said, done)
	}
	return done, nil
}

// claimants are the load balancers that name a host or, where none does, those that answer for any.
func (w *compiled) claimants(host string) []int {
	levels := slices.DeleteFunc(routing.Levels(host), func(h routing.Host) bool { return h == routing.Any })
	var naming, catching []int
	for i, b := range w.built {
		if slices.ContainsFunc(b.Table.Names, func(n routing.Name) bool { return slices.Contains(levels, n.Host) }) {
			naming = append(naming, i)
		}
		if len(b.Table.Defaults) > 0 || slices.ContainsFunc(b.Table.Routes, func(r routing.Route) bool { return r.Host == routing.Any }) {
			catching = append(catching, i)
		}
	}
	if len(naming) > 0 {
		return naming
	}
	return catching
}

func (w *compiled) told() ([]string, error) {
	var all []string
	for _, d := range w.diagnostics {
		all = append(all, fmt.Sprintf("%s %s %s", d.Severity, d.Reason, d.Source))
	}
	return all, nil
}

func (w *compiled) presented(port int32, host string) ([]string, error) {
	var all []string
	for _, b := range w.built {
		held := map[lb.CertificateID]lb.Certificate{}
		for _, c := range b.LoadBalancer.Certificates {
			held[c.ID] = c
		}
		for _, l := range b.LoadBalancer.Listeners {
			if l.Port != port {
				continue
			}
			for _, id := range l.Certificates {
				if c, ours := held[id]; !ours {
					all = append(all, discovered(string(id), host)...)
				} else if coversAny(c.Hosts, host) {
					all = append(all, c.Secrets...)
				}
			}
		}
	}
	return all, nil
}

func (w *compiled) targets(service string) ([]string, error) {
	var all []string
	for _, b := range w.built {
		for _, g := range b.LoadBalancer.TargetGroups {
			if fmt.Sprintf("%s:%s", g.Service, g.Port) != service {
				continue
			}
			for _, t := range g.Targets {
				all = append(all, t.String())
			}
		}
	}
	return all, nil
}

// loadBalancers are those that there are once the plans have run.
func (w *compiled) loadBalancers() ([]string, error) {
	var all []string
	for _, p := range w.plans {
		if p.Fold(&lb.Observed{Key: p.Key}).Exists {
			all = append(all, string(p.Key))
		}
	}
	return all, nil
}

func (w *compiled) printed() (string, error) {
	var out bytes.Buffer
	for _, p := range w.plans {
		if err := p.Text(&out, plan.Form{}); err != nil {
			return "", err
		}
	}
	for _, d := range diag.Sort(slices.Clone(w.diagnostics)) {
		fmt.Fprintln(&out, d)
	}
	return out.String(), nil
}
