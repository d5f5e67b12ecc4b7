package settings

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the types of names: of load balancers, TLS policies, web ACLs and providers.

// loadBalancerName is the type of names that Ingresses and classes choose. They must be unique in
// the account, which only the cloud can check.
var loadBalancerName = Type{
	words: "name: letters, digits and dashes, at most 32",
	Bound: Bound{
		Longest: 32, Pattern: regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z-]{0,30}[0-9A-Za-z])?$`),
		Unlike: "it is not the name of a load balancer: at most 32 letters, digits and dashes, and no " +
			"dash at either end",
	},
	check: func(name string) error {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "fl-") ||
			strings.HasPrefix(lower, "internal-") {
			return errors.New("names that begin with fl- are those that Fairlead gives, and with " +
				"internal- AWS lets names of its own begin")
		}
		return nil
	},
}

// longestName is the most characters of the name of a subnet or a security group, which is the value
// of a tag.
const longestName = longestTagged

// parseNames reads a list of the IDs or names of objects of the cloud, and sorts it.
func parseNames(text string, most int) ([]string, error) {
	names := itemsOf(text)
	slices.Sort(names)
	for i, name := range names {
		switch {
		case name == "":
			return nil, errors.New("an item of the list is empty")
		case utf8.RuneCountInString(name) > longestName:
			return nil, fmt.Errorf("%s has more than %d characters", diag.Quote(name), longestName)
		case i > 0 && names[i-1] == name:
			return nil, fmt.Errorf("%s is listed twice", diag.Quote(name))
		}
	}
	if len(names) > most {
		return nil, fmt.Errorf("it has %d items, and %d are the most", len(names), most)
	}
	return names, nil
}

var tlsPolicy = Type{
	words: "the cloud's name of a TLS policy",
	Bound: Bound{
		Pattern: regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`),
		Unlike: "it is not the name of a TLS policy: letters, digits, dots, dashes and underscores, at " +
			"most 128",
	},
}

// webACL is the type of the names and ARNs of web ACLs that can be associated with a load balancer.
var webACL = Type{
	words: "name or ARN of a web ACL of the load balancer's region, or `none`",
	Bound: Bound{Longest: 256,
		Pattern: regexp.MustCompile(
			`^([0-9A-Za-z_-]{1,128}|arn:aws[a-z-]*:wafv2:[a-z0-9-]+:[0-9]{12}:regional/webacl/[0-9A-Za-z_-]{1,128}/[0-9a-f-]{36})$`),
		Unlike: "it is neither the name nor the ARN of a regional web ACL, nor none"},
}

// IsWebACL reports whether a value names a web ACL.
func IsWebACL(value string) bool { return routing.Protection{WebACL: value}.HasWebACL() }

var providerName = Type{
	words: "name of a provider",
	Bound: Bound{
		Longest: 32, Pattern: regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`),
		Unlike: "must have lower-case letters, digits and hyphens, 32 at most, and begin with a letter",
	},
}
