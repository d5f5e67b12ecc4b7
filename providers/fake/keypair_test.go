package fake_test

import (
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/keypair"
)

// imported is a certificate for a host as an Ingress brings it, signed by its own key.
func imported(t *testing.T, id lb.CertificateID, host string) lb.Certificate {
	t.Helper()
	return lb.Certificate{ID: id, Hosts: []string{host}, Pair: keypair.For(t, host)}
}
