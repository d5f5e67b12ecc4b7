// Package adoption has both controllers beside each other: the AWS Load Balancer Controller as test/incumbent models it
// makes load balancers, Fairlead takes them over and gives them back, and each is started while they are the other's. The
// data plane is asked after each change of the account.
package adoption

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	coordinationv1 "k8s.io/api/coordination/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/controllers/adoption"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/providers"
	ours "fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
	"fairlead.dev/fairlead/test/incumbent"
)

var seed = flag.Uint64("seed", 0, "the seed of random groups; 0 draws one")

func draw(t *testing.T) uint64 {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed %d", *seed)
	return *seed
}

var errCut = errors.New("cut off")

// A site is a cluster and an account, with what both controllers write.
type site struct {
	*testing.T
	sim *albsim.Sim
	place
	kube client.WithWatch
	elb  *elbv2.Client
	ec2  *ec2.Client
	// asked are requests with the answers that they have to get.
	asked map[string]albsim.Answer
	wrote []string      // by Fairlead, to the account and the cluster
	lag   time.Duration // of reads
	left  int           // how many more writes Fairlead can make; -1 for any number
	their bool          // the other controller is writing
	wrong []string      // what the data plane did
	// options of the other controller
	options incumbent.Controller
	// accidents is what else happens when the other controller is started by accident.
	accidents func()
}

func newSite(t *testing.T, objects string) *site {
	t.Helper()
	return newSiteWith(t, objects, albsim.Options{})
}

// newSiteWith is a site in a simulated account with options.
func newSiteWith(t *testing.T, objects string, o albsim.Options) *site {
	t.Helper()
	sim := albsim.New(o)
	s := newSiteIn(t, objects, place{ours: sim.Config(), theirs: sim.OwnersConfig(), vpc: albsim.VPC})
	s.sim, s.lag = sim, o.Lag
	s.sim.AddInstance("i-0000000000000000a", "subnet-private0", "10.0.100.10")
	s.sim.AddInstance("i-0000000000000000b", "subnet-private1", "10.0.101.10")
	s.sim.Break(func(c albsim.Call) albsim.Fault {
		if c.Write && !s.their && s.left == 0 {
			return albsim.LostBefore
		}
		return albsim.NoFault
	})
	s.sim.Watch(func(c albsim.Call) {
		if !c.Write || c.Error != "" || !s.their && s.left == 0 { // it was lost
			return
		}
		if !s.their {
			s.wrote = append(s.wrote, c.Action)
			s.left--
		}
		s.ask(c.Action)
	})
	return s
}

// A place is an account with the VPC of a site.
type place struct {
	ours, theirs aws.Config // with whose credentials
	vpc          string
}

// newSiteIn is a site in an account.
func newSiteIn(t *testing.T, objects string, in place) *site {
	t.Helper()
	s := &site{T: t, place: in, left: -1, elb: elbv2.NewFromConfig(in.theirs), ec2: ec2.NewFromConfig(in.theirs)}
	scheme := cluster.NewScheme()
	for _, kind := range []schema.GroupVersionKind{bindingKind, bindingKind.GroupVersion().WithKind("IngressClassParams")} {
		if !scheme.Recognizes(kind) { //nolint:misspell // it is spelt so
			scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
			scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
		}
	}
	binding := &unstructured.Unstructured{}
	binding.SetGroupVersionKind(bindingKind)
	made := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&networkingv1.Ingress{}, binding, &v1alpha1.LoadBalancer{}).
		WithIndex(&coordinationv1.Lease{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} })
	for _, i := range cluster.Indexes() {
		made = made.WithIndex(i.Of, i.Field, i.Values)
	}
	s.kube = interceptor.NewClient(made.WithObjects(parse(t, objects)...).Build(), s.interceptor())
	return s
}

var bindingKind = schema.GroupVersionKind{Group: "elbv2.k8s.aws", Version: "v1beta1", Kind: "TargetGroupBinding"}

