package certificates

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
	"fairlead.dev/fairlead/test/keypair"
)

// This file observes certificates, changes their tags and deletes them.

// A certificate is described by its label, or read where that may not be true.
func TestACertificateIsReadWhereItsLabelMayBeWrong(t *testing.T) {
	const arn = "arn:aws:acm:eu-west-1:1:certificate/1"
	pair := keypair.For(t, "a.test")
	leaf, err := parseLeaf(pair.Chain)
	awscalls.ExpectError(t, "parsing", err, nil)
	label := labelOf(leaf)
	wrong := labelOf(leafFor(t, "b.test"))
	for name, c := range map[string]struct {
		label         string // in the tags
		known         string // to this process
		deep          bool
		served, fresh bool
		refuse        map[string]error
		change        func(*kept)
		id            string // "" where it is left out
		hosts         []string
		err           string
		reads, tags   int
	}{
		"served":                       {label: label, served: true, id: "shop", hosts: []string{"a.test"}},
		"imported a moment ago":        {label: label, fresh: true, id: "shop", hosts: []string{"a.test"}},
		"not served":                   {label: label, id: "shop", hosts: []string{"a.test"}, reads: 1},
		"deep":                         {label: label, served: true, deep: true, id: "shop", hosts: []string{"a.test"}, reads: 1, tags: 1},
		"a short label":                {label: fingerprint(leaf), served: true, id: "shop", hosts: []string{"a.test"}, reads: 1},
		"a label of another one":       {label: wrong, served: true, deep: true, id: arn, hosts: []string{"a.test"}, reads: 1, tags: 1},
		"no label":                     {served: true, id: arn, hosts: []string{"a.test"}, reads: 1},
		"an old label in the index":    {label: label, known: wrong, served: true, id: "shop", hosts: []string{"a.test"}, tags: 1},
		"a label as it is known":       {label: label, known: label, served: true, id: "shop", hosts: []string{"a.test"}},
		"gone, by its tags":            {label: label, deep: true, refuse: map[string]error{"ListTagsForCertificate": gone}, tags: 1},
		"denied tags":                  {label: label, deep: true, refuse: map[string]error{"ListTagsForCertificate": denied}, err: "reading the tags of " + arn, tags: 1},
		"somebody else's by now":       {label: label, deep: true, change: func(k *kept) { k.tags[client.TagInstallation] = "theirs" }, tags: 1},
		"gone":                         {label: label, refuse: map[string]error{"GetCertificate": gone}, reads: 1},
		"denied":                       {label: label, refuse: map[string]error{"GetCertificate": denied}, err: "reading certificate " + arn, reads: 1},
		"no certificate in the answer": {label: label, change: func(k *kept) { k.chain = "" }, err: "there is no PEM block", reads: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := newTrial()
			tags := c2.Owned(key, map[string]string{client.TagCertificate: "shop", client.TagLabel: c.label})
			indexed := map[string]string{}
			for n, v := range tags {
				indexed[n] = v
			}
			k := &kept{tags: tags, chain: string(pair.Chain)}
			if c.change != nil {
				c.change(k)
			}
			c2.all[arn], c2.fresh = k, c.fresh
			if c.refuse != nil {
				c2.refuse = c.refuse
			}
			if c.known != "" {
				c2.labels.set(arn, c.known)
			}
			c2.imported.set(key, arn, nil)
			var served []string
			if c.served {
				served = []string{arn}
			}
			found, err := c2.Observe(t.Context(), key, c.deep, served, map[string]map[string]string{arn: indexed, "arn:aws:elasticloadbalancing:1": nil})
			mentions(t, "observing", err, c.err)
			got := found[arn]
			awscalls.Expect(t, "the ID", got.ID, lb.CertificateID(c.id))
			awscalls.Expect(t, "the hosts", got.Hosts, c.hosts)
			if c.id != "" {
				awscalls.Expect(t, "the kind", got.Kind, routing.KindOf(leaf))
				awscalls.Expect(t, "the label", c2.labels.get(arn), c.label)
			} else if c.err == "" {
				_, known := found[arn]
				awscalls.Expect(t, "it is listed, and kept", []bool{known, c2.imported.has(arn)}, []bool{false, c.refuse["ListTagsForCertificate"] != nil})
			}
			calls := c2.aws.Calls()
			count := func(call string) (n int) {
				for _, made := range calls {
					if made == call {
						n++
					}
				}
				return n
			}
			awscalls.Expect(t, "readings of the certificate and its tags", []int{count("GetCertificate"), count("ListTagsForCertificate")}, []int{c.reads, c.tags})
		})
	}
}

