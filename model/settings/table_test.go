package settings

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/api/v1alpha1"
)

func TestTheTableIsSound(t *testing.T) {
	for _, s := range Table {
		t.Run(s.Annotation+" "+s.Class, func(t *testing.T) {
			if s.put == nil && s.Class == "" {
				return // the class of an Ingress, which package ingress reads
			}
			if s.Annotation != "" && (s.Doc == "" || s.About == "" || s.Merge == "" || s.Example == "") {
				t.Error("an annotation has Doc, About, Merge and Example: the reference page shows them")
			}
			if s.Annotation != "" && s.Default+s.Without == "" {
				t.Error("it has neither Default nor Without: what holds without it is on the reference page")
			}
			if len(s.Good) == 0 || len(s.Bad) == 0 {
				t.Error("it has no good values, or no bad ones")
			}
			for _, value := range slices.Concat(s.Good, []string{s.Example, s.Default}) {
				if value == "" {
					continue
				}
				if err := s.check(value); err != nil {
					t.Errorf("%q is refused: %s", value, err)
				}
			}
			for _, value := range s.Bad {
				if s.check(value) == nil {
					t.Errorf("%q is accepted", value)
				}
			}
			if (s.ofClass == nil) != (s.Class+s.BalancerAttribute == "") {
				t.Error("it names a field of the class and does not read it, or reads one and does not name it")
			}
			if s.Decides != IngressDecides && s.Class+s.BalancerAttribute == "" {
				t.Error("a class that does not have it cannot decide about it")
			}
		})
	}
}

// A class that sets an attribute decides: an Ingress can say the same in any spelling, and nothing
// else.
func TestTheClassDecidesAboutAttributes(t *testing.T) {
	class := v1alpha1.LoadBalancerClassSpec{Attributes: map[string]string{"idle_timeout.timeout_seconds": "60"}}
	for value, allowed := range map[string]bool{"60": true, "060": true, "61": false} {
		given, found := Read(map[string]string{IdleTimeout: value}, &class, true)
		want := Attributes{"idle_timeout.timeout_seconds": {"60", IdleTimeout}}
		if !allowed {
			want = nil
		}
		if diff := cmp.Diff(want, given.BalancerAttributes); diff != "" || (len(found) == 0) != allowed {
			t.Errorf("%s: found %v, attributes (-want +got):\n%s", value, found, diff)
		}
	}
	if given, _ := Read(nil, &class, true); given.BalancerAttributes != nil {
		t.Errorf("an Ingress that says nothing asks for %v", given.BalancerAttributes)
	}
}

func TestDefaultsOfWaitsAreThoseOfTheTable(t *testing.T) {
	for field, used := range map[string]time.Duration{"warmTimeout": DefaultWarmTimeout, "moveGrace": DefaultMoveGrace} {
		at := slices.IndexFunc(Table, func(s Setting) bool { return s.Class == field })
		if d, err := time.ParseDuration(Table[at].Default); err != nil || d != used {
			t.Errorf("%s is %s in the table, and %s in use", field, Table[at].Default, used)
		}
	}
}

// check is Check for fields of the class too, which put nothing.
func (s *Setting) check(value string) error {
	if s.put == nil {
		return s.Type.Check(value)
	}
	return s.Check(value)
}
