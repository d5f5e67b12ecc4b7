package loadbalancer

import (
	"context"
	"slices"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/model/settings"
	"fairlead.dev/fairlead/providers"
)

// This file tests that load balancers stay as they are that are on their way from another controller, or to it.

// adopt writes the record of the load balancer in a state.
func (b *bench) adopt(state string) *records.Adoption {
	b.Helper()
	a, err := b.Adoptions.Get(b.Context(), benchKey)
	if err != nil {
		b.Fatal(err)
	}
	if a == nil {
		a = &records.Adoption{AdoptionMemory: v1alpha1.AdoptionMemory{From: v1alpha1.AdoptALB, ClusterName: "prod", Stack: "shop/web", Key: string(benchKey)}}
	}
	a.Enter(state, time.Now())
	if err := b.Adoptions.Put(b.Context(), a); err != nil {
		b.Fatal(err)
	}
	return a
}

// acknowledged reports whether the operator has said that it leaves the load balancer as it is.
func (b *bench) acknowledged(a *records.Adoption) bool {
	b.Helper()
	acknowledged, err := b.Adoptions.Acknowledged(b.Context(), a)
	if err != nil {
		b.Fatal(err)
	}
	return acknowledged
}

func TestNothingIsMadeWhileALoadBalancerIsTakenOver(t *testing.T) {
	for _, state := range []string{v1alpha1.AdoptionRecorded, v1alpha1.AdoptionPrepared} {
		b := newBench(t, ask("shop.example"), service())
		b.place()
		a := b.adopt(state)
		if b.acknowledged(a) {
			t.Errorf("%s: before the operator has read it, it is acknowledged", state)
		}
		before := b.ingress()
		b.backlog.NoteChange(benchKey)
		for range 2 {
			b.reconciles()
		}
		if late := b.OldestChange(); late > 0 {
			t.Errorf("%s: a change is %s late", state, late)
		}
		b.says(v1alpha1.ConditionProgrammed, v1alpha1.ReasonTakingOver)
		if keys, err := b.cloud.List(t.Context()); err != nil || len(keys) > 0 || b.cloud.Observations > 0 {
			t.Errorf("%s: there is %q, after %d looks, error %v", state, keys, b.cloud.Observations, err)
		}
		if !equality.Semantic.DeepEqual(before, b.ingress()) {
			t.Errorf("%s: the Ingress is %v", state, b.ingress())
		}
		if !b.acknowledged(a) {
			t.Errorf("%s: it is not acknowledged", state)
		}
		if !b.Targets.Compiled(benchKey, serviceRef) {
			t.Errorf("%s: Pods with a readiness gate wait for it", state)
		}
		b.adopt(v1alpha1.AdoptionTaken)
		b.settle()
		b.says(v1alpha1.ConditionProgrammed, v1alpha1.ReasonProgrammed)
	}
}

var serviceRef = cluster.RefTo(cluster.KindService, "shop", "web")

// What was not the operator's when it looked last is its own once it is taken over: it looks again, at once, and makes no
// second one. It has not lost a record that it never had.
func TestALoadBalancerThatIsTakenOverIsLookedAtAtOnce(t *testing.T) {
	for _, seenBefore := range []string{"", v1alpha1.AdoptionPrepared} {
		b := newBench(t, ask("shop.example"), service())
		b.Grace = time.Hour
		b.place()
		b.Paused = []string{string(benchKey)}
		b.reconciles() // it finds nothing, and makes nothing
		if seenBefore != "" {
			b.adopt(seenBefore)
			b.reconciles()
		}
		b.Paused = nil
		other := newBench(t, ask("shop.example"), service())
		other.cloud = b.cloud
		other.succeed()
		other.place()
		other.settle()
		a := b.adopt(v1alpha1.AdoptionTaken)
		if a.IsUnderWay() {
			t.Error("one that was taken over is held")
		}
		b.Cloud = providers.ReadOnly(b.cloud)
		if keys := b.onReport(t.Context(), reportOf(b)); !slices.Equal(keys, []lb.Key{benchKey}) {
			t.Errorf("the event has %q reconciled", keys)
		}
		looks := b.cloud.Observations
		b.reconciles()
		b.says(v1alpha1.ConditionProgrammed, v1alpha1.ReasonProgrammed)
		if b.cloud.Observations != looks+1 {
			t.Errorf("it has looked %d times", b.cloud.Observations-looks)
		}
		b.reconciles()
		if b.cloud.Observations != looks+1 {
			t.Errorf("it looks again without a reason")
		}
	}
}

// reportOf is the metadata of the record of what is taken over, as its watch has it.
func reportOf(b *bench) *metav1.PartialObjectMetadata {
	b.Helper()
	o := records.Metadata()
	if err := b.Get(b.Context(), client.ObjectKey{Name: v1alpha1.Name(string(benchKey), "") + ".adoption"}, o); err != nil {
		b.Fatal(err)
	}
	return o
}

