package fake

import (
	"crypto/tls"
	"errors"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// This file holds imported certificates, and names those of the authority.

// A Pair is an imported certificate with its key.
type Pair struct {
	lb.KeyPair
	Hosts  []string
	Parsed *tls.Certificate
}

func NewPair(c lb.Certificate) (Pair, error) {
	if c.Pair == nil {
		return Pair{}, errors.New("it has no private key")
	}
	parsed, err := tls.X509KeyPair(c.Pair.Chain, c.Pair.Key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{KeyPair: *c.Pair, Hosts: c.Hosts, Parsed: &parsed}, nil
}

const ownPrefix = "fake:"

// OwnCertificate returns the ID of the authority's certificate for a host.
func OwnCertificate(host string) lb.CertificateID { return lb.CertificateID(ownPrefix + host) }

// OwnHost returns the host of such an ID.
func OwnHost(id lb.CertificateID) (string, bool) { return strings.CutPrefix(string(id), ownPrefix) }
