package fake

import (
	"crypto/tls"
	"errors"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// This file is the certificates that the cloud has: those that were imported, and by name those of
// its own authority.

// A pair is an imported certificate with its key.
type pair struct {
	lb.KeyPair
	hosts  []string
	parsed *tls.Certificate
}

func newPair(c lb.Certificate) (pair, error) {
	if c.Pair == nil {
		return pair{}, errors.New("it has no private key")
	}
	parsed, err := tls.X509KeyPair(c.Pair.Chain, c.Pair.Key)
	if err != nil {
		return pair{}, err
	}
	return pair{KeyPair: *c.Pair, hosts: c.Hosts, parsed: &parsed}, nil
}

const ownPrefix = "fake:"

// ownCertificate is the ID of the certificate that the cloud's own authority has for a host.
func ownCertificate(host string) lb.CertificateID { return lb.CertificateID(ownPrefix + host) }

// ownHost is the host of such a certificate.
func ownHost(id lb.CertificateID) (string, bool) { return strings.CutPrefix(string(id), ownPrefix) }
