package adoption

import (
	"strings"
	"testing"
	"time"

	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	networkingv1 "k8s.io/api/networking/v1"
)

// TestWhatNeedsConsentIsNamed: also without the report of adopt, as in events of the operator.
func TestWhatNeedsConsentIsNamed(t *testing.T) {
	https := map[string]string{"target-type": "ip", "listen-ports": `[{"HTTP":80},{"HTTPS":443}]`}
	redirects := map[string]string{"target-type": "ip", "listen-ports": `[{"HTTP":80},{"HTTPS":443}]`, "ssl-redirect": "443"}
	for name, c := range map[string]struct {
		annotations map[string]string
		later       func(s *site) // what the controller does not see
		says        []string
	}{
		"nothing differs":           {annotations: https},
		"a redirect of all of HTTP": {annotations: redirects},
		"another path": {https, func(s *site) {
			s.change("one", func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].HTTP.Paths[0].Path = "/web" })
		}, []string{"some requests get another answer (2), such as curl http://a.example.com/", ": forward shop/web:80, and then fixed 404"}},
		"one more certificate": {https, func(s *site) {
			s.sim.Issue(time.Now().Add(1000*time.Hour), acmtypes.CertificateStatusIssued, "a.example.com")
		}, []string{"settings change (1), such as listener 443, certificates: arn:aws:acm:"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, base+service("web", 80, 8080, 30080)+theIngress("one", c.annotations, "a.example.com / Prefix web 80"))
			s.sim.Issue(time.Now().Add(1000*time.Hour), acmtypes.CertificateStatusIssued, "a.example.com")
			s.startTheirs()
			if c.later != nil {
				c.later(s)
			}
			got := s.obstacles()
			if len(got) != min(1, len(c.says)) {
				t.Fatalf("in the way: %q", got)
			}
			for _, text := range append(c.says, "--accept alb/shop/one/internal=k8s-shop-one-546e40461d consents") {
				if len(got) > 0 && !strings.Contains(got[0], text) {
					t.Errorf("it does not say %q: %s", text, got[0])
				}
			}
		})
	}
}

// TestIngressClassParamsAreNamed: what they say is lost with the IngressClass that refers to them.
func TestIngressClassParamsAreNamed(t *testing.T) {
	s := newSite(t, strings.Replace(base, "{controller: ingress.k8s.aws/alb}", "{controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: edge}}", 1)+
		"\n---\napiVersion: elbv2.k8s.aws/v1beta1\nkind: IngressClassParams\nmetadata: {name: edge}\nspec: {targetType: ip}\n"+
		service("web", 80, 8080, 30080)+theIngress("one", nil, "a.example.com / Prefix web 80"))
	s.startTheirs()
	if out := s.takeOne(); len(out.Switch) != 1 || !strings.Contains(out.Switch[0], "let the new class refer to its IngressClassParams edge, too") {
		t.Errorf("%+v", out)
	}
}
