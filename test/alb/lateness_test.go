package alb

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/albsim"
)

// This file has AWS not find yet what was made a moment ago, one kind of thing and one call after
// the other, with the codes that AWS documents or that people have met.

// A lateness is a call that does not find what it names for a while.
type lateness struct {
	call   string // the SDK's name of its input
	field  string // that names what is not found
	code   string
	source string
}

var latenesses = []lateness{
	{"CreateLoadBalancerInput", "SecurityGroups", "InvalidSecurityGroup", "https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateLoadBalancer.html"},
	{"AuthorizeSecurityGroupIngressInput", "GroupId", "InvalidGroup.NotFound", "https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html"},
	{"CreateListenerInput", "LoadBalancerArn", "LoadBalancerNotFound", "https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateListener.html"},
	{"CreateListenerInput", "Certificates", "CertificateNotFound", "hashicorp/terraform-provider-aws#10294"},
	{"AddListenerCertificatesInput", "ListenerArn", "ListenerNotFound", "kubernetes-sigs/aws-load-balancer-controller#1433"},
	{"AddListenerCertificatesInput", "Certificates", "CertificateNotFound", "hashicorp/terraform-provider-aws#3901"},
	{"ModifyListenerAttributesInput", "ListenerArn", "ListenerNotFound", "kubernetes-sigs/aws-load-balancer-controller#1433"},
	{"CreateRuleInput", "ListenerArn", "ListenerNotFound", "https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateRule.html"},
	{"CreateRuleInput", "Actions", "TargetGroupNotFound", "https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateRule.html"},
	{"RegisterTargetsInput", "TargetGroupArn", "TargetGroupNotFound", "https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_RegisterTargets.html"},
	{"ModifyLoadBalancerAttributesInput", "LoadBalancerArn", "LoadBalancerNotFound", "https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_ModifyLoadBalancerAttributes.html"},
	{"AssociateWebACLInput", "ResourceArn", "WAFNonexistentItemException", "kubernetes-sigs/aws-load-balancer-controller#2022"},
}

// until refuses the call for a while, from the first time on.
func (l lateness) until(lag time.Duration, met *bool) func(in any) error {
	var first time.Time
	return func(in any) error {
		v := reflect.ValueOf(in).Elem()
		if v.Type().Name() != l.call || v.FieldByName(l.field).IsZero() {
			return nil
		}
		if *met = true; first.IsZero() {
			first = time.Now()
		}
		if time.Since(first) < lag {
			return albsim.Refusal(l.code, "One or more of what you name was not found")
		}
		return nil
	}
}

// full is a load balancer with one of everything.
func full(w *world) {
	w.service("web", 1)
	w.secret("one", 0, "site.example.com")
	w.secret("two", 0, "more.example.com")
	w.webACLs = map[string]string{"edge": w.sim.AddWebACL("edge")}
	w.secured(w.serve("site", map[string]string{"/": "web"}), "one")
	w.secured(w.serve("more", map[string]string{"/": "web"}), "two")
	w.ask("site", "wafv2-acl", "edge")
	w.class(func(s *v1alpha1.LoadBalancerClassSpec) {
		s.Attributes = map[string]string{"idle_timeout.timeout_seconds": "30"}
		s.Ports = []v1alpha1.PortSettings{{Port: 443, Attributes: map[string]string{"routing.http.response.server.enabled": "false"}}}
	})
}

func TestAWSDoesNotFindYetWhatWasMade(t *testing.T) {
	var prompt map[string]int
	inBubble(t, slow(), func(w *world) {
		full(w)
		w.settle()
		prompt = w.sim.Inventory()
	})
	for _, l := range latenesses {
		t.Run(strings.TrimSuffix(l.call, "Input")+" "+l.code, func(t *testing.T) {
			inBubble(t, slow(), func(w *world) {
				full(w)
				met := false
				w.sim.Refuse(l.until(30*time.Second, &met))
				began := time.Now()
				w.settle()
				if !met {
					t.Fatal("no such call was made")
				}
				if took := time.Since(began); took > 5*time.Minute {
					t.Errorf("it took %s", took)
				}
				time.Sleep(time.Minute)
				w.leadsTo("web")
				if len(w.rejections) > 0 {
					t.Errorf("it is held against %v", w.rejections)
				}
				if got := w.sim.Inventory(); !maps.Equal(got, prompt) {
					t.Errorf("there are %v, and %v where AWS finds all at once", got, prompt)
				}
			})
		})
	}
}
