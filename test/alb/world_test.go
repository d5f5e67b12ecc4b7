// Package alb lets the AWS provider work against the simulator: what it costs, whether requests
// ever go astray, and what becomes of it when it is cut off.
package alb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/albsim"
)

// This file is a cluster with one load balancer, and the operator's way from its objects to AWS,
// without the operator.

// A world is objects, an account, and what is known of it.
type world struct {
	*testing.T
	sim   *albsim.Sim
	cloud *aws.Provider
	ingress.Objects
	seen   *lb.Observed
	groups map[lb.GroupID]routing.Backend // those whose members are kept
	have   map[lb.GroupID][]lb.Target     // what they were last set to
	key    lb.Key
	serial int
	// numbers are the Services' own: a Service that is made anew has pods of other addresses.
	numbers map[string]int
	// planned is told each plan before it is run; nil for nobody.
	planned func(plan.Plan)
	// ends are when refusals end, by Ingress and what was refused.
	ends map[string]time.Time
	// crowded says that something did not fit the last time.
	crowded bool
	// unparked are the parking rules that were refused.
	unparked []providers.Rejection
	// rejections are the steps that were refused.
	rejections []providers.Rejection
	// refused says that the last plan met with a refusal that the next compilation knows of.
	refused bool
	// later are the further parts of a change that takes its time, each for when the one before is
	// done.
	later []func()
	// requested is told of each call, if it is not nil.
	requested func(client.Request)
	// normalised is the path that AWS sees of one that is sent; nil where it is the same.
	normalised func(path string) string
	// webACLs are those that Ingresses ask for, as the account will answer.
	webACLs map[string]string
	// patience is how long the operator waits before it asks again for what the cloud was not ready
	// for.
	patience time.Duration
	limit    time.Duration // of a plan; zero is none
	// deployed is how long the provider waits for changed rules to be deployed; zero for as long as it
	// does.
	deployed time.Duration
	// eager are the steps that the provider says are done, and does not do; nil for none.
	eager func(plan.Step) bool
}

func newWorld(t *testing.T, o albsim.Options) *world {
	if o.Authorize == nil {
		o.Authorize = operator().allow
	}
	w := &world{T: t, sim: albsim.New(o), key: "fairlead/shop/@all/internal", numbers: map[string]int{}, patience: patience, ends: map[string]time.Time{}}
	w.IngressClasses = []*networkingv1.IngressClass{{
		ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}, Spec: networkingv1.IngressClassSpec{Controller: ingress.ControllerName},
	}}
	w.restart()
	return w
}

// class changes the parameters of the class.
func (w *world) class(change func(*v1alpha1.LoadBalancerClassSpec)) {
	group := v1alpha1.Group
	w.IngressClasses[0].Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: &group, Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "fairlead"}
	if len(w.ClusterLoadBalancerClasses) == 0 {
		w.ClusterLoadBalancerClasses = []*v1alpha1.ClusterLoadBalancerClass{{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}}}
	}
	change(&w.ClusterLoadBalancerClasses[0].Spec)
}

// inBubble runs a test in a bubble of its own, in which time passes when everybody waits.
func inBubble(t *testing.T, o albsim.Options, do func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { do(newWorld(t, o)) })
}

// restart makes a new operator, which knows nothing.
func (w *world) restart() {
	w.cloud = aws.New(aws.Options{Config: w.sim.Config(), Installation: "test", VPC: albsim.VPC, Cluster: albsim.Cluster, Rates: client.PublishedRates(), OnRequest: w.requested, Settle: w.deployed})
	w.seen, w.groups, w.have = nil, map[lb.GroupID]routing.Backend{}, map[lb.GroupID][]lb.Target{}
}

// turn turns to another load balancer of the same objects, of which nothing is known.
func (w *world) turn(key lb.Key) {
	w.restart()
	w.key = key
}

// serve adds an Ingress with its own host, each of its paths to a Service.
func (w *world) serve(name string, paths map[string]string) *networkingv1.Ingress {
	prefix := networkingv1.PathTypePrefix
	class := "fairlead"
	var http networkingv1.HTTPIngressRuleValue
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		http.Paths = append(http.Paths, networkingv1.HTTPIngressPath{Path: p, PathType: &prefix, Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: paths[p], Port: networkingv1.ServiceBackendPort{Number: 80}},
		}})
	}
	ing := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Annotations: map[string]string{"fairlead.dev/group": "all"},
			CreationTimestamp: metav1.NewTime(time.Unix(int64(1_700_000_000+len(w.Ingresses)), 0)),
		},
		Spec: networkingv1.IngressSpec{IngressClassName: &class, Rules: []networkingv1.IngressRule{{
			Host: name + ".example.com", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &http},
		}}},
	}
	w.Ingresses = append(w.Ingresses, ing)
	return ing
}

