// Package check is what was found where something was looked at before it is used: one finding for
// each thing that has to be as it is needed.
package check

import "slices"

// A State says whether what was looked at is as it has to be.
type State string

// The states that there are.
const (
	OK      State = "ok"
	Wrong   State = "wrong"
	Unknown State = "unknown" // it could not be found out, or it depends on what is wanted
)

// A Finding is one thing that was looked at.
type Finding struct {
	ID     string `json:"id"`    // the same in each run: aws/vpc
	Title  string `json:"title"` // what was looked at
	State  State  `json:"state"`
	Detail string `json:"detail,omitempty"` // what was found
	Advice string `json:"advice,omitempty"` // what to do about it
}

// Good is a finding of something that is as it has to be.
func Good(id, title, detail string) Finding { return Finding{id, title, OK, detail, ""} }

// Bad is a finding of something that is wrong, and what to do about it.
func Bad(id, title, detail, advice string) Finding {
	return Finding{id, title, Wrong, detail, advice}
}

// Unsure is a finding of something that is not known, and what to do about it.
func Unsure(id, title, detail, advice string) Finding {
	return Finding{id, title, Unknown, detail, advice}
}

// AnyWrong reports whether something is wrong.
func AnyWrong(all []Finding) bool {
	return slices.ContainsFunc(all, func(f Finding) bool { return f.State == Wrong })
}

// Count is how many findings have a state.
func Count(all []Finding, s State) int {
	n := 0
	for _, f := range all {
		if f.State == s {
			n++
		}
	}
	return n
}
