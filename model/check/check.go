// Package check has findings about the environment before it is used: one for each condition that
// must hold.
package check

import "slices"

// A State is whether a condition holds.
type State string

// The states of findings.
const (
	OK      State = "ok"
	Wrong   State = "wrong"
	Unknown State = "unknown" // it could not be checked, or it depends on the wanted configuration
)

// A Finding is the result of one check.
type Finding struct {
	ID     string `json:"id"`    // the same in each run: aws/vpc
	Title  string `json:"title"` // the subject of the check
	State  State  `json:"state"`
	Detail string `json:"detail,omitempty"` // the result in words
	Advice string `json:"advice,omitempty"` // the remedy
}

// Good returns a finding of a condition that holds.
func Good(id, title, detail string) Finding { return Finding{id, title, OK, detail, ""} }

// Bad returns a finding of an error, with a remedy.
func Bad(id, title, detail, advice string) Finding {
	return Finding{id, title, Wrong, detail, advice}
}

// Unsure returns a finding of an unknown state, with a remedy.
func Unsure(id, title, detail, advice string) Finding {
	return Finding{id, title, Unknown, detail, advice}
}

// AnyWrong reports whether a finding is an error.
func AnyWrong(all []Finding) bool {
	return slices.ContainsFunc(all, func(f Finding) bool { return f.State == Wrong })
}

// Count returns the number of findings with a state.
func Count(all []Finding, s State) int {
	n := 0
	for _, f := range all {
		if f.State == s {
			n++
		}
	}
	return n
}
