package albsim

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/acm"
	acm "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file is AWS Certificate Manager.

func acmCalls() map[string]handler {
	return map[string]handler{
		"ImportCertificate":         on((*Sim).importCertificate),
		"ListCertificates":          on((*Sim).listCertificates),
		"DescribeCertificate":       on((*Sim).describeCertificate),
		"GetCertificate":            on((*Sim).getCertificate),
		"DeleteCertificate":         on((*Sim).deleteCertificate),
		"AddTagsToCertificate":      on((*Sim).tagCertificate),
		"RemoveTagsFromCertificate": on((*Sim).untagCertificate),
		"ListTagsForCertificate":    on((*Sim).listCertificateTags),
	}
}

type certificate struct {
	serial     int
	arn        string
	hosts      []string
	from, to   time.Time
	status     acm.CertificateStatus
	kind       acm.CertificateType
	importedAt time.Time
	managedBy  acm.CertificateManagedBy // the service of AWS that requested it; "" for others
	body       []byte                   // in PEM, as the chain is
	chain      []byte
	key        string // what cannot be changed by importing another one
	leaf       *x509.Certificate
}

func noCertificate(arn string) error {
	return refuse("ResourceNotFoundException", "Could not find certificate %s.", arn)
}

// Issue adds a certificate that Amazon issued for hosts.
func (s *Sim) Issue(notAfter time.Time, status acm.CertificateStatus, hosts ...string) (arn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &certificate{hosts: hosts, from: s.now().Add(-time.Hour), to: notAfter, status: status, kind: acm.CertificateTypeAmazonIssued}
	s.addCertificate(c)
	return c.arn
}

