//go:build !race

package kube

// detector is nothing where these tests do not look for data races: the operator does not either.
var detector []string
