package listeners

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file creates and changes listeners.

var (
	denied    = awscalls.Refused("AccessDenied", "no")
	duplicate = awscalls.Refused("DuplicateListener", "there is one on this port")
)

func plainly(*lb.Listener) {}

func withAttributes(l *lb.Listener) { l.Settings.Attributes = map[string]string{"a.b": "c"} }

// A listener has its digest once its attributes are written. One that is there already, as the
// answer to its creation was lost, is changed.
func TestAListenerHasItsDigestInTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		want   func(*lb.Listener)
		tags   map[string]string // of the one that is there
		refuse map[string]error
		first  string // its digest at first
		digest string
		class  error
		calls  []string
	}{
		"without attributes": {want: plainly, first: "v1:new", digest: "v1:new", calls: []string{"CreateListener"}},
		"with attributes": {
			want: withAttributes, digest: "v1:new", calls: []string{"CreateListener", "ModifyListenerAttributes", "AddTags"},
		},
		"attributes that are denied": {
			want: withAttributes, refuse: map[string]error{"ModifyListenerAttributes": denied}, class: providers.ErrDenied,
			calls: []string{"CreateListener", "ModifyListenerAttributes"},
		},
		"several certificates": {
			want:  func(l *lb.Listener) { l.Certificates = append(l.Certificates, "arn:certificate/2") },
			first: "v1:new", digest: "v1:new", calls: []string{"CreateListener", "AddListenerCertificates", "AddListenerCertificates"},
		},
		"a certificate that is denied": {
			want:   func(l *lb.Listener) { l.Certificates = append(l.Certificates, "arn:certificate/2") },
			refuse: map[string]error{"AddListenerCertificates": denied}, class: providers.ErrDenied,
			first: "v1:new", digest: "v1:new", calls: []string{"CreateListener", "AddListenerCertificates"},
		},
		"one that is there": {
			want: plainly, tags: map[string]string{client.TagDigest: "v1:new"}, refuse: map[string]error{"CreateListener": duplicate},
			first: "v1:new", digest: "v1:new", calls: []string{"CreateListener", "DescribeListeners", "ModifyListener", "DescribeTags"},
		},
		"one that is there with other settings": {
			want: plainly, tags: map[string]string{client.TagDigest: "v1:old"}, refuse: map[string]error{"CreateListener": duplicate},
			first: "v1:new", digest: "v1:new", calls: []string{"CreateListener", "DescribeListeners", "ModifyListener", "DescribeTags", "AddTags"},
		},
		"denied": {
			want: plainly, refuse: map[string]error{"CreateListener": denied}, class: providers.ErrDenied,
			first: "v1:new", calls: []string{"CreateListener"},
		},
		"one that is there and cannot be read": {
			want: plainly, refuse: map[string]error{"CreateListener": duplicate, "DescribeListeners": denied}, class: providers.ErrDenied,
			first: "v1:new", calls: []string{"CreateListener", "DescribeListeners"},
		},
		"one that is there and cannot be changed": {
			want: plainly, refuse: map[string]error{"CreateListener": duplicate, "ModifyListener": denied}, class: providers.ErrDenied,
			first: "v1:new", calls: []string{"CreateListener", "DescribeListeners", "ModifyListener"},
		},
		"tags that cannot be read": {
			want: plainly, refuse: map[string]error{"CreateListener": duplicate, "DescribeTags": denied}, class: providers.ErrDenied,
			first: "v1:new", calls: []string{"CreateListener", "DescribeListeners", "ModifyListener", "DescribeTags"},
		},
		"a target group that is gone": {want: func(l *lb.Listener) { l.Default = forward("gone") }, class: errGone},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := newTrial()
			c2.refuse = c.refuse
			if c.tags != nil {
				c2.tags = c.tags
			}
			result, err := c2.Create(t.Context(), &lb.Observed{Key: key, Handle: balancer}, secure(c.want))
			awscalls.ExpectError(t, "creating", err, c.class)
			awscalls.Expect(t, "calls", c2.aws.Calls(), c.calls)
			awscalls.Expect(t, "digest", c2.tags[client.TagDigest], c.digest)
			if c.class == nil {
				awscalls.Expect(t, "handle", result.Handle, listener)
			}
			if c2.created == nil {
				return
			}
			first := ""
			for _, tag := range c2.created.Tags {
				if aws.ToString(tag.Key) == client.TagDigest {
					first = aws.ToString(tag.Value)
				}
			}
			awscalls.Expect(t, "digest at first", first, c.first)
		})
	}
}

// AWS may answer without what was asked for.
func TestAnswersWithoutAListener(t *testing.T) {
	c := newTrial()
	awscalls.On(&c.aws, func(*elbapi.CreateListenerInput) (*elbapi.CreateListenerOutput, error) {
		return &elbapi.CreateListenerOutput{}, nil
	})
	if _, err := c.Create(t.Context(), &lb.Observed{Key: key, Handle: balancer}, secure(plainly)); err == nil {
		t.Error("no listener is answered, and there is no error")
	}
	if arn, err := c.findListener(t.Context(), observed(), 8443); err == nil || !strings.Contains(err.Error(), "listener 8443 does not exist") {
		t.Errorf("%s, %v", arn, err)
	}
	for port, want := range map[int32]string{80: "arn:listener/80", 443: listener} {
		if arn, err := c.findListener(t.Context(), observed(), port); arn != want || err != nil {
			t.Errorf("on port %d is %s, %v", port, arn, err)
		}
	}
	awscalls.Expect(t, "a listener that is not there is changed without an error", c.Modify(t.Context(), &lb.Observed{}, secure(plainly)) == nil, false)
}

