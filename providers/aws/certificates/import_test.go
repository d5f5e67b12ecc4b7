package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/acm"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
	"fairlead.dev/fairlead/test/keypair"
)

// This file imports certificates, with answers that are lost.

const first = "arn:aws:acm:eu-west-1:1:certificate/1"

// validFrom is a chain of one certificate that is valid from a time.
func validFrom(t *testing.T, from time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	awscalls.ExpectError(t, "making a key", err, nil)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: from.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	awscalls.ExpectError(t, "making a certificate", err, nil)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestCertificatesThatAreNotImported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			pair *routing.KeyPair
			said string
		}{
			"without a key":    {nil, "importing certificate shop of Secret shop/tls: it comes without its key"},
			"no certificate":   {&routing.KeyPair{Chain: []byte("no")}, "there is no PEM block"},
			"not valid yet":    {&routing.KeyPair{Chain: validFrom(t, time.Now().Add(time.Second))}, "it is not valid before"},
			"valid right now":  {&routing.KeyPair{Chain: validFrom(t, time.Now()), Key: []byte("key")}, ""},
			"valid for a time": {keypair.For(t, "a.test"), ""},
		} {
			c2 := newTrial()
			cert := lb.Certificate{ID: "shop", Pair: c.pair, Secrets: []string{"shop/tls"}}
			_, err := c2.Import(t.Context(), observed(), cert)
			mentions(t, name, err, c.said)
			err2 := c2.Replace(t.Context(), observed("old", first), plan.ReplaceCertificate{Old: "old", New: cert})
			if c.said != "" {
				awscalls.ExpectError(t, name, err, providers.ErrRejected)
				mentions(t, name, err2, c.said)
				awscalls.Expect(t, name+": calls", c2.aws.Calls(), nil)
			}
		}
	})
}

// The chain above a certificate is sent apart.
func TestTheChainOfACertificate(t *testing.T) {
	issued := keypair.Issued(t, "a.test")
	leaf, above := splitChain(issued.Chain)
	awscalls.Expect(t, "the chain", bytes.Equal(slices.Concat(leaf, above), issued.Chain) && len(above) > 0, true)
	own, none := splitChain(leaf)
	awscalls.Expect(t, "one alone", bytes.Equal(own, leaf) && none == nil, true)
}

// A certificate is imported once, whatever becomes of the answer.
func TestACertificateIsImportedOnce(t *testing.T) {
	cert := secret(t, "shop", "a.test")
	for name, c := range map[string]struct {
		lost    error
		indexed bool
		first   error // of the first try; nil for none
		refuse  map[string]error
		second  error
		imports int
	}{
		"answered":                      {imports: 1},
		"lost, found in the index":      {lost: errNet, indexed: true, imports: 1},
		"lost, found in the list":       {lost: errNet, imports: 1},
		"lost, the search is denied":    {lost: errNet, first: errNet, refuse: map[string]error{"GetResources": denied}, second: providers.ErrDenied, imports: 1},
		"lost, the list is denied":      {lost: errNet, first: errNet, refuse: map[string]error{"ListCertificates": denied}, second: providers.ErrDenied, imports: 1},
		"lost, the tags cannot be read": {lost: errNet, first: errNet, refuse: map[string]error{"ListTagsForCertificate": errNet}, second: errNet, imports: 1},
		"refused":                       {first: providers.ErrRejected, refuse: map[string]error{"ImportCertificate": awscalls.Refused("ValidationException", "no")}, second: providers.ErrRejected, imports: 2},
		"lost, its tags are unread":     {lost: errNet, indexed: true, first: errNet, refuse: map[string]error{"ListTagsForCertificate": errNet}, second: errNet, imports: 1},
		"throttled":                     {first: providers.ErrThrottled, refuse: map[string]error{"ImportCertificate": awscalls.Refused("ThrottlingException", "no")}, second: providers.ErrThrottled, imports: 2},
		"denied":                        {first: providers.ErrDenied, refuse: map[string]error{"ImportCertificate": denied}, second: providers.ErrDenied, imports: 2},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := newTrial()
			c2.lost = c.lost
			if c.refuse != nil {
				c2.refuse = c.refuse
			}
			if c.indexed {
				c2.indexed[first] = true
			}
			arn, err := c2.Import(t.Context(), observed(), cert)
			awscalls.ExpectError(t, "the first try", err, c.first)
			if c.first == nil {
				awscalls.Expect(t, "the ARN", arn, first)
				awscalls.Expect(t, "it is awaited", c2.imported.importing(key, "shop"), false)
				awscalls.Expect(t, "its label is known", c2.labels.get(first), c2.all[first].tags[client.TagLabel])
				awscalls.Expect(t, "it is ours", c2.imported.has(first), true)
			} else {
				awscalls.Expect(t, "it is awaited", c2.imported.importing(key, "shop"), c.lost != nil)
			}
			c2.lost = nil
			_, err = c2.Import(t.Context(), observed(), cert)
			awscalls.ExpectError(t, "the second try", err, c.second)
			calls := c2.aws.Calls()
			imports := len(slices.DeleteFunc(slices.Clone(calls), func(call string) bool { return call != "ImportCertificate" }))
			awscalls.Expect(t, "imports", imports, c.imports)
			if c.indexed {
				lists := len(slices.DeleteFunc(slices.Clone(calls), func(call string) bool { return call != "ListCertificates" }))
				awscalls.Expect(t, "lists, for what the process before imported", lists, 1)
			}
		})
	}
}

