package v1alpha1

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// TestNameIsForEver pins names: what an earlier version called an object has to be found again.
func TestNameIsForEver(t *testing.T) {
	for key, want := range map[string]string{
		"fairlead/shop/web/internal":         "fairlead-shop-web-internal-4dlk32llmfox4",
		"fairlead/shop/@web/internal":        "fairlead-shop-web-internal-qvnba64jal5qw",
		"fairlead/@pay/internet-facing":      "fairlead-pay-internet-facing-uvgiucjzi4zoy",
		"fairlead/a.b/" + long + "/internal": "fairlead-a-b-long-long-long-long-long-long-long-l-2sfak4gye4zvw",
		"/":                                  "rjpnvmucmmseg",
	} {
		if got := Name(key, ""); got != want {
			t.Errorf("Name(%q) = %q, want %q", key, got, want)
		}
	}
}

var long = strings.Repeat("long.", 50)

func TestNameIsAName(t *testing.T) {
	for _, key := range []string{
		"", "/", "@", "---", "a", "-a-", "Ä/ß", "a/b/c/internal", long, strings.Repeat("-", 80),
		"fairlead/" + long + "/" + long + "/internet-facing",
		// The cut falls on every character in turn.
		strings.Repeat("a", 47) + "/b", strings.Repeat("a", 48) + "/b", strings.Repeat("a", 49) + "/b", strings.Repeat("a", 46) + "//b",
	} {
		name := Name(key, "")
		if errs := validation.IsDNS1123Label(name); len(errs) > 0 {
			t.Errorf("Name(%q) = %q is no name: %v", key, name, errs)
		}
	}
}

// TestNameTellsKeysApart holds keys that the same words make, in other places.
func TestNameTellsKeysApart(t *testing.T) {
	known := map[string]string{}
	for _, key := range []string{
		"c/a-b/c/internal", "c/a/b-c/internal", "c/a/b.c/internal", "c-a/b/c/internal", "c/a/@b-c/internal", "c/@a-b-c/internal",
		"c/a/" + long + "x/internal", "c/a/" + long + "y/internal",
		"c/a/" + long + "x/internet-facing", "c/@internal/internal", "c/internal/internal",
	} {
		name := Name(key, "")
		if other, taken := known[name]; taken {
			t.Errorf("%q and %q are both %s", key, other, name)
		}
		known[name] = key
	}
}

func TestNameTellsScopesApart(t *testing.T) {
	const key = "fairlead/@pay/internal" // of a group that several namespaces share
	names := map[string]string{}
	for _, scope := range []string{"", "shop", "stock"} {
		name := Name(key, scope)
		if other, taken := names[name]; taken {
			t.Errorf("operators of %q and %q both write %s", scope, other, name)
		}
		names[name] = scope
	}
}
