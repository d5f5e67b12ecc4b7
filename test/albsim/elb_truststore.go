package albsim

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// This file is trust stores, and what listeners ask of the certificates of clients.

// AddTrustStore adds a trust store, as whoever has the authority's certificates does.
func (s *Sim) AddTrustStore(name string) (arn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	arn = elbARN("truststore/" + name + "/" + s.nextID())
	s.trustStores[arn] = name
	return arn
}

func (s *Sim) describeTrustStores(in *api.DescribeTrustStoresInput) (*api.DescribeTrustStoresOutput, error) {
	var found []elb.TrustStore
	for _, arn := range sortedKeys(s.trustStores) {
		name := s.trustStores[arn]
		if in.Names != nil && !slices.Contains(in.Names, name) || in.TrustStoreArns != nil && !slices.Contains(in.TrustStoreArns, arn) {
			continue
		}
		found = append(found, elb.TrustStore{Name: aws.String(name), TrustStoreArn: aws.String(arn), Status: elb.TrustStoreStatusActive})
	}
	if len(found) < max(len(in.Names), len(in.TrustStoreArns)) {
		return nil, refuse("TrustStoreNotFound", "One or more trust stores not found")
	}
	part, next, err := page(found, in.Marker, in.PageSize, 400)
	if err != nil {
		return nil, err
	}
	return &api.DescribeTrustStoresOutput{TrustStores: part, NextMarker: next}, nil
}

// checkVerifying refuses to have more listeners verify the certificates of clients than a load
// balancer may have.
func (s *Sim) checkVerifying(loadBalancer string, changed *listener, l elb.Listener) error {
	if !verifies(l) {
		return nil
	}
	others := 0
	for _, sibling := range s.listenersOf(loadBalancer) {
		if sibling != changed && verifies(sibling.about) {
			others++
		}
	}
	if others >= s.options.Limits.VerifyingPerLoadBalancer {
		return refuse("InvalidConfigurationRequest", "The maximum number of listeners in mutual authentication mode 'verify' has been reached on load balancer '%s'", loadBalancer)
	}
	return nil
}

// verifies reports whether a listener verifies the certificates of clients.
func verifies(l elb.Listener) bool {
	return l.MutualAuthentication != nil && aws.ToString(l.MutualAuthentication.Mode) == "verify"
}

// checkMutual refuses what a listener cannot ask of clients.
func (s *Sim) checkMutual(m *elb.MutualAuthenticationAttributes) error {
	switch aws.ToString(m.Mode) {
	case "off", "passthrough":
		if m.TrustStoreArn != nil || m.IgnoreClientCertificateExpiry != nil || m.AdvertiseTrustStoreCaNames != "" {
			return refuse("ValidationError", "A trust store, its CA names and the expiry of client certificates can only be specified in mode 'verify'")
		}
		return nil
	case "verify":
		if s.trustStores[aws.ToString(m.TrustStoreArn)] == "" {
			return refuse("TrustStoreNotFound", "Trust store '%s' not found", aws.ToString(m.TrustStoreArn))
		}
		return nil
	}
	return refuse("ValidationError", "Mutual authentication mode '%s' is not valid", aws.ToString(m.Mode))
}
