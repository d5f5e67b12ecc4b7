package albsim

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// This file is listeners and their certificates.

type listener struct {
	serial     int
	about      elb.Listener // with its default certificate only
	others     []string     // the certificates for SNI, among which the default one can be once more
	attributes map[string]string
	foundFrom  time.Time // when rules can be made for it
}

func (l *listener) arn() string          { return aws.ToString(l.about.ListenerArn) }
func (l *listener) loadBalancer() string { return aws.ToString(l.about.LoadBalancerArn) }
func (s *Sim) noListener(arn string) error {
	return refuse("ListenerNotFound", "Listener '%s' not found", arn)
}

// listenersOf are the listeners of a load balancer by age.
func (s *Sim) listenersOf(loadBalancer string) []*listener {
	var out []*listener
	for _, l := range s.listeners {
		if l.loadBalancer() == loadBalancer {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b *listener) int { return a.serial - b.serial })
	return out
}

func (s *Sim) createListener(in *api.CreateListenerInput) (*api.CreateListenerOutput, error) {
	lb := s.loadBalancers[aws.ToString(in.LoadBalancerArn)]
	if lb == nil {
		return nil, s.noLoadBalancer(aws.ToString(in.LoadBalancerArn))
	}
	about := elb.Listener{
		LoadBalancerArn: in.LoadBalancerArn, Port: in.Port, Protocol: in.Protocol, Certificates: in.Certificates,
		DefaultActions: in.DefaultActions, SslPolicy: in.SslPolicy, MutualAuthentication: in.MutualAuthentication,
	}
	if err := s.checkListener(lb, &about); err != nil {
		return nil, err
	}
	siblings := s.listenersOf(lb.arn())
	for _, old := range siblings {
		if aws.ToInt32(old.about.Port) != aws.ToInt32(in.Port) {
			continue
		}
		if !sameListener(old.about, about) {
			return nil, refuse("DuplicateListener", "A listener already exists on port '%d' for this load balancer '%s'", aws.ToInt32(in.Port), lb.arn())
		}
		return &api.CreateListenerOutput{Listeners: []elb.Listener{s.told(old.about)}}, nil
	}
	if len(siblings) >= s.options.Limits.ListenersPerLoadBalancer {
		return nil, refuse("TooManyListeners", "The maximum number of listeners has been reached on load balancer '%s'", lb.arn())
	}
	if err := s.checkVerifying(lb.arn(), nil, about); err != nil {
		return nil, err
	}
	if err := s.checkRoom(lb.arn(), nil, about.DefaultActions); err != nil {
		return nil, err
	}
	about.ListenerArn = aws.String(strings.Replace(lb.arn(), ":loadbalancer/", ":listener/", 1) + "/" + s.nextID())
	if err := s.setTags(*about.ListenerArn, in.Tags); err != nil {
		return nil, err
	}
	made := &listener{serial: s.serial, about: about, attributes: maps.Clone(usualListenerAttributes), foundFrom: s.now().Add(s.options.Linger / 4)}
	s.listeners[made.arn()] = made
	s.touch(lb.arn())
	return &api.CreateListenerOutput{Listeners: []elb.Listener{s.told(about)}}, nil
}

// checkListener refuses what a listener cannot be, and fills in what is left out.
func (s *Sim) checkListener(lb *loadBalancer, l *elb.Listener) error {
	if port := aws.ToInt32(l.Port); port < 1 || port > 65535 {
		return refuse("ValidationError", "Port '%d' is not valid", port)
	}
	switch l.Protocol {
	case elb.ProtocolEnumHttp:
		if len(l.Certificates) > 0 || l.SslPolicy != nil || l.MutualAuthentication != nil {
			return refuse("InvalidConfigurationRequest", "Certificates, SSL policies and mutual authentication cannot be specified for HTTP listeners")
		}
	case elb.ProtocolEnumHttps:
		if len(l.Certificates) != 1 {
			return refuse("ValidationError", "A certificate must be specified for HTTPS listeners")
		}
		if err := s.checkCertificate(aws.ToString(l.Certificates[0].CertificateArn)); err != nil {
			return err
		}
		if l.SslPolicy == nil {
			l.SslPolicy = aws.String("ELBSecurityPolicy-2016-08")
		}
		if !strings.HasPrefix(*l.SslPolicy, "ELBSecurityPolicy-") {
			return refuse("SSLPolicyNotFound", "SSL policy '%s' not found", *l.SslPolicy)
		}
		if l.MutualAuthentication == nil {
			l.MutualAuthentication = &elb.MutualAuthenticationAttributes{Mode: aws.String("off")}
		}
		if err := s.checkMutual(l.MutualAuthentication); err != nil {
			return err
		}
	default:
		return refuse("ValidationError", "Protocol '%s' is not supported for application load balancers", l.Protocol)
	}
	actions, err := s.checkActions(lb, l.Protocol, l.DefaultActions)
	if err != nil {
		return err
	}
	l.DefaultActions = actions
	return nil
}