// While a load balancer is given back, only its targets are kept up; then it is forgotten. The status of its Ingresses
// stays, as the address does.
func TestALoadBalancerIsGivenBack(t *testing.T) {
	b := newBench(t, ask("shop.example"), service())
	b.Grace = time.Hour
	b.place()
	b.adopt(v1alpha1.AdoptionTaken)
	b.settle()
	b.reconciles()
	rules, status := b.rules(), b.ingress().Status
	group := lb.GroupKey{Key: benchKey, ID: b.observes().TargetGroups[0].ID}

	a := b.adopt(v1alpha1.AdoptionReleasing)
	if b.acknowledged(a) {
		t.Error("before the operator has read it, it is acknowledged")
	}
	b.change()
	b.reconciles()
	b.says(v1alpha1.ConditionProgrammed, v1alpha1.ReasonGivingBack)
	if !b.acknowledged(a) || b.rules() != rules {
		t.Errorf("it is acknowledged: %t, and there are %d rules in place of %d", b.acknowledged(a), b.rules(), rules)
	}
	if _, exists := b.Targets.TargetsOf(group); !exists {
		t.Error("targets are not kept up")
	}
	if finalizers := b.ingress().Finalizers; !slices.Equal(finalizers, []string{v1alpha1.IngressFinalizer}) {
		t.Errorf("the finalizers are %q", finalizers)
	}

	a = b.adopt(v1alpha1.AdoptionReturned)
	for range 2 { // also after a failure
		b.reconciles()
	}
	now := b.ingress()
	if b.rules() != rules || len(now.Finalizers) > 0 || !equality.Semantic.DeepEqual(now.Status, status) || len(status.LoadBalancer.Ingress) == 0 {
		t.Errorf("there are %d rules in place of %d, and the Ingress is %v", b.rules(), rules, now)
	}
	if _, exists := b.Targets.TargetsOf(group); exists {
		t.Error("targets are still kept up")
	}
	if known := b.Records.Keys(); len(known) > 0 {
		t.Errorf("records are left of %q", known)
	}
	now.Spec.IngressClassName = new("alb")
	if err := b.Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if err := b.Adoptions.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	b.Cloud = providers.ReadOnly(b.cloud)
	b.observer.cloud = others{b.cloud}
	for range 2 {
		b.reconciles()
	}
	if after := b.ingress(); !equality.Semantic.DeepEqual(after.Status, status) || len(after.Finalizers) > 0 || b.rules() != rules {
		t.Errorf("once the other controller has it, the Ingress is %v, and there are %d rules", after, b.rules())
	}
}

// others is a cloud whose load balancers are others'.
type others struct{ providers.Provider }

func (others) Observe(_ context.Context, key lb.Key, _ bool) (*lb.Observed, error) {
	return &lb.Observed{Key: key}, nil
}

func (b *bench) observes() *lb.Observed {
	b.Helper()
	seen, err := b.cloud.Cloud.Observe(b.Context(), benchKey, false)
	if err != nil {
		b.Fatal(err)
	}
	return seen
}

