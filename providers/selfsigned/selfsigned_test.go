package selfsigned

import (
	"crypto/tls"
	"testing"
	"time"
)

func TestCertificate(t *testing.T) {
	c, err := Certificate("a.test", "b.test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(c.Pair.Chain, c.Pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"a.test", "b.test"} {
		if err := pair.Leaf.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
	if now := time.Now(); now.Before(pair.Leaf.NotBefore) || now.AddDate(0, 0, 29).After(pair.Leaf.NotAfter) {
		t.Errorf("it is valid from %v to %v", pair.Leaf.NotBefore, pair.Leaf.NotAfter)
	}
	other, err := Certificate("a.test")
	if err != nil || other.ID == c.ID || c.ID == "" {
		t.Errorf("the IDs are %q and %q, with %v", c.ID, other.ID, err)
	}
}
