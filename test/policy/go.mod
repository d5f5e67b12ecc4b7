// This module finds the calls that the AWS provider makes with a library that the binary does not link.
module fairlead.dev/fairlead/test/policy

go 1.26.0

toolchain go1.26.8

require (
	fairlead.dev/fairlead v0.0.0
	golang.org/x/tools v0.52.0
)

require (
	github.com/google/go-cmp v0.7.0 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)

replace fairlead.dev/fairlead => ../..
