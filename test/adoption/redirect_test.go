package adoption

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/proof"
)

// TestAListenerThatStaysRedirects: plans of the port that its rules redirect to are proven as others are. Once an Ingress asks
// for its own port, it is said of which redirects the answers are not proven.
func TestAListenerThatStaysRedirects(t *testing.T) {
	for name, to := range map[string]*elb.RedirectActionConfig{
		"to a port":              {StatusCode: elb.RedirectActionStatusCodeEnumHttp302, Port: aws.String("80")},
		"to another path":        {StatusCode: elb.RedirectActionStatusCodeEnumHttp302, Port: aws.String("80"), Path: aws.String("/new/#{path}")},
		"to another host":        {StatusCode: elb.RedirectActionStatusCodeEnumHttp302, Port: aws.String("80"), Host: aws.String("d.example.com")},
		"to another query":       {StatusCode: elb.RedirectActionStatusCodeEnumHttp302, Port: aws.String("80"), Query: aws.String("from=old")},
		"to itself":              {StatusCode: elb.RedirectActionStatusCodeEnumHttp302, Path: aws.String("/web/x")},
		"to a port that is shut": {StatusCode: elb.RedirectActionStatusCodeEnumHttp302, Protocol: aws.String("HTTPS"), Port: aws.String("443")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newWithExtra(t)
			balancer := s.loadBalancer()
			for _, l := range must(s, func() (*elbv2.DescribeListenersOutput, error) {
				return s.elb.DescribeListeners(t.Context(), &elbv2.DescribeListenersInput{LoadBalancerArn: aws.String(balancer)})
			}).Listeners {
				if *l.Port != extraPort {
					continue
				}
				must(s, func() (*elbv2.CreateRuleOutput, error) {
					return s.elb.CreateRule(t.Context(), &elbv2.CreateRuleInput{ListenerArn: l.ListenerArn, Priority: aws.Int32(7),
						Actions:    []elb.Action{{Type: elb.ActionTypeEnumRedirect, RedirectConfig: to}},
						Conditions: []elb.RuleCondition{{Field: aws.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: []string{"/moved*"}}}}})
				})
			}
			s.learn(extraRequests...)
			s.mustTakeByHand(false)
			s.settle()
			s.edit(func(ing *networkingv1.Ingress) {
				more := *ing.Spec.Rules[0].DeepCopy()
				more.Host = "d.example.com"
				ing.Spec.Rules = append(ing.Spec.Rules, more)
			})
			s.settle()
			s.edit(func(ing *networkingv1.Ingress) { ing.Spec.Rules = ing.Spec.Rules[:1] })
			s.settle()
			s.right("at the end")
			s.edit(func(ing *networkingv1.Ingress) {
				ing.Annotations["fairlead.dev/listen-ports"] = fmt.Sprintf(`[{"HTTP":80},{"HTTP":%d}]`, extraPort)
			})
			cloud := s.cloud()
			seen, err := cloud.Observe(t.Context(), s.wantedByHand().LoadBalancer.Key, false)
			if err != nil {
				t.Fatal(err)
			}
			snapshots, _ := ingress.Place(s.objects(), ingress.ClassOptions{})
			p, err := program.Compile(t.Context(), cloud, snapshots[0], seen)
			if err != nil {
				t.Fatal(err)
			}
			told := strings.Contains(fmt.Sprint(p.Plan.Diagnostics), "delete the rules of these redirects first")
			verdict := p.Proof()
			if changes := to.Host != nil || to.Path != nil || to.Query != nil; told != changes || verdict.Result != proof.Proven && !told {
				t.Errorf("the plan is %s %s, and it says %v", verdict.Result, verdict.Why, p.Plan.Diagnostics)
			}
		})
	}
}
