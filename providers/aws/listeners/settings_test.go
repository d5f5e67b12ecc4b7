package listeners

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file writes the settings of listeners, and reads them back.

// trusting answers about the trust store "partners".
func trusting() *trial {
	c := newTrial()
	awscalls.On(&c.aws, func(in *elbapi.DescribeTrustStoresInput) (*elbapi.DescribeTrustStoresOutput, error) {
		switch in.Names[0] {
		case "partners":
			return &elbapi.DescribeTrustStoresOutput{TrustStores: []elb.TrustStore{{TrustStoreArn: aws.String("arn:1:truststore/partners/1")}}}, nil
		case "denied":
			return nil, denied
		}
		return &elbapi.DescribeTrustStoresOutput{}, nil
	})
	return c
}

// Settings that were written, and are not wanted any more, have AWS's default. Those that were not
// written are left alone.
func TestSettingsOfTLS(t *testing.T) {
	mutual := func(m lb.MutualAuthentication) func(*lb.Listener) {
		return func(l *lb.Listener) { l.Settings.Mutual = &m }
	}
	off, on := elb.AdvertiseTrustStoreCaNamesEnumOff, elb.AdvertiseTrustStoreCaNamesEnumOn
	for name, c := range map[string]struct {
		want   func(*lb.Listener)
		gone   []string
		policy *string
		mutual *elb.MutualAuthenticationAttributes
		none   bool // not even a certificate
		class  error
	}{
		"none":               {want: plainly},
		"a policy":           {want: func(l *lb.Listener) { l.Settings.TLSPolicy = "strict" }, gone: []string{writtenPolicy}, policy: aws.String("strict")},
		"a policy no more":   {want: plainly, gone: []string{writtenPolicy}, policy: aws.String(defaultPolicy)},
		"no mutual any more": {want: plainly, gone: []string{writtenMutual}, mutual: &elb.MutualAuthenticationAttributes{Mode: aws.String("off")}},
		"passed on": {
			want: mutual(lb.MutualAuthentication{Mode: "passthrough"}), gone: []string{writtenMutual},
			mutual: &elb.MutualAuthenticationAttributes{Mode: aws.String("passthrough")},
		},
		"verified by an ARN": {
			want: mutual(lb.MutualAuthentication{Mode: "verify", TrustStore: "arn:2", IgnoreExpiry: true}),
			mutual: &elb.MutualAuthenticationAttributes{
				Mode: aws.String("verify"), TrustStoreArn: aws.String("arn:2"), IgnoreClientCertificateExpiry: aws.Bool(true), AdvertiseTrustStoreCaNames: off,
			},
		},
		"verified by a name": {
			want: mutual(lb.MutualAuthentication{Mode: "verify", TrustStore: "partners", AdvertiseCANames: true}),
			mutual: &elb.MutualAuthenticationAttributes{
				Mode: aws.String("verify"), TrustStoreArn: aws.String("arn:1:truststore/partners/1"), IgnoreClientCertificateExpiry: aws.Bool(false), AdvertiseTrustStoreCaNames: on,
			},
		},
		"a trust store that is not there": {want: mutual(lb.MutualAuthentication{Mode: "verify", TrustStore: "nobody"}), class: providers.ErrRejected},
		"a trust store that is denied":    {want: mutual(lb.MutualAuthentication{Mode: "verify", TrustStore: "denied"}), class: providers.ErrDenied},
		"HTTP":                            {want: func(l *lb.Listener) { l.Protocol, l.Settings.TLSPolicy = routing.HTTP, "strict" }, none: true},
		"no certificate":                  {want: func(l *lb.Listener) { l.Certificates, l.Settings.TLSPolicy = nil, "strict" }, none: true},
	} {
		got, err := trusting().security(t.Context(), observed(), secure(c.want), c.gone)
		awscalls.ExpectError(t, name, err, c.class)
		if err != nil {
			continue
		}
		awscalls.Expect(t, name+": it has a certificate", len(got.certificates) == 1, !c.none)
		awscalls.Expect(t, name+": the policy", aws.ToString(got.policy), aws.ToString(c.policy))
		if diff := cmp.Diff(c.mutual, got.mutual, cmp.AllowUnexported(elb.MutualAuthenticationAttributes{})); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
	_, err := newTrial().security(t.Context(), observed(), secure(func(l *lb.Listener) { l.Certificates = []lb.CertificateID{"gone"} }), nil)
	awscalls.Expect(t, "a certificate that is not there is an error", err != nil, true)
}

func TestThePolicyOfAListenerThatIsChanged(t *testing.T) {
	for name, c := range map[string]struct {
		before routing.Protocol
		after  elb.ProtocolEnum
		said   *string
		want   string
	}{
		"it begins to serve HTTPS": {routing.HTTP, elb.ProtocolEnumHttps, nil, defaultPolicy},
		"with a policy":            {routing.HTTP, elb.ProtocolEnumHttps, aws.String("strict"), "strict"},
		"it served HTTPS before":   {routing.HTTPS, elb.ProtocolEnumHttps, nil, ""},
		"it serves HTTP":           {routing.HTTP, elb.ProtocolEnumHttp, nil, ""},
	} {
		awscalls.Expect(t, name, aws.ToString(policyFor(c.before, c.after, c.said)), c.want)
	}
}

// Each setting that was written is read back as it was.
func TestSettingsAreReadBack(t *testing.T) {
	for name, want := range map[string]lb.ListenerSettings{
		"none":         {},
		"a policy":     {TLSPolicy: "strict"},
		"secrets":      {ClientSecrets: "v1:01"},
		"passed on":    {Mutual: &lb.MutualAuthentication{Mode: "passthrough"}},
		"by ARN":       {Mutual: &lb.MutualAuthentication{Mode: "verify", TrustStore: "arn:1:truststore/partners/1", AdvertiseCANames: true}},
		"by name":      {Mutual: &lb.MutualAuthentication{Mode: "verify", TrustStore: "partners", IgnoreExpiry: true}},
		"many of them": {TLSPolicy: "strict", ClientSecrets: "v1:01", Attributes: map[string]string{"z.a": "b"}, Mutual: &lb.MutualAuthentication{Mode: "verify", TrustStore: "partners"}},
		"clients":      {Inbound: []string{"10.0.0.0/8"}},
	} {
		c := trusting()
		wanted := secure(func(l *lb.Listener) { l.Settings = want })
		wrote, err := c.security(t.Context(), observed(), wanted, nil)
		awscalls.ExpectError(t, name, err, nil)
		of := elb.Listener{ListenerArn: aws.String(listener), Port: aws.Int32(443), SslPolicy: wrote.policy, MutualAuthentication: wrote.mutual}
		tags := c.tagsFor(key, wanted)
		l := &look.Look{
			Balancer: &elb.LoadBalancer{}, Deep: true, GroupsRight: want.Inbound != nil, Tags: map[string]map[string]string{listener: tags}, Assumed: map[string]bool{},
			Attributes: map[string]map[string]string{listener: want.Attributes},
			Grants:     look.MakeGrants(443, []string{"10.0.0.0/8"}),
		}
		if diff := cmp.Diff(want, SettingsOf(l, of)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		awscalls.Expect(t, name+": digest of a deep look", listenerDigest(l, of), lb.DigestOf(want))
		l.Assumed[listener] = true
		awscalls.Expect(t, name+": digest of a look that could not read them", listenerDigest(l, of), wanted.Digest)
		l.Assumed[listener], l.Deep = false, false
		awscalls.Expect(t, name+": digest of another look", listenerDigest(l, of), wanted.Digest)
		l.Deep = true
		delete(tags, client.TagDigest)
		awscalls.Expect(t, name+": digest of one that was not written to the end", listenerDigest(l, of), "")
	}
}

// The list of settings is sorted, so that it is the same each time.
func TestTheListOfSettings(t *testing.T) {
	got := writtenOfListener(lb.ListenerSettings{
		TLSPolicy: "strict", ClientSecrets: "v1:01", Attributes: map[string]string{"z.a": "b", "a.b": "c"}, Mutual: &lb.MutualAuthentication{TrustStore: "partners"},
	})
	awscalls.Expect(t, "settings", got, []string{"a.b", writtenSecrets + "v1:01", writtenMutual, writtenPolicy, writtenTrustNamed, "z.a"})
}

func TestAListenerWithoutATrustStoreListsNone(t *testing.T) {
	got := writtenOfListener(lb.ListenerSettings{Mutual: &lb.MutualAuthentication{Mode: "passthrough"}})
	awscalls.Expect(t, "settings", got, []string{writtenMutual})
}

// A trust store whose ARN has another form keeps it.
func TestTrustStoresByName(t *testing.T) {
	for arn, want := range map[string]string{"arn:1:truststore/partners/1": "partners", "arn:1:other": "arn:1:other"} {
		got := fromMutual(&elb.MutualAuthenticationAttributes{TrustStoreArn: aws.String(arn)}, true)
		awscalls.Expect(t, arn, got.TrustStore, want)
	}
}

// The default certificate is the first one. The others are sorted, and each is listed once.
func TestCertificatesAreListedInOrder(t *testing.T) {
	served := func(arn string, isDefault bool) elb.Certificate {
		return elb.Certificate{CertificateArn: aws.String(arn), IsDefault: aws.Bool(isDefault)}
	}
	l := &look.Look{Served: map[string][]elb.Certificate{listener: {
		served("arn:c", false), served("arn:b", false), served("arn:d", true), served("arn:c", false), served("arn:d", false), served("arn:a", false),
	}}}
	got := newTrial().ToObserved(l, elb.Listener{ListenerArn: aws.String(listener)})
	awscalls.Expect(t, "certificates", got.Certificates, []lb.CertificateID{"arn:d", "arn:a", "arn:b", "arn:c"})
}

// A listener is written again if its list has certificates, and not the default one, unless there is no room for it.
func TestTheListLacksTheDefaultCertificate(t *testing.T) {
	for name, c := range map[string]struct {
		listed []string
		full   bool
		freed  bool
		want   lb.Digest
	}{
		"it has no list":                        {nil, false, false, "v1:digest"},
		"the list has it":                       {[]string{"arn:a", "arn:b"}, false, false, "v1:digest"},
		"the list has it alone":                 {[]string{"arn:a"}, false, false, "v1:digest"},
		"the list lacks it":                     {[]string{"arn:b"}, false, false, ""},
		"the list is full":                      {[]string{"arn:b"}, true, false, "v1:digest"},
		"the list was full, and has room again": {[]string{"arn:b"}, true, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := newTrial()
			if c.full {
				c2.refuse = map[string]error{"AddListenerCertificates": awscalls.Refused("TooManyCertificates", "no")}
				seen := observed()
				seen.Listeners[0].Digest, seen.Listeners[0].Certificates = "", []lb.CertificateID{"arn:a", "arn:b"}
				if err := c2.Modify(t.Context(), seen, secure(func(l *lb.Listener) { l.Certificates = seen.Listeners[0].Certificates })); err != nil {
					t.Fatal(err)
				}
			}
			if c.freed {
				seen := observed()
				seen.Listeners[0].Certificates = []lb.CertificateID{"arn:a", "arn:b", "arn:c"}
				if err := c2.DetachCertificate(t.Context(), seen, 443, "arn:c"); err != nil {
					t.Fatal(err)
				}
			}
			l := &look.Look{Served: map[string][]elb.Certificate{listener: {{CertificateArn: aws.String("arn:a"), IsDefault: aws.Bool(true)}}},
				Tags: map[string]map[string]string{listener: {client.TagDigest: "v1:digest"}}}
			for _, arn := range c.listed {
				l.Served[listener] = append(l.Served[listener], elb.Certificate{CertificateArn: aws.String(arn), IsDefault: aws.Bool(false)})
			}
			awscalls.Expect(t, "digest", c2.ToObserved(l, elb.Listener{ListenerArn: aws.String(listener)}).Digest, c.want)
		})
	}
}
