// Package fuzz has the fuzz targets of what tenants write: annotations, conditions, hosts and
// paths, regular expressions, Backends, certificates, manifests, and whole Ingresses of two
// namespaces in one group. Each input is compiled as it would be in the operator, within a budget
// of CPU time and memory.
//
//	go test ./test/fuzz -run '^$' -fuzz '^FuzzAnnotation$' -fuzztime 10m
//
// `go test` runs the seeds, those in testdata/fuzz included.
package fuzz
