package ingress

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/model/routing"
)

// This file reads the certificate chain of a Secret, and its key. Counts and lengths are checked
// first, because reading large keys and checking many signatures is slow.

// The limits of a chain. Those of keys are of AWS Certificate Manager: User Guide, "Prerequisites
// for importing ACM certificates", which has RSA keys of at most 4096 bits and private keys of at
// most 5,120 bytes.
const (
	longestChain      = 64 << 10 // bytes
	mostInChain       = 10
	mostBlocks        = 2 * mostInChain // of PEM, other than certificates among them
	longestKey        = 5120            // bytes
	mostBits          = 4096            // of an RSA key
	leastBits         = 2048            // that clients accept
	mostAuthorityBits = 8192            // of the RSA keys that sign
	mostSignatures    = 10              // that are checked to order a chain
)

// A SecretCertificate is the certificate of a Secret without its private key, or why there is none.
type SecretCertificate struct {
	Certificate *routing.Certificate
	Hosts       []routing.Host // in it, and its common names that are host names
	Until       time.Time      // the certificate expires
	Err         error
}

// ReadCertificate reads the certificate of a Secret. Equal contents give equal results, so one can
// be kept as long as the Secret does not change.
func ReadCertificate(s *corev1.Secret) SecretCertificate {
	c, until, err := parseCertificate(s)
	if c == nil {
		return SecretCertificate{Err: err}
	}
	c.Pair.Key = nil
	return SecretCertificate{c, routing.DistinctHosts(c.Hosts, commonNames(c.Pair.Chain)), until, err}
}

// commonNames returns the common names of the first certificate of a chain that are host names.
// Clients do not read them if there are other names, but a cloud may: AWS Certificate Manager
// reports one as the DomainName of an imported certificate (API reference, CertificateDetail).
func commonNames(chain []byte) []string {
	block, _ := pem.Decode(chain)
	if block == nil {
		return nil
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return routing.CommonHosts(leaf)
}

// withKey returns the certificate that was read of a Secret, with its key.
func (r SecretCertificate) withKey(s *corev1.Secret) routing.Certificate {
	c := *r.Certificate
	c.Pair = &routing.KeyPair{Chain: c.Pair.Chain, Key: s.Data[corev1.TLSPrivateKeyKey]}
	return c
}

// parseCertificate reads a certificate chain and its key, and the time until which they are valid.
// The ID depends on both, so that a change of either changes the certificate.
func parseCertificate(s *corev1.Secret) (c *routing.Certificate, until time.Time, err error) {
	chain, key := s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]
	for _, part := range []struct {
		name string
		most int
	}{{corev1.TLSCertKey, longestChain}, {corev1.TLSPrivateKeyKey, longestKey}} {
		switch length := len(s.Data[part.name]); {
		case length == 0:
			return nil, until, errors.New(part.name + " is missing")
		case length > part.most:
			return nil, until, fmt.Errorf("%s has more than %d bytes", part.name, part.most)
		}
	}
	certificates, err := certificatesIn(chain)
	if err != nil {
		return nil, until, err
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, until, errors.New(strings.TrimPrefix(err.Error(), "tls: "))
	}
	if chain, err = orderChain(certificates); err != nil {
		return nil, until, err
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%d ", len(chain))
	sum.Write(chain)
	sum.Write(key)
	return &routing.Certificate{
		ID:    routing.CertificateID("sha256:" + hex.EncodeToString(sum.Sum(nil)[:8])),
		Hosts: routing.NamesIn(pair.Leaf),
		Kind:  routing.KindOf(pair.Leaf),
		Pair:  &routing.KeyPair{Chain: chain, Key: key},
	}, pair.Leaf.NotAfter, nil
}

// certificatesIn returns the certificates of a chain in PEM, the leaf first, with keys of accepted
// sizes. It skips other blocks.
func certificatesIn(chain []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for blocks := 1; ; blocks++ {
		block, rest := pem.Decode(chain)
		switch {
		case block == nil:
			return out, nil
		case blocks > mostBlocks:
			return nil, fmt.Errorf("%s has more than %d blocks of PEM", corev1.TLSCertKey, mostBlocks)
		}
		chain = rest
		if block.Type != "CERTIFICATE" {
			continue
		}
		if len(out) == mostInChain {
			return nil, fmt.Errorf("its chain has more than %d certificates", mostInChain)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d of its chain: %w", len(out)+1, err)
		}
		if err := checkKey(c, len(out) == 0); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
}

// checkKey refuses keys of servers that clients and clouds do not accept, and too large keys of
// authorities.
func checkKey(c *x509.Certificate, leaf bool) error {
	switch key := c.PublicKey.(type) {
	case *ecdsa.PublicKey:
		return nil
	case *rsa.PublicKey:
		switch size := key.N.BitLen(); {
		case !leaf && size > mostAuthorityBits:
			return fmt.Errorf("a certificate of its chain has an RSA key of %d bits, and %d are the most",
				size, mostAuthorityBits)
		case leaf && size < leastBits:
			return fmt.Errorf("its RSA key has %d bits, and %d are the least that is safe", size, leastBits)
		case leaf && size > mostBits:
			return fmt.Errorf("its RSA key has %d bits, and %d are the most", size, mostBits)
		}
		return nil
	}
	if !leaf {
		return nil
	}
	return fmt.Errorf("its key is of type %s, and only RSA and ECDSA are served", c.PublicKeyAlgorithm)
}

// orderChain returns a chain in PEM in which each certificate is signed by the next, for any order
// of those after the first. It leaves out certificates that are not in the chain.
func orderChain(certificates []*x509.Certificate) ([]byte, error) {
	others := slices.Clone(certificates[1:])
	var chain []byte
	checks := 0
	for last := certificates[0]; last != nil; {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: last.Raw})...)
		// Of several certificates with the name of the issuer, the one with the key ID of the issuer is
		// tried first.
		slices.SortStableFunc(others, func(a, b *x509.Certificate) int {
			return routing.CompareBool(!bytes.Equal(a.SubjectKeyId, last.AuthorityKeyId),
				!bytes.Equal(b.SubjectKeyId, last.AuthorityKeyId))
		})
		at := slices.IndexFunc(others, func(c *x509.Certificate) bool {
			if !bytes.Equal(c.RawSubject, last.RawIssuer) || checks == mostSignatures {
				return false
			}
			checks++
			return last.CheckSignatureFrom(c) == nil
		})
		if last = nil; at >= 0 {
			last = others[at]
			others = slices.Delete(others, at, at+1)
		}
	}
	if checks == mostSignatures && len(others) > 0 {
		return nil, fmt.Errorf("several certificates of its chain have one name, and %d signatures do "+
			"not tell their order: put each behind the one that it has signed", mostSignatures)
	}
	if len(others) > 0 && len(others) == len(certificates)-1 {
		return nil, errors.New("none of the certificates behind the first has signed it")
	}
	return chain, nil
}