// A deep look computes the digest of the tags that a class gave, where there are any.
func TestTheDigestOfTheTags(t *testing.T) {
	c := newTrial()
	cert := secret(t, "shop", "a.test")
	cert.Tags = map[string]string{"team": "web"}
	cert.Digest = lb.CertificateSettings{Tags: cert.Tags}.Digest()
	plain := c.importAs(t, secret(t, "plain", "b.test"))
	arn := c.importAs(t, cert)
	digest := func(deep bool, arn string) lb.Digest {
		found, err := c.Observe(t.Context(), key, deep, []string{arn, plain}, nil)
		awscalls.ExpectError(t, "observing", err, nil)
		awscalls.Expect(t, "without tags of a class", found[plain].Digest, "")
		awscalls.Expect(t, "it has the tags", found[arn].Tags != nil, deep)
		return found[arn].Digest
	}
	awscalls.Expect(t, "as imported", digest(true, arn), cert.Digest)
	c.all[arn].tags["team"] = "api"
	awscalls.Expect(t, "not deep", digest(false, arn), cert.Digest)
	changed := lb.CertificateSettings{Tags: map[string]string{"team": "api"}}.Digest()
	awscalls.Expect(t, "deep", digest(true, arn), changed)
}

// Of two that were imported for one Secret, one has its ARN for an ID, and is deleted.
func TestACertificateThatWasImportedTwice(t *testing.T) {
	c := newTrial()
	for range 2 {
		c.imported.known = map[string]ownCertificate{}
		c.importAs(t, secret(t, "shop", "a.test"))
	}
	arns := []string{"arn:aws:acm:eu-west-1:1:certificate/1", "arn:aws:acm:eu-west-1:1:certificate/2"}
	c.fresh = true
	found, err := c.Observe(t.Context(), key, false, arns, nil)
	awscalls.ExpectError(t, "observing", err, nil)
	awscalls.Expect(t, "IDs", []lb.CertificateID{found[arns[0]].ID, found[arns[1]].ID}, []lb.CertificateID{"shop", lb.CertificateID(arns[1])})
}

// Few certificates are read at once.
func TestCertificatesAreReadFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial()
		indexed := map[string]map[string]string{}
		var ids []lb.CertificateID
		for i := range 2 * client.ParallelReads {
			arn := c.issue(string(rune('a'+i)), "a.test")
			indexed[arn] = map[string]string{}
			ids = append(ids, lb.CertificateID(arn))
			s := &c.all[arn].summary
			s.HasAdditionalSubjectAlternativeNames = aws.Bool(true)
		}
		pair := keypair.For(t, "a.test")
		get := func() { time.Sleep(time.Second) }
		onGet(c, get, string(pair.Chain))
		for name, read := range map[string]func() error{
			"ours": func() error { _, err := c.Observe(t.Context(), key, false, nil, indexed); return err },
			"named": func() error {
				return c.LookUpNames(t.Context(), ids, &lb.Facts{Names: map[lb.CertificateID][]string{}})
			},
			"of the account": func() error { _, err := c.readAccount(t.Context()); return err },
		} {
			began := time.Now()
			awscalls.ExpectError(t, name, read(), nil)
			awscalls.Expect(t, name, time.Since(began), 2*time.Second)
		}
	})
}

// onGet has each certificate described, and read, after a wait.
func onGet(c *trial, wait func(), chain string) {
	c.answerDescriptions(wait)
	c.answerChains(func() *acm.GetCertificateOutput {
		wait()
		return &acm.GetCertificateOutput{Certificate: aws.String(chain)}
	})
}