// service adds a Service with ready pods, or changes how many it has.
func (w *world) service(name string, pods int) {
	at := slices.IndexFunc(w.Services, func(s *corev1.Service) bool { return s.Name == name })
	if at < 0 {
		at = len(w.Services)
		w.serial++
		w.numbers[name] = w.serial
		w.Services = append(w.Services, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{
				Port: 80, TargetPort: intstr.FromInt32(8080), NodePort: 30000 + int32(w.serial), Protocol: corev1.ProtocolTCP,
			}}},
		})
		w.EndpointSlices = append(w.EndpointSlices, &discoveryv1.EndpointSlice{})
	}
	port, tcp := int32(8080), corev1.ProtocolTCP
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port, Protocol: &tcp}},
	}
	ready := true
	for i := range pods {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprintf("10.%d.%d.%d", 20+w.numbers[name]%200, i/250, 1+i%250)}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: fmt.Sprintf("%s-%d-%d", name, w.numbers[name], i)},
		})
	}
	w.EndpointSlices[at] = slice
}

// remove deletes an Ingress.
func (w *world) remove(name string) {
	w.Ingresses = slices.DeleteFunc(w.Ingresses, func(i *networkingv1.Ingress) bool { return i.Name == name })
}

// split sorts the Ingresses into load balancers, and says what there is to say to those that are in
// none.
func (w *world) split() ([]ingress.Snapshot, []diag.Diagnostic) {
	w.forgive()
	w.Pods, w.PodsKnown = podsOf(w.EndpointSlices), true
	return ingress.Place(w.Objects, ingress.ClassOptions{})
}

// podsOf are the Pods that endpoints name.
func podsOf(list []*discoveryv1.EndpointSlice) []*corev1.Pod {
	var out []*corev1.Pod
	for _, s := range list {
		for c := range endpoints.Claims(s) {
			out = append(out, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Pod},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: c.Address}}},
			})
		}
	}
	return out
}

// snapshot is what the load balancer is made of.
func (w *world) snapshot() ingress.Snapshot {
	split, _ := w.split()
	if at := slices.IndexFunc(split, func(s ingress.Snapshot) bool { return s.Key == w.key }); at >= 0 {
		return split[at]
	}
	return ingress.Snapshot{Key: w.key, Class: *ingress.FindClass(w.Objects, ingress.ClassOptions{}, w.key.Class())}
}

// reconcile goes the way from objects to AWS once.
func (w *world) reconcile() (plan.Plan, model.Built, error) {
	s := w.snapshot()
	ask := model.Ask(s)
	ask.Limits = w.crowded
	facts, err := w.cloud.Lookup(w.Context(), ask)
	if err != nil {
		return plan.Plan{}, model.Built{}, err
	}
	if w.seen == nil {
		if w.seen, err = w.cloud.Observe(w.Context(), w.key, false); err != nil {
			w.seen = nil
			return plan.Plan{}, model.Built{}, err
		}
	}
	facts.AddObserved(w.seen)
	caps := w.caps(s)
	built := model.Compile(s, facts, caps)
	w.crowded = slices.ContainsFunc(built.Diagnostics, func(d diag.Diagnostic) bool { return d.Reason == diag.QuotaExceeded })
	if w.seen.Exists && !w.seen.Active {
		if w.seen.Active, err = w.cloud.Active(w.Context(), w.seen); err != nil {
			return plan.Plan{}, built, err
		}
	}
	todo := planner.Diff(w.seen, planner.KeepShape(built.LoadBalancer, w.seen), caps)
	if w.planned != nil {
		w.planned(todo)
	}
	var cloud providers.Provider = w.cloud
	if w.eager != nil {
		cloud = eager{cloud, w.eager}
	}
	ctx := w.Context()
	if w.limit > 0 {
		limited, cancel := context.WithTimeout(ctx, w.limit)
		defer cancel()
		ctx = limited
	}
	outcome, err := providers.Run(ctx, cloud, w.seen, todo, providers.Options{})
	w.unparked, w.rejections = append(w.unparked, outcome.Unparked...), append(w.rejections, outcome.Rejections...)
	w.refused = w.remember(s, built, outcome, err == nil)
	w.track(built)
	renews := outcome.HalfDone
	if err == nil {
		err = w.keepTargets(s, caps)
		renews = err != nil && !onlyPending(err)
	}
	if renews {
		w.seen = nil
	}
	return todo, built, err
}

// caps are what AWS's rules can say, and how many there may be.
func (w *world) caps(s ingress.Snapshot) lb.Capabilities {
	return w.cloud.Capabilities(model.ClassOf(s))
}

