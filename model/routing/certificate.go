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

// This file is certificates: what they are called, and what of them matters.

// A CertificateID names a certificate by its content ("sha256:…") or, for one that the cloud
// already holds, by the cloud's name for it.
type CertificateID string

// A Certificate is one that a listener serves.
type Certificate struct {
	ID    CertificateID
	Hosts []string // the names in it
	Kind  string   // as KindOf says
	// namespace/name of those that hold it, or held it last; none for one that the cloud has of itself
	Secrets []string
	Pair    *KeyPair      // nil for one that no Secret holds now
	Origin  []diag.Source // where it is asked for
}

// A KeyPair is a certificate chain with its private key, in PEM. It never prints its key.
type KeyPair struct {
	Chain []byte
	Key   []byte
}

func (KeyPair) String() string               { return "[redacted]" }
func (KeyPair) GoString() string             { return "[redacted]" }
func (KeyPair) MarshalJSON() ([]byte, error) { return []byte(`"[redacted]"`), nil }

// NamesIn are the host names that a certificate is for, sorted.
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

// oidCommonName is the attribute of a subject that holds a common name (RFC 5280, appendix A.1).
var oidCommonName = asn1.ObjectIdentifier{2, 5, 4, 3}

// commonNames are all common names of a certificate. A subject may have several: RFC 5280, section
// 4.1.2.4 has no limit, and software differs in which of them it reads.
func commonNames(leaf *x509.Certificate) []string {
	var out []string
	for _, attribute := range leaf.Subject.Names {
		if name, ok := attribute.Value.(string); ok && name != "" && attribute.Type.Equal(oidCommonName) {
			out = append(out, name)
		}
	}
	return out
}

// CommonHosts are the common names of a certificate that can be names of hosts, in lower case.
func CommonHosts(leaf *x509.Certificate) []string {
	var out []string
	for _, name := range commonNames(leaf) {
		if NamesHost(name) {
			out = append(out, strings.ToLower(name))
		}
	}
	return out
}

// NamesHost reports whether the common name of a certificate can be the name of a host, and is not
// that of a person or a product.
func NamesHost(commonName string) bool {
	return strings.Contains(commonName, ".") && !strings.ContainsAny(commonName, " /:@")
}

// KindOf returns what of a certificate stays the same when it is renewed, with any issuer: the
// algorithm and size of its key, and what the key is for. Clouds let a certificate take the place
// of another one only if it is of the same kind.
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

// DistinctHosts returns names as hosts, each once, in their order.
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