// interceptor counts the writes of Fairlead, and cuts them off.
func (s *site) interceptor() interceptor.Funcs {
	write := func(verb string, o client.Object, do func() error) error {
		if s.their {
			return do()
		}
		if s.left == 0 {
			return errCut
		}
		s.left--
		if err := do(); err != nil {
			return err
		}
		s.wrote = append(s.wrote, strings.TrimSpace(verb+" "+o.GetName()))
		return nil
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, more ...client.CreateOption) error {
			return write("create", o, func() error { return c.Create(ctx, o, more...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, more ...client.UpdateOption) error {
			return write("update", o, func() error { return c.Update(ctx, o, more...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, more ...client.PatchOption) error {
			return write("patch", o, func() error { return c.Patch(ctx, o, p, more...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, more ...client.DeleteOption) error {
			return write("delete", o, func() error { return c.Delete(ctx, o, more...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, more ...client.SubResourcePatchOption) error {
			return write("patch "+sub, o, func() error { return c.SubResource(sub).Patch(ctx, o, p, more...) })
		},
	}
}

// parse reads objects in YAML.
func parse(t *testing.T, text string) (out []client.Object) {
	t.Helper()
	for _, part := range strings.Split(text, "\n---\n") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(part), &o.Object); err != nil {
			t.Fatalf("%v: %s", err, part)
		}
		out = append(out, o)
	}
	return out
}

// asTheirs lets the other controller, or the user, write.
func (s *site) asTheirs(do func() error) {
	s.Helper()
	s.their = true
	err := do()
	s.their = false
	if err != nil {
		s.Fatal(err)
	}
}

// theirs starts the other controller, which works until it comes to rest.
func (s *site) theirs() error {
	c := s.options
	c.Client, c.ELB, c.EC2, c.ACM = s.kube, s.elb, s.ec2, acm.NewFromConfig(s.place.theirs)
	c.ClusterName, c.VPC = cmp.Or(c.ClusterName, albsim.Cluster), s.vpc
	return c.Pass(s.Context())
}

// startTheirs starts it where it is to run.
func (s *site) startTheirs() {
	s.Helper()
	s.asTheirs(s.theirs)
}

// accident starts the other controller where it is not to run. It may fail.
func (s *site) accident() {
	s.Helper()
	s.asTheirs(func() error {
		if err := s.theirs(); err != nil {
			s.Logf("started by accident, the controller failed: %.120s", err)
		}
		return nil
	})
	if s.accidents != nil {
		s.accidents()
	}
}

// objects reads what is compiled.
func (s *site) objects() ingress.Objects {
	s.Helper()
	var out ingress.Objects
	for _, k := range manifests.Kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.FromAPIVersionAndKind(k.APIVersion, k.Name+"List"))
		if err := s.kube.List(s.Context(), list); err != nil {
			s.Fatal(err)
		}
		for _, item := range list.Items {
			o := k.Empty()
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, o); err != nil {
				s.Fatal(err)
			}
			k.Add(&out, o)
		}
	}
	out.PodsKnown = true
	return out
}

// cloud is a new process of Fairlead's.
func (s *site) cloud() *ours.Provider {
	return ours.New(ours.Options{Config: s.ours, Installation: "test", VPC: s.vpc, Cluster: albsim.Cluster})
}

// wanted is what the Ingresses ask for, in place of what the controller made.
func (s *site) wanted(cloud *ours.Provider) []adoption.Wanted {
	s.Helper()
	options := ingress.ClassOptions{From: "alb"}
	all, err := adoption.WantedOf(s.Context(), cloud, s.objects().Taken(options), ingress.ClassOptions{}, adoption.OfDialect("alb"))
	if err != nil {
		s.Fatal(err)
	}
	return all
}

// heeded are records that the operator heeds at once: it reads them each time.
type heeded struct{ adoption.Records }

func (heeded) Acknowledged(context.Context, lb.Key) (bool, error) { return true, nil }

func (s *site) taker(cloud *ours.Provider) *adoption.Taker {
	out := adoption.NewTaker(s.kube, cloud, records.NewAdoptionStore(s.kube, s.kube, ""))
	out.Records, out.ReadLag, out.Patience = heeded{out.Records}, s.lag, time.Minute
	return out
}

// take takes all load balancers over, as far as it goes. It reports whether all are.
func (s *site) take(accept bool) (done bool, err error) {
	s.Helper()
	cloud := s.cloud()
	wanted := s.wanted(cloud)
	found, err := adoption.Others(s.Context(), cloud)
	if err != nil {
		return false, err
	}
	done = true
	members := map[lb.Key][]string{}
	for _, w := range wanted {
		members[w.LoadBalancer.Key] = w.Members
	}
	for _, p := range adopt.Pairs(found, adoption.Plain(wanted), albsim.Cluster) {
		if p.Wanted == nil && strings.Contains(p.Why, "of cluster "+theOther) {
			continue
		}
		if p.Found == nil || p.Wanted == nil {
			s.Fatalf("a load balancer has no counterpart: %s", p.Why)
		}
		out, err := s.taker(cloud).TakeFound(s.Context(), p.Found.Handle, *p.Wanted, members[p.Wanted.LoadBalancer.Key], accept, requests.OfCommand)
		if err != nil {
			return false, err
		}
		if len(out.Obstacles) > 0 {
			s.Fatalf("in the way: %q", out.Obstacles)
		}
		done = done && out.Done()
	}
	return done, nil
}

// operate is what the operator does, once. It changes nothing while it may not.
func (s *site) operate() error {
	s.Helper()
	return s.operateWith(s.cloud())
}

// operateWith is what an operator does that runs since its cloud was made.
func (s *site) operateWith(cloud *ours.Provider) error {
	s.Helper()
	objects := s.objects()
	snapshots, _ := ingress.Place(objects, ingress.ClassOptions{})
	for _, snap := range snapshots {
		record, err := records.NewAdoptionStore(s.kube, s.kube, "").Get(s.Context(), snap.Key)
		if err != nil {
			return err
		}
		if record != nil && record.State != v1alpha1.AdoptionTaken {
			continue
		}
		seen, err := cloud.Observe(s.Context(), snap.Key, true)
		if err != nil {
			return err
		}
		p, err := program.Compile(s.Context(), cloud, snap, seen)
		if err != nil {
			return err
		}
		if verdict := p.Proof(); verdict.Result != proof.Proven {
			s.Errorf("a plan is not proven: %s", verdict.Why)
		}
		if _, err := providers.Run(s.Context(), cloud, seen, p.Plan, providers.Options{Parallel: 1}); err != nil {
			return err
		}
		for _, g := range p.LoadBalancer.TargetGroups {
			if seen.TargetGroup(g.ID) == nil {
				continue
			}
			if err := cloud.SetTargets(s.Context(), snap.Key, g.ID, g.Targets); err != nil {
				return err
			}
		}
	}
	return nil
}

// plan is what the operator would do.
func (s *site) plan() (steps []string) {
	s.Helper()
	cloud := s.cloud()
	snapshots, _ := ingress.Place(s.objects(), ingress.ClassOptions{})
	for _, snap := range snapshots {
		for _, deep := range []bool{false, true} {
			seen, err := cloud.Observe(s.Context(), snap.Key, deep)
			if err != nil {
				s.Fatal(err)
			}
			p, err := program.Compile(s.Context(), cloud, snap, seen)
			if err != nil {
				s.Fatal(err)
			}
			for _, step := range planner.Diff(seen, p.LoadBalancer, p.Capabilities).Steps {
				steps = append(steps, step.Step.Op()+" "+step.Step.ID())
			}
		}
	}
	return steps
}

// release gives all load balancers back, as far as it goes.
func (s *site) release() (done bool, err error) {
	s.Helper()
	cloud := s.cloud()
	store := records.NewAdoptionStore(s.kube, s.kube, "")
	all, err := store.List(s.Context())
	if err != nil {
		return false, err
	}
	done = true
	for _, r := range all {
		members := []string{}
		for _, w := range s.wanted(cloud) {
			if string(w.LoadBalancer.Key) == r.Key {
				members = w.Members
			}
		}
		out, err := s.taker(cloud).ReleaseFound(s.Context(), r.Handle, lb.Key(r.Key), members, false)
		if err != nil {
			return false, err
		}
		done = done && out.Done()
	}
	return done, nil
}

// replaceClass is what the user does.
func (s *site) replaceClass(controller string) {
	s.Helper()
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"}}
	s.asTheirs(func() error { return s.kube.Delete(s.Context(), class) })
	class = &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"}, Spec: networkingv1.IngressClassSpec{Controller: controller}}
	if controller == ingress.ControllerName {
		class = classNamed("alb")
	}
	s.asTheirs(func() error { return s.kube.Create(s.Context(), class) })
}

// classNamed is an IngressClass of Fairlead.
func classNamed(name string) *networkingv1.IngressClass {
	parameters := &networkingv1.IngressClassParametersReference{APIGroup: aws.String("fairlead.dev"), Kind: "ClusterLoadBalancerClass", Name: "alb", Scope: aws.String("Cluster")}
	return &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressClassSpec{Controller: ingress.ControllerName, Parameters: parameters}}
}

// learn asks requests, and has them answered so from now on.
func (s *site) learn(all ...matching.Request) {
	s.Helper()
	answer, err := s.elb.DescribeLoadBalancers(s.Context(), &elbv2.DescribeLoadBalancersInput{})
	if err != nil {
		s.Fatal(err)
	}
	s.asked = map[string]albsim.Answer{}
	for _, b := range answer.LoadBalancers {
		for _, r := range all {
			s.asked[fmt.Sprintf("%s %d %s%s", *b.DNSName, r.Port, r.Host, r.Path)] = plain(s.sim.Ask(*b.DNSName, r, matching.Reading{}))
		}
	}
}

// plain leaves out by which rule and which target group of a Service a request was answered.
func plain(a albsim.Answer) albsim.Answer {
	a.Rule = ""
	a.Forward = slices.Clone(a.Forward)
	for i := range a.Forward {
		a.Forward[i].Group, a.Forward[i].Tags = "", nil
		sort.Strings(a.Forward[i].Targets)
	}
	return a
}

// ask asks all requests after a call.
func (s *site) ask(after string) {
	for text, want := range s.asked {
		name, rest, _ := strings.Cut(text, " ")
		var r matching.Request
		var url string
		if _, err := fmt.Sscanf(rest, "%d %s", &r.Port, &url); err != nil {
			s.Fatal(err)
		}
		r.TLS = r.Port == 443
		r.Host, r.Path, _ = strings.Cut(url, "/")
		r.Path, r.SNI = "/"+r.Path, r.Host
		if got := plain(s.sim.Ask(name, r, matching.Reading{})); fmt.Sprint(got) != fmt.Sprint(want) {
			s.wrong = append(s.wrong, fmt.Sprintf("after %s, %s got %+v, not %+v", after, text, got, want))
		}
	}
}

// requestsOf are requests to hosts and paths, at both ports.
func requestsOf(hosts, paths []string) (out []matching.Request) {
	for _, h := range hosts {
		for _, p := range paths {
			out = append(out, matching.Request{Port: 80, Host: h, Path: p}, matching.Request{Port: 443, TLS: true, SNI: h, Host: h, Path: p})
		}
	}
	return out
}

// inventory has all of the account, with tags, in lines; those that match nothing in leave.
func (s *site) inventory(leave ...string) []string {
	s.Helper()
	var out []string
	add := func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		if !slices.ContainsFunc(leave, func(l string) bool { return strings.Contains(line, l) }) {
			out = append(out, line)
		}
	}
	must := func(err error) {
		s.Helper()
		if err != nil {
			s.Fatal(err)
		}
	}
	tags := func(arn string) string {
		answer, err := s.elb.DescribeTags(s.Context(), &elbv2.DescribeTagsInput{ResourceArns: []string{arn}})
		must(err)
		all := map[string]string{}
		for _, t := range answer.TagDescriptions[0].Tags {
			all[*t.Key] = *t.Value
		}
		return fmt.Sprint(all)
	}
	lbs, err := s.elb.DescribeLoadBalancers(s.Context(), &elbv2.DescribeLoadBalancersInput{})
	must(err)
	for _, b := range lbs.LoadBalancers {
		add("load balancer %s %s %v %s", *b.LoadBalancerArn, *b.DNSName, slices.Sorted(slices.Values(b.SecurityGroups)), tags(*b.LoadBalancerArn))
		ls, err := s.elb.DescribeListeners(s.Context(), &elbv2.DescribeListenersInput{LoadBalancerArn: b.LoadBalancerArn})
		must(err)
		for _, l := range ls.Listeners {
			add("listener %s %d %v %s", *l.ListenerArn, *l.Port, l.Protocol, tags(*l.ListenerArn))
			rules, err := s.elb.DescribeRules(s.Context(), &elbv2.DescribeRulesInput{ListenerArn: l.ListenerArn})
			must(err)
			for _, r := range rules.Rules {
				add("rule %s %s %s", *r.RuleArn, *r.Priority, tags(*r.RuleArn))
			}
		}
	}
	groups, err := s.elb.DescribeTargetGroups(s.Context(), &elbv2.DescribeTargetGroupsInput{})
	must(err)
	for _, g := range groups.TargetGroups {
		health, err := s.elb.DescribeTargetHealth(s.Context(), &elbv2.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn})
		must(err)
		var targets []string
		for _, d := range health.TargetHealthDescriptions {
			if d.TargetHealth.State != "draining" {
				targets = append(targets, fmt.Sprintf("%s:%d", *d.Target.Id, *d.Target.Port))
			}
		}
		slices.Sort(targets)
		add("target group %s %v %s", *g.TargetGroupArn, targets, tags(*g.TargetGroupArn))
	}
	sgs, err := s.ec2.DescribeSecurityGroups(s.Context(), &ec2.DescribeSecurityGroupsInput{})
	must(err)
	for _, g := range sgs.SecurityGroups {
		all := map[string]string{}
		for _, t := range g.Tags {
			all[*t.Key] = *t.Value
		}
		var rules []string
		for _, p := range g.IpPermissions {
			for _, from := range p.UserIdGroupPairs {
				rules = append(rules, fmt.Sprintf("%d-%d from %s", *p.FromPort, *p.ToPort, *from.GroupId))
			}
			for _, from := range p.IpRanges {
				rules = append(rules, fmt.Sprintf("%d-%d from %s", *p.FromPort, *p.ToPort, *from.CidrIp))
			}
		}
		slices.Sort(rules)
		add("security group %s %s %v %v", *g.GroupId, *g.GroupName, rules, all)
	}
	slices.Sort(out)
	return out
}

// reachable fails the test if a security group of the nodes does not admit a load balancer on a port of its targets.
func (s *site) reachable(when string) {
	s.Helper()
	lbs, err := s.elb.DescribeLoadBalancers(s.Context(), &elbv2.DescribeLoadBalancersInput{})
	if err != nil {
		s.Fatal(err)
	}
	sgs, err := s.ec2.DescribeSecurityGroups(s.Context(), &ec2.DescribeSecurityGroupsInput{})
	if err != nil {
		s.Fatal(err)
	}
	admits := func(port int32, from []string) bool {
		for _, g := range sgs.SecurityGroups {
			if *g.GroupName != "nodes" {
				continue
			}
			for _, p := range g.IpPermissions {
				for _, pair := range p.UserIdGroupPairs {
					if port >= *p.FromPort && port <= *p.ToPort && slices.Contains(from, *pair.GroupId) {
						return true
					}
				}
			}
		}
		return false
	}
	for _, b := range lbs.LoadBalancers {
		groups, err := s.elb.DescribeTargetGroups(s.Context(), &elbv2.DescribeTargetGroupsInput{LoadBalancerArn: b.LoadBalancerArn})
		if err != nil {
			s.Fatal(err)
		}
		for _, g := range groups.TargetGroups {
			health, err := s.elb.DescribeTargetHealth(s.Context(), &elbv2.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn})
			if err != nil {
				s.Fatal(err)
			}
			for _, d := range health.TargetHealthDescriptions {
				if !admits(*d.Target.Port, b.SecurityGroups) {
					s.Errorf("%s, %s cannot connect to its targets on port %d", when, *b.LoadBalancerName, *d.Target.Port)
				}
			}
		}
	}
}

// inCluster has the Ingresses with finalizers and status, the bindings, and the records of what is not given back.
func (s *site) inCluster() map[string]string {
	s.Helper()
	out := map[string]string{}
	for _, kind := range []schema.GroupVersionKind{networkingv1.SchemeGroupVersion.WithKind("Ingress"), bindingKind, v1alpha1.GroupVersion.WithKind("LoadBalancer")} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := s.kube.List(s.Context(), list); err != nil {
			s.Fatal(err)
		}
		for _, o := range list.Items {
			finalizers := o.GetFinalizers()
			slices.Sort(finalizers)
			var text bytes.Buffer
			status := o.Object["status"]
			if kind == bindingKind {
				status = nil
			}
			if state, _, _ := unstructured.NestedString(o.Object, "status", "memory", "adoption", "state"); state == v1alpha1.AdoptionReleased {
				continue
			}
			fmt.Fprint(&text, finalizers, o.GetLabels(), o.Object["spec"], status)
			out[kind.Kind+" "+o.GetNamespace()+"/"+o.GetName()] = text.String()
		}
	}
	return out
}

// right fails the test if a request got another answer than it was to get.
func (s *site) right(when string) {
	s.Helper()
	s.ask("all")
	if len(s.wrong) > 0 {
		s.Errorf("%s: %d answers are wrong: %s", when, len(s.wrong), s.wrong[0])
	}
	s.wrong = nil
	s.reachable(when)
}
