package client

import (
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
)

// AWS takes up to 32 letters, digits and hyphens for a name, which may not begin or end with a hyphen
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateLoadBalancer.html, Name).
func TestNamesAreReadableAndUnique(t *testing.T) {
	seen := map[string]string{}
	for text, prefix := range map[string]string{
		"fairlead/shop/web": "fl-fairlead-shop-we-", // 32 characters, with the hash
		"azAZ09":            "fl-azaz09-",
		"fairlead/shop1/-w": "fl-fairlead-shop1-",
		"a`{/:b":            "fl-a----b-",
		"":                  "fl-",
		"über":              "fl--ber-",
	} {
		form := regexp.MustCompile("^" + prefix + "[a-z2-7]{12}$")
		for _, installation := range []string{"one", "two"} {
			name := ResourceName(text, installation, text)
			if !form.MatchString(name) || len(name) > 32 {
				t.Errorf("%q is named %q, want %s and a hash", text, name, prefix)
			}
			if seen[name] != "" {
				t.Errorf("%s is the name of %q and of %q", name, seen[name], text)
			}
			seen[name] = text
		}
	}
	for i := range 40 {
		if name := ResourceName(strings.Repeat("a", i), "x"); i > 0 && len(name) != min(3+i, 19)+1+12 {
			t.Errorf("%d letters are named %s, of %d", i, name, len(name))
		}
	}
}

// A load balancer has the name that its group asks for, or one of its own. Names of load balancers
// and of target groups depend on the installation and on the load balancer.
func TestNamesDependOnTheInstallation(t *testing.T) {
	one, two := Owner{"one"}, Owner{"two"}
	const key, other = lb.Key("fairlead/shop/web/"), lb.Key("fairlead/shop/api/")
	names := map[string]bool{}
	for _, o := range []Owner{one, two} {
		for _, k := range []lb.Key{key, other} {
			if o.LoadBalancerName(k) != o.DerivedName(k) {
				t.Errorf("%s: the name is %s", k, o.LoadBalancerName(k))
			}
			names[o.DerivedName(k)] = true
			names[o.TargetGroupName(k, "web-80")] = true
			names[o.TargetGroupName(k, "web-81")] = true
		}
	}
	if len(names) != 12 {
		t.Errorf("of 12 names %d differ: %v", len(names), names)
	}
}