func sameListener(have, want elb.Listener) bool {
	have.ListenerArn = nil
	return equalJSON(have, want)
}

// told is a listener as it is read back.
func (s *Sim) told(l elb.Listener) elb.Listener {
	l.DefaultActions = s.respeltActions(untold(l.DefaultActions))
	return l
}

func (s *Sim) describeListeners(in *api.DescribeListenersInput) (*api.DescribeListenersOutput, error) {
	var found []*listener
	if in.LoadBalancerArn != nil {
		if s.loadBalancers[*in.LoadBalancerArn] == nil {
			return nil, s.noLoadBalancer(*in.LoadBalancerArn)
		}
		found = s.listenersOf(*in.LoadBalancerArn)
	} else {
		if len(in.ListenerArns) == 0 {
			return nil, refuse("ValidationError", "You must specify either listener ARNs or a load balancer ARN")
		}
		var err error
		if found, err = selected(s.listeners, in.ListenerArns, s.noListener, func(l *listener) int { return l.serial }); err != nil {
			return nil, err
		}
	}
	var out []elb.Listener
	for _, l := range found {
		out = append(out, s.told(l.about))
	}
	part, next, err := page(out, in.Marker, in.PageSize, 400)
	if err != nil {
		return nil, err
	}
	return &api.DescribeListenersOutput{Listeners: part, NextMarker: next}, nil
}

func (s *Sim) modifyListener(in *api.ModifyListenerInput) (*api.ModifyListenerOutput, error) {
	l := s.listeners[aws.ToString(in.ListenerArn)]
	if l == nil {
		return nil, s.noListener(aws.ToString(in.ListenerArn))
	}
	lb := s.loadBalancers[l.loadBalancer()]
	about := l.about
	if in.Port != nil {
		about.Port = in.Port
	}
	if in.Protocol != "" && in.Protocol != about.Protocol {
		about.Protocol = in.Protocol
		if in.Protocol == elb.ProtocolEnumHttps && (in.SslPolicy == nil || in.Certificates == nil) {
			return nil, refuse("ValidationError", "A security policy and a certificate must be specified to change a listener to HTTPS")
		}
		if in.Protocol == elb.ProtocolEnumHttp {
			about.Certificates, about.SslPolicy, about.MutualAuthentication = nil, nil, nil
		}
	}
	if in.Certificates != nil {
		about.Certificates = in.Certificates
	}
	if in.SslPolicy != nil {
		about.SslPolicy = in.SslPolicy
	}
	if in.MutualAuthentication != nil {
		about.MutualAuthentication = in.MutualAuthentication
	}
	if in.DefaultActions != nil {
		about.DefaultActions = keepSecrets(about.DefaultActions, in.DefaultActions)
	}
	for _, sibling := range s.listenersOf(lb.arn()) {
		if sibling != l && aws.ToInt32(sibling.about.Port) == aws.ToInt32(about.Port) {
			return nil, refuse("DuplicateListener", "A listener already exists on port '%d' for this load balancer '%s'", aws.ToInt32(about.Port), lb.arn())
		}
	}
	if err := s.checkListener(lb, &about); err != nil {
		return nil, err
	}
	if err := s.checkVerifying(lb.arn(), l, about); err != nil {
		return nil, err
	}
	if err := s.checkRoom(lb.arn(), l.about.DefaultActions, about.DefaultActions); err != nil {
		return nil, err
	}
	for _, r := range s.rulesOf(l.arn()) {
		if _, err := s.checkActions(lb, about.Protocol, r.about.Actions); err != nil {
			return nil, err
		}
	}
	s.released(l.about.DefaultActions)
	if about.Protocol == elb.ProtocolEnumHttp {
		l.others = nil
	}
	for _, c := range l.about.Certificates {
		s.linger(aws.ToString(c.CertificateArn))
	}
	l.about = about
	s.touch(lb.arn())
	return &api.ModifyListenerOutput{Listeners: []elb.Listener{s.told(about)}}, nil
}

