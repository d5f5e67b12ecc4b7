package adoption

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file takes over listeners of the controller that redirect all requests over HTTP, and that have all certificates of a
// host.

// secured is a group of two Ingresses, of which the one that sorts last is the oldest, with certificates: two for its host, and
// one for that of the other.
func secured(t *testing.T) *site {
	t.Helper()
	both := map[string]string{"group.name": "all", "target-type": "ip", "listen-ports": `[{"HTTP":80},{"HTTPS":443}]`}
	redirects := map[string]string{"group.name": "all", "target-type": "ip", "listen-ports": `[{"HTTP":80},{"HTTPS":443}]`, "ssl-redirect": "443"}
	s := newSite(t, base+service("web", 80, 8080, 30080)+service("api", 80, 9090, 30090)+
		theIngress("one", both, "a.example.com /api Prefix api 80", "a.example.com /web Prefix web 80")+
		theIngress("two", redirects, "b.example.org / Prefix web 80"))
	for i, name := range []string{"one", "two"} {
		s.change(name, func(ing *networkingv1.Ingress) {
			ing.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Duration(i+1) * time.Hour))
		})
	}
	for _, names := range [][]string{{"b.example.org"}, {"a.example.com"}, {"*.example.com"}} { // the last ARN sorts first
		s.sim.Issue(time.Now().Add(1000*time.Hour), acmtypes.CertificateStatusIssued, names...)
	}
	s.startTheirs()
	s.learn(requestsOf([]string{"a.example.com", "b.example.org", "c.example.com"},
		[]string{"/", "/api", "/web/x", "/other", "/.well-known/acme-challenge/token"})...)
	return s
}

// listeners has the default action, the number of rules and the certificates of each port.
func (s *site) listeners() (out []string) {
	s.Helper()
	balancer := s.loadBalancer()
	for _, l := range must(s, func() (*elbv2.DescribeListenersOutput, error) {
		return s.elb.DescribeListeners(s.Context(), &elbv2.DescribeListenersInput{LoadBalancerArn: aws.String(balancer)})
	}).Listeners {
		rules := must(s, func() (*elbv2.DescribeRulesOutput, error) {
			return s.elb.DescribeRules(s.Context(), &elbv2.DescribeRulesInput{ListenerArn: l.ListenerArn})
		}).Rules
		var certificates []string
		for _, c := range must(s, func() (*elbv2.DescribeListenerCertificatesOutput, error) {
			return s.elb.DescribeListenerCertificates(s.Context(), &elbv2.DescribeListenerCertificatesInput{ListenerArn: l.ListenerArn})
		}).Certificates {
			text := *c.CertificateArn
			if aws.ToBool(c.IsDefault) {
				text += " by default"
			}
			certificates = append(certificates, text)
		}
		slices.Sort(certificates)
		out = append(out, fmt.Sprintf("%d %s, %d rules, %s", *l.Port, l.DefaultActions[0].Type, len(rules)-1, certificates))
	}
	slices.Sort(out)
	return out
}

// TestRedirectsAndCertificatesStay: ssl-redirect and several certificates need no consent, writes are of tags alone, and
// changes afterwards leave them as they are.
func TestRedirectsAndCertificatesStay(t *testing.T) {
	s := secured(t)
	before, listeners := s.inventory(), s.listeners()
	if !strings.HasPrefix(listeners[1], "80 redirect, 0 rules") || strings.Count(listeners[0], "certificate/") < 3 {
		t.Fatalf("the controller made %q", listeners)
	}
	s.takeAll()
	s.right("after it was taken over")
	for _, call := range s.wrote {
		if !strings.Contains(call, " ") && !slices.Contains([]string{"AddTags", "RemoveTags", "CreateTags", "DeleteTags", "SetSecurityGroups",
			"CreateSecurityGroup", "AuthorizeSecurityGroupIngress"}, call) {
			t.Errorf("it wrote %s", call)
		}
	}
	if steps := s.plan(); len(steps) > 0 {
		t.Errorf("after it, the plan is %q", steps)
	}
	s.change("one", func(ing *networkingv1.Ingress) {
		more := *ing.Spec.Rules[0].HTTP.Paths[0].DeepCopy()
		more.Path = "/more"
		ing.Spec.Rules[0].HTTP.Paths = append(ing.Spec.Rules[0].HTTP.Paths, more)
	})
	s.settle()
	s.right("after a change")
	changed := s.listeners()
	_, attached, _ := strings.Cut(listeners[0], "rules")
	if _, certificates, _ := strings.Cut(changed[0], "rules"); changed[1] != listeners[1] || certificates != attached {
		t.Errorf("after a change there is\n%s", cmp.Diff(listeners, changed))
	}
	s.change("one", func(ing *networkingv1.Ingress) {
		ing.Spec.Rules[0].HTTP.Paths = ing.Spec.Rules[0].HTTP.Paths[:2]
	})
	s.releaseAll()
	s.startTheirs()
	s.right("after it was given back and the controller started")
	if diff := cmp.Diff(listeners, s.listeners()); diff != "" {
		t.Errorf("after it was given back\n%s", diff)
	}
	if len(before) != len(s.inventory(ourShared)) {
		t.Errorf("after it was given back\n%s", cmp.Diff(before, s.inventory(ourShared)))
	}
}

