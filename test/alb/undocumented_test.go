package alb

import (
	"strings"
	"testing"
	"testing/synctest"

	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file tries what AWS does not document, which a class can accept: AWS takes it, or refuses it.

// undocumented serves an Ingress that asks for it beside another one, and asks about paths of both.
func undocumented(t *testing.T, change func(*networkingv1.Ingress), refuses func(*elbapi.CreateRuleInput) bool, answers map[string]string) {
	for name, c := range map[string]struct{ accepted, refused bool }{"not accepted": {}, "accepted": {accepted: true}, "accepted, and AWS refuses it": {true, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := albsim.Options{Refuse: func(in any) error {
					if call, is := in.(*elbapi.CreateRuleInput); is && c.refused && refuses(call) {
						return albsim.Refusal("ValidationError", "A rule cannot have this")
					}
					return nil
				}}
				w := newWorld(t, o)
				if c.accepted {
					w.class(func(s *spec) { s.Undocumented = v1alpha1.UndocumentedAccept })
				}
				w.service("web", 1)
				w.serve("plain", map[string]string{"/": "web"})
				w.serve("asks", map[string]string{"/x": "web"})
				w.change("asks", change)
				w.settle()
				if refused := len(w.rejections) > 0; refused != c.refused {
					t.Errorf("refused: %v", w.rejections)
				}
				r := matching.Request{Port: 80, Host: "plain.example.com", Path: "/", Source: "203.0.113.7"}
				s := w.snapshot()
				table := model.Compile(s, lb.Facts{}, w.caps(s)).Table
				if got, want := done(w.sim.Ask(w.seen.Address.Hostname, r, matching.Reading{})), expected(table, r); got != want || !strings.Contains(got, "web") {
					t.Errorf("the other Ingress answers %q, want %q", got, want)
				}
				r.Host = "asks.example.com"
				for path, want := range answers {
					r.Path, r.Query, _ = strings.Cut(path, "?")
					if got := done(w.sim.Ask(w.seen.Address.Hostname, r, matching.Reading{})); (got == want) != (c.accepted && !c.refused) {
						t.Errorf("%s is answered with %q", path, got)
					}
				}
			})
		})
	}
}

func TestARewriteInFrontOfARedirect(t *testing.T) {
	undocumented(t, func(ing *networkingv1.Ingress) {
		ing.Annotations["fairlead.dev/backends"] = `{"away": {"rewrite": {"url": {"pattern": "^/x/([^?]*)", "replacement": "/new/$1"}}, ` +
			`"redirect": {"scheme": "https", "host": "other.example.com", "statusCode": 302}}}`
		ing.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{
			APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindBackend, Name: "away"}}
	}, func(in *elbapi.CreateRuleInput) bool {
		return len(in.Transforms) > 0 && in.Actions[0].RedirectConfig != nil
	}, map[string]string{
		"/x/y":     "302 to https://other.example.com/new/y",
		"/x/y?q=r": "302 to https://other.example.com/new/y?q=r",
	})
}

func TestTheFlagForCase(t *testing.T) {
	long := strings.Repeat("long", 12)
	undocumented(t, func(ing *networkingv1.Ingress) {
		ing.Annotations["fairlead.dev/implementation-specific"] = "Regex"
		kind := networkingv1.PathTypeImplementationSpecific
		ing.Spec.Rules[0].HTTP.Paths[0].PathType, ing.Spec.Rules[0].HTTP.Paths[0].Path = &kind, "/(?i)"+long
	}, func(in *elbapi.CreateRuleInput) bool {
		for _, c := range in.Conditions {
			if p := c.PathPatternConfig; p != nil && strings.Contains(strings.Join(p.RegexValues, ""), "(?i)") {
				return true
			}
		}
		return false
	}, map[string]string{
		"/" + long:                  "asks.example.com/" + long + " for 0 s to shop/web:80*1",
		"/" + strings.ToUpper(long): "asks.example.com/" + strings.ToUpper(long) + " for 0 s to shop/web:80*1",
	})
}
