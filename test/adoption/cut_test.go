package adoption

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/nightly"
)

// This file cuts both directions off, at each write, for load balancers of several shapes.

// shapes are clusters with load balancers of the controller.
var shapes = map[string]func(*testing.T) *site{
	"one, and a group with discovered certificates": newOneAndTwo,
	"instances as targets": func(t *testing.T) *site {
		group := map[string]string{"group.name": "all", "scheme": "internal"}
		return begun(newSite(t, base+service("web", 80, 8080, 30080)+service("api", 80, 9090, 30090)+
			theIngress("one", nil, "a.example.com /api Prefix api 80", "a.example.com / Prefix web http")+
			theIngress("two", group, "a.example.com /x Exact api 80")+theIngress("three", group, "b.example.com / Prefix web 80")))
	},
	"certificates by ARN": func(t *testing.T) *site {
		s := newSite(t, base+service("web", 80, 8080, 30080))
		arns := s.sim.Issue(time.Now().Add(1000*time.Hour), acmtypes.CertificateStatusIssued, "a.example.com") + "," +
			s.sim.Issue(time.Now().Add(1000*time.Hour), acmtypes.CertificateStatusIssued, "b.example.com")
		s.asTheirs(func() error {
			return s.kube.Create(t.Context(), parse(t, theIngress("one", map[string]string{"target-type": "ip", "certificate-arn": arns},
				"a.example.com / Prefix web http", "b.example.com /api Prefix web http"))[0])
		})
		return begun(s)
	},
	"security groups of the user": func(t *testing.T) *site {
		s := newSite(t, base+service("web", 80, 8080, 30080)+theIngress("one", map[string]string{"target-type": "ip",
			"security-groups": albsim.NodeGroup, "subnets": "subnet-private0, subnet-private1"}, "a.example.com / Prefix web http"))
		if _, err := s.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
			GroupId: aws.String(albsim.NodeGroup), IpPermissions: []ec2types.IpPermission{{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(8080),
				ToPort: aws.Int32(8080), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: aws.String(albsim.NodeGroup)}}}}}); err != nil {
			t.Fatal(err)
		}
		return begun(s)
	},
	"two clusters in an account": func(t *testing.T) *site {
		s := newSite(t, oneAndTwo())
		s.sim.Issue(time.Now().Add(1000*time.Hour), acmtypes.CertificateStatusIssued, "a.example.com", "*.example.com")
		s.besides(theOther)
		return begun(s)
	},
	"twenty Ingresses of a group": func(t *testing.T) *site {
		objects := base + service("web", 80, 8080, 30080) + service("api", 80, 9090, 30090)
		for i := range 20 {
			objects += theIngress(fmt.Sprintf("i%02d", i), map[string]string{"group.name": "all", "target-type": "ip", "group.order": fmt.Sprint(20 - i)},
				fmt.Sprintf("%c.example.com /%d Prefix %s http", 'a'+i%3, i, []string{"web", "api"}[i%2]))
		}
		return begun(newSite(t, objects))
	},
}

// begun starts the controller, and notes what requests are answered.
func begun(s *site) *site {
	s.startTheirs()
	s.learn(someRequests...)
	return s
}

const theOther = "other"

