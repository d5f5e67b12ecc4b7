package adoption

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers"
	"fairlead.dev/fairlead/controllers/controllertest"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/incumbent"
)

// This file has the operator take load balancers over by itself.

// An adopting operator, and what it asks.
type adopting struct {
	*site
	*controllers.Adopter
	now   time.Time
	calls int // of the API server
	fail  func(verb string, o any) error
}

func newAdopting(s *site) *adopting {
	a := &adopting{site: s, now: time.Now(), fail: func(string, any) error { return nil }}
	counted := interceptor.NewClient(s.kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, more ...client.GetOption) error {
			a.calls++
			return errors.Join(a.fail("get", o), c.Get(ctx, key, o, more...))
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, more ...client.ListOption) error {
			a.calls++
			if err := a.fail("list", list); err != nil {
				return err
			}
			return c.List(ctx, list, more...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, more ...client.DeleteOption) error {
			a.calls++
			if err := a.fail("delete", o); err != nil {
				return err
			}
			return c.Delete(ctx, o, more...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, more ...client.SubResourcePatchOption) error {
			a.calls++
			if err := a.fail("patch "+sub, o); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, more...)
		},
	})
	g := controllertest.NewGatherer(s.kube)
	g.Adoptions = records.NewAdoptionStore(counted, counted, "")
	a.Adopter = &controllers.Adopter{Gatherer: g, Cloud: s.cloud(), Kube: counted, Events: events.NewRecorder(counted, counted)}
	return a
}

// minutes makes a pass each minute, and returns the calls of the API server and of AWS.
func (a *adopting) minutes(n int) (kube, aws int) {
	a.Helper()
	kube, aws = a.calls, len(a.sim.Calls())
	for range n {
		if err := a.Pass(a.Context(), a.now); err != nil {
			a.Fatal(err)
		}
		a.now = a.now.Add(time.Minute)
	}
	return a.calls - kube, len(a.sim.Calls()) - aws
}

// told returns the events about the class.
func (a *adopting) told() (out []string) {
	a.Helper()
	var list eventsv1.EventList
	if err := a.kube.List(a.Context(), &list); err != nil {
		a.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Regarding.Kind != v1alpha1.KindClusterLoadBalancerClass || e.Regarding.Name != "alb" || e.Reason != v1alpha1.ReasonTakingOver {
			a.Errorf("there is an event %+v", e)
		}
		out = append(out, e.Type+" "+e.Note)
	}
	return out
}

func (a *adopting) says(want ...string) {
	a.Helper()
	told := a.told()
	for _, text := range want {
		if !slices.ContainsFunc(told, func(line string) bool { return strings.Contains(line, text) }) {
			a.Errorf("it does not say %q: %q", text, told)
		}
	}
	if len(told) != len(want) {
		a.Errorf("it says %d things, not %d: %q", len(told), len(want), told)
	}
}

// states returns the states of all records.
func (a *adopting) states() (out []string) {
	a.Helper()
	all, err := records.NewAdoptionStore(a.kube, a.kube, "").List(a.Context())
	if err != nil {
		a.Fatal(err)
	}
	for _, r := range all {
		out = append(out, r.State)
	}
	return out
}

// statuses are those of all Ingresses.
func (s *site) statuses() (out []string) {
	s.Helper()
	var list networkingv1.IngressList
	if err := s.kube.List(s.Context(), &list); err != nil {
		s.Fatal(err)
	}
	for _, ing := range list.Items {
		text, err := json.Marshal(ing.Status)
		if err != nil {
			s.Fatal(err)
		}
		out = append(out, ing.Name+" "+string(text))
	}
	return out
}

