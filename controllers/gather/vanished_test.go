package gather

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// An Ingress that has vanished is served until its grace is over by the wall clock, and not less
// long where the clock goes back. One that has to be confirmed is served wherever the clock goes.
func TestAVanishedIngressUnderAClockThatIsMoved(t *testing.T) {
	const grace = 10 * time.Minute
	vanished := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		moved time.Duration
		goes  bool
	}{
		"not":              {0, false},
		"back by an hour":  {-time.Hour, false},
		"ahead by an hour": {time.Hour, true},
	} {
		now := vanished.Add(c.moved)
		m := v1alpha1.MemberMemory{Ingress: "shop/web", Served: true, VanishedAt: &metav1.Time{Time: vanished}}
		if stays := vanishing(m, time.Time{}, now).Stays(grace); stays == c.goes {
			t.Errorf("%s: what has vanished stays: %t", name, stays)
		}
		m.Unconfirmed = true
		if !vanishing(m, time.Time{}, now).Stays(grace) {
			t.Errorf("%s: what has to be confirmed goes", name)
		}
	}
}
