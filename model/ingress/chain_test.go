package ingress

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/model/routing"
)

// A tower is a chain in which every certificate has one name, the leaf first, and the key of the
// leaf.
type tower struct {
	certificates []*x509.Certificate
	key          []byte
}

func aTower(t testing.TB, curve elliptic.Curve, height int, keyIDs bool) tower {
	t.Helper()
	var out tower
	var above *x509.Certificate
	var aboveKey *ecdsa.PrivateKey
	for i := range height {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i)), Subject: pkix.Name{CommonName: "a.test"}, DNSNames: []string{"a.test"},
			NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		}
		if keyIDs {
			template.SubjectKeyId = []byte{byte(i)}
			if above != nil {
				template.AuthorityKeyId = above.SubjectKeyId
			}
		}
		parent, by := template, key
		if above != nil {
			parent, by = above, aboveKey
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
		if err != nil {
			t.Fatal(err)
		}
		if above, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
		if !keyIDs { // those that CreateCertificate makes of the keys
			above.SubjectKeyId = nil
		}
		aboveKey = key
		out.certificates = slices.Insert(out.certificates, 0, above)
	}
	der, err := x509.MarshalPKCS8PrivateKey(aboveKey)
	if err != nil {
		t.Fatal(err)
	}
	out.key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return out
}

func chainOf(certificates ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certificates {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

func tlsSecret(chain, key []byte) *corev1.Secret {
	return &corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: chain, corev1.TLSPrivateKeyKey: key}}
}

func TestChainsAreBounded(t *testing.T) {
	ten, eleven := aTower(t, elliptic.P256(), 10, true), aTower(t, elliptic.P256(), 11, true)
	behindLeaf := slices.Clone(ten.certificates)
	slices.Reverse(behindLeaf[1:])
	large := *ten.certificates[0]
	largeKey := &rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), 16383, 1), E: 65537}
	der, err := x509.CreateCertificate(rand.Reader, &large, &x509.Certificate{}, largeKey, mustKey(t))
	if err != nil {
		t.Fatal(err)
	}
	authority, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		chain   []byte
		key     []byte
		refused string
	}{
		"ten certificates":                            {chain: chainOf(ten.certificates...), key: ten.key},
		"ten of one name in reverse, with key IDs":    {chain: chainOf(behindLeaf...), key: ten.key},
		"eleven certificates":                         {chain: chainOf(eleven.certificates...), key: eleven.key, refused: "its chain has more than 10 certificates"},
		"the leaf eleven times":                       {chain: chainOf(slices.Repeat(ten.certificates[:1], 11)...), key: ten.key, refused: "its chain has more than 10 certificates"},
		"an authority with a key of 16384 bits":       {chain: chainOf(ten.certificates[0], authority), key: ten.key, refused: "a certificate of its chain has an RSA key of 16384 bits, and 8192 are the most"},
		"many blocks of something else":               {chain: slices.Concat(chainOf(ten.certificates[0]), []byte(strings.Repeat("-----BEGIN A-----\n-----END A-----\n", 21))), key: ten.key, refused: "tls.crt has more than 20 blocks of PEM"},
		"a chain of 1 MiB":                            {chain: append(chainOf(ten.certificates[0]), make([]byte, 1<<20)...), key: ten.key, refused: "tls.crt has more than 65536 bytes"},
		"a key of 6 KiB":                              {chain: chainOf(ten.certificates[0]), key: append(ten.key, make([]byte, 6<<10)...), refused: "tls.key has more than 5120 bytes"},
		"comments around the certificate and the key": {chain: slices.Concat([]byte("# web\n"), chainOf(ten.certificates[0]), []byte("# end\n")), key: slices.Concat([]byte("# key\n"), ten.key)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, _, err := parseCertificate(tlsSecret(c.chain, c.key))
			if c.refused != "" {
				if err == nil || err.Error() != c.refused {
					t.Errorf("error %v, want %s", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name, "ten") && string(got.Pair.Chain) != string(chainOf(ten.certificates...)) {
				t.Error("the chain is not in order")
			}
		})
	}
}

func mustKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestOrderingAChainChecksFewSignatures(t *testing.T) {
	ten := aTower(t, elliptic.P256(), 10, false).certificates
	if _, err := ordered(ten); err != nil {
		t.Errorf("in order: %s", err)
	}
	slices.Reverse(ten[1:])
	if _, err := ordered(ten); err == nil || !strings.Contains(err.Error(), "10 signatures do not tell their order") {
		t.Errorf("in reverse without key IDs: error %v", err)
	}
}

// TestSecretsAreCheapToJudge takes the worst that fits into a Secret.
func TestSecretsAreCheapToJudge(t *testing.T) {
	large := aTower(t, elliptic.P521(), 10, false)
	slices.Reverse(large.certificates[1:])
	chain := chainOf(large.certificates...)
	cases := map[string][]byte{
		"signatures of P-521":        chain,
		"beginnings of blocks":       []byte(strings.Repeat("-----BEGIN CERTIFICATE-----\n", longestChain/28)),
		"dashes":                     []byte(strings.Repeat("-", longestChain)),
		"a block that does not end":  []byte("-----BEGIN CERTIFICATE-----\n" + strings.Repeat("A", longestChain-100)),
		"headers":                    []byte("-----BEGIN CERTIFICATE-----\n" + strings.Repeat("a: b\n", longestChain/5-20) + "\n-----END CERTIFICATE-----\n"),
		"empty blocks":               []byte(strings.Repeat("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", longestChain/54)),
		"ends of blocks":             []byte(strings.Repeat("-----END CERTIFICATE-----\n", longestChain/26)),
		"blocks with another ending": []byte(strings.Repeat("-----BEGIN A-----\n-----END B-----\n", longestChain/34)),
	}
	for name, chain := range cases {
		start := time.Now()
		_ = Judge(tlsSecret(chain, large.key))
		if took := time.Since(start); took > time.Second {
			t.Errorf("%s: %s", name, took)
		} else {
			t.Logf("%s: %s", name, took)
		}
	}
}

func TestASecretIsJudgedOnce(t *testing.T) {
	object := aSecret(t, "shop/cert", "a.test")
	other := Judgement{certificate: &routing.Certificate{ID: "judged before", Hosts: []string{"a.test"}, Pair: &routing.KeyPair{}}, until: time.Now()}
	given := objects(anIngress("shop/web", ruled("a.test"), secured("cert", "a.test")), object)
	given.Judged = map[*corev1.Secret]Judgement{object: other}
	snapshots, _ := Split(given, Options{AssumeClass: "fairlead"})
	config, _ := Translate(snapshots[0], Certificates{})
	if got := config.Certificates[0].ID; got != "judged before" {
		t.Errorf("the Secret is judged again: its certificate is %s", got)
	}
	given.Judged = nil
	snapshots, _ = Split(given, Options{AssumeClass: "fairlead"})
	if _, judged := snapshots[0].Judged[object]; !judged {
		t.Error("a snapshot has no judgement of a Secret that it names")
	}
}

func TestShortenKeepsWhatIsRead(t *testing.T) {
	s := aSecret(t, "shop/cert", "a.test")
	s.Data["junk"] = make([]byte, 1<<20)
	s.Annotations = map[string]string{"a": strings.Repeat("b", 1<<18)}
	short := Shorten(s)
	if got, want := Judge(short), Judge(s); got.err != nil || got.certificate.ID != want.certificate.ID || short.Data["junk"] != nil || short.Annotations != nil {
		t.Errorf("judged %v, %v", got, want)
	}
	s.Data[corev1.TLSCertKey] = make([]byte, 1<<20)
	short = Shorten(s)
	if got, want := Judge(short).err, Judge(s).err; got.Error() != want.Error() || len(short.Data[corev1.TLSCertKey]) > longestChain+1 {
		t.Errorf("%d bytes are left: %v, want %v", len(short.Data[corev1.TLSCertKey]), got, want)
	}
}
