package certificates

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/aws/smithy-go/middleware"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file finds certificates of the account for hosts, and reads those that are named.

func newFacts() *lb.Facts {
	return &lb.Facts{Names: map[lb.CertificateID][]string{}}
}

// The list is used for a while, and for a shorter one where a host has no certificate.
func TestHowLongTheListOfCertificatesIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial()
		a := c.issue("a", "a.test")
		for i, w := range []struct {
			after  time.Duration
			hosts  []string
			issue  string
			refuse error
			found  int
			reads  bool
			stale  bool
		}{
			{0, nil, "", nil, 0, false, false},
			{0, []string{"a.test"}, "", nil, 1, true, false},
			{missingLife, []string{"a.test", "b.test"}, "b.test", nil, 1, false, false},
			{1, []string{"a.test", "b.test"}, "", nil, 2, true, false},
			{shelfLife, []string{"a.test", "b.test"}, "", nil, 2, false, false},
			{1, []string{"a.test", "b.test"}, "", denied, 2, true, true},
			{0, []string{"a.test", "b.test"}, "", nil, 2, true, false},
		} {
			time.Sleep(w.after)
			if w.issue != "" {
				c.issue(w.issue, w.issue)
			}
			c.refuse["ListCertificates"] = w.refuse
			facts := newFacts()
			awscalls.ExpectError(t, "discovering", c.Discover(t.Context(), w.hosts, facts), nil)
			if reads := c.count("ListCertificates") > 0; reads != w.reads || len(facts.Certificates) != w.found || len(facts.Stale) > 0 != w.stale || facts.CertificatesUnread != "" {
				t.Errorf("look-up %d reads the list: %v; found %+v", i, reads, facts)
			}
			if w.found > 0 {
				awscalls.Expect(t, "names", facts.Names[lb.CertificateID(a)], []string{"a.test"})
			}
		}
	})
}

// Where the certificates cannot be read, no host has one, and a diagnostic says why.
func TestCertificatesThatCannotBeListed(t *testing.T) {
	for name, call := range map[string]string{"the index": "GetResources", "the list": "ListCertificates"} {
		c := newTrial()
		c.refuse[call] = denied
		facts := newFacts()
		awscalls.ExpectError(t, name, c.Discover(t.Context(), []string{"a.test"}, facts), nil)
		awscalls.Expect(t, name+": calls", c.count(call), 1)
		if facts.CertificatesUnread == "" || len(facts.Certificates) > 0 || facts.Stale != nil {
			t.Errorf("%s is denied: %+v", name, facts)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		c := newTrial()
		c.refuse["ListCertificates"] = late(t)
		facts := newFacts()
		if err := c.Discover(t.Context(), []string{"a.test"}, facts); !client.IsTimeout(err) {
			t.Errorf("an answer that is late: %v, %+v", err, facts)
		}
		facts = newFacts()
		c.ofARN[string(named1)] = late(t)
		c.all[string(named1)] = &kept{}
		if err := c.LookUpNames(t.Context(), []lb.CertificateID{named1}, facts); !client.IsTimeout(err) {
			t.Errorf("a certificate that is late: %v, %+v", err, facts)
		}
	})
}

const named1 lb.CertificateID = "arn:aws:acm:eu-west-1:1:certificate/named"

