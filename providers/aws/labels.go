package aws

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"strings"
	"sync"

	"fairlead.dev/fairlead/model/routing"
)

// This file is labels: the tag of a certificate that says what AWS has imported, so that nobody has to read the
// certificate to know.
//
// AWS imports a certificate in the place of another one without tags. So the label is made to say nothing before
// that, and is written anew after it: what a label says is so, wherever the work was cut off.

// noLabel is the label of a certificate in whose place another one is being imported: it is either of them.
const noLabel = "being-imported"

// labelOf is the label of a certificate: which one it is, of what kind and for which hosts. If these are too
// many for a tag it says only which one.
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
func isOf(label string, leaf *x509.Certificate) bool {
	which, _, _ := strings.Cut(label, " ")
	return which == fingerprint(leaf)
}

// fingerprint tells a certificate from all others.
func fingerprint(leaf *x509.Certificate) string {
	sum := sha256.Sum256(leaf.Raw)
	return hex.EncodeToString(sum[:16])
}

// Labels are those that were changed by this process, by ARN: what finds resources by their tags may know of older
// ones for a while.
type labels struct {
	mu      sync.Mutex
	written map[string]string
}

// write notes that a label is being changed.
func (l *labels) write(arn, label string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written == nil {
		l.written = map[string]string{}
	}
	l.written[arn] = label
}

// outdated reports whether a label that was found is another than the one that was written last.
func (l *labels) outdated(arn, found string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	written, known := l.written[arn]
	return known && written != found
}

// forget notes that a certificate is gone.
func (l *labels) forget(arn string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.written, arn)
}