// TestACertificateThatIsIssuedLater is attached, too: the controller would do so.
func TestACertificateThatIsIssuedLater(t *testing.T) {
	s := secured(t)
	s.takeAll()
	before := s.listeners()
	s.sim.Issue(time.Now().Add(500*time.Hour), acmtypes.CertificateStatusIssued, "a.example.com", "z.example.com")
	s.settle()
	after := s.listeners()
	if strings.Count(after[0], "certificate/") != strings.Count(before[0], "certificate/")+1 || after[1] != before[1] {
		t.Errorf("there is %q, and before there was %q", after, before)
	}
	s.right("with one more certificate")
}

// TestTheDefaultCertificateIsListedLater: before v3.4.1, the controller did not put the default certificate in the list
// (buildSDKCertificates in its pkg/deploy/elbv2/listener_manager.go). Taking over writes tags alone, and the listener is
// written once afterwards.
func TestTheDefaultCertificateIsListedLater(t *testing.T) {
	s := secured(t)
	listed := s.listeners()[0]
	arns := regexp.MustCompile(`arn:\S+/[0-9a-f]+`).FindAllString(listed, -1)
	slices.Sort(arns)
	first := regexp.MustCompile(`(arn:\S+) by default`).FindStringSubmatch(listed)[1]
	s.asTheirs(func() error {
		found, err := s.elb.DescribeListeners(t.Context(), &elbv2.DescribeListenersInput{LoadBalancerArn: aws.String(s.loadBalancer())})
		if err != nil {
			return err
		}
		at := slices.IndexFunc(found.Listeners, func(l elbtypes.Listener) bool { return *l.Port == 443 })
		listener := found.Listeners[at].ListenerArn
		for _, arn := range []string{arns[len(arns)-1], first} {
			if _, err := s.elb.ModifyListener(t.Context(), &elbv2.ModifyListenerInput{ListenerArn: listener,
				Certificates: []elbtypes.Certificate{{CertificateArn: &arn}}}); err != nil {
				return err
			}
			if arn == first {
				continue
			}
			if _, err := s.elb.RemoveListenerCertificates(t.Context(), &elbv2.RemoveListenerCertificatesInput{ListenerArn: listener,
				Certificates: []elbtypes.Certificate{{CertificateArn: &first}}}); err != nil {
				return err
			}
		}
		return nil
	})
	if now := s.listeners()[0]; strings.Count(now, "certificate/") != strings.Count(listed, "certificate/")-1 {
		t.Fatalf("there was %s, and there is %s", listed, now)
	}
	s.wrote = nil
	s.takeAll()
	if slices.ContainsFunc(s.wrote, func(call string) bool { return strings.Contains(call, "Listener") }) {
		t.Errorf("taking over wrote %q", s.wrote)
	}
	if steps := slices.Compact(s.plan()); !slices.Equal(steps, []string{"modify listener 443"}) {
		t.Errorf("then the plan is %q", steps)
	}
	s.settle()
	if now := s.listeners()[0]; now != listed {
		t.Errorf("then there is %s, not %s", now, listed)
	}
}