// Those that Fairlead imported are left out. The hosts of the others are read where the list does
// not have all of them.
func TestCertificatesOfTheAccount(t *testing.T) {
	c := newTrial()
	ours := c.importAs(t, secret(t, "shop", "a.test"))
	indexed := c.issue("indexed", "a.test")
	c.indexed[indexed] = true
	short, many, deleted := c.issue("short", "A.test"), c.issue("many", "b.test"), c.issue("deleted", "c.test")
	imported := c.issue("imported", "d.test")
	c.all[imported].summary.Type = acmtypes.CertificateTypeImported
	for _, arn := range []string{many, deleted} {
		c.all[arn].summary.HasAdditionalSubjectAlternativeNames = aws.Bool(true)
	}
	d := &c.all[many].detail
	from, to := time.Now().Add(-2*time.Hour), time.Now().Add(time.Hour)
	d.SubjectAlternativeNames, d.InUseBy, d.NotBefore, d.NotAfter = []string{"B.test", "e.test"}, []string{"arn"}, &from, &to
	c.ofARN[deleted] = gone
	unused := c.issue("unused", "f.test")
	c.all[unused].summary.HasAdditionalSubjectAlternativeNames = aws.Bool(true)
	c.aws.Calls()
	all, err := c.accountSince(t.Context(), time.Now())
	awscalls.ExpectError(t, "reading", err, nil)
	got := map[string]accountCertificate{}
	for _, h := range all {
		got[h.arn] = h
	}
	awscalls.Expect(t, "readings", c.count("DescribeCertificate"), 3)
	awscalls.Expect(t, "one that nothing uses is in use", got[unused].inUse, false)
	awscalls.Expect(t, "ours", []any{got[ours].arn, got[indexed].arn}, []any{"", ""})
	awscalls.Expect(t, "the hosts", []any{got[short].hosts, got[many].hosts, got[deleted].hosts}, []any{[]string{"a.test"}, []string{"b.test", "e.test"}, []string(nil)})
	awscalls.Expect(t, "the description", []any{got[many].inUse, got[many].from.Equal(from), got[many].to.Equal(to)}, []any{true, true, true})
	awscalls.Expect(t, "foreign", []any{c.imported.isForeign(short), c.imported.isForeign(imported)}, []any{true, false})
	c.imported.set(key, short, nil)
	after, err := c.accountSince(t.Context(), time.Time{}.Add(time.Hour))
	awscalls.ExpectError(t, "reading", err, nil)
	awscalls.Expect(t, "one that is ours by now is left out", len(after), len(all)-1)
	c.imported.remove(ours)
	after, err = c.accountSince(t.Context(), time.Time{}.Add(time.Hour))
	awscalls.ExpectError(t, "reading", err, nil)
	awscalls.Expect(t, "one that was ours is left out of the list that was read", len(after), len(all)-1)
	for name, refusal := range map[string]error{"denied": denied, "nothing": nil} {
		c.refuse["DescribeCertificate"] = refusal
		c.all[many].detail = acmtypes.CertificateDetail{}
		if _, err := c.readAccount(t.Context()); err == nil {
			t.Errorf("%s is answered, and there is no error", name)
		}
	}
}

// The certificate that names a host comes first, and then the newest one.
func TestTheOrderOfCertificates(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	from, to := now.Add(-time.Hour), now.Add(365*24*time.Hour)
	cert := func(arn string, change func(*accountCertificate), hosts ...string) accountCertificate {
		h := accountCertificate{arn: arn, hosts: hosts, from: from, to: to}
		if change != nil {
			change(&h)
		}
		return h
	}
	all := []accountCertificate{
		cert("wildcard", nil, "*.test"), cert("old", func(h *accountCertificate) { h.from = from.Add(-time.Hour) }, "a.test"), cert("b", nil, "a.test"), cert("a", nil, "a.test"),
		cert("old-wildcard", func(h *accountCertificate) { h.from = from.Add(-time.Hour) }, "*.test"),
		cert("other", nil, "b.test"),
		cert("future", func(h *accountCertificate) { h.from = now.Add(1) }, "a.test"), cert("since-now", func(h *accountCertificate) { h.from = now }, "a.test"),
		cert("expired", func(h *accountCertificate) { h.to, h.inUse = now, true }, "a.test"),
		cert("ends-soon", func(h *accountCertificate) { h.to = now.Add(leastLeft - 1) }, "a.test"), cert("ends-later", func(h *accountCertificate) { h.to, h.from = now.Add(leastLeft), from.Add(-2*time.Hour) }, "a.test"),
		cert("in-use", func(h *accountCertificate) { h.to, h.inUse, h.from = now.Add(1), true, from.Add(-3*time.Hour) }, "a.test"),
	}
	for host, want := range map[string][]string{
		"a.test": {"since-now", "a", "b", "old", "ends-later", "in-use", "wildcard", "old-wildcard"},
		"*.test": {"wildcard", "old-wildcard"}, "b.test": {"other", "wildcard", "old-wildcard"}, "c.d.test": nil, "*.d.test": nil,
	} {
		var got []string
		for _, c := range rankCertificates(all, host, now) {
			got = append(got, c.arn)
		}
		awscalls.Expect(t, host, got, want)
	}
}

// The domain of an imported certificate need not be a host, and names in upper case are the same.
func TestTheNamesOfACertificate(t *testing.T) {
	awscalls.Expect(t, "a host", namesIn("A.test", []string{"B.test"}), []string{"b.test", "a.test"})
	awscalls.Expect(t, "one of the hosts", namesIn("A.test", []string{"a.test"}), []string{"a.test"})
	awscalls.Expect(t, "a name", namesIn("Acme & Sons", []string{"a.test"}), []string{"a.test"})
}

