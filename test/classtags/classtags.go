// Package classtags has as many tags as a class can have, and checks that a resource has room for
// them.
package classtags

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/providers/aws/client"
)

// AWS takes 50 tags of each resource, and a class can have 40.
const most, ofAClass = 50, 40

// Owner is an installation with the longest name that a tag can have.
var Owner = client.Owner{Installation: strings.Repeat("i", client.ValueLength)}

// All returns as many tags as a class can have, as long as they can be.
func All() map[string]string {
	tags := map[string]string{}
	for i := range ofAClass {
		name := fmt.Sprintf("=%d", i)
		tags[name+strings.Repeat("=", 128-len(name))] = strings.Repeat("v", client.ValueLength)
	}
	return tags
}

// With returns the attributes of a resource together with some others that have no default.
func With(usual map[string]string, more ...string) map[string]string {
	out := maps.Clone(usual)
	for _, name := range more {
		out[name] = "a"
	}
	return out
}

// Check checks that a resource with tags has room for those of its class, and that these are read
// back.
func Check(t *testing.T, has map[string]string) {
	t.Helper()
	if len(has) > most {
		t.Errorf("it has %d tags", len(has))
	}
	for name, value := range has {
		if len(value) > client.ValueLength {
			t.Errorf("it has the tag %s of %d characters", name, len(value))
		}
	}
	if diff := cmp.Diff(All(), client.WrittenTags(has)); diff != "" {
		t.Errorf("the tags of the class (-written +read):\n%s", diff)
	}
}
