package certificates

import (
	"crypto/x509"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/keypair"
)

// tagValue is what AWS takes for the value of a tag.
var tagValue = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// leafFor is a certificate for hosts.
func leafFor(t *testing.T, hosts ...string) *x509.Certificate {
	t.Helper()
	leaf, err := parseLeaf(keypair.For(t, hosts...).Chain)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// hostsOfLength are the names of so many hosts.
func hostsOfLength(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("host-%03d.example.com", i))
	}
	return out
}

func TestLabelsSayAllThatIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		hosts  []string
		whole  bool
	}{
		"one host":              {"is said", []string{"a.example.com"}, true},
		"a wildcard beside it":  {"has a star, which no tag takes", []string{"*.example.com", "example.com"}, true},
		"what is no host":       {"is said nevertheless, whatever characters it has", []string{"a=2A b~%.example.com"}, true},
		"as many as find room":  {"are said", hostsOfLength(9), true},
		"more than find room":   {"are not said, so that the certificate has to be read", hostsOfLength(12), false},
		"one with a long name":  {"finds room", []string{strings.Repeat("a", 60) + ".example.com"}, true},
		"upper and lower cases": {"are said in lower case, as they are read", []string{"Shop.Example.com"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			leaf := leafFor(t, c.hosts...)
			label := labelOf(leaf)
			if len(label) > client.ValueLength || !tagValue.MatchString(label) {
				t.Errorf("%q is no value of a tag", label)
			}
			kind, hosts, whole := readLabel(label)
			if whole != c.whole {
				t.Fatalf("%s %s: %q", name, c.reason, label)
			}
			if !matchesLabel(label, leaf) || matchesLabel(label, leafFor(t, c.hosts...)) {
				t.Errorf("%q is not of the certificate, or of others, too", label)
			}
			if whole && (kind != routing.KindOf(leaf) || !slices.Equal(hosts, routing.NamesIn(leaf))) {
				t.Errorf("%q says %s and %v", label, kind, cmp.Diff(routing.NamesIn(leaf), hosts))
			}
		})
	}
}

func TestShortLabelsAreComparedWithTheCertificate(t *testing.T) {
	first, second := leafFor(t, "a.example.com"), leafFor(t, "a.example.com")
	for name, c := range map[string]struct {
		reason      string
		label, next string
		of          *x509.Certificate // nil for none
	}{
		"another certificate":        {"is there or is not, which can be seen", labelOf(first), labelOf(second), first},
		"the same with its chain":    {"looks the same before and after", labelOf(first), labelOf(first), nil},
		"one that was cut short":     {"is still the one of before, if any", fingerprint(first), labelOf(second), first},
		"one that nobody can tell":   {"stays so", noLabel, labelOf(second), nil},
		"one that is not known here": {"is not guessed", "", labelOf(second), nil},
	} {
		t.Run(name, func(t *testing.T) {
			label := shortenLabel(c.label, c.next)
			if _, _, whole := readLabel(label); whole {
				t.Errorf("%s %s: %q says all", name, c.reason, label)
			}
			for _, leaf := range []*x509.Certificate{first, second} {
				if matchesLabel(label, leaf) != (leaf == c.of) {
					t.Errorf("%s %s: %q", name, c.reason, label)
				}
			}
		})
	}
}

// A label fits into the value of a tag, or is the fingerprint alone.
func TestTheLongestLabel(t *testing.T) {
	short := leafFor(t, "a.test")
	room := client.ValueLength - len(labelOf(short)) + len("a.test")
	for length, whole := range map[int]bool{room: true, room + 1: false} {
		host := strings.Repeat(strings.Repeat("a", 49)+".", 4)
		leaf := leafFor(t, host+strings.Repeat("b", length-len(host)))
		if _, _, got := readLabel(labelOf(leaf)); got != whole {
			t.Errorf("a host of %d characters has the label %q", length, labelOf(leaf))
		}
	}
	if kind, hosts, whole := readLabel("0123 ecdsa"); kind != "ecdsa" || hosts != nil || !whole {
		t.Errorf("a certificate without hosts is of kind %s for %v, whole %v", kind, hosts, whole)
	}
}

func TestLabelsWhileACertificateIsReplaced(t *testing.T) {
	for _, c := range []struct{ label, next, want string }{
		{"a ecdsa a.test", "b ecdsa a.test", "a"}, {"a ecdsa a.test", "a ecdsa a.test", noLabel}, {"", "b ecdsa a.test", noLabel},
	} {
		if got := shortenLabel(c.label, c.next); got != c.want {
			t.Errorf("the label %q is shortened to %q, want %q", c.label, got, c.want)
		}
	}
}