// A listener is written to the end, and what AWS keeps beside it only where its settings change.
func TestAListenerIsChanged(t *testing.T) {
	const one, two = "arn:certificate/1", "arn:certificate/2"
	for name, c := range map[string]struct {
		had, want          []lb.CertificateID
		same, blank        bool // the digest
		refuse             map[string]error
		attached, detached []string
		class              error
		calls              []string
	}{
		"the settings": {
			had: []lb.CertificateID{one}, want: []lb.CertificateID{one},
			calls: []string{"DescribeTags", "ModifyListener", "AddTags"},
		},
		"not the settings": {
			had: []lb.CertificateID{one}, want: []lb.CertificateID{one}, same: true, calls: []string{"ModifyListener"},
		},
		"another default certificate": {
			had: []lb.CertificateID{one}, want: []lb.CertificateID{two}, same: true, detached: []string{one},
			calls: []string{"ModifyListener", "RemoveListenerCertificates"},
		},
		"the default certificate stays by name": {
			had: []lb.CertificateID{one, two}, want: []lb.CertificateID{two, one}, same: true, attached: []string{one, two},
			calls: []string{"AddListenerCertificates", "ModifyListener", "AddListenerCertificates"},
		},
		"one beside the new default one, which goes later": {
			had: []lb.CertificateID{"arn:certificate/3", one}, want: []lb.CertificateID{two}, same: true,
			attached: []string{two}, detached: []string{"arn:certificate/3"},
			calls: []string{"ModifyListener", "AddListenerCertificates", "RemoveListenerCertificates"},
		},
		"the list lacks the default certificate": {
			had: []lb.CertificateID{one, two}, want: []lb.CertificateID{one, two}, blank: true, attached: []string{one},
			calls: []string{"DescribeTags", "ModifyListener", "AddListenerCertificates", "AddTags"},
		},
		"the list has no room for the default certificate": {
			had: []lb.CertificateID{one, two}, want: []lb.CertificateID{one, two}, blank: true, attached: []string{one},
			refuse: map[string]error{"AddListenerCertificates": awscalls.Refused("TooManyCertificates", "no")},
			calls:  []string{"DescribeTags", "ModifyListener", "AddListenerCertificates", "AddTags"},
		},
		"the first certificate": {had: nil, want: []lb.CertificateID{one}, same: true, calls: []string{"ModifyListener"}},
		"no certificate":        {had: []lb.CertificateID{one}, want: nil, same: true, calls: []string{"ModifyListener"}},
		"denied": {
			had: []lb.CertificateID{one}, want: []lb.CertificateID{two}, same: true, class: providers.ErrDenied,
			refuse: map[string]error{"ModifyListener": denied}, calls: []string{"ModifyListener"},
		},
		"a certificate is denied": {
			had: []lb.CertificateID{one, two}, want: []lb.CertificateID{two, one}, same: true, class: providers.ErrDenied, attached: []string{one},
			refuse: map[string]error{"AddListenerCertificates": denied}, calls: []string{"AddListenerCertificates"},
		},
		"to leave is denied": {
			had: []lb.CertificateID{one}, want: []lb.CertificateID{two}, class: providers.ErrDenied, detached: []string{one},
			refuse: map[string]error{"RemoveListenerCertificates": denied}, calls: []string{"DescribeTags", "ModifyListener", "RemoveListenerCertificates"},
		},
		"one that is not attached": {
			had: []lb.CertificateID{one}, want: []lb.CertificateID{two}, same: true, detached: []string{one},
			refuse: map[string]error{"RemoveListenerCertificates": awscalls.Refused("CertificateNotFound", "no")}, calls: []string{"ModifyListener", "RemoveListenerCertificates"},
		},
		"the tags are denied": {
			had: []lb.CertificateID{one}, want: []lb.CertificateID{one}, class: providers.ErrDenied,
			refuse: map[string]error{"DescribeTags": denied}, calls: []string{"DescribeTags"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := newTrial()
			c2.refuse = c.refuse
			seen := observed()
			seen.Listeners[0].Certificates = c.had
			if c.same {
				seen.Listeners[0].Digest = "v1:new"
			}
			if c.blank {
				seen.Listeners[0].Digest = ""
			}
			err := c2.Modify(t.Context(), seen, secure(func(l *lb.Listener) { l.Certificates = c.want }))
			awscalls.ExpectError(t, "changing", err, c.class)
			awscalls.Expect(t, "calls", c2.aws.Calls(), c.calls)
			awscalls.Expect(t, "attached", c2.attached, c.attached)
			awscalls.Expect(t, "detached", c2.detached, c.detached)
		})
	}
}

