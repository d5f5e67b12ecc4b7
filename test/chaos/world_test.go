package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/kube"
)

// This file is a namespace of a cluster, an account of AWS, and two replicas between them.

// A world is a namespace whose Ingresses are served from an account.
type world struct {
	client.Client
	cluster   *kube.Cluster
	namespace string
	sim       *albsim.Sim
	empty     map[string]int // what is in an account of which nothing is asked
	replicas  [2]*replica
	history   *history
	judge     *judge
	rng       *rand.Rand
	story     []string        // what was done, and when
	taken     map[string]site // Ingresses that were taken by force, which come back
	serial    int             // of the last Ingress

	rounds, changes int
	kinds           map[string]int // faults by what they are
	aim             aim
}

// newWorld has some Ingresses, and two replicas at work.
func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	kubernetes := kube.Shared(t)
	c, err := client.New(kubernetes.Config, client.Options{Scheme: cluster.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 12))
	options := albsim.Options{
		Provisioning: time.Second, Linger: time.Second, Health: time.Second,
		Propagation: time.Duration(rng.IntN(3)) * 500 * time.Millisecond,
		Indexing:    time.Duration(rng.IntN(4)) * time.Second, // the index of tags lags behind
		Lag:         time.Duration(rng.IntN(3)) * 500 * time.Millisecond,
		Ghosts:      time.Duration(rng.IntN(2)) * 20 * time.Second,
	}
	sim := albsim.New(options)
	w := &world{
		Client: c, cluster: kubernetes, namespace: kubernetes.Namespace(t), sim: sim, empty: sim.Inventory(), history: newHistory(), rng: rng,
		taken: map[string]site{}, kinds: map[string]int{},
	}
	w.judge = &judge{history: w.history, sim: sim, delay: options.Propagation, told: map[string]bool{}}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	for i, name := range []string{"A", "B"} {
		w.replicas[i] = w.newReplica(t, name, dir, strings.TrimPrefix(kubernetes.Config.Host, "https://"), server.Listener.Addr().String())
	}
	w.installClass(t)
	for i := range services {
		w.createService(t, service(i))
	}
	for range 5 {
		w.addIngress(t)
	}
	w.judge.watch(t)
	w.judge.watchReleases(t, w)
	sim.Watch(func(c albsim.Call) {
		if c.Write {
			w.aim.note(c)
			w.judge.ask("after " + c.String())
		}
	})
	for _, r := range w.replicas {
		r.start(t)
	}
	return w
}

// installClass makes a class of the namespace's own.
func (w *world) installClass(t *testing.T) {
	t.Helper()
	w.create(t, &v1alpha1.LoadBalancerClass{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "class"},
		Spec:       v1alpha1.LoadBalancerClassSpec{MoveGrace: &metav1.Duration{Duration: 2 * time.Second}},
	})
	class := &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec: networkingv1.IngressClassSpec{Controller: ingress.ControllerName, Parameters: &networkingv1.IngressClassParametersReference{
			APIGroup: aws.String(v1alpha1.Group), Kind: v1alpha1.KindLoadBalancerClass, Name: "class", Scope: aws.String("Namespace"), Namespace: &w.namespace,
		}},
	}
	w.create(t, class)
}

func (w *world) create(t *testing.T, o client.Object) {
	t.Helper()
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatalf("creating %T %s: %s", o, o.GetName(), err)
	}
}

// settle waits until everything is exactly as the newest versions say, which are the only ones that
// count from then on.
func (w *world) settle(t *testing.T, when string) {
	t.Helper()
	begun, wrong, addresses, told := time.Now(), []string{"nothing was looked at"}, map[int]string(nil), time.Now()
	for len(wrong) > 0 && time.Since(begun) < *bound {
		time.Sleep(50 * time.Millisecond)
		if addresses, wrong = w.addresses(t); len(wrong) == 0 {
			wrong = append(w.judge.unsettled(addresses), w.left(t)...)
		}
		if len(wrong) > 0 && time.Since(told) > 3*time.Second {
			told = time.Now()
			w.note("it is not right yet: %s", strings.Join(wrong, "; "))
		}
	}
	if len(wrong) > 0 {
		t.Errorf("%s for %s: %s", when, *bound, strings.Join(wrong, "; "))
	}
	w.judge.report(t)
	w.history.forget(addresses)
	w.note("all is right %s, after %s", when, time.Since(begun).Round(100*time.Millisecond))
}

