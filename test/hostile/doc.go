// Package hostile is what a tenant of a shared cluster can write to harm the others, and what has
// to hold all the same. Each finding of the review of the tree at 9fc117e is a case under its own
// number: S1 to S14 of security, B1 to B9 of the specification, P4 of parity and N1 of new users.
//
// A case is a txtar archive in testdata. Its comment says what the attacker writes and gains. The
// sections are in the order in which things happen:
//
//	options    what the case needs besides its objects; see the type
//	NAME.yaml  objects that are made or replaced
//	generated  objects that are too large to write down, by the names of generated_test.go
//	deleted    objects that are deleted, "Ingress alice/a" a line
//	holds      what has to hold then, one expectation a line; see expectations_test.go
//
// Each case goes through the compiler in this process, and through the commands of a fairlead
// binary, which also has to keep within the bounds on memory and time. The flag -fairlead names
// another binary, such as one of the tree at 9fc117e: there every case has to fail, unless its
// option `guard` says why it holds there too. A case that says `stage: operator` is about a running
// system. It goes through the operator, on a real API server and the simulator of AWS.
package hostile