// An import that was not done, as far as can be seen, fails. So does one that lacks its tags.
func TestAnImportThatWasNotDone(t *testing.T) {
	c := newTrial()
	cert := secret(t, "shop", "a.test")
	c.refuse["ImportCertificate"] = errNet
	for range 2 {
		_, err := c.Import(t.Context(), observed(), cert)
		awscalls.ExpectError(t, "importing", err, errNet)
	}
	awscalls.Expect(t, "imports", c.count("ImportCertificate"), 2)
	cert.Tags = map[string]string{"team": "web"}
	cert.Digest = lb.CertificateSettings{Tags: cert.Tags}.Digest()
	c.indexed[first] = true
	awscalls.On(&c.aws, func(in *acm.ImportCertificateInput) (*acm.ImportCertificateOutput, error) {
		c.all[first] = &kept{tags: c.Owned(key, map[string]string{client.TagCertificate: "shop"}), chain: string(in.Certificate)}
		return nil, errNet
	})
	c.refuse["AddTagsToCertificate"] = denied
	_, err := c.Import(t.Context(), observed(), cert)
	awscalls.ExpectError(t, "an import without its tags", err, errNet)
}

// One that is known is not searched.
func TestAKnownImportIsNotSearched(t *testing.T) {
	c := newTrial()
	cert := secret(t, "shop", "a.test")
	arn := c.importAs(t, cert)
	c.imported.beginImport(key, "shop")
	c.aws.Calls()
	awscalls.Expect(t, "the ARN", c.importAs(t, cert), arn)
	awscalls.Expect(t, "calls", c.aws.Calls(), nil)
}

// An answer without an ARN is as good as none.
func TestAnImportThatIsAnsweredWithoutAnARN(t *testing.T) {
	c := newTrial()
	cert := secret(t, "shop", "a.test")
	arn := c.importAs(t, cert)
	c.imported.known = map[string]ownCertificate{}
	awscalls.On(&c.aws, func(*acm.ImportCertificateInput) (*acm.ImportCertificateOutput, error) {
		return &acm.ImportCertificateOutput{}, nil
	})
	if got, err := c.Import(t.Context(), observed(), cert); err == nil || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	got, err := c.Import(t.Context(), observed(), cert)
	awscalls.ExpectError(t, "the next try", err, nil)
	awscalls.Expect(t, "it is searched", got, arn)
}

// A certificate that is there is not imported. One that another ID names is another one.
func TestACertificateThatIsThere(t *testing.T) {
	c := newTrial()
	cert := secret(t, "shop", "a.test")
	arn, err := c.Import(t.Context(), observed("shop", first), cert)
	awscalls.ExpectError(t, "observed", err, nil)
	awscalls.Expect(t, "observed", []any{arn, len(c.aws.Calls())}, []any{first, 0})
	arn = c.importAs(t, cert)
	again, err := c.Import(t.Context(), observed("renamed", arn), cert)
	awscalls.ExpectError(t, "observed with another ID", err, nil)
	awscalls.Expect(t, "it is the same one", again == arn, false)
	other := c.importAs(t, secret(t, "another", "a.test"))
	awscalls.Expect(t, "another one is the same one", other == again, false)
}

// One that was imported with other tags of its class gets those that are wanted.
func TestACertificateThatWasImportedWithOtherTags(t *testing.T) {
	c := newTrial()
	cert := secret(t, "shop", "a.test")
	arn := c.importAs(t, cert)
	cert.Tags = map[string]string{"team": "web"}
	cert.Digest = lb.CertificateSettings{Tags: cert.Tags}.Digest()
	awscalls.Expect(t, "the ARN", c.importAs(t, cert), arn)
	awscalls.Expect(t, "the tag", c.all[arn].tags["team"], "web")
	c.aws.Calls()
	c.importAs(t, cert)
	awscalls.Expect(t, "calls", c.aws.Calls(), nil)
}