// Tags that a class no longer gives are removed, where the certificate had any.
func TestTheTagsOfACertificateAreChanged(t *testing.T) {
	withTags := func(tags map[string]string) lb.Certificate {
		c := secret(t, "shop", "a.test")
		c.Tags = tags
		if tags != nil {
			c.Digest = lb.CertificateSettings{Tags: tags}.Digest()
		}
		return c
	}
	for name, c := range map[string]struct {
		before, after map[string]string
		refuse        map[string]error
		team          string
		calls         []string
		class         error
	}{
		"given":         {nil, map[string]string{"team": "web"}, nil, "web", []string{"AddTagsToCertificate"}, nil},
		"changed":       {map[string]string{"team": "web"}, map[string]string{"team": "api"}, nil, "api", []string{"ListTagsForCertificate", "AddTagsToCertificate"}, nil},
		"taken":         {map[string]string{"team": "web"}, nil, nil, "", []string{"ListTagsForCertificate", "RemoveTagsFromCertificate", "AddTagsToCertificate"}, nil},
		"not readable":  {map[string]string{"team": "web"}, nil, map[string]error{"ListTagsForCertificate": denied}, "web", []string{"ListTagsForCertificate"}, providers.ErrDenied},
		"not removable": {map[string]string{"team": "web"}, nil, map[string]error{"RemoveTagsFromCertificate": denied}, "web", []string{"ListTagsForCertificate", "RemoveTagsFromCertificate"}, providers.ErrDenied},
		"not writable":  {nil, map[string]string{"team": "web"}, map[string]error{"AddTagsToCertificate": denied}, "", []string{"AddTagsToCertificate"}, providers.ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := newTrial()
			before := withTags(c.before)
			arn := c2.importAs(t, before)
			if c.refuse != nil {
				c2.refuse = c.refuse
			}
			seen := observed("shop", arn)
			seen.Certificates[0].Digest = before.Digest
			c2.aws.Calls()
			after := withTags(c.after)
			awscalls.ExpectError(t, "changing", c2.Modify(t.Context(), seen, after), c.class)
			awscalls.Expect(t, "calls", c2.aws.Calls(), c.calls)
			awscalls.Expect(t, "the tag", c2.all[arn].tags["team"], c.team)
			own := c2.imported.list(key)[arn]
			awscalls.Expect(t, "the label", c2.labels.get(arn), c2.all[arn].tags[client.TagLabel])
			if c.class == nil {
				awscalls.Expect(t, "the tags are known", own.tags["team"], c.team)
				_, has := own.tags[client.TagDigest]
				awscalls.Expect(t, "it has a digest", has, after.Digest != "")
			} else if c.refuse["ListTagsForCertificate"] == nil {
				awscalls.Expect(t, "the tags are not known", own.tags == nil, true)
			}
		})
	}
	mentions(t, "one that is not there", newTrial().Modify(t.Context(), observed(), withTags(nil)), "certificate shop does not exist")
}

func TestACertificateIsDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		err, class error
		kept       bool
	}{"there": {nil, nil, false}, "gone": {gone, nil, false}, "denied": {denied, providers.ErrDenied, true}} {
		c2 := newTrial()
		arn := c2.importAs(t, secret(t, "shop", "a.test"))
		c2.refuse["DeleteCertificate"] = c.err
		c2.imported.beginImport(key, "shop")
		awscalls.ExpectError(t, name, c2.Delete(t.Context(), observed("shop", arn), "shop"), c.class)
		awscalls.Expect(t, name+": it is known", []bool{c2.imported.has(arn), c2.labels.get(arn) != "", c2.imported.importing(key, "shop")}, []bool{c.kept, c.kept, c.kept})
	}
	c := newTrial()
	awscalls.ExpectError(t, "not seen", c.Delete(t.Context(), observed(), "shop"), nil)
	awscalls.Expect(t, "calls", c.aws.Calls(), nil)
}