// TestTheOperatorTakesOver: without a command, from the first pass until going back is no longer possible.
func TestTheOperatorTakesOver(t *testing.T) {
	s := newOneAndTwo(t)
	a := newAdopting(s)
	statuses := s.statuses()
	if slices.Contains(statuses, "one {}") {
		t.Fatalf("an Ingress has no address: %q", statuses)
	}
	kube, aws := a.minutes(1)
	t.Logf("to prepare two load balancers: %d calls of the API server, %d of AWS", kube, aws)
	if got := a.states(); !slices.Equal(got, []string{"Prepared", "Prepared"}) {
		t.Fatalf("the states are %q", got)
	}
	a.says("replace their IngressClass, whose controller cannot be changed")
	s.right("after they were prepared")
	kube, aws = a.minutes(10)
	t.Logf("in 10 minutes of waiting for the class: %d calls of the API server, %d of AWS", kube, aws)
	if aws > 0 || kube > 20 {
		t.Errorf("in 10 minutes of waiting for the class: %d calls of the API server, %d of AWS", kube, aws)
	}
	s.replaceClass(ingress.ControllerName)
	kube, aws = a.minutes(1)
	t.Logf("to take them over: %d calls of the API server, %d of AWS", kube, aws)
	if got := a.states(); !slices.Equal(got, []string{"Taken", "Taken"}) {
		t.Fatalf("the states are %q: %q", got, a.told())
	}
	s.right("after they were taken over")
	if steps := s.plan(); len(steps) > 0 {
		t.Errorf("after it, the plan is %q", steps)
	}
	s.startTheirs()
	s.right("after the controller was started")
	a.minutes(1)
	kube, aws = a.minutes(60)
	t.Logf("in an hour after it: %d calls of the API server, %d of AWS", kube, aws)
	if aws > 0 || kube > 10 {
		t.Errorf("in an hour after it: %d calls of the API server, %d of AWS", kube, aws)
	}
	if diff := cmp.Diff(statuses, s.statuses()); diff != "" {
		t.Errorf("the status of Ingresses changed:\n%s", diff)
	}
	for _, line := range s.inventory() {
		if strings.Contains(line, " elbv2.k8s.aws/cluster") {
			t.Errorf("it is still of the controller: %s", line)
		}
	}
	a.now = a.now.Add(7 * 24 * time.Hour)
	a.minutes(1)
	if got := a.states(); len(got) > 0 {
		t.Errorf("after a week the states are %q", got)
	}
	for _, line := range s.inventory() {
		if strings.Contains(line, "fairlead.dev/was") {
			t.Errorf("it can still be given back: %s", line)
		}
	}
	s.right("after a week")
}

// TestTheOperatorRemovesWhatIsPutBack: a binding, as from a backup. The controller, started, would delete it with the
// registrations of its targets.
func TestTheOperatorRemovesWhatIsPutBack(t *testing.T) {
	s := newOneAndTwo(t)
	bindings := &unstructured.UnstructuredList{}
	bindings.SetGroupVersionKind(bindingKind)
	if err := s.kube.List(t.Context(), bindings); err != nil || len(bindings.Items) == 0 {
		t.Fatalf("there are %d bindings: %v", len(bindings.Items), err)
	}
	s.takeAll()
	a := newAdopting(s)
	a.minutes(2)
	s.asTheirs(func() error {
		again := bindings.Items[0].DeepCopy()
		again.SetResourceVersion("")
		return s.kube.Create(t.Context(), again)
	})
	a.minutes(1)
	if err := s.kube.List(t.Context(), bindings); err != nil || len(bindings.Items) > 0 {
		t.Errorf("there are %d bindings: %v, %q", len(bindings.Items), err, a.told())
	}
	s.startTheirs()
	s.right("after the controller was started")
	if kube, aws := a.minutes(30); aws > 0 || kube > 6 {
		t.Errorf("in half an hour after it: %d calls of the API server, %d of AWS", kube, aws)
	}
}

