package settings

import "regexp"

// This file compares TLS policies by their names.

// leastVersion finds the least version of TLS 1 in the name of a policy of Elastic Load Balancing.
// Policies without it in their name that are in policiesOfAnyVersion accept TLS 1.0.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/describe-ssl-policies.html
var leastVersion = regexp.MustCompile(`^ELBSecurityPolicy-(?:TLS13|TLS|FS)-1-([0-3])-`)

var policiesOfAnyVersion = map[string]bool{
	"ELBSecurityPolicy-2015-05": true, "ELBSecurityPolicy-2016-08": true,
	"ELBSecurityPolicy-FS-2018-06": true,
}

// StricterPolicy reports whether a policy is known to accept fewer versions of TLS than another
// one. It returns false for equal least versions and for unknown names.
func StricterPolicy(policy, than string) bool {
	version := func(policy string) string {
		if found := leastVersion.FindStringSubmatch(policy); found != nil {
			return found[1]
		}
		if policiesOfAnyVersion[policy] {
			return "0"
		}
		return ""
	}
	a, b := version(policy), version(than)
	return a != "" && b != "" && a > b
}