// Only certificates that were imported, are valid for the same time and for the host, are searched.
func TestWhichCertificatesAreSearched(t *testing.T) {
	c := newTrial()
	cert := secret(t, "shop", "a.test")
	c.importAs(t, secret(t, "elder", "a.test"))
	issued := c.issue("issued", "a.test")
	leaf, err := parseLeaf(cert.Pair.Chain)
	awscalls.ExpectError(t, "parsing", err, nil)
	later, earlier := leaf.NotAfter.Add(time.Hour), leaf.NotBefore.Add(-time.Hour)
	summary := &c.all[issued].summary
	summary.NotBefore, summary.NotAfter = &leaf.NotBefore, &leaf.NotAfter
	c.importAs(t, secret(t, "ends-later", "a.test"))
	c.all["arn:aws:acm:eu-west-1:1:certificate/2"].summary.NotAfter = &later
	c.importAs(t, secret(t, "begins-earlier", "a.test"))
	c.all["arn:aws:acm:eu-west-1:1:certificate/3"].summary.NotBefore = &earlier
	c.importAs(t, secret(t, "of-another-host", "b.test"))
	c.aws.Calls()
	known := c.Owned(key, map[string]string{client.TagCertificate: "shop"})
	_, err = c.searchImported(t.Context(), key, known, cert)
	awscalls.ExpectError(t, "searching", err, nil)
	awscalls.Expect(t, "readings of tags", c.count("ListTagsForCertificate"), 1)
	cert.Pair = &routing.KeyPair{Chain: []byte("no")}
	_, err = c.searchImported(t.Context(), key, known, cert)
	mentions(t, "searching none", err, "there is no PEM block")
}

// A replaced certificate keeps its ARN. Its label is short as long as the import is not known.
func TestACertificateIsReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		refuse map[string]error
		class  error
		label  string // afterwards: "new", "old" for the short one, or "whole" for the one before
	}{
		"replaced":              {nil, nil, "new"},
		"the import is denied":  {map[string]error{"ImportCertificate": denied}, providers.ErrDenied, "old"},
		"the tagging is denied": {map[string]error{"AddTagsToCertificate": denied}, providers.ErrDenied, "whole"},
	} {
		c2 := newTrial()
		arn := c2.importAs(t, secret(t, "old", "a.test"))
		whole := c2.labels.get(arn)
		next := secret(t, "new", "a.test")
		leaf, err := parseLeaf(next.Pair.Chain)
		awscalls.ExpectError(t, name, err, nil)
		c2.refuse = map[string]error{}
		if c.refuse != nil {
			c2.refuse = c.refuse
		}
		err = c2.Replace(t.Context(), observed("old", arn), plan.ReplaceCertificate{Old: "old", New: next})
		awscalls.ExpectError(t, name, err, c.class)
		want := map[string]string{"new": labelOf(leaf), "old": fingerprintIn(whole), "whole": whole}[c.label]
		awscalls.Expect(t, name, c2.all[arn].tags[client.TagLabel], want)
		awscalls.Expect(t, name+": certificates", len(c2.all), 1)
		awscalls.Expect(t, name+": the label that is known", c2.labels.get(arn) == want, c.label != "whole")
		awscalls.Expect(t, name+": it is imported", c2.all[arn].tags[client.TagCertificate] == "new", c.class == nil)
	}
	c := newTrial()
	step := plan.ReplaceCertificate{Old: "old", New: secret(t, "new", "a.test")}
	awscalls.ExpectError(t, "replaced before", c.Replace(t.Context(), observed("new", first), step), nil)
	mentions(t, "neither is there", c.Replace(t.Context(), observed(), step), "certificate old does not exist")
}

// A quota that is used up is no reason to call again, though the SDK takes it for throttling. An
// import whose answer was lost is not repeated by the SDK.
func TestWhichImportsAreRepeated(t *testing.T) {
	quota, throttled := awscalls.Refused("LimitExceededException", "no"), awscalls.Refused("ThrottlingException", "no")
	for name, c := range map[string]struct {
		change func(*acm.Options)
		err    error
		want   bool
	}{
		"an import at its quota":            {retryThrottled, quota, false},
		"an import that is throttled":       {retryThrottled, throttled, true},
		"an import whose answer is lost":    {retryThrottled, failing(500), false},
		"a replacement at its quota":        {skipQuotaErrors, quota, false},
		"a replacement that is throttled":   {skipQuotaErrors, throttled, true},
		"a replacement whose answer is 500": {skipQuotaErrors, failing(500), true},
	} {
		var o acm.Options
		c.change(&o)
		awscalls.Expect(t, name, o.Retryer.IsErrorRetryable(c.err), c.want)
	}
}

func TestTheARNOfACertificate(t *testing.T) {
	for id, want := range map[lb.CertificateID]string{"shop": first, "arn:aws:acm:x": "arn:aws:acm:x", "gone": ""} {
		got, err := ARN(observed("shop", first), id)
		awscalls.Expect(t, string(id), []any{got, err == nil}, []any{want, want != ""})
	}
	awscalls.Expect(t, "the first of two", findByID(map[string]map[string]string{
		"b": {client.TagCertificate: "shop"}, "a": {client.TagCertificate: "shop"}, "0": {client.TagCertificate: "other"},
	}, "shop"), "a")
	awscalls.Expect(t, "none", findByID(nil, "shop"), "")
}
