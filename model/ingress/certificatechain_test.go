package ingress

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	if _, err := orderChain(ten); err != nil {
		t.Errorf("in order: %s", err)
	}
	slices.Reverse(ten[1:])
	if _, err := orderChain(ten); err == nil || !strings.Contains(err.Error(), "10 signatures do not tell their order") {
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
		_ = ReadCertificate(tlsSecret(chain, large.key))
		if took := time.Since(start); took > time.Second {
			t.Errorf("%s: %s", name, took)
		} else {
			t.Logf("%s: %s", name, took)
		}
	}
}

func TestShortenKeepsWhatIsRead(t *testing.T) {
	one := aTower(t, elliptic.P256(), 1, false)
	s := tlsSecret(chainOf(one.certificates...), one.key)
	s.Data["junk"] = make([]byte, 1<<20)
	s.Annotations = map[string]string{"a": strings.Repeat("b", 1<<18)}
	short := ShortenSecret(s)
	if got, want := ReadCertificate(short), ReadCertificate(s); got.Err != nil || got.Certificate.ID != want.Certificate.ID || short.Data["junk"] != nil || short.Annotations != nil {
		t.Errorf("judged %v, %v", got, want)
	}
	s.Data[corev1.TLSCertKey] = make([]byte, 1<<20)
	short = ShortenSecret(s)
	if got, want := ReadCertificate(short).Err, ReadCertificate(s).Err; got.Error() != want.Error() || len(short.Data[corev1.TLSCertKey]) > longestChain+1 {
		t.Errorf("%d bytes are left: %v, want %v", len(short.Data[corev1.TLSCertKey]), got, want)
	}
}

// signed is a certificate for a host with its key, signed by an issuer, or by itself without one.
func signed(t *testing.T, name string, issuer *x509.Certificate, by crypto.Signer) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(4_000_000_000, 0),
	}
	if issuer == nil {
		issuer, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made, key
}

func TestChainsArePutInOrder(t *testing.T) {
	root, rootKey := signed(t, "root", nil, nil)
	middle, middleKey := signed(t, "middle", root, rootKey)
	leaf, key := signed(t, "a.test", middle, middleKey)
	stranger, _ := signed(t, "stranger", nil, nil)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	type chain = []*x509.Certificate
	for name, c := range map[string]struct {
		given, want chain
		refused     string
	}{
		"as it should be":      {given: chain{leaf, middle, root}, want: chain{leaf, middle, root}},
		"in another order":     {given: chain{leaf, root, middle}, want: chain{leaf, middle, root}},
		"with a stranger":      {given: chain{leaf, stranger, middle}, want: chain{leaf, middle}},
		"alone":                {given: chain{leaf}, want: chain{leaf}},
		"twice":                {given: chain{leaf, leaf, middle}, want: chain{leaf, middle}},
		"without its issuer":   {given: chain{leaf, root}, refused: "none of the certificates behind the first has signed it"},
		"not the first of all": {given: chain{middle, leaf}, refused: "private key does not match public key"},
	} {
		t.Run(name, func(t *testing.T) {
			key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
			got, _, err := parseCertificate(tlsSecret(chainOf(c.given...), key))
			if err != nil || c.refused != "" {
				if fmt.Sprint(err) != c.refused {
					t.Errorf("error %v, want %s", err, c.refused)
				}
				return
			}
			if string(got.Pair.Chain) != string(chainOf(c.want...)) {
				t.Error("the chain is not as wanted")
			}
		})
	}
}

// A certificate that is kept has no private key. The key is read again where it is needed.
func TestACertificateIsKeptWithoutItsKey(t *testing.T) {
	leaf, key := signed(t, "a.test", nil, nil)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	secret := tlsSecret(chainOf(leaf), private)
	kept := ReadCertificate(secret)
	if kept.Certificate == nil {
		t.Fatal(kept.Err)
	}
	if kept.Certificate.Pair.Key != nil {
		t.Error("the certificate is kept with its key")
	}
	if got := kept.withKey(secret); string(got.Pair.Key) != string(private) {
		t.Error("the certificate does not have the key of the Secret")
	}
	if kept.Certificate.Pair.Key != nil {
		t.Error("reading the key has put it into the certificate that is kept")
	}
}

func TestKeysThatNoClientTakes(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	large := &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 4096), E: 65537}
	for want, leaf := range map[string]*x509.Certificate{
		"its RSA key has 1024 bits, and 2048 are the least that is safe": {PublicKey: &weak.PublicKey},
		"its RSA key has 4097 bits, and 4096 are the most":               {PublicKey: large},
		"its key is of type Ed25519, and only RSA and ECDSA are served":  {PublicKey: ed25519.PublicKey{}, PublicKeyAlgorithm: x509.Ed25519},
	} {
		if err := checkKey(leaf, true); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
