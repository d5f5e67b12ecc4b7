package routing

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
)

// This file has certificates: their names, hosts and kinds.

// A CertificateID names a certificate by its content ("sha256:…") or, for one of the cloud, by its
// ARN.
type CertificateID string

// A Certificate is a certificate of listeners.
type Certificate struct {
	ID    CertificateID
	Hosts []string // the names in it
	Kind  string   // see KindOf
	// Secrets has the namespace/name of the Secrets that hold it, or held it last; none for one of the
	// cloud.
	Secrets []string
	Pair    *KeyPair      // nil for one that no Secret holds now
	Origin  []diag.Source // the fields that need it
}

// A KeyPair is a certificate chain with its private key, in PEM. It never prints its key.
type KeyPair struct {
	Chain []byte
	Key   []byte
}

func (KeyPair) String() string               { return "[redacted]" }
func (KeyPair) GoString() string             { return "[redacted]" }
func (KeyPair) MarshalJSON() ([]byte, error) { return []byte(`"[redacted]"`), nil }

// NamesIn returns the host names of a certificate, sorted.
func NamesIn(leaf *x509.Certificate) []string {
	names := slices.Clone(leaf.DNSNames)
	if len(names) == 0 {
		names = commonNames(leaf)
	}
	for i := range names {
		names[i] = strings.ToLower(names[i])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// oidCommonName is the attribute of a subject for common names (RFC 5280, appendix A.1).
var oidCommonName = asn1.ObjectIdentifier{2, 5, 4, 3}

// commonNames returns all common names of a certificate. A subject may have several: RFC 5280,
// section 4.1.2.4 has no limit, and software differs in which of them it reads.
func commonNames(leaf *x509.Certificate) []string {
	var out []string
	for _, attribute := range leaf.Subject.Names {
		if name, ok := attribute.Value.(string); ok && name != "" && attribute.Type.Equal(oidCommonName) {
			out = append(out, name)
		}
	}
	return out
}

// CommonHosts returns the common names of a certificate that can be host names, in lower case.
func CommonHosts(leaf *x509.Certificate) []string {
	var out []string
	for _, name := range commonNames(leaf) {
		if NamesHost(name) {
			out = append(out, strings.ToLower(name))
		}
	}
	return out
}

// NamesHost reports whether a common name can be a host name, not that of a person or a product.
func NamesHost(commonName string) bool {
	return strings.Contains(commonName, ".") && !strings.ContainsAny(commonName, " /:@")
}

// KindOf returns the properties of a certificate that a renewal keeps, with any issuer: the
// algorithm, size and usage of its key. Clouds replace a certificate only by one of the same kind.
func KindOf(leaf *x509.Certificate) string {
	size := 0
	switch key := leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		size = key.N.BitLen()
	case *ecdsa.PublicKey:
		size = key.Curve.Params().BitSize
	}
	return fmt.Sprintf("%s-%d/%d/%v", leaf.PublicKeyAlgorithm, size, leaf.KeyUsage, leaf.ExtKeyUsage)
}

// DistinctHosts returns names as hosts without duplicates, in their order.
func DistinctHosts(names ...[]string) []Host {
	all := slices.Concat(names...)
	out := make([]Host, 0, len(all))
	seen := make(map[Host]bool, len(all))
	for _, n := range all {
		if host := Host(strings.ToLower(strings.TrimSuffix(n, "."))); n != "" && !seen[host] {
			seen[host] = true
			out = append(out, host)
		}
	}
	return out
}
