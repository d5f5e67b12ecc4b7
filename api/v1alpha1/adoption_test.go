package v1alpha1

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStatesOfAnAdoption(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	m := AdoptionMemory{}
	if !m.Since().IsZero() {
		t.Errorf("what has not begun is since %s", m.Since())
	}
	for i, state := range []string{AdoptionRecorded, AdoptionPrepared, AdoptionPrepared, AdoptionTaken, AdoptionReleasing, AdoptionTaken} {
		m.Enter(state, noon.Add(time.Duration(i)*time.Minute))
	}
	if want := noon.Add(5 * time.Minute); m.State != AdoptionTaken || !m.Since().Equal(want) || len(m.States) != 5 {
		t.Errorf("it is %s since %s, after %v", m.State, m.Since(), m.States)
	}
}

// The default is that of the CRD, which an object of an earlier CRD does not have.
func TestWhatIsOldIsKeptForAWeek(t *testing.T) {
	for _, c := range []struct {
		said *metav1.Duration
		want time.Duration
	}{{nil, 168 * time.Hour}, {&metav1.Duration{Duration: time.Hour}, time.Hour}, {&metav1.Duration{}, 0}} {
		if got := (&Adoption{KeepOld: c.said}).KeepsOld(); got != c.want {
			t.Errorf("of %v it is kept for %s", c.said, got)
		}
	}
}