// onlyPending reports whether all that went wrong is that it is too early.
func onlyPending(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !onlyPending(e) })
	}
	return errors.Is(err, providers.ErrPending)
}

// track notes the target groups that are there, with the first members that the plan gave them.
func (w *world) track(built model.Built) {
	w.groups = map[lb.GroupID]routing.Backend{}
	for _, g := range w.seen.TargetGroups {
		b := routing.Backend{ID: g.ID, Service: g.Service, Port: g.Port, TargetType: g.TargetType, Family: g.Family}
		if at := slices.IndexFunc(built.LoadBalancer.TargetGroups, func(t lb.TargetGroup) bool { return t.ID == g.ID }); at >= 0 {
			b.NodeLabels = built.LoadBalancer.TargetGroups[at].NodeLabels
			if w.have[g.ID] == nil && g.Registered {
				w.have[g.ID] = nil
			}
		}
		w.groups[g.ID] = b
	}
	maps.DeleteFunc(w.have, func(id lb.GroupID, _ []lb.Target) bool { _, there := w.groups[id]; return !there })
}

// keepTargets makes the members of groups what their Services say.
// A group that fails keeps no other from getting its own.
func (w *world) keepTargets(s ingress.Snapshot, caps lb.Capabilities) error {
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(w.groups)) {
		want := w.targetsOf(s, w.groups[id], caps)
		have, known := w.have[id]
		if !known {
			healths, err := w.cloud.Targets(w.Context(), w.key, id)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			for _, h := range healths {
				if h.State != "draining" {
					have = append(have, h.Target)
				}
			}
		}
		elsewhere := 0
		for other, targets := range w.have {
			if other != id {
				elsewhere += len(targets)
			}
		}
		if want = caps.ChooseTargets(want, have, elsewhere); !sameTargets(have, want) {
			if err := w.cloud.SetTargets(w.Context(), w.key, id, want); err != nil {
				errs = append(errs, err)
				delete(w.have, id)
				continue
			}
		}
		w.have[id] = want
	}
	return errors.Join(errs...)
}

// targetsOf is where requests for a backend go: nowhere if there is no such Service.
func (w *world) targetsOf(s ingress.Snapshot, b routing.Backend, caps lb.Capabilities) []lb.Target {
	now := endpoints.Objects{Nodes: w.Nodes, Pods: podsOf(w.EndpointSlices), PodsKnown: true}
	if at := slices.IndexFunc(w.Services, func(s *corev1.Service) bool { return "shop/"+s.Name == b.Service }); at >= 0 {
		now.Service, now.Slices = w.Services[at], []*discoveryv1.EndpointSlice{w.EndpointSlices[at]}
	}
	return caps.Targets(b.TargetType, endpoints.Find(&s.Class.LoadBalancerClassSpec, b, now).Targets)
}

func sameTargets(a, b []lb.Target) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(t lb.Target) bool { return !slices.Contains(b, t) })
}

// patience is how long the operator waits before it asks again, where a world does not say.
const patience = 5 * time.Second

// settle reconciles until there is nothing to do, as the operator does.
func (w *world) settle() {
	w.Helper()
	if err := w.rest(); err != nil {
		w.Fatal(err)
	}
}

// settleUnder has somebody look after every call meanwhile, and again a while later.
func (w *world) settleUnder(look func(when string)) {
	w.Helper()
	w.sim.Watch(func(c albsim.Call) {
		look("after " + c.String())
		time.Sleep(6 * time.Second)
		look("some time after " + c.String())
	})
	w.settle()
	w.sim.Watch(nil)
}

// rest reconciles until there is nothing to do, or until trying again is in vain.
func (w *world) rest() error {
	for range 1000 {
		if rests, err := w.try(); rests || err != nil {
			return err
		}
	}
	return errors.New("it does not come to rest")
}

// try reconciles once, and waits where it is too early for more. The error is one after which
// trying again is in vain.
func (w *world) try() (rests bool, err error) {
	todo, _, err := w.reconcile()
	switch {
	case err == nil && todo.Empty() && (w.seen.Active || !w.seen.Exists):
		return true, nil
	case w.refused:
	case err != nil && !errors.Is(err, providers.ErrPending) && !errors.Is(err, providers.ErrThrottled):
		return false, err
	case err != nil || todo.Empty(): // it is still being provisioned
		time.Sleep(w.patience)
	}
	return false, nil
}

// finish settles a change, and all its further parts.
func (w *world) finish() {
	w.Helper()
	for w.settle(); w.goOn(); w.settle() {
	}
}

// goOn begins the next part of a change; false if there is none.
func (w *world) goOn() bool {
	if len(w.later) == 0 {
		return false
	}
	next := w.later[0]
	w.later = w.later[1:]
	next()
	return true
}
