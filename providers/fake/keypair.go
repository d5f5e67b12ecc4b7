package fake

import (
	"crypto/tls"
	"errors"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// This file holds imported certificates, and names those of the authority.

// A pair is an imported certificate with its key.
type pair struct {
	lb.KeyPair
	Hosts  []string
	Parsed *tls.Certificate
}

func newPair(c lb.Certificate) (pair, error) {
	if c.Pair == nil {
		return pair{}, errors.New("it has no private key")
	}
	parsed, err := tls.X509KeyPair(c.Pair.Chain, c.Pair.Key)
	if err != nil {
		return pair{}, err
	}
	return pair{KeyPair: *c.Pair, Hosts: c.Hosts, Parsed: &parsed}, nil
}

const ownPrefix = "fake:"

// ownCertificate returns the ID of the authority's certificate for a host.
func ownCertificate(host string) lb.CertificateID { return lb.CertificateID(ownPrefix + host) }

// ownHost returns the host of such an ID.
func ownHost(id lb.CertificateID) (string, bool) { return strings.CutPrefix(string(id), ownPrefix) }
