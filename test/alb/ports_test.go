package alb

import (
	"errors"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file changes the settings of ports and reads from AWS what came of it.

// port is a port as AWS describes it.
type port struct {
	Policy, Mode, TrustStore  string
	IgnoreExpiry, Advertise   bool
	Server, TransportSecurity string
}

// portAt reads the settings of a port, as far as this file changes them.
func (w *world) portAt(number int32) (port, string) {
	w.Helper()
	api := elbapi.NewFromConfig(w.sim.OwnersConfig())
	there, err := api.DescribeListeners(w.Context(), &elbapi.DescribeListenersInput{LoadBalancerArn: sdk.String(w.seen.Handle)})
	if err != nil {
		w.Fatal(err)
	}
	for _, l := range there.Listeners {
		if sdk.ToInt32(l.Port) != number {
			continue
		}
		out := port{Policy: sdk.ToString(l.SslPolicy)}
		if m := l.MutualAuthentication; m != nil {
			out.Mode, out.TrustStore, out.IgnoreExpiry = sdk.ToString(m.Mode), sdk.ToString(m.TrustStoreArn), sdk.ToBool(m.IgnoreClientCertificateExpiry)
			out.Advertise = m.AdvertiseTrustStoreCaNames == elb.AdvertiseTrustStoreCaNamesEnumOn
		}
		attributes, err := api.DescribeListenerAttributes(w.Context(), &elbapi.DescribeListenerAttributesInput{ListenerArn: l.ListenerArn})
		if err != nil {
			w.Fatal(err)
		}
		for _, a := range attributes.Attributes {
			switch sdk.ToString(a.Key) {
			case serverHeader:
				out.Server = sdk.ToString(a.Value)
			case securityHeader:
				out.TransportSecurity = sdk.ToString(a.Value)
			}
		}
		return out, sdk.ToString(l.ListenerArn)
	}
	w.Fatalf("port %d is not open", number)
	return port{}, ""
}

const (
	serverHeader   = "routing.http.response.server.enabled"
	securityHeader = "routing.http.response.strict_transport_security.header_value"
)

func TestSettingsOfAPort(t *testing.T) {
	inBubble(t, albsim.Options{}, func(w *world) {
		store := w.sim.AddTrustStore("partners")
		usual := port{Policy: "ELBSecurityPolicy-2016-08", Mode: "off", Server: "true"}
		w.service("service-0", 1)
		w.secret("one", 0, "one.example.com")
		w.secured(w.serve("one", map[string]string{"/": "service-0"}), "one")
		for _, stage := range []struct {
			name string
			set  v1alpha1.PortSettings
			want port
		}{
			{"everything, on a new port", v1alpha1.PortSettings{
				TLSPolicy: "ELBSecurityPolicy-TLS13-1-2-2021-06", Attributes: map[string]string{serverHeader: "false"},
				MutualAuthentication: &v1alpha1.MutualAuthentication{Mode: "verify", TrustStore: "partners", AdvertiseCANames: true},
			}, port{Policy: "ELBSecurityPolicy-TLS13-1-2-2021-06", Mode: "verify", TrustStore: store, Advertise: true, Server: "false"}},
			{"another attribute, and the trust store by its ARN", v1alpha1.PortSettings{
				Attributes:           map[string]string{securityHeader: "max-age=60"},
				MutualAuthentication: &v1alpha1.MutualAuthentication{Mode: "verify", TrustStore: store, IgnoreExpiry: true},
			}, port{Policy: usual.Policy, Mode: "verify", TrustStore: store, IgnoreExpiry: true, Server: "true", TransportSecurity: "max-age=60"}},
			{"certificates handed on", v1alpha1.PortSettings{MutualAuthentication: &v1alpha1.MutualAuthentication{Mode: "passthrough"}},
				port{Policy: usual.Policy, Mode: "passthrough", Server: "true"}},
			{"nothing", v1alpha1.PortSettings{}, usual},
		} {
			w.class(func(c *v1alpha1.LoadBalancerClassSpec) {
				stage.set.Port = 443
				c.Ports = []v1alpha1.PortSettings{stage.set}
			})
			w.settle()
			got, arn := w.portAt(443)
			if diff := cmp.Diff(stage.want, got); diff != "" {
				w.Errorf("%s (-want +got):\n%s", stage.name, diff)
			}
			w.sim.Forget()
			w.lookDeeply()
			if _, write := w.sim.Cost(); write != 0 {
				w.Errorf("%s: a deep look finds something to write: %v", stage.name, w.sim.Calls())
			}
			if m := stage.set.MutualAuthentication; m != nil {
				w.letEverybodyIn(arn)
				w.lookDeeply()
				if got, _ := w.portAt(443); got.Mode != m.Mode {
					w.Errorf("%s: it stays off after somebody switched it off", stage.name)
				}
			}
		}
	})
}

// lookDeeply is what the operator does now and then.
func (w *world) lookDeeply() {
	w.Helper()
	var err error
	if w.seen, err = w.cloud.Observe(w.Context(), w.key, true); err != nil {
		w.Fatal(err)
	}
	w.settle()
}

// letEverybodyIn switches mutual authentication off behind the operator's back.
func (w *world) letEverybodyIn(listener string) {
	w.Helper()
	_, err := elbapi.NewFromConfig(w.sim.OwnersConfig()).ModifyListener(w.Context(), &elbapi.ModifyListenerInput{
		ListenerArn: sdk.String(listener), MutualAuthentication: &elb.MutualAuthenticationAttributes{Mode: sdk.String("off")},
	})
	if err != nil {
		w.Fatal(err)
	}
}

func TestATrustStoreThatIsNotThere(t *testing.T) {
	inBubble(t, albsim.Options{}, func(w *world) {
		w.service("service-0", 1)
		w.secret("one", 0, "one.example.com")
		w.secured(w.serve("one", map[string]string{"/": "service-0"}), "one")
		w.class(func(c *v1alpha1.LoadBalancerClassSpec) {
			c.Ports = []v1alpha1.PortSettings{{Port: 443, MutualAuthentication: &v1alpha1.MutualAuthentication{Mode: "verify", TrustStore: "nobody"}}}
		})
		_, _, err := w.reconcile()
		if !errors.Is(err, providers.ErrRejected) || !strings.Contains(err.Error(), "trust store nobody") {
			w.Errorf("error %v, want one that rejects the trust store by its name", err)
		}
		seen, err := w.cloud.Observe(w.Context(), w.key, false)
		if err != nil {
			w.Fatal(err)
		}
		if seen.Listener(443) != nil {
			w.Error("port 443 is open, and clients are not asked for certificates")
		}
		if answer := w.sim.Ask(seen.Address.Hostname, matching.Request{Port: 80, Host: "one.example.com", Path: "/"}, matching.Reading{}); len(answer.Forward) == 0 {
			w.Errorf("port 80 waits for it: %+v", answer)
		}
	})
}