// TestTheOperatorSaysWhatIsInTheWay: once, and it writes nothing.
func TestTheOperatorSaysWhatIsInTheWay(t *testing.T) {
	s := newOneAndTwo(t)
	before, objects := s.inventory(), s.inCluster()
	a := newAdopting(s)
	installed := incumbent.Installation{ClusterName: albsim.Cluster, Replicas: 1, Renewed: a.now.Add(6 * time.Minute)}.Objects()
	s.asTheirs(func() error {
		for _, o := range installed {
			if err := s.kube.Create(t.Context(), o); err != nil {
				return err
			}
		}
		return nil
	})
	kube, aws := a.minutes(5)
	t.Logf("in 5 minutes while the controller runs: %d calls of the API server, %d of AWS", kube, aws)
	if aws > 0 || kube > 5*3+5 {
		t.Errorf("in 5 minutes while the controller runs: %d calls of the API server, %d of AWS", kube, aws)
	}
	a.says("Warning the controller runs")
	a.now = a.now.Add(2 * time.Minute)
	a.minutes(2)
	a.says("the controller runs", "ValidatingWebhookConfiguration aws-load-balancer-webhook refuses writes of ingresses, targetgroupbindings",
		"MutatingWebhookConfiguration aws-load-balancer-webhook refuses writes of services, targetgroupbindings")
	s.asTheirs(func() error {
		for _, o := range installed {
			if err := s.kube.Delete(t.Context(), o); err != nil {
				return err
			}
		}
		return nil
	})
	a.fail = func(verb string, o any) error {
		if _, leases := o.(*coordinationv1.LeaseList); verb == "list" && leases {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", errors.New("no rights"))
		}
		return nil
	}
	a.minutes(3)
	a.says("the controller runs", "Validating", "Mutating", "adoption.enabled in the chart")
	a.fail = func(string, any) error { return nil }
	if diff := cmp.Diff(before, s.inventory()); diff != "" {
		t.Errorf("the account changed:\n%s", diff)
	}
	if diff := cmp.Diff(objects, s.inCluster()); diff != "" {
		t.Errorf("the cluster changed:\n%s", diff)
	}
	a.ReadOnly = true
	s.wrote = nil
	a.minutes(3)
	if len(s.wrote) > 0 {
		t.Errorf("with --read-only it wrote %q", s.wrote)
	}
	a.ReadOnly = false
	a.now = a.now.Add(time.Hour)
	a.minutes(1)
	if got := a.states(); !slices.Equal(got, []string{"Prepared", "Prepared"}) {
		t.Errorf("with nothing in the way, the states are %q: %q", got, a.told())
	}
}

// TestTheOperatorConsentsToNothing: what differs is not taken over, and the cloud is asked more and more rarely.
func TestTheOperatorConsentsToNothing(t *testing.T) {
	s := newOneAndTwo(t)
	s.change("one", func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].Host = "z.example.com" })
	a := newAdopting(s)
	_, first := a.minutes(1)
	_, aws := a.minutes(120)
	t.Logf("a comparison is %d calls of AWS; in two hours there are %d", first, aws)
	if aws > 16*first {
		t.Errorf("in two hours there are %d calls of AWS, and a comparison is %d", aws, first)
	}
	if got := a.states(); !slices.Equal(got, []string{"Prepared"}) {
		t.Errorf("the states are %q", got)
	}
	a.says("Do not replace the IngressClass yet", "some requests get another answer")
}

