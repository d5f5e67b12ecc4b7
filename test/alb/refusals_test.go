package alb

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2api "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2 "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/test/albsim"
)

// This file has AWS refuse what one Ingress names: that Ingress is told by name, and no other one
// waits for it.

func TestWhatOneIngressNamesIsRefused(t *testing.T) {
	const list = "pl-0123456789abcdef0"
	names := func(p ec2.IpPermission) bool {
		return slices.ContainsFunc(p.PrefixListIds, func(l ec2.PrefixListId) bool { return aws.ToString(l.PrefixListId) == list })
	}
	for _, c := range []struct {
		code   string
		bad    func(w *world)
		refuse func(in any) bool
	}{
		{"InvalidPrefixListID.NotFound", func(w *world) { w.ask("bad", "inbound", list) }, func(in any) bool {
			call, ok := in.(*ec2api.AuthorizeSecurityGroupIngressInput)
			return ok && slices.ContainsFunc(call.IpPermissions, names)
		}},
		{"InvalidParameterException", certifiedBad, called("ImportCertificate")},
		{"TagPolicyException", certifiedBad, called("ImportCertificate")},
		{"WAFLimitsExceededException", guardedBad, called("AssociateWebACL")},
		{"WAFFeatureNotIncludedInPricingPlanException", guardedBad, called("AssociateWebACL")},
		{"WAFInvalidParameterException", guardedBad, called("AssociateWebACL")},
	} {
		t.Run(c.code, func(t *testing.T) {
			inBubble(t, albsim.Options{}, func(w *world) {
				w.service("web", 1)
				w.serve("site", map[string]string{"/": "web"})
				w.finish()
				time.Sleep(5 * time.Minute)
				w.sim.Refuse(func(in any) error {
					if c.refuse(in) {
						return albsim.Refusal(c.code, "AWS does not take this")
					}
					return nil
				})
				w.serve("bad", map[string]string{"/": "web"})
				w.ask("bad", "listen-ports", "HTTP:8080")
				c.bad(w)
				w.tryFor(time.Minute)
				var told []diag.Diagnostic
				if w.webACLs != nil { // what asks for one that cannot be had is left out, and there is no step any more
					told = w.about(diag.WebACLMissing)
				}
				for _, r := range w.rejections {
					for _, from := range r.Origin {
						told = append(told, diag.Diagnostic{Source: from, Message: r.Err.Error()})
					}
				}
				if len(told) == 0 {
					t.Error("the Ingress is not told")
				}
				for _, d := range told {
					if d.Source.Name != "bad" || !strings.Contains(d.Message, c.code+": AWS does not take this") {
						t.Errorf("%s is told: %s", d.Source.Name, d.Message)
					}
				}
				w.serve("late", map[string]string{"/": "web"})
				w.tryFor(time.Minute)
				if seen, err := w.cloud.Observe(w.Context(), w.key, false); err != nil {
					t.Error(err)
				} else {
					w.seen = seen
				}
				for _, name := range []string{"site", "late"} {
					if got := w.request(name); len(got.Forward) == 0 {
						t.Errorf("requests for %s are answered with %+v", name, got)
					}
				}
			})
		})
	}
}

// called chooses a call by its name.
func called(name string) func(in any) bool {
	return func(in any) bool { return actionIn(in) == name }
}

// certifiedBad gives the Ingress a certificate of its own.
func certifiedBad(w *world) {
	w.secret("tls-bad", 0, "bad.example.com")
	w.ask("bad", "listen-ports", "HTTPS:443")
	w.change("bad", tls("tls-bad", "bad.example.com"))
}

// guardedBad has it ask for a web ACL.
func guardedBad(w *world) {
	w.webACLs = map[string]string{"edge": w.sim.AddWebACL("edge")}
	w.ask("bad", "wafv2-acl", "edge")
}

// tryFor tries for a while, whatever becomes of it.
func (w *world) tryFor(long time.Duration) {
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(patience) {
		_, _ = w.try()
	}
}
