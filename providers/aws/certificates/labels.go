package certificates

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"strings"
	"sync"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file reads and writes labels. A label is a tag that describes the imported certificate, so
// that the certificate itself does not have to be read.
//
// AWS takes no tags when it imports a certificate in place of another one. So the label is
// shortened before that, to the fingerprint of the old one, and is written again after it. If that
// is interrupted, or if AWS refuses the new one, a whole label is still true, and a short one can
// be compared with the certificate.

// noLabel is a label that no certificate has. It is the short label while a certificate is imported
// again with another chain: GetCertificate does not show whether that import was done.
const noLabel = "being-imported"

// labelOf returns the label of a certificate: its fingerprint, its kind and its hosts. If a tag has
// no room for these, the label is the fingerprint alone.
func labelOf(leaf *x509.Certificate) string {
	words := []string{fingerprint(leaf), client.QuoteTag(routing.KindOf(leaf))}
	for _, host := range routing.NamesIn(leaf) {
		words = append(words, client.QuoteTag(host))
	}
	if label := strings.Join(words, " "); len(label) <= client.ValueLength {
		return label
	}
	return words[0]
}

// readLabel returns the kind and the hosts in a label; whole is false if the label is short.
func readLabel(label string) (kind string, hosts []string, whole bool) {
	words := strings.Fields(label)
	if len(words) < 2 {
		return "", nil, false
	}
	for _, word := range words[2:] {
		hosts = append(hosts, client.UnquoteTag(word))
	}
	return client.UnquoteTag(words[1]), hosts, true
}

// matchesLabel reports whether a label describes a certificate.
func matchesLabel(label string, leaf *x509.Certificate) bool {
	return fingerprintIn(label) == fingerprint(leaf)
}

// fingerprintIn returns the fingerprint in a label, if it has one.
func fingerprintIn(label string) string {
	first, _, _ := strings.Cut(label, " ")
	return first
}

// shortenLabel returns the label to use until the certificate of the next one is imported.
func shortenLabel(label, next string) string {
	if fingerprintIn(label) == "" || fingerprintIn(label) == fingerprintIn(next) {
		return noLabel
	}
	return fingerprintIn(label)
}

// fingerprint returns a digest of a certificate.
func fingerprint(leaf *x509.Certificate) string {
	sum := sha256.Sum256(leaf.Raw)
	return hex.EncodeToString(sum[:16])
}

// labels holds the labels that this process has read or written last, by ARN: the index of tags may
// list older ones for a while.
type labels struct {
	mu    sync.Mutex
	known map[string]string
}

// set sets the label of a certificate.
func (l *labels) set(arn, label string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]string{}
	}
	l.known[arn] = label
}

// get returns the label of a certificate; "" if it is not known.
func (l *labels) get(arn string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[arn]
}

// outdated reports whether a label that was found differs from the one that is known.
func (l *labels) outdated(arn, found string) bool {
	known := l.get(arn)
	return known != "" && known != found
}

// remove forgets a certificate that no longer exists.
func (l *labels) remove(arn string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, arn)
}
