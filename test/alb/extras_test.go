package alb

import (
	"reflect"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/test/albsim"
)

// This file denies the operator the reads of a deep look.

// extras are the reads of a deep look that no route waits for.
var extras = []string{
	"GetWebACLForResourceInput", "DescribeProtectionInput", "DescribeLoadBalancerAttributesInput", "DescribeListenerAttributesInput",
	"DescribeTargetGroupAttributesInput", "DescribeSecurityGroupsInput",
}

// adorned is a load balancer with all that is read.
func adorned(w *world) {
	w.service("web", 1)
	w.service("more", 1)
	w.webACLs = map[string]string{"edge": w.sim.AddWebACL("edge")}
	w.serve("site", map[string]string{"/": "web"})
	w.ask("site", "wafv2-acl", "edge")
	w.ask("site", "shield-advanced", "true")
	w.ask("site", "inbound", "10.0.0.0/8")
	w.ask("site", "target-group-attributes", "deregistration_delay.timeout_seconds=30")
	w.class(func(s *spec) {
		s.Attributes = map[string]string{"idle_timeout.timeout_seconds": "30", "deletion_protection.enabled": "true"}
		s.Ports = []v1alpha1.PortSettings{{Port: 80, Attributes: map[string]string{"routing.http.response.server.enabled": "false"}}}
	})
}

// denies refuses one kind of read.
func denies(read string) func(in any) error {
	return func(in any) error {
		if reflect.TypeOf(in).Elem().Name() != read {
			return nil
		}
		if in, is := in.(*ec2.DescribeSecurityGroupsInput); is && len(in.GroupIds) != 2 { // that is the one of a deep look
			return nil
		}
		return albsim.Refusal("AccessDeniedException", "User is not authorized")
	}
}

func TestExtrasThatCannotBeReadKeepNoRouteWaiting(t *testing.T) {
	for _, read := range extras {
		t.Run(strings.TrimSuffix(read, "Input"), func(t *testing.T) {
			inBubble(t, usual(), func(w *world) {
				adorned(w)
				w.settle()
				w.rests("it was made")

				w.sim.Refuse(denies(read))
				seen, err := w.cloud.Observe(w.Context(), w.key, true)
				if err != nil {
					t.Fatal(err)
				}
				if len(seen.Unread) == 0 || !strings.Contains(seen.Unread[0], "AccessDenied") {
					t.Errorf("it says %q", seen.Unread)
				}
				if todo := w.look(true); !todo.Empty() {
					t.Errorf("there is to be done:\n%v", todo.Print())
				}
				w.serve("more", map[string]string{"/": "more"})
				w.ask("more", "wafv2-acl", "edge")
				w.settle()
				if len(w.seen.Listener(80).Rules) != 2 {
					t.Errorf("there are %d rules, want 2", len(w.seen.Listener(80).Rules))
				}

				w.sim.Refuse(nil)
				w.rests("it can be read again")
				if len(w.seen.Unread) > 0 {
					t.Errorf("it still says %q", w.seen.Unread)
				}
			})
		})
	}
}

// Settings that can be read are put right beside those that cannot.
func TestSettingsThatCanBeReadArePutRight(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		adorned(w)
		w.settle()
		must(elbapi.NewFromConfig(w.sim.OwnersConfig()).ModifyLoadBalancerAttributes(w.Context(), &elbapi.ModifyLoadBalancerAttributesInput{
			LoadBalancerArn: &w.seen.Handle, Attributes: []elb.LoadBalancerAttribute{{Key: sdk.String("idle_timeout.timeout_seconds"), Value: sdk.String("55")}},
		}))
		w.sim.Refuse(denies("GetWebACLForResourceInput"))
		w.look(true)
		w.settle()
		if _, attributes, _ := w.balancer(); attributes["idle_timeout.timeout_seconds"] != "30" {
			t.Errorf("the idle timeout is %s", attributes["idle_timeout.timeout_seconds"])
		}
	})
}

// A right for web ACLs that is missing keeps no route waiting of an Ingress that asks for none, and
// costs nothing where no Ingress asks for one. The one that asks is not served, and told which
// right it is.
func TestAMissingRightForWebACLsIsToldToWhatAsks(t *testing.T) {
	for _, call := range []string{"ListWebACLsInput", "GetWebACLForResourceInput", "AssociateWebACLInput"} {
		t.Run(strings.TrimSuffix(call, "Input"), func(t *testing.T) {
			inBubble(t, usual(), func(w *world) {
				w.sim.AddWebACL("edge")
				w.service("web", 1)
				w.service("more", 1)
				w.sim.Refuse(denies(call))
				w.serve("site", map[string]string{"/": "web"})
				w.settle()
				w.rests("nothing asks for a web ACL")
				if len(w.seen.Unread) > 0 {
					t.Errorf("nothing asks for a web ACL, and it says %q", w.seen.Unread)
				}

				w.watched("guarded")
				w.serve("guarded", map[string]string{"/": "more"})
				w.ask("guarded", "wafv2-acl", "edge")
				w.serve("other", map[string]string{"/": "more"})
				w.propagated()
				if a := w.request("other"); len(a.Forward) == 0 {
					t.Errorf("an Ingress that asks for no web ACL waits: %+v", a)
				}
				told := w.about(diag.WebACLMissing)
				if call == "GetWebACLForResourceInput" { // it is read to be corrected and taken away only
					if a := w.request("guarded"); len(a.Forward) == 0 || len(told) > 0 {
						t.Errorf("it is served: %+v; it says %v", a, told)
					}
					return
				}
				if a := w.request("guarded"); len(a.Forward) > 0 {
					t.Errorf("it is served without its web ACL: %+v", a)
				}
				if len(told) != 1 || told[0].Source.Name != "guarded" || !strings.Contains(told[0].Message, "AccessDenied") {
					t.Errorf("it says %v", told)
				}

				w.sim.Refuse(nil)
				time.Sleep(10 * time.Minute)
				w.propagated()
				if a := w.request("guarded"); len(a.Forward) == 0 {
					t.Errorf("the right is there, and it is not served: %+v", a)
				}
			})
		})
	}
}