func (s *Sim) deleteListener(in *api.DeleteListenerInput) (*api.DeleteListenerOutput, error) {
	l := s.listeners[aws.ToString(in.ListenerArn)]
	if l == nil {
		return nil, s.noListener(aws.ToString(in.ListenerArn))
	}
	s.dropListener(l)
	s.touch(l.loadBalancer())
	return &api.DeleteListenerOutput{}, nil
}

// dropListener removes a listener with its rules.
func (s *Sim) dropListener(l *listener) {
	for _, r := range s.rulesOf(l.arn()) {
		s.released(r.about.Actions)
		delete(s.rules, r.arn())
		delete(s.tags, r.arn())
	}
	s.released(l.about.DefaultActions)
	for _, c := range append(l.others, defaultCertificate(l.about)) {
		s.linger(c)
	}
	delete(s.listeners, l.arn())
	delete(s.tags, l.arn())
}

func defaultCertificate(l elb.Listener) string {
	if len(l.Certificates) == 0 {
		return ""
	}
	return aws.ToString(l.Certificates[0].CertificateArn)
}

func (s *Sim) addListenerCertificates(in *api.AddListenerCertificatesInput) (*api.AddListenerCertificatesOutput, error) {
	l := s.listeners[aws.ToString(in.ListenerArn)]
	if l == nil {
		return nil, s.noListener(aws.ToString(in.ListenerArn))
	}
	if l.about.Protocol != elb.ProtocolEnumHttps {
		return nil, refuse("OperationNotPermitted", "Certificates cannot be added to HTTP listeners")
	}
	if len(in.Certificates) != 1 {
		return nil, refuse("ValidationError", "Exactly one certificate can be added at a time")
	}
	arn := aws.ToString(in.Certificates[0].CertificateArn)
	if err := s.checkCertificate(arn); err != nil {
		return nil, err
	}
	if !slices.Contains(l.others, arn) {
		count := 0
		for _, sibling := range s.listenersOf(l.loadBalancer()) {
			for _, other := range sibling.others {
				if other != defaultCertificate(sibling.about) {
					count++
				}
			}
		}
		if arn != defaultCertificate(l.about) && count >= s.options.Limits.CertificatesPerLoadBalancer {
			return nil, refuse("TooManyCertificates", "The maximum number of certificates has been reached on load balancer '%s'", l.loadBalancer())
		}
		l.others = append(l.others, arn)
	}
	s.touch(l.loadBalancer())
	return &api.AddListenerCertificatesOutput{Certificates: []elb.Certificate{{CertificateArn: aws.String(arn)}}}, nil
}

func (s *Sim) removeListenerCertificates(in *api.RemoveListenerCertificatesInput) (*api.RemoveListenerCertificatesOutput, error) {
	l := s.listeners[aws.ToString(in.ListenerArn)]
	if l == nil {
		return nil, s.noListener(aws.ToString(in.ListenerArn))
	}
	if len(in.Certificates) != 1 {
		return nil, refuse("ValidationError", "Exactly one certificate can be removed at a time")
	}
	arn := aws.ToString(in.Certificates[0].CertificateArn)
	if arn == defaultCertificate(l.about) {
		return nil, refuse("OperationNotPermitted", "Default certificate '%s' cannot be removed", arn)
	}
	l.others = slices.DeleteFunc(l.others, func(other string) bool { return other == arn })
	s.linger(arn)
	s.touch(l.loadBalancer())
	return &api.RemoveListenerCertificatesOutput{}, nil
}