// The status that the AWS Load Balancer Controller has written stays as it is: updateIngressStatus in its
// controllers/ingress/group_controller.go writes the ports of all members, without a protocol; earlier versions wrote none.
func TestTheStatusOfTheOtherControllerStays(t *testing.T) {
	const host = "k8s-shop-web-1.eu-west-1.elb.amazonaws.com"
	status := func(host string, ports ...networkingv1.IngressPortStatus) []networkingv1.IngressLoadBalancerIngress {
		return []networkingv1.IngressLoadBalancerIngress{{Hostname: host, Ports: ports}}
	}
	port := func(number int32) networkingv1.IngressPortStatus { return networkingv1.IngressPortStatus{Port: number} }
	tcp := func(number int32) networkingv1.IngressPortStatus {
		return networkingv1.IngressPortStatus{Port: number, Protocol: "TCP"}
	}
	refused := tcp(80)
	refused.Error = new("fairlead.dev/Invalid")
	own := status(host, tcp(80))
	for name, c := range map[string]struct {
		present, wanted []networkingv1.IngressLoadBalancerIngress
		stays           bool
	}{
		"no ports":                  {status(host), own, true},
		"the same port":             {status(host, port(80)), own, true},
		"ports of other members":    {status(host, port(443), port(80)), own, true},
		"a port that is not open":   {status(host, port(80), port(8080)), own, false},
		"without a port":            {status(host, port(443)), own, false},
		"another address":           {status("other.example", port(80)), own, false},
		"nothing":                   {nil, own, false},
		"two addresses":             {append(status(host), status("other.example")...), own, false},
		"an IP":                     {[]networkingv1.IngressLoadBalancerIngress{{Hostname: host, IP: "192.0.2.1"}}, own, false},
		"a port has a problem":      {status(host, port(80)), status(host, refused), false},
		"a port has had a problem":  {status(host, refused), own, false},
		"the problem is said there": {status(host, refused), status(host, refused), false},
	} {
		open := func(port int32) bool { return port == 80 || port == 443 }
		if got := saysAsMuch(c.present, c.wanted, open); got != c.stays {
			t.Errorf("%s: it stays: %t, want %t", name, got, c.stays)
		}
	}
	for _, adoption := range []*v1alpha1.Adoption{nil, {From: v1alpha1.AdoptALB, ClusterName: "prod"}} {
		ing := published(false)
		ing.Status.LoadBalancer.Ingress = status(host, port(443), port(80))
		b := newBench(t, ing)
		m := ingress.NewMember(b.ingress(), settings.Values{})
		table := &precedence.Table{Config: routing.Config{Routes: []routing.Route{{Owner: m.Owner, Ports: []int32{80}}}}}
		o := outcome{
			Observed: &lb.Observed{Key: benchKey, Exists: true, Active: true, Address: lb.Address{Hostname: host},
				Listeners: []lb.ObservedListener{{Port: 80, Protocol: routing.HTTP}, {Port: 443, Protocol: routing.HTTPS}}},
			Built: model.Built{LoadBalancer: lb.LoadBalancer{Key: benchKey}, Table: table},
			Snapshot: &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey, Members: []ingress.Member{m}, Class: ingress.Class{
				LoadBalancerClassSpec: v1alpha1.LoadBalancerClassSpec{Adoption: adoption}}}, Actual: map[string]*networkingv1.Ingress{"shop/web": m.Ingress}},
		}
		o.Snapshot.Record.Address = host
		next := &records.Record{Address: host, Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{{Ingress: "shop/web", Served: true}}}}
		if _, err := b.publish(t.Context(), o, next); err != nil {
			t.Fatal(err)
		}
		now := b.ingress()
		if stays := equality.Semantic.DeepEqual(now.Status, ing.Status); stays != (adoption != nil) || b.Ingresses.ChangedByOthers(now) {
			t.Errorf("with adoption %v, the status is %v", adoption, now.Status)
		}
		if records.MemberOf(next, "shop/web").PublishedAt == nil {
			t.Errorf("with adoption %v, it counts as not published", adoption)
		}
	}
}

// An operator that starts after a load balancer was taken over finds one without a record. Long afterwards, the record was
// lost.
func TestALoadBalancerThatIsTakenOverHasLostNoRecord(t *testing.T) {
	for ago, want := range map[time.Duration]string{time.Minute: v1alpha1.ReasonProgrammed, 2 * time.Hour: v1alpha1.ReasonRecordLost} {
		other := newBench(t, ask("shop.example"), service())
		other.place()
		other.settle()
		b := newBench(t, ask("shop.example"), service())
		b.cloud = other.cloud
		b.succeed()
		b.Grace = time.Hour
		b.change()
		b.place()
		a := &records.Adoption{AdoptionMemory: v1alpha1.AdoptionMemory{From: v1alpha1.AdoptALB, Key: string(benchKey)}}
		a.Enter(v1alpha1.AdoptionTaken, time.Now().Add(-ago))
		if err := b.Adoptions.Put(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			b.reconciles()
		}
		b.says(v1alpha1.ConditionProgrammed, want)
	}
}

// Where no operator runs while a load balancer is given back, the next one finds nothing of it.
func TestALoadBalancerIsGivenBackWithoutAnOperator(t *testing.T) {
	b := newBench(t, ask("shop.example"), service())
	b.place()
	b.adopt(v1alpha1.AdoptionTaken)
	b.settle()
	b.reconciles()
	a := b.adopt(v1alpha1.AdoptionReturned)
	now := b.ingress()
	status := now.Status
	now.Finalizers, now.Spec.IngressClassName = nil, new("alb") // as who gives it back does
	if err := b.Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	a.Enter(v1alpha1.AdoptionReleased, time.Now())
	if err := b.Adoptions.Put(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	rules := b.rules()
	b.succeed()
	b.Cloud = providers.ReadOnly(b.cloud)
	b.observer.cloud = others{b.cloud}
	b.place()
	if err := b.Records.Ready(t.Context()); err != nil || len(b.Records.Keys()) > 0 {
		t.Errorf("records are left of %q, error %v", b.Records.Keys(), err)
	}
	for range 2 {
		b.reconciles()
	}
	if after := b.ingress(); !equality.Semantic.DeepEqual(after.Status, status) || len(after.Finalizers) > 0 || b.rules() != rules {
		t.Errorf("the Ingress is %v, and there are %d rules", after, b.rules())
	}
}
