package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads ARNs of certificates.

// certificateARN matches the ARNs of certificates.
var certificateARN = regexp.MustCompile(
	`^arn:[a-z0-9-]+:(acm:[a-z0-9-]+:[0-9]{12}:certificate/[A-Za-z0-9-]+|iam::[0-9]{12}:server-certificate/[A-Za-z0-9+=,.@_/-]+)$`)

// parseARNs reads a list of ARNs of certificates.
func parseARNs(text string) ([]routing.CertificateID, error) {
	var out []routing.CertificateID
	for item := range strings.SplitSeq(text, ",") {
		id := routing.CertificateID(strings.TrimSpace(item))
		switch {
		case !certificateARN.MatchString(string(id)):
			return nil, fmt.Errorf("%s is not the ARN of a certificate", diag.Quote(string(id)))
		case slices.Contains(out, id):
			return nil, fmt.Errorf("%s is listed twice", id)
		}
		out = append(out, id)
	}
	return out, nil
}