// Certificates that the index of tags does not list are found where listeners serve them. Those of
// others are asked about once.
func TestServedCertificatesThatAreNotIndexed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial()
		ours := c.importAs(t, secret(t, "shop", "a.test"))
		second := c.importAs(t, secret(t, "second", "c.test"))
		theirs := c.issue("issued", "b.test")
		hidden := c.issue("hidden", "b.test")
		c.ofARN[hidden] = denied
		c.fresh = true
		c.imported.known = map[string]ownCertificate{}
		served := []string{ours, theirs, second, ours, hidden, "arn:aws:iam::1:server-certificate/x"}
		look := func(about string, want []string, tags int) {
			t.Helper()
			c.aws.Calls()
			found, err := c.readOfLoadBalancer(t.Context(), key, served, nil)
			awscalls.ExpectError(t, about, err, nil)
			var got []string
			for arn := range found {
				got = append(got, arn)
			}
			slices.Sort(got)
			awscalls.Expect(t, about, got, want)
			awscalls.Expect(t, about+": readings of tags", c.count("ListTagsForCertificate"), tags)
		}
		look("the first time", []string{ours, second}, 4)
		look("the second time", []string{ours, second}, 0)
		time.Sleep(tagsLife)
		look("later", []string{ours, second}, 2)
		c.imported.forgetTags(ours)
		c.imported.forgetTags("arn:aws:acm:unknown")
		look("after a change of tags", []string{ours, second}, 1)
		delete(c.all, ours)
		look("a deleted one that is trusted", []string{ours, second}, 0)
		time.Sleep(tagsLife)
		look("a deleted one", []string{second}, 3)
		awscalls.Expect(t, "it is kept", c.imported.has(ours), false)
		found, err := c.readOfLoadBalancer(t.Context(), other, nil, nil)
		awscalls.ExpectError(t, "of another load balancer", err, nil)
		awscalls.Expect(t, "of another load balancer", len(found), 0)
		delete(c.ofARN, hidden)
		c.imported.foreign = map[string]time.Time{}
		c.refuse["ListTagsForCertificate"] = errNet
		_, err = c.readOfLoadBalancer(t.Context(), key, served, nil)
		mentions(t, "tags that cannot be read", err, "reading the tags of ")
		time.Sleep(tagsLife)
		_, err = c.Observe(t.Context(), key, false, nil, nil)
		mentions(t, "tags that cannot be read again", err, "reading the tags of ")
	})
}

// The index may list older tags than those that this process has written.
func TestTagsThatWereJustWrittenCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial()
		arn := c.importAs(t, secret(t, "shop", "a.test"))
		indexed := map[string]map[string]string{arn: {client.TagCertificate: "old"}}
		read := func(about, want string) {
			found, err := c.readOfLoadBalancer(t.Context(), key, nil, indexed)
			awscalls.ExpectError(t, about, err, nil)
			awscalls.Expect(t, about, found[arn][client.TagCertificate], want)
		}
		read("at once", "shop")
		c.aws.Calls()
		time.Sleep(tagsLife)
		read("later", "old")
		awscalls.Expect(t, "calls", c.aws.Calls(), nil)
	})
}

// An answer about a foreign certificate counts as long as it is needed.
func TestForeignCertificatesStayKnownWhileTheyAreServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial()
		c.imported.addForeign("arn:aws:acm:1")
		for range 3 {
			time.Sleep(certificateLife - 1)
			c.imported.addForeign("arn:aws:acm:2")
			awscalls.Expect(t, "it is known", c.imported.isForeign("arn:aws:acm:1"), true)
		}
		time.Sleep(certificateLife)
		c.imported.addForeign("arn:aws:acm:2")
		awscalls.Expect(t, "it is known at last", c.imported.isForeign("arn:aws:acm:1"), false)
		c.imported.set(key, "arn:aws:acm:2", nil)
		awscalls.Expect(t, "one that is ours", c.imported.isForeign("arn:aws:acm:2"), false)
	})
}
