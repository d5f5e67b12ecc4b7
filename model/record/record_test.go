package record

import (
	"flag"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var seed = flag.Uint64("seed", 0, "the seed of random annotations; 0 draws one")

// An Ingress asks for what was accepted if the annotations that a version records are the same.
// Others, such as those of a deployment tool, make no difference.
func TestVersionsAreComparedByWhatIsRecorded(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", *seed)
	draw := rand.New(rand.NewPCG(*seed, 0))
	// The second annotation of NGINX restricts only beside the first.
	values := map[string][]string{
		"fairlead.dev/group":                                    {"a", "b"},
		"kubernetes.io/ingress.class":                           {"fairlead"},
		"example.com/deployed-by":                               {"one", "two"},
		"nginx.ingress.kubernetes.io/auth-type":                 {"basic", "digest"},
		"nginx.ingress.kubernetes.io/auth-secret":               {"users"},
		"nginx.ingress.kubernetes.io/whitelist-source-range":    {"10.0.0.0/8", "0.0.0.0/0"},
		"alb.ingress.kubernetes.io/inbound-cidrs":               {"10.0.0.0/8"},
		"alb.ingress.kubernetes.io/security-group-prefix-lists": {"pl-1"},
	}
	some := func() map[string]string {
		out := map[string]string{}
		for key, of := range values {
			if draw.IntN(2) == 0 {
				out[key] = of[draw.IntN(len(of))]
			}
		}
		return out
	}
	same, other := 0, 0
	for range 2000 {
		before, now := some(), some()
		if draw.IntN(3) == 0 {
			now = maps.Clone(before)
			now["example.com/deployed-by"] = "three"
		}
		ing := func(annotations map[string]string) *networkingv1.Ingress {
			return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
		}
		accepted := Accept(ing(before))
		want := maps.Equal(accepted.Annotations, Accept(ing(now)).Annotations)
		if want {
			same++
		} else {
			other++
		}
		if got := asksTheSame(before, now); got != want {
			t.Fatalf("%v and %v ask for the same: %t, want %t", before, now, got, want)
		}
		if got := accepted.IsVersionOf(ing(now)); got != want {
			t.Fatalf("%v is a version of %v: %t, want %t", accepted.Annotations, now, got, want)
		}
	}
	if same < 100 || other < 100 {
		t.Errorf("%d pairs ask for the same and %d do not: too few of one kind", same, other)
	}
}

// A spec that differs is another version, though the annotations are the same.
func TestVersionsAreComparedBySpec(t *testing.T) {
	class := "fairlead"
	was := Accept(&networkingv1.Ingress{})
	now := &networkingv1.Ingress{Spec: networkingv1.IngressSpec{IngressClassName: &class}}
	if was.IsVersionOf(now) {
		t.Error("an Ingress that has a class now asks for something else")
	}
	member := Member{LastAccepted: &was}
	if member.HasChanged(now) {
		t.Error("an Ingress that is not served has not changed: it is new")
	}
	if member.Served = true; !member.HasChanged(now) {
		t.Error("an Ingress that is served has changed")
	}
	if member.HasChanged(&networkingv1.Ingress{}) {
		t.Error("an Ingress that asks for the same has not changed")
	}
}
