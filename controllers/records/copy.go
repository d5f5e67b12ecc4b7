package records

import "slices"

// This file copies records.

// CopyOf returns a copy of a record. It shares the last accepted versions, which are most of a
// large record: they are replaced, and never written to.
func CopyOf(r *Record) Record {
	without := *r
	without.Memory.Members = slices.Clone(r.Memory.Members)
	for i := range without.Memory.Members {
		without.Memory.Members[i].LastAccepted = nil
	}
	out := without.DeepCopy()
	for i := range out.Memory.Members {
		out.Memory.Members[i].LastAccepted = r.Memory.Members[i].LastAccepted
	}
	return *out
}