// A named certificate is read once in a while. What AWS does not know is left out, and what cannot
// be read is said.
func TestCertificatesThatAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial()
		arn := c.issue("named", "a.test")
		id := lb.CertificateID(arn)
		for i, w := range []struct {
			after time.Duration
			err   error
			names int
			said  string
			calls int
		}{
			{0, gone, 0, "", 1},
			{missingLife - 1, nil, 0, "", 0},
			{1, nil, 1, "", 1},
			{shelfLife - 1, gone, 1, "", 0},
			{1, denied, 1, "", 1},
			{shelfLife, errNet, 0, "reading certificate " + arn, 1},
			{0, awscalls.Refused("InvalidArnException", "no"), 0, "", 1},
			{missingLife, denied, 0, "", 1},
			{missingLife, nil, 1, "", 1},
		} {
			time.Sleep(w.after)
			c.ofARN[arn] = w.err
			facts := newFacts()
			awscalls.ExpectError(t, "reading", c.LookUpNames(t.Context(), []lb.CertificateID{id, "arn:aws:iam::1:server-certificate/x"}, facts), nil)
			if calls := len(c.aws.Calls()); len(facts.Names[id]) != w.names || calls != w.calls || len(facts.Names) > 1 {
				t.Errorf("reading %d takes %d calls: %+v", i, calls, facts)
			}
			if (facts.CertificatesUnread == "") != (w.said == "") {
				t.Errorf("reading %d says %q", i, facts.CertificatesUnread)
			}
		}
		awscalls.Expect(t, "one that Amazon issued is foreign", c.imported.isForeign(arn), true)
	})
}

// A caller that gives up gets the error.
func TestNamesForACallerThatGivesUp(t *testing.T) {
	c := newTrial()
	ctx, cancel := context.WithCancel(t.Context())
	awscalls.On(&c.aws, func(*acm.DescribeCertificateInput) (*acm.DescribeCertificateOutput, error) {
		cancel()
		return nil, errNet
	})
	awscalls.ExpectError(t, "reading", c.LookUpNames(ctx, []lb.CertificateID{named1}, newFacts()), errNet)
}

func TestNamedCertificatesThatAreDescribedInPart(t *testing.T) {
	c := newTrial()
	imported, empty := c.issue("imported", "a.test"), c.issue("empty", "b.test")
	c.all[imported].detail.Type = acmtypes.CertificateTypeImported
	c.all[empty].detail = acmtypes.CertificateDetail{}
	facts := newFacts()
	awscalls.ExpectError(t, "reading", c.LookUpNames(t.Context(), []lb.CertificateID{lb.CertificateID(imported), lb.CertificateID(empty)}, facts), nil)
	awscalls.Expect(t, "names", facts.Names, map[lb.CertificateID][]string{lb.CertificateID(imported): {"a.test"}})
	awscalls.Expect(t, "one that was imported may be ours", c.imported.isForeign(imported), false)
	mentions(t, "an answer without a certificate", errText(facts.CertificatesUnread), empty)
}

// Descriptions of certificates that are not there are forgotten after a while.
func TestDescriptionsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n namedCertificates
		n.set("gone", description{at: time.Now()})
		n.set("there", description{there: true, at: time.Now()})
		n.set("gone, too", description{at: time.Now()})
		n.set("gone", description{at: time.Now()})
		awscalls.Expect(t, "at once", len(n.known), 3)
		time.Sleep(shelfLife)
		n.set("new", description{at: time.Now()})
		awscalls.Expect(t, "later", len(n.known), 2)
		awscalls.Expect(t, "one that is there", n.get("there").there, true)
	})
}

// late is the error of a call that AWS did not answer in time.
func late(t *testing.T) error {
	t.Helper()
	stack := middleware.NewStack("test", func() any { return nil })
	retries := middleware.FinalizeMiddlewareFunc("Retry", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		return next.HandleFinalize(ctx, in)
	})
	deadlines := client.Deadlines{Attempt: time.Second, Call: time.Second}
	if err := errors.Join(stack.Finalize.Add(retries, middleware.After), client.NewPacer(client.PacerOptions{Deadlines: deadlines}).AddTo(stack), deadlines.AddTo(stack)); err != nil { //nolint:misspell // the SDK names it so
		t.Fatal(err)
	}
	_, _, err := stack.HandleMiddleware(t.Context(), nil, middleware.HandlerFunc(func(ctx context.Context, _ any) (any, middleware.Metadata, error) {
		<-ctx.Done()
		return nil, middleware.Metadata{}, ctx.Err()
	}))
	return err
}