// TestTheOperatorTakesOneGroupFirst: the others are left alone, and the controller serves them, until the class says so.
func TestTheOperatorTakesOneGroupFirst(t *testing.T) {
	s := newOneAndTwoOf(t, strings.Replace(oneAndTwo(), "clusterName: CLUSTER}", "clusterName: CLUSTER, only: [all]}", 1))
	a := newAdopting(s)
	a.minutes(2)
	if got := a.states(); !slices.Equal(got, []string{"Prepared"}) {
		t.Fatalf("the states are %q: %q", got, a.told())
	}
	a.says("change their ingressClassName. Do not replace the IngressClass yet")
	s.asTheirs(func() error { return s.kube.Create(t.Context(), classNamed("canary")) })
	for _, name := range []string{"two", "three"} {
		s.change(name, func(ing *networkingv1.Ingress) { ing.Spec.IngressClassName = aws.String("canary") })
	}
	a.minutes(2)
	if got := a.states(); !slices.Equal(got, []string{"Taken"}) {
		t.Fatalf("the states are %q: %q", got, a.told())
	}
	before, objects := s.inventory(), s.inCluster()
	s.startTheirs()
	a.minutes(3)
	s.right("after the controller was started for the others")
	if diff := cmp.Diff(before, s.inventory()); diff != "" {
		t.Errorf("after the controller was started for the others\n%s", diff)
	}
	if diff := cmp.Diff(objects, s.inCluster()); diff != "" {
		t.Errorf("after the controller was started for the others\n%s", diff)
	}
	if kube, aws := a.minutes(61); aws > 0 || kube > 10 {
		t.Errorf("in an hour after it: %d calls of the API server, %d of AWS", kube, aws)
	}
	s.asTheirs(func() error {
		class := &v1alpha1.ClusterLoadBalancerClass{}
		if err := s.kube.Get(t.Context(), client.ObjectKey{Name: "alb"}, class); err != nil {
			return err
		}
		class.Spec.Adoption.Only = nil
		return s.kube.Update(t.Context(), class)
	})
	a.minutes(1)
	if got := a.states(); !slices.Equal(got, []string{"Prepared", "Taken"}) {
		t.Errorf("a minute after the class says all, the states are %q: %q", got, a.told())
	}
	s.replaceClass(ingress.ControllerName)
	a.minutes(2)
	if got := a.states(); !slices.Equal(got, []string{"Taken", "Taken"}) {
		t.Errorf("with all, the states are %q: %q", got, a.told())
	}
	s.right("with all")
}

// change is what the user does to an Ingress.
func (s *site) change(name string, do func(*networkingv1.Ingress)) {
	s.Helper()
	s.asTheirs(func() error {
		ing := &networkingv1.Ingress{}
		if err := s.kube.Get(s.Context(), client.ObjectKey{Namespace: "shop", Name: name}, ing); err != nil {
			return err
		}
		do(ing)
		return s.kube.Update(s.Context(), ing)
	})
}

// TestTheOperatorLeavesAloneWhatIsGivenBack: also one that was restarted, and until a command takes it over again, or its
// Ingresses have a class of Fairlead again.
func TestTheOperatorLeavesAloneWhatIsGivenBack(t *testing.T) {
	s := newOneAndTwo(t)
	before, objects := s.inventory(), s.inCluster()
	a := newAdopting(s)
	pass := func() {
		t.Helper()
		a.minutes(2)
		now := a.now
		a = newAdopting(s) // restarted
		a.now = now
		a.minutes(2)
	}
	a.minutes(1)
	s.replaceClass(ingress.ControllerName)
	pass()
	for range 4 {
		done, err := s.release()
		if err != nil {
			t.Fatal(err)
		}
		pass()
		if done {
			break
		}
		s.replaceClass("ingress.k8s.aws/alb")
		pass()
	}
	s.startTheirs() // and stopped
	pass()
	if diff := cmp.Diff(before, s.inventory(ourShared)); diff != "" {
		t.Errorf("after they were given back\n%s", diff)
	}
	if diff := cmp.Diff(objects, s.inCluster()); diff != "" {
		t.Errorf("after they were given back\n%s", diff)
	}
	if got := a.states(); !slices.Equal(got, []string{"Released", "Released"}) {
		t.Errorf("after they were given back, the states are %q", got)
	}
	if told := strings.Join(a.told(), "\n"); !strings.Contains(told, "was given back, and is left alone: fairlead adopt --yes takes it over again") {
		t.Errorf("it says %s", told)
	}
	if kube, aws := a.minutes(60); aws > 0 || kube > 10 {
		t.Errorf("in an hour after it: %d calls of the API server, %d of AWS", kube, aws)
	}
	if _, err := s.take(false); err != nil {
		t.Fatal(err)
	}
	if got := a.states(); !slices.Equal(got, []string{"Prepared", "Prepared"}) {
		t.Errorf("after adopt --yes, the states are %q", got)
	}
	s.replaceClass(ingress.ControllerName)
	a.minutes(3)
	if got := a.states(); !slices.Equal(got, []string{"Taken", "Taken"}) {
		t.Errorf("after adopt --yes and another class, the states are %q", got)
	}
	s.releaseAll()
	s.replaceClass(ingress.ControllerName)
	a.minutes(12)
	if got := a.states(); !slices.Equal(got, []string{"Taken", "Taken"}) {
		t.Errorf("with a class of Fairlead again, the states are %q", got)
	}
	s.right("in the end")
}