func (s *Sim) describeListenerCertificates(in *api.DescribeListenerCertificatesInput) (*api.DescribeListenerCertificatesOutput, error) {
	l := s.listeners[aws.ToString(in.ListenerArn)]
	if l == nil {
		return nil, s.noListener(aws.ToString(in.ListenerArn))
	}
	var all []elb.Certificate
	if first := defaultCertificate(l.about); first != "" {
		all = append(all, elb.Certificate{CertificateArn: aws.String(first), IsDefault: aws.Bool(true)})
	}
	for _, arn := range l.others {
		all = append(all, elb.Certificate{CertificateArn: aws.String(arn), IsDefault: aws.Bool(false)})
	}
	part, next, err := page(all, in.Marker, in.PageSize, 100)
	if err != nil {
		return nil, err
	}
	return &api.DescribeListenerCertificatesOutput{Certificates: part, NextMarker: next}, nil
}

var usualListenerAttributes = map[string]string{
	"routing.http.request.x_amzn_mtls_clientcert_serial_number.header_name": "X-Amzn-Mtls-Clientcert-Serial-Number",
	"routing.http.request.x_amzn_mtls_clientcert_issuer.header_name":        "X-Amzn-Mtls-Clientcert-Issuer",
	"routing.http.request.x_amzn_mtls_clientcert_subject.header_name":       "X-Amzn-Mtls-Clientcert-Subject",
	"routing.http.request.x_amzn_mtls_clientcert_validity.header_name":      "X-Amzn-Mtls-Clientcert-Validity",
	"routing.http.request.x_amzn_mtls_clientcert_leaf.header_name":          "X-Amzn-Mtls-Clientcert-Leaf",
	"routing.http.request.x_amzn_mtls_clientcert.header_name":               "X-Amzn-Mtls-Clientcert",
	"routing.http.request.x_amzn_tls_version.header_name":                   "X-Amzn-Tls-Version",
	"routing.http.request.x_amzn_tls_cipher_suite.header_name":              "X-Amzn-Tls-Cipher-Suite",
	"routing.http.response.server.enabled":                                  "true",
	"routing.http.response.strict_transport_security.header_value":          "",
	"routing.http.response.content_security_policy.header_value":            "",
	"routing.http.response.x_content_type_options.header_value":             "",
	"routing.http.response.x_frame_options.header_value":                    "",
	"routing.http.response.access_control_allow_origin.header_value":        "",
	"routing.http.response.access_control_allow_methods.header_value":       "",
	"routing.http.response.access_control_allow_headers.header_value":       "",
	"routing.http.response.access_control_allow_credentials.header_value":   "",
	"routing.http.response.access_control_expose_headers.header_value":      "",
	"routing.http.response.access_control_max_age.header_value":             "",
}

func (s *Sim) describeListenerAttributes(in *api.DescribeListenerAttributesInput) (*api.DescribeListenerAttributesOutput, error) {
	l := s.listeners[aws.ToString(in.ListenerArn)]
	if l == nil {
		return nil, s.noListener(aws.ToString(in.ListenerArn))
	}
	return &api.DescribeListenerAttributesOutput{Attributes: listAttributes[elb.ListenerAttribute](l.attributes)}, nil
}

func (s *Sim) modifyListenerAttributes(in *api.ModifyListenerAttributesInput) (*api.ModifyListenerAttributesOutput, error) {
	l := s.listeners[aws.ToString(in.ListenerArn)]
	if l == nil {
		return nil, s.noListener(aws.ToString(in.ListenerArn))
	}
	for _, a := range in.Attributes {
		if strings.HasPrefix(aws.ToString(a.Key), "routing.http.request.x_amzn_") && l.about.Protocol != elb.ProtocolEnumHttps {
			return nil, refuse("InvalidConfigurationRequest", "Listener attribute '%s' is supported for HTTPS listeners only", aws.ToString(a.Key))
		}
	}
	if err := changeAttributes(l.attributes, in.Attributes, usualListenerAttributes, "Listener"); err != nil {
		return nil, err
	}
	return &api.ModifyListenerAttributesOutput{Attributes: listAttributes[elb.ListenerAttribute](l.attributes)}, nil
}

// equalJSON reports whether two values travel alike.
func equalJSON(a, b any) bool { return plainOf(a) == plainOf(b) }