// besides adds a cluster with a name, with the same Ingresses and nodes of its own, whose load balancers stay the controller's.
func (s *site) besides(name string) {
	s.Helper()
	s.sim.AddNodeGroup("sg-"+name, func(g *ec2types.SecurityGroup) { g.GroupName = aws.String("nodes") })
	objects := oneAndTwo()
	for i, node := range []string{"a", "b"} {
		id, address := "i-0000000000000001"+node, fmt.Sprintf("10.0.10%d.20", i)
		s.sim.AddInstanceOf("sg-"+name, id, fmt.Sprintf("subnet-private%d", i), address)
		objects = strings.ReplaceAll(objects, "i-0000000000000000"+node, id)
		objects = strings.ReplaceAll(objects, fmt.Sprintf("10.0.10%d.10", i), address)
	}
	other := newSiteIn(s.T, objects, s.place)
	other.sim, other.options.ClusterName = s.sim, name
	s.asTheirs(func() error {
		tags := []ec2types.Tag{{Key: aws.String("kubernetes.io/cluster/" + name), Value: aws.String("owned")}}
		if _, err := s.ec2.CreateTags(s.Context(), &ec2.CreateTagsInput{Resources: []string{"sg-" + name}, Tags: tags}); err != nil {
			return err
		}
		tags[0].Key = aws.String("kubernetes.io/cluster/" + albsim.Cluster)
		if _, err := s.ec2.DeleteTags(s.Context(), &ec2.DeleteTagsInput{Resources: []string{"sg-" + name}, Tags: tags}); err != nil {
			return err
		}
		return other.theirs()
	})
	s.accidents = func() { s.asTheirs(other.theirs) }
}

// A life is what both directions write to a site of a shape, and what there is in between.
type life struct {
	before, taken               []string
	clusterBefore, clusterTaken map[string]string
	took, gave                  int // how many writes
}

// liveOf has a site of a shape taken over and given back.
func liveOf(t *testing.T, newSite func(*testing.T) *site) (out life) {
	t.Helper()
	s := newSite(t)
	out.before, out.clusterBefore = s.inventory(), s.inCluster()
	s.takeAll()
	out.took, out.taken, out.clusterTaken = len(s.wrote), s.inventory(), s.inCluster()
	s.releaseAll()
	out.gave = len(s.wrote) - out.took
	return out
}

// TestCutOffAnywhere: both directions end the same after they were cut off at each write; after each, either controller
// can be started.
func TestCutOffAnywhere(t *testing.T) {
	names := slices.Sorted(maps.Keys(shapes))
	for _, name := range nightly.Some(t, 3, names) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := liveOf(t, shapes[name])
			t.Logf("%d writes to take over, %d to give back", l.took, l.gave)
			for _, cut := range nightly.Some(t, 4, numbers(l.took+l.gave)) {
				t.Run(fmt.Sprint("cut off at ", cut), func(t *testing.T) {
					t.Parallel() // it waits, most of its time
					l.cutOff(shapes[name](t), cut)
				})
			}
		})
	}
}

// cutOff cuts a site off at a write.
func (l life) cutOff(s *site, cut int) {
	s.Helper()
	giving := cut >= l.took
	was, step, rest, to, want := "taking over", func() (bool, error) { return s.take(false) }, s.takeAll, ingress.ControllerName, l.taken
	if giving {
		s.takeAll()
		cut -= l.took
		was, step, rest, to, want = "giving back", s.release, s.releaseAll, "ingress.k8s.aws/alb", l.before
	}
	when := fmt.Sprintf("%s, cut off at %d", was, cut)
	s.left = cut
	for range 4 {
		done, err := step()
		if err != nil {
			break
		}
		if !done {
			s.replaceClass(to)
		}
	}
	s.left = -1
	s.right(when)
	s.accident()
	s.right(when + ", and the controller was started")
	if err := s.operate(); err != nil {
		s.Logf("%s: the operator: %v", when, err)
	}
	s.right(when + ", and both were started")
	rest()
	s.right(when + ", and gone on with")
	cluster := l.clusterTaken
	if giving {
		cluster = l.clusterBefore
	}
	records := cmpopts.IgnoreMapEntries(func(name, _ string) bool { return !giving && strings.HasPrefix(name, "LoadBalancer ") }) // they have times
	if diff := cmp.Diff(cluster, s.inCluster(), records); diff != "" {
		s.Errorf("%s, in the cluster there is\n%s", when, diff)
	}
	if giving {
		s.startTheirs()
	}
	// Started with a part of its bindings, the controller has another range of ports on the nodes, and keeps it.
	if diff := cmp.Diff(less(want, " nodes "), s.inventory(ourShared, " nodes ")); diff != "" {
		s.Errorf("%s, there is\n%s", when, diff)
	}
}

// numbers are the first n, from 0.
func numbers(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}