// TestTheOperatorAndACommandAtOnce: the record of one of them is refused, and the other one goes on.
func TestTheOperatorAndACommandAtOnce(t *testing.T) {
	for at := range 3 {
		s := newOneAndTwo(t)
		a := newAdopting(s)
		puts, begun := 0, false
		a.fail = func(verb string, o any) error {
			if record, is := o.(*v1alpha1.LoadBalancer); is && verb == "patch status" && strings.HasSuffix(record.Name, ".adoption") {
				if puts++; puts > at && !begun {
					begun = true
					if _, err := s.take(false); err != nil {
						t.Errorf("the command: %v", err)
					}
				}
			}
			return nil
		}
		a.minutes(2)
		s.right(fmt.Sprintf("after both, at write %d", at))
		s.replaceClass(ingress.ControllerName)
		begun, puts = false, at/2
		a.minutes(3)
		if got := a.states(); !begun || !slices.Equal(got, []string{"Taken", "Taken"}) {
			t.Errorf("the states are %q: %q", got, a.told())
		}
		s.right(fmt.Sprintf("after both have taken over, at write %d", at))
	}
}

// TestWithoutAdoptionNothingIsAsked: of the API server or of AWS.
func TestWithoutAdoptionNothingIsAsked(t *testing.T) {
	s := newSite(t, strings.Replace(oneAndTwo(), "  adoption: {from: alb, clusterName: CLUSTER}\n", "", 1))
	a := newAdopting(s)
	if kube, aws := a.minutes(30); kube+aws > 0 {
		t.Errorf("there are %d calls of the API server, and %d of AWS", kube, aws)
	}
}

// TestAClassThatAnAnnotationNames: replacing the IngressClass is not enough, and the operator says what is.
func TestAClassThatAnAnnotationNames(t *testing.T) {
	s := newSite(t, base+service("web", 80, 8080, 30080)+theIngress("one", map[string]string{"target-type": "ip"}, "a.example.com / Prefix web http"))
	s.change("one", func(ing *networkingv1.Ingress) {
		ing.Annotations["kubernetes.io/ingress.class"], ing.Spec.IngressClassName = "alb", nil
	})
	s.startTheirs()
	s.learn(someRequests...)
	a := newAdopting(s)
	a.minutes(1)
	a.says("remove it, and set ingressClassName to a class of Fairlead")
	s.replaceClass(ingress.ControllerName)
	a.minutes(2)
	if got := a.states(); !slices.Equal(got, []string{"Prepared"}) {
		t.Errorf("with another IngressClass, the states are %q: %q", got, a.told())
	}
	a.says("remove it, and set ingressClassName to a class of Fairlead")
	s.change("one", func(ing *networkingv1.Ingress) {
		delete(ing.Annotations, "kubernetes.io/ingress.class")
		ing.Spec.IngressClassName = aws.String("alb")
	})
	a.minutes(2)
	if got := a.states(); !slices.Equal(got, []string{"Taken"}) {
		t.Errorf("without the annotation, the states are %q: %q", got, a.told())
	}
	s.right("in the end")
}

