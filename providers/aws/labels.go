package aws

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"strings"
	"sync"

	"fairlead.dev/fairlead/model/routing"
)

// This file is labels: the tag of a certificate that says what AWS has imported, so that nobody has
// to read the certificate to know.
//
// AWS imports a certificate in the place of another one without tags. So the label is shortened
// before that, to which one is there, and is written anew after it. Wherever the work was cut off,
// and where AWS refuses the new one: what a whole label says is so, and a short one can be compared
// with the certificate.

// noLabel is of no certificate. It is the short label where a certificate is imported in its own
// place, with another chain: whether that is there, nobody can tell.
const noLabel = "being-imported"

// labelOf is the label of a certificate: which one it is, of what kind and for which hosts. If
// these are too many for a tag it says only which one.
func labelOf(leaf *x509.Certificate) string {
	words := []string{fingerprint(leaf), quote(routing.KindOf(leaf))}
	for _, host := range routing.NamesIn(leaf) {
		words = append(words, quote(host))
	}
	if label := strings.Join(words, " "); len(label) <= valueLength {
		return label
	}
	return words[0]
}

// readLabel is what a label says of a certificate; false where that is not all.
func readLabel(label string) (kind string, hosts []string, whole bool) {
	words := strings.Fields(label)
	if len(words) < 2 {
		return "", nil, false
	}
	for _, word := range words[2:] {
		hosts = append(hosts, unquote(word))
	}
	return unquote(words[1]), hosts, true
}

// isOf reports whether a label is that of a certificate.
func isOf(label string, leaf *x509.Certificate) bool { return which(label) == fingerprint(leaf) }

// which certificate a label is of, as far as it says.
func which(label string) string {
	first, _, _ := strings.Cut(label, " ")
	return first
}

// shortened is a label until the certificate of the next one is there.
func shortened(label, next string) string {
	if which(label) == "" || which(label) == which(next) {
		return noLabel
	}
	return which(label)
}

// fingerprint tells a certificate from all others.
func fingerprint(leaf *x509.Certificate) string {
	sum := sha256.Sum256(leaf.Raw)
	return hex.EncodeToString(sum[:16])
}

// Labels are those that this process has seen or written last, by ARN: what resources are found by
// may know of older ones for a while.
type labels struct {
	mu    sync.Mutex
	known map[string]string
}

// learn notes a label.
func (l *labels) learn(arn, label string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]string{}
	}
	l.known[arn] = label
}

// of is the label of a certificate, as far as it is known.
func (l *labels) of(arn string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[arn]
}

// outdated reports whether a label that was found is another than the one that is known.
func (l *labels) outdated(arn, found string) bool {
	known := l.of(arn)
	return known != "" && known != found
}

// forget notes that a certificate is gone.
func (l *labels) forget(arn string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, arn)
}
