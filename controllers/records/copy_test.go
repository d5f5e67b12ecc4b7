package records

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// A copy has all of a record, and nothing that is written into the record reaches it.
func TestCopiesAreWholeAndApart(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", *seed)
	r := random{rand.New(rand.NewPCG(*seed, 2))}
	members := 0
	for range 200 {
		record := r.record()
		for i := range record.Memory.Members {
			record.Memory.Members[i].LastAccepted = &v1alpha1.AcceptedVersion{Annotations: map[string]string{"a": "b"}}
			record.Memory.Members[i].Rejections = []v1alpha1.Rejection{{Message: "one"}}
		}
		want := *record.DeepCopy()
		got := CopyOf(&record)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("the copy differs: %s", diff)
		}
		for i := range record.Memory.Members {
			m := &record.Memory.Members[i]
			members++
			m.Served, m.LastAccepted = !m.Served, nil
			for j := range m.Rejections {
				m.Rejections[j].Message = "another"
			}
		}
		for i := range record.Conditions {
			record.Conditions[i].Message = "another"
		}
		for i := range record.Memory.Hosts {
			record.Memory.Hosts[i].Host = "another"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("what is written into the record reaches the copy: %s", diff)
		}
	}
	if members == 0 {
		t.Error("no record had members")
	}
}