// IssueFor adds a certificate that Amazon issued for hosts at the request of CloudFront, which manages
// it.
func (s *Sim) IssueFor(managedBy acm.CertificateManagedBy, notAfter time.Time, hosts ...string) (arn string) {
	arn = s.Issue(notAfter, acm.CertificateStatusIssued, hosts...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.certificates[arn].managedBy = managedBy
	return arn
}

// IssueECDSA adds a certificate that Amazon issued for hosts, with a key on a curve.
func (s *Sim) IssueECDSA(notAfter time.Time, hosts ...string) (arn string) {
	arn = s.Issue(notAfter, acm.CertificateStatusIssued, hosts...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.certificates[arn].key = "EC P-256"
	return arn
}

// origin is where the key of a certificate is from.
func (c *certificate) origin() acm.CertificateKeyPairOrigin {
	if c.kind == acm.CertificateTypeImported {
		return acm.CertificateKeyPairOriginCustomerProvided
	}
	return acm.CertificateKeyPairOriginAwsManaged
}

func (s *Sim) addCertificate(c *certificate) {
	id := s.nextID()
	c.serial = s.serial
	c.arn = "arn:aws:acm:" + Region + ":" + Account + ":certificate/" + id
	s.certificates[c.arn] = c
	s.tags[c.arn] = map[string]string{}
}

func (s *Sim) importCertificate(in *api.ImportCertificateInput) (*api.ImportCertificateOutput, error) {
	leaf, err := readCertificate(in)
	if err != nil {
		return nil, err
	}
	if err := checkCertificateTags(nil, in.Tags); err != nil {
		return nil, err
	}
	hosts := leaf.DNSNames
	if len(hosts) == 0 {
		hosts = []string{leaf.Subject.CommonName}
	}
	c := &certificate{}
	if in.CertificateArn != nil {
		if c = s.certificates[*in.CertificateArn]; c == nil {
			return nil, noCertificate(*in.CertificateArn)
		}
		if c.kind != acm.CertificateTypeImported || len(in.Tags) > 0 {
			return nil, refuse("ValidationException", "Only imported certificates can be imported again, and without tags")
		}
		if c.key != keyOf(leaf) {
			return nil, refuse("ValidationException", "The key type and size of a certificate cannot change when it is imported again.")
		}
		if takesUsages(c.leaf, leaf) {
			return nil, refuse("ValidationException", "A certificate that is imported again cannot lack usages of its key that it had.")
		}
		if s.options.RenewalsCount {
			if err := s.countImport(); err != nil {
				return nil, err
			}
		}
	} else {
		if s.imported() >= s.options.Limits.ImportedCertificates {
			return nil, refuse("LimitExceededException", "Cannot import certificate: you have reached your limit of %d imported certificates.", s.options.Limits.ImportedCertificates)
		}
		if err := s.countImport(); err != nil {
			return nil, err
		}
		s.addCertificate(c)
	}
	c.hosts, c.from, c.to = hosts, leaf.NotBefore, leaf.NotAfter
	c.body, c.chain, c.key, c.leaf = in.Certificate, in.CertificateChain, keyOf(leaf), leaf
	c.status, c.kind, c.importedAt = acm.CertificateStatusIssued, acm.CertificateTypeImported, s.now()
	for _, t := range in.Tags {
		s.tags[c.arn][aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return &api.ImportCertificateOutput{CertificateArn: aws.String(c.arn)}, nil
}

// countImport counts an import, unless there were too many within a year. The words are those of a
// report (https://github.com/hashicorp/terraform-provider-aws/issues/14025).
func (s *Sim) countImport() error {
	s.imports = slices.DeleteFunc(s.imports, func(at time.Time) bool { return s.now().Sub(at) >= year })
	if most := s.options.Limits.ImportsPerYear; len(s.imports) >= most {
		return refuse("LimitExceededException", "Error: you have reached your limit of %d certificates in the last year.", most)
	}
	s.imports = append(s.imports, s.now())
	return nil
}

// year is how long an import counts.
const year = 365 * 24 * time.Hour

// imported is how many certificates were not issued by Amazon.
func (s *Sim) imported() int {
	n := 0
	for _, c := range s.certificates {
		if c.kind == acm.CertificateTypeImported {
			n++
		}
	}
	return n
}

// readCertificate checks that key, certificate and chain belong together.
func readCertificate(in *api.ImportCertificateInput) (*x509.Certificate, error) {
	pair, err := tls.X509KeyPair(in.Certificate, in.PrivateKey)
	if err != nil || len(pair.Certificate) != 1 {
		return nil, refuse("ValidationException", "The certificate body, which must be exactly one certificate, and the private key do not belong together: %v", err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, refuse("ValidationException", "The certificate is not valid: %v", err)
	}
	if now := time.Now(); now.After(leaf.NotAfter) || now.Before(leaf.NotBefore) {
		return nil, refuse("ValidationException", "The certificate is expired or not yet valid.")
	}
	if err := checkImport(leaf, in.PrivateKey); err != nil {
		return nil, err
	}
	above := leaf
	for rest := in.CertificateChain; len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, refuse("ValidationException", "The certificate chain is not valid.")
		}
		issuer, err := x509.ParseCertificate(block.Bytes)
		if err != nil || above.CheckSignatureFrom(issuer) != nil {
			return nil, refuse("ValidationException", "Could not validate the certificate with the certificate chain.")
		}
		above = issuer
	}
	return leaf, nil
}

// checkImport refuses certificates that are well-formed and cannot be imported.
// https://docs.aws.amazon.com/acm/latest/APIReference/API_ImportCertificate.html
func checkImport(leaf *x509.Certificate, key []byte) error {
	signedBy := map[bool]x509.PublicKeyAlgorithm{true: x509.ECDSA, false: x509.RSA}[strings.Contains(leaf.SignatureAlgorithm.String(), "ECDSA")]
	switch {
	case len(key) > 5120:
		return refuse("ValidationException", "The private key must be no larger than 5 KB (5,120 bytes).")
	case len(leaf.Issuer.Names) == 0:
		return refuse("ValidationException", "The Issuer field must not be empty.")
	case leaf.PublicKeyAlgorithm != signedBy:
		return refuse("ValidationException", "The cryptographic algorithm of an imported certificate must match the algorithm of the signing CA.")
	}
	return nil
}

func (s *Sim) sortedCertificates() []*certificate {
	var out []*certificate
	for _, c := range s.certificates {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *certificate) int { return a.serial - b.serial })
	return out
}

func (s *Sim) listCertificates(in *api.ListCertificatesInput) (*api.ListCertificatesOutput, error) {
	var all []acm.CertificateSummary
	for _, c := range s.sortedCertificates() {
		if in.CertificateStatuses != nil && !slices.Contains(in.CertificateStatuses, c.status) || !listedAs(in.Includes, c.algorithm()) {
			continue
		}
		if in.Includes != nil && in.Includes.ManagedBy != "" && in.Includes.ManagedBy != c.managedBy {
			continue
		}
		var importedAt *time.Time
		if !c.importedAt.IsZero() {
			importedAt = aws.Time(c.importedAt)
		}
		all = append(all, acm.CertificateSummary{
			ImportedAt: importedAt,
			ManagedBy:  c.managedBy, CertificateKeyPairOrigin: c.origin(),
			CertificateArn: aws.String(c.arn), DomainName: aws.String(c.hosts[0]), SubjectAlternativeNameSummaries: c.hosts[:min(100, len(c.hosts))],
			HasAdditionalSubjectAlternativeNames: aws.Bool(len(c.hosts) > 100), Status: c.status, Type: c.kind,
			KeyAlgorithm: c.algorithm(), InUse: aws.Bool(len(s.certificateUsers(c.arn)) > 0),
			NotBefore: aws.Time(c.from), NotAfter: aws.Time(c.to), CreatedAt: aws.Time(c.from),
		})
	}
	size := cmp.Or(aws.ToInt32(in.MaxItems), 1000)
	if size < 1 || size > 1000 {
		return nil, refuse("ValidationException", "MaxItems must be between 1 and 1000")
	}
	part, next, err := page(all, in.NextToken, nil, int(size))
	if err != nil {
		return nil, err
	}
	return &api.ListCertificatesOutput{CertificateSummaryList: part, NextToken: next}, nil
}

func (s *Sim) describeCertificate(in *api.DescribeCertificateInput) (*api.DescribeCertificateOutput, error) {
	c := s.certificates[aws.ToString(in.CertificateArn)]
	if c == nil {
		return nil, noCertificate(aws.ToString(in.CertificateArn))
	}
	return &api.DescribeCertificateOutput{Certificate: &acm.CertificateDetail{
		CertificateArn: aws.String(c.arn), DomainName: aws.String(c.hosts[0]), SubjectAlternativeNames: c.hosts, Status: c.status, Type: c.kind,
		NotBefore: aws.Time(c.from), NotAfter: aws.Time(c.to), InUseBy: s.certificateUsers(c.arn), KeyAlgorithm: c.algorithm(),
	}}, nil
}

// listedAs reports whether a filter lets keys of an algorithm through. Unless they are asked for,
// only short RSA keys are listed.
func listedAs(f *acm.Filters, algorithm acm.KeyAlgorithm) bool {
	if f != nil && f.KeyTypes != nil {
		return slices.Contains(f.KeyTypes, algorithm)
	}
	return algorithm == acm.KeyAlgorithmRsa1024 || algorithm == acm.KeyAlgorithmRsa2048
}

// algorithm is that of the certificate's key, in ACM's words. Those that Amazon issued here have
// RSA keys.
func (c *certificate) algorithm() acm.KeyAlgorithm {
	switch c.key {
	case "EC P-256":
		return acm.KeyAlgorithmEcPrime256v1
	case "EC P-384":
		return acm.KeyAlgorithmEcSecp384r1
	case "RSA 4096":
		return acm.KeyAlgorithmRsa4096
	}
	return acm.KeyAlgorithmRsa2048
}

func (s *Sim) getCertificate(in *api.GetCertificateInput) (*api.GetCertificateOutput, error) {
	c := s.certificates[aws.ToString(in.CertificateArn)]
	if c == nil {
		return nil, noCertificate(aws.ToString(in.CertificateArn))
	}
	out := &api.GetCertificateOutput{Certificate: aws.String(string(c.body))}
	if len(c.chain) > 0 {
		out.CertificateChain = aws.String(string(c.chain))
	}
	return out, nil
}

// takesUsages reports whether a certificate lacks usages that the one before it had. Key
// encipherment of ECDSA keys and the authentication of clients may go
// (https://docs.aws.amazon.com/acm/latest/userguide/import-reimport.html).
func takesUsages(before, next *x509.Certificate) bool {
	if before == nil {
		return false // Amazon has issued it
	}
	gone := before.KeyUsage &^ next.KeyUsage
	if next.PublicKeyAlgorithm == x509.ECDSA {
		gone &^= x509.KeyUsageKeyEncipherment
	}
	return gone != 0 || slices.ContainsFunc(before.ExtKeyUsage, func(u x509.ExtKeyUsage) bool {
		return u != x509.ExtKeyUsageClientAuth && !slices.Contains(next.ExtKeyUsage, u)
	})
}

// keyOf is the algorithm and size of a certificate's key.
func keyOf(leaf *x509.Certificate) string {
	switch key := leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		return fmt.Sprint("RSA ", key.N.BitLen())
	case *ecdsa.PublicKey:
		return "EC " + key.Curve.Params().Name
	}
	return leaf.PublicKeyAlgorithm.String()
}

func (s *Sim) certificateUsers(arn string) []string {
	users := map[string]bool{}
	for _, l := range s.listeners {
		if defaultCertificate(l.about) == arn || slices.Contains(l.others, arn) {
			users[l.loadBalancer()] = true
		}
	}
	return sortedKeys(users)
}

func (s *Sim) deleteCertificate(in *api.DeleteCertificateInput) (*api.DeleteCertificateOutput, error) {
	arn := aws.ToString(in.CertificateArn)
	if s.certificates[arn] == nil {
		return nil, noCertificate(arn)
	}
	if len(s.certificateUsers(arn)) > 0 || s.lingers(arn) {
		return nil, refuse("ResourceInUseException", "Certificate %s in account %s is in use.", arn, Account)
	}
	delete(s.certificates, arn)
	delete(s.tags, arn)
	return &api.DeleteCertificateOutput{}, nil
}

// checkCertificateTags checks tags that are to be added to others.
func checkCertificateTags(have map[string]string, tags []acm.Tag) error {
	count := len(have)
	for _, t := range tags {
		key, value := aws.ToString(t.Key), aws.ToString(t.Value)
		if !validTag(key, value) {
			return refuse("InvalidTagException", "Tag '%s' with value '%s' is not valid", key, value)
		}
		if _, known := have[key]; !known {
			count++
		}
	}
	if count > 50 {
		return refuse("TooManyTagsException", "A certificate has at most 50 tags")
	}
	return nil
}

func (s *Sim) tagCertificate(in *api.AddTagsToCertificateInput) (*api.AddTagsToCertificateOutput, error) {
	arn := aws.ToString(in.CertificateArn)
	if s.certificates[arn] == nil {
		return nil, noCertificate(arn)
	}
	if err := checkCertificateTags(s.tags[arn], in.Tags); err != nil {
		return nil, err
	}
	for _, t := range in.Tags {
		s.tags[arn][aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return &api.AddTagsToCertificateOutput{}, nil
}

func (s *Sim) untagCertificate(in *api.RemoveTagsFromCertificateInput) (*api.RemoveTagsFromCertificateOutput, error) {
	arn := aws.ToString(in.CertificateArn)
	if s.certificates[arn] == nil {
		return nil, noCertificate(arn)
	}
	for _, t := range in.Tags {
		delete(s.tags[arn], aws.ToString(t.Key))
	}
	return &api.RemoveTagsFromCertificateOutput{}, nil
}

func (s *Sim) listCertificateTags(in *api.ListTagsForCertificateInput) (*api.ListTagsForCertificateOutput, error) {
	arn := aws.ToString(in.CertificateArn)
	if s.certificates[arn] == nil {
		return nil, noCertificate(arn)
	}
	out := &api.ListTagsForCertificateOutput{}
	for _, key := range sortedKeys(s.tags[arn]) {
		out.Tags = append(out.Tags, acm.Tag{Key: aws.String(key), Value: aws.String(s.tags[arn][key])})
	}
	return out, nil
}

// checkCertificate refuses one that a listener cannot have.
func (s *Sim) checkCertificate(arn string) error {
	c := s.certificates[arn]
	if c == nil {
		return refuse("CertificateNotFound", "Certificate '%s' not found", arn)
	}
	if c.status != acm.CertificateStatusIssued {
		return refuse("UnsupportedCertificate", "The certificate '%s' must have a fully-qualified domain name, a supported signature, and a supported key size.", arn)
	}
	return nil
}

// certificateFor is the one that a client who asks for a name is shown. Where certificates of the list fit, it is the best of
// them that the client supports, and "" if it supports none: "the default certificate is used only if a client connects
// without using the Server Name Indication (SNI) protocol to specify a hostname or if there are no matching certificates in
// the certificate list" (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/https-listener-certificates.html).
func (s *Sim) certificateFor(l *liveListener, r matching.Request) string {
	var fitting []*certificate
	for _, arn := range l.sni {
		c := s.certificates[arn]
		if c != nil && slices.ContainsFunc(c.hosts, func(h string) bool { return covers(h, strings.ToLower(r.SNI)) }) {
			fitting = append(fitting, c)
		}
	}
	if r.SNI == "" || len(fitting) == 0 {
		fitting = nil
		if c := s.certificates[defaultCertificate(l.about)]; c != nil {
			fitting = append(fitting, c)
		}
	}
	fitting = slices.DeleteFunc(fitting, func(c *certificate) bool { return r.RSAOnly && !c.isRSA() })
	if len(fitting) == 0 {
		return ""
	}
	return slices.MinFunc(fitting, better).arn
}

// better puts the certificate first that a load balancer prefers. Of equal ones, AWS leaves open which it is.
func better(a, b *certificate) int {
	preferred := map[bool]int{false: 0, true: 1}
	return cmp.Or(
		preferred[a.isRSA()]-preferred[b.isRSA()], cmp.Compare(b.bits(), a.bits()), b.to.Compare(a.to), cmp.Compare(a.arn, b.arn),
	)
}

func (c *certificate) isRSA() bool { return strings.HasPrefix(string(c.algorithm()), "RSA") }

// bits is the length of its key.
func (c *certificate) bits() int {
	n, _ := strconv.Atoi(number.FindString(string(c.algorithm())))
	return n
}

var number = regexp.MustCompile(`[0-9]+`)

// covers reports whether a name of a certificate stands for a host.
func covers(pattern, host string) bool {
	if suffix, wild := strings.CutPrefix(strings.ToLower(pattern), "*."); wild {
		_, rest, _ := strings.Cut(host, ".")
		return rest == suffix
	}
	return strings.EqualFold(pattern, host)
}

// Hosts are the names in a certificate.
func (s *Sim) Hosts(arn string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.certificates[arn]; c != nil {
		return slices.Clone(c.hosts)
	}
	return nil
}