// TestAnIngressIsDeletedMeanwhile: its load balancer has no owner, and the operator and the command say so.
func TestAnIngressIsDeletedMeanwhile(t *testing.T) {
	s := newOneAndTwo(t)
	a := newAdopting(s)
	a.minutes(1)
	s.asTheirs(func() error {
		return s.kube.Delete(t.Context(), &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "one"}})
	})
	a.minutes(1)
	const command = "fairlead release --yes --key alb/shop/one/internal=k8s-shop-one-546e40461d gives it back"
	a.says("replace their IngressClass", "replace their IngressClass", command)
	taker := s.taker(s.cloud())
	all, err := taker.Records.List(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	for _, r := range all {
		holders, err := taker.Status(t.Context(), r)
		if said := strings.Contains(strings.Join(holders, "; "), command); err != nil || said != (r.Stack == "shop/one") {
			t.Errorf("of %s, the state is %q: %v", r.Stack, holders, err)
		}
	}
}

// TestTheFormerClassIsPutBack: as by GitOps, in each state, and the controller is started with it. It serves what it has been
// given back, changes nothing else, and nothing is lost once people put the class right.
func TestTheFormerClassIsPutBack(t *testing.T) {
	t.Parallel() // it waits, most of its time
	for state, until := range map[string]func(*site){
		"Prepared": func(s *site) {
			if done, err := s.take(false); done || err != nil {
				s.Fatal(done, err)
			}
			s.replaceClass(ingress.ControllerName)
		},
		"Taken": (*site).takeAll,
		"Taken in part": func(s *site) {
			if done, err := s.take(false); done || err != nil {
				s.Fatal(done, err)
			}
			s.replaceClass(ingress.ControllerName)
			s.left = 3
			if _, err := s.take(false); err == nil {
				s.Fatal("it is not cut off")
			}
			s.left = -1
		},
		"Releasing": func(s *site) {
			s.takeAll()
			s.left = 4
			if _, err := s.release(); err == nil {
				s.Fatal("it is not cut off")
			}
			s.left = -1
		},
		"Returned": func(s *site) {
			s.takeAll()
			if done, err := s.release(); done || err != nil {
				s.Fatal(done, err)
			}
		},
	} {
		t.Run(state, func(t *testing.T) {
			s := newOneAndTwo(t)
			s.T = t
			until(s)
			a := newAdopting(s)
			before := s.inventory()
			s.replaceClass("ingress.k8s.aws/alb")
			s.accident()
			s.right("after the controller was started")
			a.minutes(2)
			s.accident()
			s.right("after both were")
			if diff := cmp.Diff(before, s.inventory()); diff != "" {
				t.Errorf("the account changed:\n%s", diff)
			}
			t.Logf("the states are %q: %q", a.states(), a.told())
			if strings.HasPrefix(state, "Re") { // people give it back
				s.releaseAll()
				s.startTheirs()
				s.right("after it was given back")
				return
			}
			s.replaceClass(ingress.ControllerName)
			a.minutes(2)
			if err := s.operate(); err != nil {
				t.Error(err)
			}
			s.accident()
			s.right("with the class of Fairlead again")
			for name, text := range s.inCluster() {
				if strings.HasPrefix(name, "TargetGroupBinding") || strings.HasPrefix(name, "Ingress") && strings.Contains(text, "k8s.aws/") {
					t.Errorf("there is still %s: %s", name, text)
				}
			}
			if got := a.states(); !slices.Equal(got, []string{"Taken", "Taken"}) {
				t.Errorf("with the class of Fairlead again, the states are %q: %q", got, a.told())
			}
			if diff := cmp.Diff(before, s.inventory()); diff != "" && state == "Taken" {
				t.Errorf("with the class of Fairlead again, the account changed:\n%s", diff)
			}
		})
	}
}