// addresses are those of the load balancers by group, as Ingresses say them, and what keeps them
// from being known.
func (w *world) addresses(t *testing.T) (out map[int]string, wrong []string) {
	t.Helper()
	var list networkingv1.IngressList
	if err := w.List(t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	sites, owners := w.history.now(), w.owners(t)
	out = map[int]string{}
	for i := range list.Items {
		o := &list.Items[i]
		s, exists := sites[o.Name]
		if !exists {
			wrong = append(wrong, o.Name+" is still there")
			continue
		}
		if len(o.Status.LoadBalancer.Ingress) != 1 {
			wrong = append(wrong, fmt.Sprintf("%s has %d addresses", o.Name, len(o.Status.LoadBalancer.Ingress)))
			continue
		}
		at := o.Status.LoadBalancer.Ingress[0].Hostname
		if key := owners[at]; !strings.Contains(key, fmt.Sprintf("/@group-%d/", s.group)) {
			wrong = append(wrong, fmt.Sprintf("%s of group-%d has the address of %q", o.Name, s.group, key))
			continue
		}
		if out[s.group] != "" && out[s.group] != at {
			wrong = append(wrong, fmt.Sprintf("the Ingresses of group-%d have several addresses", s.group))
		}
		out[s.group] = at
	}
	return out, wrong
}

// owners are the keys of the load balancers, by their addresses.
func (w *world) owners(t *testing.T) map[string]string {
	t.Helper()
	api, out, names := elb.NewFromConfig(w.sim.OwnersConfig()), map[string]string{}, map[string]string{}
	found, err := api.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.LoadBalancers) == 0 {
		return out
	}
	var arns []string
	for _, b := range found.LoadBalancers {
		arns = append(arns, aws.ToString(b.LoadBalancerArn))
		names[aws.ToString(b.LoadBalancerArn)] = aws.ToString(b.DNSName)
	}
	tags, err := api.DescribeTags(t.Context(), &elb.DescribeTagsInput{ResourceArns: arns})
	if err != nil { // one that has gone between the two calls
		return out
	}
	for _, of := range tags.TagDescriptions {
		for _, tag := range of.Tags {
			if aws.ToString(tag.Key) == "fairlead.dev/key" {
				out[names[aws.ToString(of.ResourceArn)]] = aws.ToString(tag.Value)
			}
		}
	}
	return out
}

// left is what there is more or less of in the account than the newest versions ask for.
func (w *world) left(t *testing.T) (wrong []string) {
	t.Helper()
	groups, backends := map[int]bool{}, map[string]bool{}
	for _, s := range w.history.now() {
		groups[s.group] = true
		for _, service := range s.routes {
			backends[fmt.Sprint(s.group, service)] = true
		}
	}
	want := maps.Clone(w.empty)
	want["load balancers"], want["listeners"], want["target groups"] = len(groups), len(groups), len(backends)
	if len(groups) > 0 {
		want["security groups"] += len(groups) + 1 // the one that all share
	}
	got := w.sim.Inventory()
	for _, what := range slices.Sorted(maps.Keys(want)) {
		// One rule can be for several paths, and a target group is kept for a minute after it was last
		// used.
		several := len(groups) > 0 && (what == "rules" || what == "target groups")
		if n := want[what]; got[what] < n || got[what] > n && !several {
			wrong = append(wrong, fmt.Sprintf("there are %d %s, and are to be %d", got[what], what, n))
		}
	}
	return append(wrong, w.nodes(t, len(groups) > 0)...)
}

// nodes is what is wrong with who may connect to nodes: the load balancers, by the security group
// that they share.
func (w *world) nodes(t *testing.T, served bool) []string {
	t.Helper()
	found, err := ec2.NewFromConfig(w.sim.OwnersConfig()).DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{})
	if err != nil {
		t.Fatal(err)
	}
	exist, admitted := map[string]bool{}, []string(nil)
	for _, g := range found.SecurityGroups {
		exist[aws.ToString(g.GroupId)] = true
		for _, p := range g.IpPermissions {
			for _, from := range p.UserIdGroupPairs {
				if aws.ToString(g.GroupId) == albsim.NodeGroup {
					admitted = append(admitted, aws.ToString(from.GroupId))
				}
			}
		}
	}
	if missing := slices.ContainsFunc(admitted, func(id string) bool { return !exist[id] }); missing || served != (len(admitted) == 1) {
		return []string{fmt.Sprintf("the nodes admit %v", admitted)}
	}
	return nil
}

// note keeps what was done, for whoever looks for the reason of a failure.
func (w *world) note(format string, args ...any) {
	w.story = append(w.story, time.Now().Format(time.StampMilli)+" "+fmt.Sprintf(format, args...))
}

// tally says how much there was of each.
func (w *world) tally(t *testing.T) {
	t.Helper()
	faults, kinds := 0, []string(nil)
	for _, what := range slices.Sorted(maps.Keys(w.kinds)) {
		faults += w.kinds[what]
		kinds = append(kinds, fmt.Sprintf("%5d %s", w.kinds[what], what))
	}
	t.Logf("%d rounds, %d changes, %d requests, %d faults:\n%s", w.rounds, w.changes, w.judge.count(), faults, strings.Join(kinds, "\n"))
}

// tell says what was done last, and what the replicas said.
func (w *world) tell(t *testing.T) {
	t.Helper()
	t.Logf("what was done:\n%s", strings.Join(w.story[max(0, len(w.story)-200):], "\n"))
	for _, r := range w.replicas {
		text, err := os.ReadFile(r.log)
		if err != nil {
			t.Logf("replica %s: %s", r.name, err)
			continue
		}
		const most = 200_000
		t.Logf("replica %s says:\n%s", r.name, text[max(0, len(text)-most):])
	}
}
