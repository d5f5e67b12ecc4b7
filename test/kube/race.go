//go:build race

package kube

// detector is the flag that has `go build` make an operator that reports its data races, as these
// tests do.
var detector = []string{"-race"}