// A listener that may not be changed, and has lost its tags, is reported with the command that puts
// them back.
func TestADeniedListenerThatLostItsTags(t *testing.T) {
	for name, c := range map[string]struct {
		tags map[string]string
		same bool
		told bool
	}{
		"without tags":            {nil, false, true},
		"with tags":               {map[string]string{client.TagInstallation: "test"}, false, false},
		"tags that were not read": {nil, true, false},
	} {
		c2 := newTrial()
		c2.tags, c2.refuse = c.tags, map[string]error{"ModifyListener": denied}
		seen := observed()
		if c.same {
			seen.Listeners[0].Digest = "v1:new"
		}
		err := c2.Modify(t.Context(), seen, secure(plainly))
		awscalls.ExpectError(t, name, err, providers.ErrDenied)
		if !strings.Contains(err.Error(), "changing listener 443: ") || strings.Contains(err.Error(), "lacks Fairlead's tags") != c.told {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The client secrets of rules are written with the settings, where they are known.
func TestClientSecretsAreWrittenWithTheSettings(t *testing.T) {
	auth := func(secret, group string) lb.Action {
		a := forward(lb.GroupID(group))
		a.Auth = &routing.Auth{Kind: routing.OIDC, ClientID: "me", ClientSecret: routing.Secret(secret)}
		return a
	}
	rule := func(host string, a lb.Action) lb.Rule {
		return lb.Rule{Conditions: []lb.Condition{{Field: "host", Values: []string{host}}}, Action: a}
	}
	for name, c := range map[string]struct {
		want    []lb.Rule
		refuse  map[string]error
		class   error
		changed []string
	}{
		"known":                       {[]lb.Rule{rule("b", auth("hush", "web"))}, nil, nil, []string{"arn:rule/b"}},
		"not known":                   {[]lb.Rule{rule("b", auth("", "web"))}, nil, nil, nil},
		"no sign-in":                  {[]lb.Rule{rule("a", forward("web"))}, nil, nil, nil},
		"denied":                      {[]lb.Rule{rule("b", auth("hush", "web"))}, map[string]error{"ModifyRule": denied}, providers.ErrDenied, []string{"arn:rule/b"}},
		"a target group that is gone": {[]lb.Rule{rule("c", auth("hush", "gone"))}, nil, errGone, nil},
	} {
		c2 := newTrial()
		c2.refuse = c.refuse
		seen := observed()
		seen.Listeners[0].Rules = []lb.ObservedRule{
			{Rule: rule("a", forward("web")), Handle: "arn:rule/a"}, {Rule: rule("b", auth("", "web")), Handle: "arn:rule/b"},
			{Rule: rule("c", auth("", "gone")), Handle: "arn:rule/c"},
		}
		err := c2.Modify(t.Context(), seen, secure(func(l *lb.Listener) { l.Rules = c.want }))
		awscalls.ExpectError(t, name, err, c.class)
		var changed []string
		for _, in := range c2.changed {
			changed = append(changed, aws.ToString(in.RuleArn))
			if secret := aws.ToString(in.Actions[0].AuthenticateOidcConfig.ClientSecret); secret != "hush" {
				t.Errorf("%s: the secret is %q", name, secret)
			}
		}
		awscalls.Expect(t, name, changed, c.changed)
		awscalls.Expect(t, name+": the attributes and tags are written", slices.Contains(c2.aws.Calls(), "AddTags"), c.class == nil)
	}
}

func TestAListenerIsDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		err, class error
		there      bool
	}{
		"there": {nil, nil, true}, "gone": {awscalls.Refused("ListenerNotFound", "no"), nil, true},
		"denied": {denied, providers.ErrDenied, true}, "not seen": {denied, nil, false},
	} {
		c2 := newTrial()
		c2.refuse = map[string]error{"DeleteListener": c.err}
		seen := observed()
		if !c.there {
			seen.Listeners = nil
		}
		awscalls.ExpectError(t, name, c2.Delete(t.Context(), seen, 443), c.class)
		awscalls.Expect(t, name, slices.Contains(c2.aws.Calls(), "DeleteListener"), c.there)
	}
}

// A rule that may not be created in a listener of others is reported with the command that gives the listener our tags.
func TestADeniedRuleInAListenerOfOthers(t *testing.T) {
	for _, others := range []bool{true, false} {
		c := newTrial()
		c.refuse = map[string]error{"CreateRule": denied}
		seen := observed()
		seen.Listeners[0].Others = others
		_, err := c.CreateRule(t.Context(), seen, plan.CreateRule{Port: seen.Listeners[0].Port, Priority: 1,
			Rule: lb.Rule{Conditions: []lb.Condition{{Field: "path", Values: []string{"/x"}}}, Action: forward("shop/web:80")}})
		awscalls.ExpectError(t, "creating", err, providers.ErrDenied)
		if strings.Contains(err.Error(), "aws elbv2 add-tags --resource-arns") != others {
			t.Errorf("of others: %t: %v", others, err)
		}
	}
}
